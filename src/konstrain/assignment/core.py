"""The part of a coupled problem that prices leave undecided, as a binary program that proves the answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.model import AssignmentModel, links_of
from konstrain.assignment.problem import AssignmentProblem


@dataclass(frozen=True, eq=False)
class CoreAnswer:
    """Labels of all blocks (None when none were found), a bound on the best that the core holds, and the status."""

    labels: NDArray[np.int32] | None
    bound: float
    status: str


def solve_core(
    problem: AssignmentProblem,
    allowed: NDArray[np.bool_],
    time_limit: float,
    start: NDArray[np.int32] | None,
) -> CoreAnswer:
    """Choose among the allowed clusters of each block; blocks with a single one left are fixed beforehand."""
    choices = allowed.sum(axis=1)
    fixed = choices == 1
    labels = allowed.argmax(axis=1).astype(np.int32)
    core = np.flatnonzero(~fixed)
    costs = np.where(allowed[core], problem.costs[core], np.inf)
    links, constant = _charge_links(problem, labels, fixed, core, costs)
    constant += float(problem.costs[fixed, labels[fixed]].sum())
    if not np.isfinite(constant):
        return CoreAnswer(None, np.inf, "infeasible")
    if not core.size:
        status = "optimal" if problem.is_feasible(labels) else "infeasible"
        return CoreAnswer(labels, constant, status) if status == "optimal" else CoreAnswer(None, np.inf, status)
    model = _core_model(problem, labels, fixed, core, costs, links)
    answer = model.solve(time_limit=time_limit, start=None if start is None else start[core])
    if answer.labels is None:
        return CoreAnswer(None, constant + answer.bound, answer.status)
    labels[core] = answer.labels
    return CoreAnswer(labels, constant + answer.bound, answer.status)


def _charge_links(
    problem: AssignmentProblem,
    labels: NDArray[np.int32],
    fixed: NDArray[np.bool_],
    core: NDArray[np.intp],
    costs: NDArray[np.float64],
) -> tuple[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]] | None, float]:
    """Move links with a fixed end into costs (in place); returns the links inside the core and a constant."""
    edges = links_of(problem.links)
    if edges is None:
        return None, 0.0
    u, v, w = edges
    both = fixed[u] & fixed[v]
    together = labels[u] == labels[v]
    constant = float(w[both & together & (w > 0)].sum() - w[both & ~together & (w < 0)].sum())
    position = np.full(problem.n_blocks, -1, dtype=np.int32)
    position[core] = np.arange(core.size, dtype=np.int32)
    for free, other in ((u, v), (v, u)):
        half = ~fixed[free] & fixed[other]
        row, cluster, weight = position[free[half]], labels[other[half]], w[half]
        positive = weight > 0
        np.add.at(costs, (row[positive], cluster[positive]), weight[positive])
        # Not following a soft must-link costs everywhere but in the fixed end's cluster.
        np.add.at(costs, row[~positive], -weight[~positive, None])
        np.add.at(costs, (row[~positive], cluster[~positive]), weight[~positive])
    inside = ~fixed[u] & ~fixed[v]
    return (position[u[inside]], position[v[inside]], w[inside]), constant


def _core_model(
    problem: AssignmentProblem,
    labels: NDArray[np.int32],
    fixed: NDArray[np.bool_],
    core: NDArray[np.intp],
    costs: NDArray[np.float64],
    links: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]] | None,
) -> AssignmentModel:
    demand = None if problem.demand is None else problem.demand[core]
    held = np.bincount(
        labels[fixed],
        weights=None if problem.demand is None else problem.demand[fixed],
        minlength=problem.n_clusters,
    )
    low, high = problem.widened_bounds
    at_least: NDArray[np.float64] | None = None
    if problem.nonempty:
        at_least = np.ones(problem.n_clusters) - np.bincount(labels[fixed], minlength=problem.n_clusters)
    return AssignmentModel(costs, links, demand, low - held, high - held, at_least)
