"""Engine for rules, with links or without: duals, labels at reduced costs, repair, and HiGHS for what stays open.

Every rule has a dual price per cluster (`search.py`). The duals prove a bound, repair makes labels that keep all
rules; where the two differ, variables are fixed by their reduced costs and HiGHS solves the rest (`reduced.py`).
"""

import numpy as np

from konstrain._messages import term
from konstrain.assignment.priced.reduced import close
from konstrain.assignment.priced.search import PricedSearch, bound_at, duals_of
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import UNLIMITED, Budget

__all__ = ["PricedSearch", "bound_at", "duals_of", "name", "solve", "supports"]

name = "priced"


def supports(problem: AssignmentProblem) -> bool:
    """Whatever bounds a sum; the engines before this one take the easier cases."""
    return problem.has_sizes or problem.has_resources


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Search duals and labels, and close the gap between them."""
    refuse_impossible_sizes(problem)
    if problem.resources is not None:
        problem.resources.refuse_impossible()
    search = PricedSearch(problem, budget)
    try:
        search.run(warm)
        bound = close(search)
    except UndecidedError:
        if search.labels is None:
            raise
        bound = search.bound
    if search.labels is None:
        raise UndecidedError(
            "no assignment that keeps all sizes, resources and shares was found within the time limit, and none was "
            f"ruled out; raise {term('time_limit')}"
        )
    return Assignment(
        labels=search.labels,
        cost=search.cost,
        lower_bound=min(bound, search.cost),
        proven=problem.closes_gap(search.cost, bound),
        engine=name,
        prices=search.prices,
    )


def refuse_impossible_sizes(problem: AssignmentProblem) -> None:
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
    raise InfeasibleError(f"{message}; relax {term('size_min')} or {term('size_max')}", reason=reason, witness=sums)
