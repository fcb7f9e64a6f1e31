"""Methods side by side on one problem; problems, measures and records, which the papers' experiments share."""

from konstrain.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
