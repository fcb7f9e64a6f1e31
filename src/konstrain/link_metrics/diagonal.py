"""A weight per feature: the less a feature varies among must-linked rows, the more it counts.

Relevant component analysis without correlations; the update of Bilenko et al. (2004) for all clusters together.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.link_metrics.evidence import LEAST_VARIANCE, Evidence


def diagonal(evidence: Evidence) -> NDArray[np.float64]:
    """Return the metric as a matrix, zero but for its diagonal."""
    variance = np.diag(evidence.covariance)
    return np.diag(1.0 / np.maximum(variance, LEAST_VARIANCE * variance.max()))
