"""Which block goes to which cluster: one question, several engines, each exact on what it supports."""

from konstrain.assignment.engines import ENGINES, assign, assign_by, choose
from konstrain.assignment.problem import Assignment, AssignmentProblem, Engine
from konstrain.assignment.resources import Resources

__all__ = ["ENGINES", "Assignment", "AssignmentProblem", "Engine", "Resources", "assign", "assign_by", "choose"]
