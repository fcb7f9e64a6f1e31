"""From a task to a proved answer: upper bounds first, then the tree over the bound that suits the problem."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import assign_by
from konstrain.constraints.problem import Problem
from konstrain.exact.columns.generation import has_real_minimum, has_unequal_maxima
from konstrain.exact.heuristic import FIRST_SHARE, find_clustering
from konstrain.exact.nodes import ColumnNode, Node, SemidefiniteNode, Verdict
from konstrain.exact.task import ProofTask
from konstrain.exact.tree import TracePoint, Tree
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import Budget

# What a caller may ask for.
BOUNDS = ("auto", "column-generation", "sdp")
# Column generation proves fast when clusters hold few blocks; above this many per cluster its pricer stalls.
FEW_BLOCKS_PER_CLUSTER = 7
FEW_BLOCKS = 50
# Nodes the exact pricer gets before the semidefinite bound takes over.
RACE_NODES = 50_000
# From this many clusters on, k-means starts miss the optimum and the integer master finds it.
MANY_CLUSTERS = 10
# Restarts for a better clustering at a node of the tree, and the share of the time that the first search may take.
NODE_RESTARTS = 1


@dataclass(frozen=True)
class Limits:
    """How far and how long to search."""

    gap: float
    budget: Budget
    node_limit: int | None = None
    n_jobs: int | None = None
    seed: int = 0
    bound: str = "auto"
    on_progress: Callable[[TracePoint], object] | None = None


def solve(
    task: ProofTask,
    limits: Limits,
    labels: NDArray[np.int32] | None = None,
    start: NDArray[np.int32] | None = None,
) -> Tree:
    """Search for the best clustering and its proof.

    Parameters
    ----------
    task : ProofTask
        Rows and constraints.
    limits : Limits
        Gap, time, nodes, workers.
    labels : ndarray of int32, shape (n_samples,), or None
        A clustering known beforehand.
    start : ndarray of int32, shape (n_samples,), or None
        Where to begin in place of our own search. It may break constraints: column generation then begins with the
        parts of its clusters that break none.

    Returns
    -------
    Tree
        The finished search: best labels, bounds, trace.
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
            _find_first_labels(task, limits, tree)
        else:
            tree.offer(start)
        root, verdict = _choose_root(task, limits, tree, start)
    except KeyboardInterrupt:
        if tree.labels is None:
            raise
        root, verdict = SemidefiniteNode.root(task), Verdict("interrupted")
    tree.search(root, verdict)
    if tree.labels is None and not tree.interrupted and tree.lower_bound == np.inf:
        raise InfeasibleError(
            "no clustering satisfies all constraints (proved by exhausting the search tree)", reason="combination"
        )
    return tree


def _refuse_impossible(problem: Problem, limits: Limits) -> None:
    """Raise when sizes and conflicts do not fit together: the tree would find out by looking at every clustering."""
    free = np.zeros((problem.n_blocks, problem.n_clusters))
    share = Budget(FIRST_SHARE * limits.budget.remaining()) if _is_limited(limits) else limits.budget
    try:
        # Soft links, broken for nothing here, never make a problem infeasible.
        assign_by(problem.assignment_problem(free, 0.0 if problem.has_soft_links else None), budget=share)
    except UndecidedError:
        return  # the search may still find out
    except InfeasibleError as error:
        raise InfeasibleError(
            f"no clustering satisfies all constraints: {error}", reason=error.reason, witness=error.witness
        ) from None


def _choose_root(
    task: ProofTask, limits: Limits, tree: Tree, start: NDArray[np.int32] | None
) -> tuple[Node, Verdict | None]:
    """Return the root of the bound asked for, and what it says if it was run.

    "auto" lets column generation try first where it is strong.
    """
    problem = task.problem
    first = tree.labels if start is None else start
    if limits.bound == "sdp" or problem.has_soft_links:
        return SemidefiniteNode.root(task), None
    if limits.bound == "column-generation" or task.cluster_constraints:
        return ColumnNode.root(task, limits.seed, first), None
    per_cluster = problem.n_blocks / problem.n_clusters
    if _is_for_columns(problem) and (per_cluster <= FEW_BLOCKS_PER_CLUSTER or problem.n_blocks <= FEW_BLOCKS):
        root = ColumnNode.root(task, limits.seed, first, node_limit=RACE_NODES)
        verdict = root.run(tree.upper_bound, limits.gap, limits.budget)
        tree.offer(verdict.labels)
        if not root.has_stalled:
            return root, verdict
    elif problem.n_clusters >= MANY_CLUSTERS and _is_for_columns(problem):
        _columns_for_labels(task, limits, tree)
    return SemidefiniteNode.root(task), None


def _is_for_columns(problem: Problem) -> bool:
    """Whether column generation knows all constraints: lower or unequal sizes it does not."""
    return not has_real_minimum(problem) and not has_unequal_maxima(problem)


def _columns_for_labels(task: ProofTask, limits: Limits, tree: Tree) -> None:
    """Generate columns without proof and look for a better clustering among them."""
    share = Budget(FIRST_SHARE * limits.budget.remaining()) if _is_limited(limits) else limits.budget
    root = ColumnNode.root(task, limits.seed, tree.labels, node_limit=1)
    tree.offer(root.run(tree.upper_bound, limits.gap, share).labels)


def _is_limited(limits: Limits) -> bool:
    return bool(np.isfinite(limits.budget.remaining()))


def _find_first_labels(task: ProofTask, limits: Limits, tree: Tree) -> None:
    budget = Budget(FIRST_SHARE * limits.budget.remaining()) if _is_limited(limits) else limits.budget
    tree.offer(_kmeans(task, task.problem, None, limits.seed, budget, tree))


def _improve(task: ProofTask, node: Node, limits: Limits, tree: Tree) -> NDArray[np.int32] | None:
    try:
        problem = task.problem_of(node.branch)
        return _kmeans(task, problem, NODE_RESTARTS, limits.seed + 1, limits.budget, tree)
    except InfeasibleError:
        return None  # the further links of this node rule out every clustering


def _kmeans(
    task: ProofTask, problem: Problem, n_init: int | None, seed: int, budget: Budget, tree: Tree
) -> NDArray[np.int32] | None:
    """Labels of rows by `find_clustering`; None when no feasible ones are found in time."""
    best = find_clustering(task.X, problem, budget, seed=seed, n_init=n_init, violation_cost=task.violation_cost)
    if best is None:
        return None
    labels: NDArray[np.int32] = problem.expand(best.block_labels)
    if best.interrupted:
        # The restarts took the interrupt for theirs, but it is meant for the whole search.
        tree.offer(labels)
        raise KeyboardInterrupt
    return labels
