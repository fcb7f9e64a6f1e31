"""What must hold: links, groups, labels and sizes, merged once into blocks and checked before any clustering."""

from konstrain.constraints.check import CheckResult, check
from konstrain.constraints.findings import Finding, MustLinkPath, SizeSums, UncolorableRows
from konstrain.constraints.pairs import (
    pairs_beyond_diameter,
    pairs_from_groups,
    pairs_from_labels,
    pairs_within_separation,
)
from konstrain.constraints.polygons import edges_from_polygons
from konstrain.constraints.problem import Problem

__all__ = [
    "CheckResult",
    "Finding",
    "MustLinkPath",
    "Problem",
    "SizeSums",
    "UncolorableRows",
    "check",
    "edges_from_polygons",
    "pairs_beyond_diameter",
    "pairs_from_groups",
    "pairs_from_labels",
    "pairs_within_separation",
]
