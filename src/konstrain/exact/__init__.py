"""Exact minimum-sum-of-squares clustering: lower bounds, and the search tree that turns them into proofs."""

from konstrain.exact.columns.cluster_constraints import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    MaxDifference,
    MaxOverlap,
    MaxSize,
    MaxSoftViolations,
    alternative_to,
)
from konstrain.exact.columns.generation import ColumnGenerationBound, ColumnGenerationResult
from konstrain.exact.sdp.bound import SdpBound, SdpResult

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
    "SdpBound",
    "SdpResult",
    "alternative_to",
]
