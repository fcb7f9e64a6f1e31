"""How far a cost may be above the best possible."""

import sys

import numpy as np


def relative_gap(lower_bound: float, upper_bound: float) -> float:
    """Return the distance of two bounds relative to the upper one; infinite while no upper bound is known."""
    if not np.isfinite(upper_bound):
        return float("inf")
    # Data that fit k points cost nothing: the smallest normal number keeps their gap at 0 instead of NaN.
    return float(max(0.0, upper_bound - lower_bound) / max(abs(upper_bound), sys.float_info.min))
