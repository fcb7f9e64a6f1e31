"""Which block goes to which cluster: one problem, several engines, each exact on what it supports."""

from typing import cast

from konstrain.assignment import linked, matching, milp, nearest, priced, transport
from konstrain.assignment.problem import Assignment, AssignmentProblem, Engine
from konstrain.assignment.rules import Rules
from konstrain.stop import UNLIMITED, Budget

# Former name of the rules.
Resources = Rules

__all__ = [
    "ENGINES",
    "Assignment",
    "AssignmentProblem",
    "Engine",
    "Resources",
    "Rules",
    "assign",
    "assign_by",
    "choose",
]

# Fastest first. Each engine proves its solution on what it supports; the last one supports everything.
ENGINES: tuple[Engine, ...] = cast("tuple[Engine, ...]", (nearest, transport, matching, linked, priced, milp))


def choose(problem: AssignmentProblem) -> Engine:
    """Return the fastest engine able to prove its solution."""
    return next(engine for engine in ENGINES if engine.supports(problem))


def assign(
    problem: AssignmentProblem, *, warm: Assignment | None = None, time_limit: float | None = None
) -> Assignment:
    """Solve an assignment problem with the fastest engine able to prove its solution.

    Parameters
    ----------
    problem : AssignmentProblem
        Costs, links, sizes.
    warm : Assignment or None
        The solution to a similar problem, such as the last k-means iteration's; makes this call faster and never
        changes its cost.
    time_limit : float or None
        Seconds after which the best solution so far is returned with its bound and ``proven=False``.

    Returns
    -------
    Assignment
        Labels with cost, lower bound and proof flag.

    Raises
    ------
    InfeasibleError
        When no labels satisfy links and sizes.
    UndecidedError
        When the time limit ended before any feasible labels were found.

    Examples
    --------
    >>> solution = assign(AssignmentProblem.checked([[0.0, 1.0], [2.0, 1.0]]))
    >>> solution.labels.tolist(), solution.cost, solution.proven
    ([0, 1], 1.0, True)
    """
    return assign_by(problem, warm=warm, budget=Budget(time_limit))


def assign_by(
    problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED
) -> Assignment:
    """Solve as `assign` does, within a budget that the caller shares with other work."""
    return choose(problem).solve(problem, warm=warm, budget=budget)
