"""Which block goes to which cluster: one problem, several engines, each exact on what it supports."""

from typing import cast

from konstrain.assignment import linked, matching, milp, nearest, priced, transport
from konstrain.assignment.problem import Assignment, AssignmentProblem, Engine
from konstrain.assignment.rules import Rules
from konstrain.stop import UNLIMITED, Budget

# The name that rules had when sizes were none.
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

# Cheapest first. Each engine proves its answer on what it supports; the last one supports everything.
ENGINES: tuple[Engine, ...] = cast("tuple[Engine, ...]", (nearest, transport, matching, linked, priced, milp))


def choose(problem: AssignmentProblem) -> Engine:
    """Return the cheapest engine able to prove its answer."""
    return next(engine for engine in ENGINES if engine.supports(problem))


def assign(
    problem: AssignmentProblem, *, warm: Assignment | None = None, time_limit: float | None = None
) -> Assignment:
    """Solve an assignment problem with the cheapest engine able to prove its answer.

    Parameters
    ----------
    problem : AssignmentProblem
        Costs, links, sizes.
    warm : Assignment or None
        The answer to a similar problem, such as the last k-means iteration's; makes this call faster and never
        changes its cost.
    time_limit : float or None
        Seconds after which the best answer so far is returned with its bound and ``proven=False``.

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
    >>> answer = assign(AssignmentProblem.checked([[0.0, 1.0], [2.0, 1.0]]))
    >>> answer.labels.tolist(), answer.cost, answer.proven
    ([0, 1], 1.0, True)
    """
    return assign_by(problem, warm=warm, budget=Budget(time_limit))


def assign_by(
    problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED
) -> Assignment:
    """Solve as `assign` does, within a budget that the caller shares with other work."""
    return choose(problem).solve(problem, warm=warm, budget=budget)
