"""Engine for counts per category: every block is of one category at most, and clusters bound how many they hold.

Categories then share nothing: each is a transportation problem of its own, and their answers together are the answer.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import transport
from konstrain.assignment.problem import Assignment, AssignmentProblem, only_prices
from konstrain.assignment.resources import Resources
from konstrain.stop import NO_DEADLINE, Deadline

name = "disjoint"


def supports(problem: AssignmentProblem) -> bool:
    """Nothing but bounds on amounts of which every block has one at most, all blocks of a category the same."""
    if problem.resources is None or not problem.has_resources or problem.has_links or problem.has_sizes:
        return False
    return _are_disjoint(problem.resources)


def _are_disjoint(asked: Resources) -> bool:
    amounts = asked.amounts
    if not np.array_equal(asked.rules, np.eye(amounts.shape[1])) or (np.count_nonzero(amounts, axis=1) > 1).any():
        return False
    least = np.where(amounts > 0, amounts, np.inf).min(axis=0, initial=np.inf)
    return bool((amounts >= 0).all() and ((amounts == 0) | (amounts == least)).all())


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, deadline: Deadline = NO_DEADLINE
) -> Assignment:
    """Place each category by transport, and blocks without one in their cheapest clusters.

    Raises
    ------
    InfeasibleError
        When the bounds of some category cannot add up to its blocks.
    """
    assert problem.resources is not None
    amounts = problem.resources.amounts
    labels: NDArray[np.int32] = problem.costs.argmin(axis=1).astype(np.int32)
    prices = np.zeros((problem.n_clusters, amounts.shape[1]))
    bound = float(problem.least_costs[~amounts.any(axis=1)].sum())
    proven = True
    start = (
        warm.prices if warm is not None and warm.prices is not None and warm.prices.shape == prices.shape else None
    )
    for r in range(amounts.shape[1]):
        blocks = np.flatnonzero(amounts[:, r])
        part = AssignmentProblem(
            np.ascontiguousarray(problem.costs[blocks]),
            demand=np.ascontiguousarray(amounts[blocks, r]),
            size_min=problem.resources.low[:, r],
            size_max=problem.resources.high[:, r],
        )
        answer = transport.solve(part, warm=only_prices(None if start is None else start[:, r]), deadline=deadline)
        labels[blocks] = answer.labels
        bound += answer.lower_bound
        proven &= answer.proven
        if answer.prices is not None:
            prices[:, r] = answer.prices
    return Assignment(labels, problem.cost_of(labels), bound, proven, name, prices)
