"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007).

The metric nearest to a given one, in the LogDet divergence, in which must-linked rows are near and cannot-linked
rows are far. What that means, the 5th and the 95th percentile of distances, is the paper's choice; links may be
missed at a price, gamma in the paper. The metric given is the Euclidean one, or the one that a clustering leads to
expect.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.link_metrics.evidence import Evidence, inverse

# Percentiles of the distances between rows that must-links are to stay below and cannot-links above.
NEAR_AND_FAR = (5, 95)
# Pairs of rows that the percentiles are read from.
N_PAIRS = 5000
# As in the authors' code.
MAX_SWEEPS, TOLERANCE = 1000, 1e-3


def itml(evidence: Evidence, *, slack_price: float) -> NDArray[np.float64]:
    """Return the metric as a matrix: the squared length of v is ``v @ metric @ v``.

    Parameters
    ----------
    evidence : Evidence
        Rows and links.
    slack_price : float
        What missing the length a link asks for costs; small values stay closer to what is expected.
    """
    metric = np.ascontiguousarray(inverse(evidence.expected_covariance))
    near, far = _near_and_far(evidence.rows, metric)
    if not 0 < near < far:
        return metric
    goals = np.where(evidence.is_short == 1, near, far)
    prices = slack_price * evidence.confidence
    _core.learn_by_projections(
        metric, evidence.differences, evidence.is_short, goals, prices, max_sweeps=MAX_SWEEPS, tolerance=TOLERANCE
    )
    # Rounding of the updates leaves traces of asymmetry.
    symmetric: NDArray[np.float64] = (metric + metric.T) / 2
    return symmetric


def _near_and_far(rows: NDArray[np.float64], metric: NDArray[np.float64]) -> NDArray[np.float64]:
    # Always the same pairs: the same rows and links give the same metric.
    first, second = np.random.default_rng(0).integers(len(rows), size=(2, N_PAIRS))
    differences = rows[first] - rows[second]
    squared = np.einsum("ij,ij->i", differences @ metric, differences)
    return np.percentile(squared[first != second], NEAR_AND_FAR) if (first != second).any() else np.zeros(2)
