"""Engine for everything: the whole problem as one binary program in HiGHS, the last resort."""

from konstrain._messages import term
from konstrain.assignment.model import AssignmentModel, links_of
from konstrain.assignment.problem import Assignment, AssignmentProblem, infeasible_combination
from konstrain.exceptions import UndecidedError
from konstrain.stop import UNLIMITED, Budget

name = "milp"


def supports(problem: AssignmentProblem) -> bool:
    """Return True: everything is supported."""
    return True


def whole_model(problem: AssignmentProblem) -> AssignmentModel:
    """Return the whole problem as a binary program."""
    return AssignmentModel(problem.costs, links_of(problem.links), problem.rules_as_given)


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Solve the whole problem by HiGHS."""
    start = warm.labels if warm is not None and problem.is_feasible(warm.labels) else None
    solution = whole_model(problem).solve(budget=budget, start=start)
    if solution.status == "infeasible":
        raise infeasible_combination(problem)
    labels = solution.labels if solution.labels is not None else start
    if labels is None:
        raise UndecidedError(
            f"no assignment was found within the time limit, and none was ruled out; raise {term('time_limit')}"
        )
    cost = problem.cost_of(labels)
    return Assignment(
        labels=labels,
        cost=cost,
        lower_bound=solution.bound,
        proven=problem.closes_gap(cost, solution.bound),
        engine=name,
    )
