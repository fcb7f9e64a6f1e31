"""Engine for problems without links and sizes: every block to its cheapest cluster."""

from konstrain import _core
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.stop import UNLIMITED, Budget

name = "nearest"


def supports(problem: AssignmentProblem) -> bool:
    """Nothing couples the blocks."""
    return not (problem.has_links or problem.has_sizes or problem.has_resources)


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Take the first of the cheapest clusters of each block."""
    labels, cost = _core.nearest(problem.costs)
    return Assignment(labels=labels, cost=cost, lower_bound=cost, proven=True, engine=name)
