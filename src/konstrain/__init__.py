"""Clustering that keeps its promises: k-means under links, sizes and demand, solved exactly and explained."""

from importlib.metadata import version

from konstrain.assignment import Assignment, AssignmentProblem, assign
from konstrain.exceptions import InfeasibleError, NotProvenWarning, UndecidedError

__version__ = version("konstrain")

__all__ = [
    "Assignment",
    "AssignmentProblem",
    "InfeasibleError",
    "NotProvenWarning",
    "UndecidedError",
    "assign",
]
