"""Metrics learned from links: evidence, and three published ways to learn from it, over features on one scale."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from konstrain import _core
from konstrain._memory import SAMPLE_ROWS
from konstrain._tolerances import LEAST_VARIANCE
from konstrain.constraints.inputs import Links

# Percentiles of the distances between rows that must-links are to stay below and cannot-links above (Davis et al.).
NEAR_AND_FAR: Final = (5, 95)
# As in the code of Davis et al.
MAX_SWEEPS: Final = 1000
TOLERANCE: Final = 1e-3


# Rows that the expected covariance counts as, in addition to the must-linked ones; larger: few links change less.
PRIOR_ROWS = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows, with each feature on one scale, and the links between them."""

    rows: NDArray[np.float64]  # (n_samples, n_features): the rows.
    # `must` and `cannot`: links with their confidences.
    must: Links
    cannot: Links
    # (n_samples,): a clustering; the covariance within its clusters is expected where links are silent.
    labels: NDArray[Any] | None = None

    @cached_property
    def is_short(self) -> NDArray[np.int8]:
        """1 for each must-link, then 0 for each cannot-link."""
        return np.repeat(np.array([1, 0], dtype=np.int8), [len(self.must.pairs), len(self.cannot.pairs)])

    @cached_property
    def differences(self) -> NDArray[np.float64]:
        """The difference of the rows of each link."""
        pairs = np.concatenate([self.must.pairs, self.cannot.pairs])
        return np.ascontiguousarray(self.rows[pairs[:, 0]] - self.rows[pairs[:, 1]])

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The confidence of each link; 1 for hard ones."""
        return np.concatenate(
            [part for links in (self.must, self.cannot) for part in (np.ones(len(links.hard)), links.confidence)]
        )

    @cached_property
    def expected_covariance(self) -> NDArray[np.float64]:
        """Covariance within the clusters of `labels`, shrunk as Ledoit and Wolf (2004) do; else the unit matrix."""
        if self.labels is None:
            return np.eye(self.rows.shape[1])
        # Imported here: it brings all of scikit-learn's linear models, and few fits learn a metric.
        from sklearn.covariance import ledoit_wolf

        deviations = _deviations(self.rows, np.unique(self.labels, return_inverse=True)[1])
        # With every row in a cluster of its own there is nothing to expect.
        covariance: NDArray[np.float64] = (
            ledoit_wolf(deviations, assume_centered=True)[0] if deviations.any() else np.eye(self.rows.shape[1])
        )
        return covariance

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance within must-linked rows, averaged with the expected one."""
        pairs, n = self.must.pairs, len(self.rows)
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        deviations = _deviations(self.rows, connected_components(graph, directed=False)[1])
        total = deviations.T @ deviations + PRIOR_ROWS * self.expected_covariance
        covariance: NDArray[np.float64] = total / (len(deviations) + PRIOR_ROWS)
        return covariance


def inverse(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert a covariance, with its smallest variances lifted to a share of the largest."""
    variances, directions = np.linalg.eigh(covariance)
    variances = np.maximum(variances, LEAST_VARIANCE * variances[-1])
    inverted: NDArray[np.float64] = (directions / variances) @ directions.T
    return inverted


def _deviations(rows: NDArray[np.float64], group_of: NDArray[Any]) -> NDArray[np.float64]:
    """How rows differ from the mean of their group, of those in groups of more than one.

    A group of m rows has m - 1 degrees of freedom: its deviations are scaled by the root of m / (m - 1), so that the
    mean of their squares is the variance.
    """
    sizes = np.bincount(group_of)
    chosen = np.flatnonzero(sizes[group_of] > 1)
    sums = np.zeros((sizes.size, rows.shape[1]))
    np.add.at(sums, group_of[chosen], rows[chosen])
    own = sizes[group_of[chosen]][:, None]
    deviations: NDArray[np.float64] = (rows[chosen] - sums[group_of[chosen]] / own) * np.sqrt(own / (own - 1))
    return deviations


def diagonal(evidence: Evidence) -> NDArray[np.float64]:
    """Return a weight per feature as a diagonal matrix: features that vary less among must-linked rows count more.

    Relevant component analysis without correlations; the update of Bilenko et al. (2004) for all clusters together.
    """
    variance = np.diag(evidence.covariance)
    return np.diag(1.0 / np.maximum(variance, LEAST_VARIANCE * variance.max()))


def rca(evidence: Evidence) -> NDArray[np.float64]:
    """Return the metric of relevant component analysis (Bar-Hillel, Hertz, Shental, Weinshall 2003) as a matrix.

    It is the inverse of the covariance within must-linked rows. With few links that is singular, and the paper
    reduces the dimension first; here it is averaged with what is expected (`Evidence.covariance`).
    """
    return inverse(evidence.covariance)


def itml(evidence: Evidence, *, slack_price: float) -> NDArray[np.float64]:
    """Return the metric as a matrix: the squared length of v is ``v @ metric @ v``.

    Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007): the metric nearest in the LogDet
    divergence to a given one, the Euclidean one or the one that a clustering suggests, in which must-linked rows are
    near and cannot-linked rows far. Missing the length of a link costs `slack_price` (gamma of the paper) per unit.
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
    first, second = np.random.default_rng(0).integers(len(rows), size=(2, SAMPLE_ROWS))
    differences = rows[first] - rows[second]
    squared = np.einsum("ij,ij->i", differences @ metric, differences)
    return np.percentile(squared[first != second], NEAR_AND_FAR) if (first != second).any() else np.zeros(2)
