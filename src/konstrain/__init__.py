"""Clustering that keeps its promises: k-means under links, sizes and demand, solved exactly and explained."""

from importlib.metadata import version

from konstrain.assignment import Assignment, AssignmentProblem, assign
from konstrain.constraints import (
    CheckResult,
    Problem,
    check,
    pairs_beyond_diameter,
    pairs_from_groups,
    pairs_from_labels,
    pairs_within_separation,
)
from konstrain.estimators import (
    BCKMeans,
    BLPKMeans,
    ConstrainedKMeans,
    ExactKMeans,
    LagrangianKMeans,
    MatchingKMeans,
)
from konstrain.exact.certify import Certificate, lower_bound
from konstrain.exceptions import DeadEndError, InfeasibleError, NotProvenWarning, UndecidedError
from konstrain.metrics import Violations, count_violations

__version__ = version("konstrain")

__all__ = [
    "Assignment",
    "AssignmentProblem",
    "BCKMeans",
    "BLPKMeans",
    "Certificate",
    "CheckResult",
    "ConstrainedKMeans",
    "DeadEndError",
    "ExactKMeans",
    "InfeasibleError",
    "LagrangianKMeans",
    "MatchingKMeans",
    "NotProvenWarning",
    "Problem",
    "UndecidedError",
    "Violations",
    "assign",
    "check",
    "count_violations",
    "lower_bound",
    "pairs_beyond_diameter",
    "pairs_from_groups",
    "pairs_from_labels",
    "pairs_within_separation",
]
