"""Solve a task: upper bounds first, then branch and bound with the lower bound that suits the problem."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import MOST_NUMBERS
from konstrain.assignment import assign_by
from konstrain.constraints.problem import Problem
from konstrain.exact.columns import pricing
from konstrain.exact.columns.boxes import PARAMS as BOXES
from konstrain.exact.columns.generation import has_real_minimum, has_unequal_maxima
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.nodes import BoxNode, ColumnNode, Node, Outcome, SemidefiniteNode
from konstrain.exact.task import ProofTask
from konstrain.exact.tree import TracePoint, Tree
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import Budget

# Values of `bound`.
BOUNDS = ("auto", "column-generation", "columns", "sdp")


@dataclass(frozen=True)
class SolveParams:
    """Tunable numbers of the choice between the bounds."""

    # Blocks per cluster up to which column generation runs first; with more its pricer stalls.
    blocks_per_cluster: float = 7.0
    # Features up to which column generation over boxes runs in any case, half as many under bounds on sizes, which
    # make more boxes necessary: from there up to this number the higher root decides, beyond it a short search.
    few_features: int = 4
    # Most blocks times blocks per cluster of that bound where parts are the alternative; with more, its master takes
    # minutes per iteration, and parts are strong.
    most_pairs: float = 1e6
    # Share of the remaining time for each of two roots, the higher of which goes on; larger: a surer choice, later.
    probe_share: float = 0.25


PARAMS = SolveParams()


@dataclass(frozen=True)
class Limits:
    """Gap, limits and options of a search."""

    gap: float
    budget: Budget
    node_limit: int | None = None
    n_jobs: int | None = None
    seed: int = 0
    bound: str = "auto"
    on_progress: Callable[[TracePoint], object] | None = None
    # Of column generation as in the paper: `stabilization` and `local_pricing` of `ColumnGenerationBound`.
    switches: Mapping[str, Any] = field(default_factory=dict)


def solve(
    task: ProofTask,
    limits: Limits,
    labels: NDArray[np.int32] | None = None,
    start: NDArray[np.int32] | None = None,
) -> Tree:
    """Return the finished search for the best clustering: best labels, bounds, trace.

    `labels` are a clustering known beforehand. `start` is a first clustering in place of a search; it may break
    constraints: column generation then begins with the admissible parts of its clusters.
    """
    tree = Tree(
        task,
        gap=limits.gap,
        budget=limits.budget,
        node_limit=limits.node_limit,
        n_jobs=limits.n_jobs,
        on_progress=limits.on_progress,
        improve=lambda node: _improve(task, node, limits, tree),
    )
    tree.offer(labels)
    if tree.labels is None:
        _refuse_impossible(task.problem, limits)
    try:
        if start is None:
            tree.offer(_kmeans(task, task.problem, None, limits.seed, limits.budget.part(), tree))
        else:
            tree.offer(start)
        root, outcome = _choose_root(task, limits, tree, start)
    except KeyboardInterrupt:
        if tree.labels is None:
            raise
        tree.interrupt()
        return tree
    tree.search(root, outcome)
    if tree.labels is None and not tree.interrupted and tree.lower_bound == np.inf:
        raise InfeasibleError(
            "no clustering satisfies all constraints (proved by exhausting the search tree)", reason="combination"
        )
    return tree


def _refuse_impossible(problem: Problem, limits: Limits) -> None:
    """Raise when sizes and conflicts contradict each other, which the tree proves by enumeration only."""
    free = np.zeros((problem.n_blocks, problem.n_clusters))
    try:
        # Soft links, without penalty here, never make a problem infeasible.
        assign_by(
            problem.assignment_problem(free, 0.0 if problem.has_soft_links else None), budget=limits.budget.part()
        )
    except UndecidedError:
        return  # the search may still prove it
    except InfeasibleError as error:
        raise InfeasibleError(
            f"no clustering satisfies all constraints: {error}", reason=error.reason, witness=error.witness
        ) from None


def _choose_root(
    task: ProofTask, limits: Limits, tree: Tree, start: NDArray[np.int32] | None
) -> tuple[Node, Outcome | None]:
    """Return the root with the requested bound, and its outcome if it was run.

    "auto" runs column generation first where it is strong.
    """
    problem = task.problem
    first = tree.labels if start is None else start
    if limits.bound == "sdp" or problem.has_soft_links:
        return SemidefiniteNode.root(task), None
    if limits.bound == "columns" and task.cluster_constraints:
        raise ValueError(
            "bound='columns' does not cover constraints on single clusters; take 'column-generation' or 'auto'"
        )
    if limits.bound == "columns" or (
        limits.bound == "auto" and not task.cluster_constraints and is_for_boxes(problem)
    ):
        return BoxNode.root(task, tree.labels, limits.n_jobs), None
    if limits.bound == "column-generation" or task.cluster_constraints:
        return ColumnNode.root(task, limits.seed, first, switches=limits.switches), None
    if _is_for_columns(problem) and problem.n_blocks <= PARAMS.blocks_per_cluster * problem.n_clusters:
        few = pricing.PARAMS.few_nodes
        root = ColumnNode.root(task, limits.seed, first, node_limit=few, switches=limits.switches)
        outcome = root.run(tree.upper_bound, limits.gap, limits.budget)
        tree.offer(outcome.labels)
        if not root.has_stalled:
            return root, outcome
    if _suits_boxes(problem, PARAMS.few_features):
        return _higher_root(task, limits, tree)
    if _may_have_few_boxes(problem):
        boxes = BoxNode.root(task, tree.labels, limits.n_jobs)
        if boxes.has_few_boxes(limits.budget.part()):
            return boxes, None
    return SemidefiniteNode.root(task), None


def _higher_root(task: ProofTask, limits: Limits, tree: Tree) -> tuple[Node, Outcome | None]:
    """Return the root with the higher bound, over boxes or semidefinite, and its outcome unless it can go on."""
    boxes = BoxNode.root(task, tree.labels, limits.n_jobs)
    outcome = tree.probe(boxes, PARAMS.probe_share)
    if outcome.status in ("closed", "interrupted"):
        return boxes, outcome
    sdp = SemidefiniteNode.root(task)
    of_sdp = tree.probe(sdp, PARAMS.probe_share)
    root, outcome = (sdp, of_sdp) if sdp.lower_bound > boxes.lower_bound else (boxes, outcome)
    if of_sdp.status == "interrupted":
        return root, of_sdp
    return root, None if outcome.status == "limit" else outcome


def is_for_boxes(problem: Problem) -> bool:
    """Return whether column generation over boxes is the best bound for any rows: there are few features."""
    return _suits_boxes(problem, PARAMS.few_features // 2 if _has_sizes(problem) else PARAMS.few_features)


def _suits_boxes(problem: Problem, most_features: int) -> bool:
    return (
        not problem.has_soft_links
        and problem.resources is None
        and problem.mean.shape[1] <= most_features
        and not differing_sizes(problem)
    )


def are_parts_better(problem: Problem) -> bool:
    """Return whether of many blocks the decomposition bound is better than that over boxes.

    It leaves most bounds on sizes out, which costs far more than a slow master does.
    """
    n = problem.n_blocks
    most = MOST_NUMBERS if _has_sizes(problem) else PARAMS.most_pairs * problem.n_clusters
    return n * n > most or not _suits_boxes(problem, PARAMS.few_features)


def _may_have_few_boxes(problem: Problem) -> bool:
    """Return whether a short search over boxes can end: one that halves every side has 2 to the features of them."""
    return (
        problem.mean.shape[1] <= math.log2(BOXES.few_boxes) and not _has_sizes(problem) and problem.resources is None
    )


def _has_sizes(problem: Problem) -> bool:
    return problem.size_max is not None or has_real_minimum(problem)


def differing_sizes(problem: Problem) -> tuple[str, ...]:
    """Return the names of the bounds on sizes that differ between clusters."""
    bounds = {"size_min": problem.size_min, "size_max": problem.size_max}
    return tuple(name for name, bound in bounds.items() if bound is not None and np.unique(bound).size > 1)


def _is_for_columns(problem: Problem) -> bool:
    """Return whether column generation covers all constraints: no lower and no unequal bounds on sizes."""
    return not has_real_minimum(problem) and not has_unequal_maxima(problem)


def _improve(task: ProofTask, node: Node, limits: Limits, tree: Tree) -> NDArray[np.int32] | None:
    try:
        problem = task.problem_of(node.branch)
        return _kmeans(task, problem, 1, limits.seed + 1, limits.budget, tree)
    except InfeasibleError:
        return None  # the links of this node rule out every clustering


def _kmeans(
    task: ProofTask, problem: Problem, n_init: int | None, seed: int, budget: Budget, tree: Tree
) -> NDArray[np.int32] | None:
    """Return labels of rows by `find_clustering`; None when no feasible ones are found in time."""
    best = find_clustering(task.X, problem, budget, seed=seed, n_init=n_init, violation_cost=task.violation_cost)
    if best is None:
        return None
    labels: NDArray[np.int32] = problem.expand(best.block_labels)
    if best.interrupted:
        # The restarts caught the interrupt, but it is meant for the whole search.
        tree.offer(labels)
        raise KeyboardInterrupt
    return labels
