"""Engine for soft links without sizes: a link may break at a price, hard cannot-links may stand beside."""

from konstrain.assignment.linked import solve_without_sizes
from konstrain.assignment.problem import Assignment, AssignmentProblem

name = "soft"


def supports(problem: AssignmentProblem) -> bool:
    """Any links, and no cluster has a size to keep."""
    return problem.has_links and not problem.has_sizes


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, time_limit: float | None = None
) -> Assignment:
    """Run the same lazy search as `components`: leaving a penalty out is a relaxation too."""
    return solve_without_sizes(problem, time_limit, name)
