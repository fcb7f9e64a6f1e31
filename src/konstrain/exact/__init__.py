"""Exact minimum-sum-of-squares clustering: lower bounds and what they are made of."""

from konstrain.exact.cluster_constraints import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    MaxDifference,
    MaxOverlap,
    MaxSize,
    MaxSoftViolations,
    alternative_to,
)
from konstrain.exact.column_generation import ColumnGenerationBound, ColumnGenerationResult

__all__ = [
    "AllOf",
    "AnyOf",
    "ClusterConstraint",
    "ColumnGenerationBound",
    "ColumnGenerationResult",
    "MaxDifference",
    "MaxOverlap",
    "MaxSize",
    "MaxSoftViolations",
    "alternative_to",
]
