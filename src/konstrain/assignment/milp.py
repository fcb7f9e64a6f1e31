"""Engine for everything: the whole problem as one binary program in HiGHS. The referee, and the last resort."""

import numpy as np

from konstrain.assignment.model import AssignmentModel, links_of
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import NO_DEADLINE, Deadline

name = "milp"


def supports(problem: AssignmentProblem) -> bool:
    """Everything is supported; nothing is fast."""
    return True


def whole_model(problem: AssignmentProblem) -> AssignmentModel:
    """Write the problem down as it stands."""
    low, high = problem.widened_bounds
    return AssignmentModel(
        costs=problem.costs,
        links=links_of(problem.links),
        demand=problem.demand,
        low=low if problem.has_sizes else None,
        high=high if problem.has_sizes else None,
        at_least=np.ones(problem.n_clusters) if problem.nonempty else None,
        resources=None if problem.resources is None else problem.resources.compared,
    )


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, deadline: Deadline = NO_DEADLINE
) -> Assignment:
    """Hand the whole problem to HiGHS."""
    start = warm.labels if warm is not None and problem.is_feasible(warm.labels) else None
    answer = whole_model(problem).solve(deadline=deadline, start=start)
    if answer.status == "infeasible":
        raise InfeasibleError(
            f"no assignment of {problem.n_blocks} blocks to {problem.n_clusters} clusters keeps all links and sizes",
            reason="combination",
        )
    labels = answer.labels if answer.labels is not None else start
    if labels is None:
        raise UndecidedError(
            "no assignment was found within the time limit, and none was ruled out; raise time_limit"
        )
    cost = problem.cost_of(labels)
    return Assignment(
        labels=labels,
        cost=cost,
        lower_bound=answer.bound,
        proven=problem.closes_gap(cost, answer.bound),
        engine=name,
    )
