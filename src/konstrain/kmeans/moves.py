"""Clusterings that start from an earlier one: rows that move cost, and their number may be bounded."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from konstrain import stop
from konstrain._memory import MOST_NUMBERS
from konstrain._messages import counted, term
from konstrain._tolerances import INTEGRAL
from konstrain.assignment import assign_by, milp
from konstrain.constraints import Problem
from konstrain.constraints.findings import SizeSums
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps, centers_from, is_hard, placed
from konstrain.stop import solver_work

# Work for the proof of the least number of moves, in default searches: larger, more proofs under several resources.
PROOF_WORK = 100.0

# Finds a clustering at the move costs of these steps from labels; "first": also from centers, "last": with its gap.
Follow = Callable[[Steps, list[NDArray[np.int32]], str], Clustering]


BY_OBJECTIVE = attrgetter("objective")


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
        labels = problem.homes.usual
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


def follow_within(steps: Steps, follow: Follow, is_over: Callable[[int, Clustering], bool]) -> Clustering:
    """Return a clustering with at most as many moved rows as may be, at the move cost of the steps or a higher one.

    The cost rises by doubling, each stage from the labels of the last: from a quarter of what a row costs to the cost
    of the steps, and on as long as too many rows move. Bisection then finds the lowest cost at which few enough do,
    the dual of the bound. `is_over` gets the best clustering after each stage. An `InfeasibleError` names the least
    number of moves; an `UndecidedError` means that no such clustering was found.
    """
    homes, earlier, most_at = steps.problem.homes, Earlier.of(steps.problem), most_cost(steps)
    assert homes is not None
    asked, quarter, found = min(homes.cost, most_at), earlier.mean_cost / 4.0, list[tuple[int, Clustering]]()

    def at(cost: float, labels: list[NDArray[np.int32]], part: str = "") -> tuple[int, NDArray[np.int32]]:
        """Keep the clustering at a cost of moves, with its objective at their own; return its moves and labels."""
        new = follow(with_move_cost(steps, cost), labels, part)
        n_moved = homes.n_moved(new.block_labels)
        found.append((n_moved, replace(new, objective=new.objective + (homes.cost - cost) * n_moved)))
        return n_moved, new.block_labels

    def allowed() -> list[Clustering]:
        return [clustering for n_moved, clustering in found if n_moved <= homes.most]

    def ends() -> bool:
        """Return whether time is up or the callback ends the search."""
        if steps.budget.expired():
            return True
        return bool(allowed()) and is_over(len(found), min(allowed(), key=BY_OBJECTIVE))

    n_moved, first = at(asked, [earlier.labels], "first")
    starts, last, cost = [first], earlier.labels, quarter
    is_searched = steps.problem.connectivity is None and not ends()
    rung = "first" if is_hard(steps.problem) else ""
    if n_moved > homes.most or (is_searched and asked > 4.0 * quarter):
        starts.append(_fewest_moves(steps, earlier))
    while is_searched and 0.0 < cost < asked and not ends():
        last, cost = at(cost, [last], rung)[1], 2.0 * cost
    if is_searched or n_moved > homes.most:
        n_moved, last = at(asked, [last, *starts], "last" if homes.most == math.inf else "")
    # Two stages more than have to be: labels with fewer moves are where those with as many as may be begin as well.
    low, high, cost, n_more = asked, asked if n_moved <= homes.most else math.inf, asked, 2 * is_searched
    while cost < most_at and (high == math.inf or (n_more > 0 and homes.most < math.inf and not ends())):
        below, cost = cost, min(max(2.0 * cost, quarter), most_at)
        n_moved, last = at(cost, [last, *starts], rung)
        if high < math.inf:
            n_more -= 1
        elif n_moved <= homes.most:
            low, high = below, cost
    if not allowed():
        raise UndecidedError(
            f"no clustering was found with at most {counted(int(homes.most), 'moved row')}: the best has "
            f"{min(n_moved for n_moved, _ in found)}. That is no proof that none exists: raise "
            f"{term('max_moved')} or relax other constraints"
        )
    # At costs within 5% of each other about the same rows move.
    while high > 1.05 * low and not ends():
        middle = math.sqrt(max(low, high / steps.problem.n_samples) * high)
        n_moved, last = at(middle, [last, min(allowed(), key=BY_OBJECTIVE).block_labels], rung)
        low, high = (middle, high) if n_moved > homes.most else (low, middle)
    if homes.most < math.inf and not steps.budget.expired():
        at(high, [clustering.block_labels for _, clustering in found], "last")
    best = min(reversed(allowed()), key=BY_OBJECTIVE)
    return replace(best, proven=False) if best.proven is None and steps.budget.expired() else best


def _fewest_moves(steps: Steps, earlier: Earlier) -> NDArray[np.int32]:
    """Return labels with the fewest moves that were found, the graph left out; raise if too many are proved.

    Among labels with equal moves those near the earlier centers are best, by costs that together count half a move.
    """
    problem = with_move_cost(steps, 1.0).problem
    assert problem.homes is not None
    costs = distances.block_costs(problem.mean, None, earlier.centers, n_threads=steps.n_threads)
    costs *= 0.5 / max(float(costs.max(axis=1).sum()), np.finfo(float).tiny)
    assignment = replace(problem.assignment_problem(costs, 0.0), links=problem.conflicts)
    solution = assign_by(assignment, budget=steps.budget.part(work=stop.PARAMS.work))
    work = PROOF_WORK * stop.PARAMS.work
    if assignment.has_resources and not solution.proven and 4.0 * solver_work(costs.size) <= work:
        # Few moves of rows at home: the whole problem is small enough for HiGHS.
        whole = milp.solve(assignment, warm=solution, budget=steps.budget.part(work=work))
        bound = max(solution.lower_bound, whole.lower_bound)
        solution = replace(whole if whole.cost < solution.cost else solution, lower_bound=bound)
    least, most = math.ceil(solution.lower_bound - 0.5 - INTEGRAL), problem.homes.most
    if least > most:
        raise InfeasibleError(
            f"{term('max_moved')} allows {counted(int(most), 'row')} to move, but at least {least} have to, so that "
            f"the other constraints hold; raise {term('max_moved')} to {least}, or relax them.",
            reason="moves",
            witness=SizeSums(float(least), float(most)),
        )
    return solution.labels
