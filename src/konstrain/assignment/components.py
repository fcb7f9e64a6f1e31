"""Engine for cannot-links without sizes: lazy links, trees, cliques, branch and bound, HiGHS for what is left."""

from konstrain.assignment.linked import solve_without_sizes
from konstrain.assignment.problem import Assignment, AssignmentProblem

name = "components"


def supports(problem: AssignmentProblem) -> bool:
    """Hard links only, and no cluster has a size to keep."""
    return problem.has_links and problem.graph.is_hard and not problem.has_sizes


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, time_limit: float | None = None
) -> Assignment:
    """Solve the components of the broken links exactly until nothing is broken."""
    return solve_without_sizes(problem, time_limit, name)
