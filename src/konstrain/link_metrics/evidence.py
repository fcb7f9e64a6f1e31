"""What links say about distances: differences that should be short or long, and rows that belong together."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from konstrain.constraints.inputs import Links

# What is expected of the covariance within clusters counts as this many rows beside the must-linked ones, so that few
# links bend the metric a little only.
PRIOR_ROWS = 20
# Directions in which rows of a cluster do not differ at all would count without limit.
LEAST_VARIANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows, with each feature on one scale, and the links between them.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_samples, n_features)
        The rows.
    must, cannot : Links
        Links with their confidences.
    labels : ndarray of shape (n_samples,), optional
        A clustering; how rows vary within its clusters is what is expected where links say nothing.
    """

    rows: NDArray[np.float64]
    must: Links
    cannot: Links
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
    inverted: NDArray[np.float64] = (
        directions / np.maximum(variances, LEAST_VARIANCE * variances[-1])
    ) @ directions.T
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
