"""Engine for rules, with links or without: duals, labels at reduced costs, repair, and HiGHS for what stays open.

Every rule has a dual per cluster (`search.py`). The duals prove a bound, repair makes labels that keep all rules;
where the two differ, variables are fixed by their reduced costs and HiGHS solves the rest (`reduced.py`).
"""

from konstrain._messages import term
from konstrain.assignment.priced.reduced import close
from konstrain.assignment.priced.search import PricedSearch, bound_at, duals_of
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.assignment.rules import refuse_bounds
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import UNLIMITED, Budget

__all__ = ["PricedSearch", "bound_at", "duals_of", "name", "solve", "supports"]

name = "priced"


def supports(problem: AssignmentProblem) -> bool:
    """Whatever bounds a sum; the engines before this one take the easier cases."""
    return problem.has_sizes or problem.has_resources


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Search duals and labels, and close the gap between them."""
    _refuse_impossible(problem)
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


def _refuse_impossible(problem: AssignmentProblem) -> None:
    """Raise when sizes or rules cannot add up, whatever the labels."""
    total, reason = problem.total_demand, "sizes" if problem.demand is None else "demand"
    refuse_bounds(*problem.widened_bounds, total, problem.demand_rounding * total, " of demand", reason)
    if problem.nonempty and problem.n_blocks < problem.n_clusters:
        message = f"{problem.n_clusters} clusters cannot all be non-empty with {problem.n_blocks} blocks"
        raise InfeasibleError(f"{message}; lower {term('n_clusters')}", reason="non-empty")
    if problem.resources is not None:
        problem.resources.refuse_impossible()
