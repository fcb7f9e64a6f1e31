"""CVQE (Davidson & Ravi 2005): broken links cost the distance of two centers, and all pairs of clusters are tried."""

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.baselines._base import LinkedRows
from konstrain.baselines._quantization import BaseQuantizer
from konstrain.kmeans import distances


class CVQE(BaseQuantizer):
    """CVQE: k-means with the constrained vector quantization error.

    A broken must-link costs half the squared distance of the two rows' centers, a broken cannot-link half the squared
    distance of the center to the nearest other one. The two rows of a broken link go to the pair of clusters at which
    distances and penalty are least, and the penalties pull centers towards each other [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: random rows, k-means++, given centers, or ``callable(X, n_clusters, random_state=...)``.
    n_init : int, default=1
        Number of runs from different seeds; the one with the least objective is kept.
    max_iter : int, default=300
        Most iterations of one run.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers with the pull of broken links, hence not quite the means; an empty cluster keeps its last center.
    objective_ : float
        Half the squared distances of rows to their centers, plus the penalties of broken links.
    inertia_ : float
        Squared distances of the rows to the means of their clusters.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links.

    Notes
    -----
    What the paper leaves open, and what we chose. Rows start at their nearest centers; then links are looked at in
    the order given, must-links before cannot-links, and only a link that is broken at that moment moves its rows, so
    that a row in several links ends where the last broken one put it. Penalties and pulls are those of the links that
    the final labels break. As in the paper's sums, a broken must-link pulls the center of its first row only. The
    objective may rise between iterations, for links are settled one by one; labels that no longer change end a run.

    References
    ----------
    .. [1] Davidson, Ravi (2005), "Clustering with Constraints: Feasibility Issues and the k-Means Algorithm", SDM.

    Examples
    --------
    >>> X = [[0.0], [1.0], [9.0], [10.0], [20.0], [21.0]]
    >>> model = CVQE(n_clusters=2, init=[[0.0], [12.0]]).fit(X, must_link=[(0, 1)], cannot_link=[(1, 2), (4, 5)])
    >>> model.labels_.tolist(), model.violations_
    ([0, 0, 1, 1, 1, 1], Violations(must_link=0, cannot_link=1))
    """

    def _settle(
        self, rows: LinkedRows, costs: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> None:
        separation = distances.block_costs(centers, None, centers)
        _core.cvqe_pass(costs, separation, rows.must.rows, rows.cannot.rows, labels)

    def _pulls(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        is_apart, is_together = rows.broken(labels)
        apart = rows.must.rows[is_apart]
        # With one cluster there is no other center to be pulled to.
        together = rows.cannot.rows[is_together & (rows.n_clusters > 1)]
        separation = distances.block_costs(centers, None, centers)
        np.fill_diagonal(separation, np.inf)
        shared = labels[together[:, 0]]
        cluster = np.concatenate([labels[apart[:, 0]], shared])
        target = np.concatenate([labels[apart[:, 1]], separation.argmin(axis=1)[shared]])
        return cluster, centers[target], np.ones(cluster.size)
