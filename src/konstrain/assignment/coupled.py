"""Engine for sizes together with links and unequal demand: prices, then a core that HiGHS proves.

The prices of `lagrangian` give a bound and, by repair, labels; what a block would lose by another cluster at these
prices (its regret) tells which choices can matter at all. A first small core improves the labels, a second one holds
every choice that could still be part of something better, so its optimum is the optimum.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.decided import Undecided
from konstrain.assignment.lagrangian import Lagrangian
from konstrain.assignment.mend import can_exchange, exchange_blocks
from konstrain.assignment.narrow import WIDEN, Look, Narrowed, broken_links, is_large
from konstrain.assignment.problem import Assignment, AssignmentProblem, start_prices
from konstrain.assignment.prove import prove
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import NO_DEADLINE, Deadline

name = "coupled"

# How often what is left of a large problem is chosen anew, by the prices that the last choice led to.
LOOKS = 8


def supports(problem: AssignmentProblem) -> bool:
    """Whatever has sizes; the engines before this one take the easier cases."""
    return problem.has_sizes and not problem.has_resources


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, deadline: Deadline = NO_DEADLINE
) -> Assignment:
    """Bound by prices, repair, and prove with a core; of a large problem only what prices do not decide."""
    refuse_impossible_sums(problem)
    start = start_prices(problem, warm)
    return _solve_narrowed(problem, start, deadline) or _solve_whole(problem, warm, start, deadline)


def _solve_narrowed(
    problem: AssignmentProblem, start: NDArray[np.float64] | None, deadline: Deadline
) -> Assignment | None:
    """Leave out what prices decide, and look again at the prices and labels reached; None when that leads nowhere."""
    if not is_large(problem):
        return None
    whole = Lagrangian(problem, deadline)
    prices = np.zeros(problem.n_clusters) if start is None else start
    is_taken = np.zeros(problem.graph.n_edges, dtype=bool)
    width = 1.0
    for n_looks in range(LOOKS):
        look = Look.at(problem, prices)
        if not look.is_balanced:
            look = Look.at(problem, whole.prices_without_links(prices))
        part = Narrowed.of(look, is_taken, width)
        if part is None or deadline.expired():
            return None
        search = Lagrangian(part.problem, deadline)
        search.alternate(part.prices)
        is_far = search.cost - search.bound > part.rise(part.prices)
        if search.labels is None or search.best is None or is_far:
            # The gap is wider than what tells apart who is left out: the next look would see the same.
            prices, width = part.prices, WIDEN * width
            continue
        is_broken = broken_links(problem, part.joined(search.labels)) & ~part.is_taken
        if search.cost - search.bound < part.rise(search.best.prices) and not is_broken.any():
            bound = _finish(search)
            # Labels that move a block which was left out cost at least as much as its move adds to the bound.
            bound = min(bound, search.bound + part.rise(search.best.prices))
            whole.offer(part.joined(search.labels))
            # Judged by the part, which is stricter and takes no pass over all costs.
            is_proven = part.problem.closes_gap(search.cost, bound)
            if whole.labels is not None and (is_proven or deadline.expired() or deadline.is_brief):
                return _answer(whole, part.cost + bound, search.best.prices, is_proven)
            is_broken = broken_links(problem, part.joined(search.labels))
        if n_looks > 0 and not is_broken.any():
            width *= WIDEN  # prices that are as good, but far apart, would take turns
        prices, is_taken = search.best.prices, part.is_taken | is_broken
    return None


def _solve_whole(
    problem: AssignmentProblem, warm: Assignment | None, start: NDArray[np.float64] | None, deadline: Deadline
) -> Assignment:
    search = Lagrangian(problem, deadline)
    if warm is not None and warm.labels.shape == (problem.n_blocks,):
        # At other centers sizes and links are the same: labels that kept them still do.
        search.offer(warm.labels)
    try:
        search.run(start)
        bound = _finish(search)
    except UndecidedError:
        if search.labels is None:
            raise
        bound = search.bound
    prices = None if search.best is None else search.best.prices
    return _answer(search, bound, prices, search.problem.closes_gap(search.cost, bound))


def _finish(search: Lagrangian) -> float:
    """Close what gap is left, among the blocks that are still undecided; returns the best bound reached."""
    remaining = None if search.is_closed() else Undecided.of(search)
    if remaining is None:
        return _close(search)
    inner = remaining.searched_from(search)
    known, bound = search.cost, remaining.cost + _close(inner)
    assert inner.labels is not None
    search.offer(remaining.joined(inner.labels))
    # What was left out costs at least as much as the labels known then.
    return max(search.bound, min(bound, known))


def _close(search: Lagrangian) -> float:
    are_exchanged = not search.is_mostly_free and can_exchange(search.problem)
    if are_exchanged and search.deadline.is_brief:
        assert search.best is not None
        search.repair(search.best)
        if _exchange(search):
            # Better prices, or a core, take ten times as long, and find little that exchanges do not.
            return search.bound
    search.climb()
    if search.is_closed():
        return search.bound
    if are_exchanged and _exchange(search) and search.deadline.is_brief:
        return search.bound
    return prove(search)


def _exchange(search: Lagrangian) -> bool:
    """Make the labels known cheaper by exchanges; False when there are none."""
    if search.labels is None:
        return False
    search.offer(exchange_blocks(search.problem, search.labels))
    return True


def _answer(search: Lagrangian, bound: float, prices: NDArray[np.float64] | None, is_proven: bool) -> Assignment:
    if search.labels is None:
        raise UndecidedError(
            "no assignment within the size bounds was found within the time limit, and none was ruled out; "
            "raise time_limit"
        )
    return Assignment(
        labels=search.labels,
        cost=search.cost,
        lower_bound=min(bound, search.cost),
        proven=is_proven,
        engine=name,
        prices=prices,
    )


def refuse_impossible_sums(problem: AssignmentProblem) -> None:
    """Raise when the sizes cannot add up, whatever the labels."""
    low, high = problem.widened_bounds
    total = problem.total_demand
    slack = problem.demand_rounding * total
    sums = {"sum_min": float(low.sum()), "sum_max": float(high.sum()), "total": total}
    reason = "sizes" if problem.demand is None else "demand"
    crossed = np.flatnonzero(low > high)
    if crossed.size:
        j = int(crossed[0])
        message = f"cluster {j} must hold at least {low[j]:g}, but at most {high[j]:g} of a total of {total:g} fit"
    elif sums["sum_min"] > total + slack:
        message = f"the smallest sizes add up to {sums['sum_min']:g}, but the total demand is {total:g}"
    elif sums["sum_max"] < total - slack:
        message = f"the largest sizes add up to {sums['sum_max']:g}, but the total demand is {total:g}"
    elif problem.nonempty and problem.n_blocks < problem.n_clusters:
        message = f"{problem.n_clusters} clusters cannot all be non-empty with {problem.n_blocks} blocks"
        reason = "non-empty"
    else:
        return
    raise InfeasibleError(f"{message}; relax size_min or size_max", reason=reason, witness=sums)
