"""Which block goes to which cluster: one problem, several engines, each exact on what it supports."""

from konstrain.assignment.engines import ENGINES, assign, assign_by, choose
from konstrain.assignment.problem import Assignment, AssignmentProblem, Engine
from konstrain.assignment.rules import Rules

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
