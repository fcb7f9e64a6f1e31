"""Engine for cannot-links that form disjoint cliques: each clique is matched to distinct clusters."""

from konstrain.assignment.linked import match_cliques
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.stop import UNLIMITED, Budget

name = "matching"


def supports(problem: AssignmentProblem) -> bool:
    """Every group of linked blocks is a clique of hard links, and no cluster has a size to keep."""
    if problem.has_sizes or problem.has_resources or not problem.has_links:
        return False
    return problem.graph.is_hard and problem.graph.is_disjoint_cliques


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Send free blocks to their cheapest cluster and match each clique at least total cost."""
    solution = match_cliques(problem)
    return Assignment(solution.labels, solution.cost, lower_bound=solution.bound, proven=True, engine=name)
