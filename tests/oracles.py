"""Answers by enumeration: slow, short and obviously right."""

import functools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from konstrain.assignment import Assignment, AssignmentProblem, Engine
from konstrain.exceptions import InfeasibleError


@functools.lru_cache(maxsize=32)
def all_labelings(n_blocks: int, n_clusters: int) -> NDArray[np.int32]:
    """Every way to label blocks, one per row."""
    labelings = np.indices((n_clusters,) * n_blocks, dtype=np.int32).reshape(n_blocks, -1).T.copy()
    labelings.flags.writeable = False  # shared by all callers
    return labelings


def best_cost(problem: AssignmentProblem) -> float:
    """Least cost over all feasible labelings; infinite when there is none."""
    labelings = all_labelings(problem.n_blocks, problem.n_clusters)
    cost = problem.costs[np.arange(problem.n_blocks), labelings].sum(axis=1)
    if problem.links is not None:
        for u, v, w in zip(*problem.links.edges, strict=True):
            together = labelings[:, u] == labelings[:, v]
            cost = cost + np.where(together if w > 0 else ~together, abs(w), 0.0)
    demand = np.ones(problem.n_blocks) if problem.demand is None else problem.demand
    low, high = problem.widened_bounds
    for j in range(problem.n_clusters):
        inside = labelings == j
        size = inside @ demand
        fits = (size >= low[j]) & (size <= high[j])
        if problem.nonempty:
            fits &= inside.any(axis=1)
        if problem.resources is not None:
            sums = inside @ problem.resources.amounts @ problem.resources.weights.T
            least, most = (bounds[j] for bounds in problem.resources.widened)
            fits &= ((sums >= least) & (sums <= most)).all(axis=1)
        cost = np.where(fits, cost, np.inf)
    return float(cost.min(initial=np.inf))


def cost_by_matching(costs: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]) -> float:
    """Least cost under size bounds by a matching of blocks with places, which knows nothing of prices.

    A cluster has as many places as it may hold; those that it must fill cost so little that none stays empty.
    """
    places = np.repeat(np.arange(upper.size), upper)
    number = np.concatenate([np.arange(most) for most in upper])
    bonus = 2.0 * upper.size * (np.ptp(costs) + 1.0)
    blocks, chosen = linear_sum_assignment(costs[:, places] - np.where(number < lower[places], bonus, 0.0))
    assert (np.bincount(places[chosen], minlength=lower.size) >= lower).all()
    return float(costs[blocks, places[chosen]].sum())


def cost_tolerance(problem: AssignmentProblem) -> float:
    """By how much two right answers may differ: rounding at the scale of the problem's numbers."""
    largest = float(np.abs(problem.costs).max(initial=0.0))
    if problem.links is not None and problem.links.weights is not None:
        weights = np.abs(problem.links.weights)
        largest = max(largest, float(weights[np.isfinite(weights)].max(initial=0.0)))
    return 1e-8 * max(largest, 1e-300)


def check_assignment(problem: AssignmentProblem, answer: Assignment) -> None:
    """Every answer in a test ends here: feasible labels, the cost they really have, a bound below it."""
    tolerance = cost_tolerance(problem)
    assert answer.labels.dtype == np.int32
    assert answer.labels.shape == (problem.n_blocks,)
    assert problem.is_feasible(answer.labels)
    np.testing.assert_allclose(answer.cost, problem.cost_of(answer.labels), rtol=1e-9, atol=tolerance)
    assert answer.lower_bound <= answer.cost + tolerance
    if answer.proven:
        np.testing.assert_allclose(answer.lower_bound, answer.cost, rtol=1e-8, atol=tolerance)


def check_engine(engine: Engine, problem: AssignmentProblem, expected: float) -> None:
    """An engine proves the least cost, or refuses where it is infinite because no labels are feasible."""
    if np.isinf(expected):
        with pytest.raises(InfeasibleError):
            engine.solve(problem)
        return
    answer = engine.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven
    assert answer.engine == engine.name
    np.testing.assert_allclose(answer.cost, expected, rtol=1e-9, atol=cost_tolerance(problem))


def costs_of_all_labelings(problem, violation_cost=None):
    """Every labeling of a problem's blocks, and its sum of squares with broken soft links; infinite if forbidden."""
    labelings = all_labelings(problem.n_blocks, problem.n_clusters)
    mean = problem.mean - problem.weight @ problem.mean / problem.weight.sum()
    cost = np.full(len(labelings), problem.scatter.sum() + (problem.weight @ mean**2).sum())
    links = problem.conflicts
    if problem.has_soft_links:
        links = problem.links_at(violation_cost)
        cost += violation_cost * problem.constant_penalty
    if links is not None:
        for u, v, weight in zip(*links.edges, strict=True):
            together = labelings[:, u] == labelings[:, v]
            cost += np.where(together if weight > 0 else ~together, abs(weight), 0.0)
    for j in range(problem.n_clusters):
        inside = labelings == j
        weight, size = inside @ problem.weight, inside @ problem.demand
        cost -= ((inside @ (problem.weight[:, None] * mean)) ** 2).sum(axis=1) / np.where(weight > 0, weight, 1.0)
        is_allowed = inside.any(axis=1)
        if problem.size_min is not None:
            is_allowed &= size >= problem.size_min[j] - 1e-9
        if problem.size_max is not None:
            is_allowed &= size <= problem.size_max[j] + 1e-9
        if problem.resources is not None:
            held = inside @ problem.resources.added
            low, high = (bounds[j] for bounds in problem.resources.widened)
            is_allowed &= ((held >= low) & (held <= high)).all(axis=1)
        cost[~is_allowed] = np.inf
    return labelings, cost
