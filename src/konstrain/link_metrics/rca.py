"""Relevant component analysis (Bar-Hillel, Hertz, Shental, Weinshall 2003): what varies within blocks counts less.

The metric is the inverse of the covariance within must-linked rows. With few links that is singular, and the paper
reduces the dimension first; we average it with what is expected (`Evidence.covariance`).
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.link_metrics.evidence import Evidence, inverse


def rca(evidence: Evidence) -> NDArray[np.float64]:
    """Return the metric as a matrix."""
    return inverse(evidence.covariance)
