"""Clusterings that start from an earlier one: rows that move cost, and their number may be bounded."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain import stop
from konstrain._memory import MOST_NUMBERS
from konstrain._messages import counted, term
from konstrain._tolerances import INTEGRAL
from konstrain.assignment import assign_by
from konstrain.constraints import Problem
from konstrain.constraints.findings import SizeSums
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.steps import Steps, centers_from, placed

# Bisection steps for the least cost of a move at which the bound on moves holds; larger: nearer to the bound.
MAX_ROUNDS = 12

# Finds a clustering at the move costs of these steps, from labels among others.
Follow = Callable[[Steps, list[NDArray[np.int32]]], Clustering]


@dataclass(frozen=True, eq=False)
class Earlier:
    """The earlier clustering, over blocks."""

    labels: NDArray[np.int32]  # (n_blocks,): where most rows of a block were; new blocks at the nearest center.
    centers: NDArray[np.float64]  # (n_clusters, n_features): of the blocks that are not new.
    n_known: int  # Rows that are not new.
    mean_cost: float  # What a row that is not new costs on average where it was.

    @classmethod
    def of(cls, problem: Problem) -> "Earlier":
        """Find where blocks were, and the centers of the clusters then."""
        assert problem.homes is not None
        if problem.n_blocks * max(problem.n_clusters, problem.mean.shape[1]) > MOST_NUMBERS:
            raise ValueError(
                f"{term('previous')} takes at most {MOST_NUMBERS} numbers for the costs of moves, and there are "
                f"{problem.n_blocks} blocks, {problem.n_clusters} clusters and {problem.mean.shape[1]} features; "
                f"leave it out, and give the earlier centers as init"
            )
        known = problem.homes.n_known > 0
        labels = problem.homes.moved.argmin(axis=1).astype(np.int32)
        there = problem.mean[known], np.ascontiguousarray(problem.weight[known]), labels[known]
        sums, weights = distances.center_sums(*there, problem.n_clusters)
        means = _filled(problem, centers_from(sums, weights, np.zeros_like(sums)), weights > 0)
        centers = placed(problem, means)
        n_known = int(problem.homes.n_known.sum())
        cost = distances.own_costs(*there, centers) / n_known
        if not known.all():
            labels[~known] = distances.nearest_distances(problem.mean[~known], centers)[0]
        return cls(labels, centers, n_known, cost)


def _filled(problem: Problem, centers: NDArray[np.float64], is_known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Put centers of clusters that no row was in at the blocks that cost most at the others."""
    for cluster in np.flatnonzero(~is_known):
        _, squared = distances.nearest_distances(problem.mean, np.ascontiguousarray(centers[is_known]))
        row = problem.mean[[int(np.argmax(problem.weight * squared))]]
        centers[cluster] = row.toarray()[0] if hasattr(row, "toarray") else row[0]
        is_known[cluster] = True
    return centers


def with_move_cost(steps: Steps, cost: float) -> Steps:
    """Return steps at which a row that moves costs this much."""
    assert steps.problem.homes is not None
    return replace(steps, problem=replace(steps.problem, homes=replace(steps.problem.homes, cost=cost)))


def most_cost(steps: Steps) -> float:
    """Return a cost of a move that exceeds all other costs together."""
    problem = steps.problem
    mean = problem.mean.mean(axis=0)
    together = np.zeros(problem.n_blocks, dtype=np.int32)
    center = np.ascontiguousarray(mean, dtype=np.float64).reshape(1, -1)
    spread = distances.own_costs(problem.mean, problem.weight, together, center)
    links = None if steps.violation_cost is None else problem.links_at(steps.violation_cost)
    paid = 0.0 if links is None else float(np.abs(links.edges[2][np.isfinite(links.edges[2])]).sum())
    return 2.0 * (spread + paid)


def follow_within(steps: Steps, follow: Follow) -> Clustering:
    """Return a clustering with at most this number of moved rows, at the move cost of the steps or a higher one.

    The dual of the bound on moves is a cost of each: bisection finds the lowest at which it holds. An
    `InfeasibleError` names the least number of moves; an `UndecidedError` means that no such clustering was found.
    """
    homes = steps.problem.homes
    assert homes is not None
    max_moved = homes.most

    def at(cost: float, labels: list[NDArray[np.int32]]) -> tuple[int, Clustering]:
        """Return the clustering at a cost of moves, its objective at their own cost, and the number of moved rows."""
        found = follow(with_move_cost(steps, cost), labels)
        n_moved = homes.n_moved(found.block_labels)
        return n_moved, replace(found, objective=found.objective + (homes.cost - cost) * n_moved)

    high = most_cost(steps)
    low = min(homes.cost, high)
    n_moved, best = at(low, [])
    if n_moved <= max_moved:
        return best
    n_moved, best = at(high, [best.block_labels])
    if n_moved > max_moved:
        n_moved, best = at(high, [_fewest_moves(steps, int(max_moved))])
    if n_moved > max_moved:
        raise UndecidedError(
            f"no clustering was found with at most {counted(int(max_moved), 'moved row')}: the best has {n_moved}. "
            f"That is no proof that none exists: raise {term('max_moved')} or relax other constraints"
        )
    low = max(low, Earlier.of(steps.problem).mean_cost / steps.problem.n_samples)
    for _ in range(MAX_ROUNDS):
        if n_moved == max_moved or steps.budget.expired() or not low < high:
            break
        middle = math.sqrt(low * high)
        n_here, found = at(middle, [best.block_labels])
        if n_here > max_moved:
            low = middle
            continue
        high = middle
        if is_lower(found.objective, best.objective):
            n_moved, best = n_here, found
    return best


def _fewest_moves(steps: Steps, max_moved: int) -> NDArray[np.int32]:
    """Return labels with the fewest moves that were found, the graph left out; raise if too many are proved."""
    problem = with_move_cost(steps, 1.0).problem
    nothing = np.zeros((problem.n_blocks, problem.n_clusters))
    fewest = replace(problem.assignment_problem(nothing, 0.0), links=problem.conflicts)
    solution = assign_by(fewest, budget=steps.budget.part(work=stop.PARAMS.work))
    least = math.ceil(solution.lower_bound - INTEGRAL)
    if least > max_moved:
        raise InfeasibleError(
            f"{term('max_moved')} allows {counted(max_moved, 'row')} to move, but at least {least} have to, so that "
            f"the other constraints hold; raise {term('max_moved')} to {least}, or relax them.",
            reason="moves",
            witness=SizeSums(float(least), float(max_moved)),
        )
    return solution.labels
