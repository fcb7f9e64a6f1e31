"""CVQE (Davidson and Ravi 2005) and LCVQE (Pelleg and Baras 2007): broken links pull centers."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.baselines._base import BaseCenterClusterer, LinkedRows, RowClustering
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances


@estimator
class BaseQuantizer(BaseCenterClusterer):
    """Base of CVQE and LCVQE: a subclass resolves links, their penalties and their pull on centers.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers with the pull of broken links, hence not quite the means; an empty cluster keeps its last center.
    objective_ : float
        Half the squared distances of rows to their centers, plus the penalties of broken links.
    """

    @abstractmethod
    def _resolve(
        self, rows: LinkedRows, costs: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> None:
        """Change the labels of rows whose links are broken, in place."""

    @abstractmethod
    def _pulls(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return what broken links pull: clusters, the points they are pulled to, and how strongly."""

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        return lambda seed: self._run(rows, seed)

    def _run(self, rows: LinkedRows, seed: int) -> RowClustering:
        centers = self._start(rows, seed)
        labels = np.full(rows.n_samples, -1, dtype=np.int32)
        converged, n_iter = False, 0
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            before, labels = labels, self._assign(rows, centers)
            converged = np.array_equal(labels, before)
            centers = self._pulled_centers(rows, labels, centers)
        return RowClustering(labels, self._objective(rows, labels, centers), n_iter, converged, centers)

    def _assign(self, rows: LinkedRows, centers: NDArray[np.float64]) -> NDArray[np.int32]:
        costs = distances.block_costs(rows.X, None, centers, n_threads=rows.n_threads)
        labels: NDArray[np.int32] = costs.argmin(axis=1).astype(np.int32)
        if rows.n_clusters > 1:
            self._resolve(rows, costs, centers, labels)
        return labels

    def _pulled_centers(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weighted means of the clusters' rows and of the points that broken links pull to."""
        sums, weights = distances.center_sums(rows.X, None, labels, rows.n_clusters, n_threads=rows.n_threads)
        cluster, points, strength = self._pulls(rows, labels, centers)
        np.add.at(sums, cluster, strength[:, None] * points)
        np.add.at(weights, cluster, strength)
        moved = centers.copy()
        moved[weights > 0] = sums[weights > 0] / weights[weights > 0, None]
        return moved

    def _objective(self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """Half the squared distances of rows to their centers and of pulled centers to what pulls them."""
        cluster, points, strength = self._pulls(rows, labels, centers)
        pulled = float(strength @ ((centers[cluster] - points) ** 2).sum(axis=1))
        return 0.5 * (distances.own_costs(rows.X, None, labels, centers) + pulled)


@estimator
class CVQE(BaseQuantizer):
    """CVQE: k-means with the constrained vector quantization error.

    A broken must-link costs half the squared distance of the two rows' centers, a broken cannot-link half the squared
    distance of the center to the nearest other one. The two rows of a broken link go to the pair of clusters at which
    distances and penalty are least, and the penalties pull centers towards each other [1]_.

    Notes
    -----
    What the paper leaves open, and what we chose. Rows start at their nearest centers; then links are looked at in
    the order given, must-links before cannot-links, and only a link that is broken at that moment moves its rows, so
    that a row in several links ends where the last broken one put it. Penalties and pulls are those of the links that
    the final labels break. As in the paper's sums, a broken must-link pulls the center of its first row only. The
    objective may rise between iterations, for links are resolved one by one; labels that no longer change end a run.

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

    def _resolve(
        self, rows: LinkedRows, costs: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> None:
        separation = distances.block_costs(centers, None, centers)
        _core.cvqe_pass(costs, separation, rows.must.rows, rows.cannot.rows, labels)

    def _pulls(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        apart, together = _pulling_links(rows, labels)
        separation = distances.block_costs(centers, None, centers)
        np.fill_diagonal(separation, np.inf)
        shared = labels[together[:, 0]]
        cluster = np.concatenate([labels[apart[:, 0]], shared])
        target = np.concatenate([labels[apart[:, 1]], separation.argmin(axis=1)[shared]])
        return cluster, centers[target], np.ones(cluster.size)


@estimator
class LCVQE(BaseQuantizer):
    """LCVQE: CVQE made linear in the number of clusters, with penalties by the distances of rows.

    A broken must-link stays, or one row joins the other; a broken cannot-link stays, or one row goes to its next
    nearest center: whatever costs least. A must-link that stays broken costs a quarter of the squared distances of
    its rows to each other's centers, a broken cannot-link half that of its outer row to its next nearest center, and
    these centers are pulled to these rows [1]_.

    Notes
    -----
    What the paper leaves open, and what we chose. Links are looked at in the order given, must-links before
    cannot-links, and only those broken at that moment. For a cannot-link descriptions of the method differ in whether
    only the row further from the center may leave; here either may. Penalties and pulls are those of the links that
    the final labels break; the outer row of a broken cannot-link is the one further from the common center. The
    objective may rise between iterations, for links are resolved one by one; labels that no longer change end a run.

    References
    ----------
    .. [1] Pelleg, Baras (2007), "K-Means with Large and Noisy Constraint Sets", ECML.

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> model = LCVQE(n_clusters=2, init=[[0.0], [6.0]]).fit(X, cannot_link=[(2, 3)])
    >>> model.labels_.tolist(), model.n_violations_
    ([0, 0, 0, 1], 0)
    """

    def _resolve(
        self, rows: LinkedRows, costs: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> None:
        _core.lcvqe_pass(costs, rows.must.rows, rows.cannot.rows, labels)

    def _pulls(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        apart, together = _pulling_links(rows, labels)
        outer, next_nearest = _outer_rows(rows, together, labels, centers)
        pulling = np.concatenate([apart[:, 1], apart[:, 0], outer])
        cluster = np.concatenate([labels[apart[:, 0]], labels[apart[:, 1]], next_nearest])
        strength = np.concatenate([np.full(apart.size, 0.5), np.ones(outer.size)])
        return cluster, rows.points(pulling), strength


def _pulling_links(rows: LinkedRows, labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the broken must-links and cannot-links; with one cluster there is no other center to be pulled to."""
    is_apart, is_together = rows.broken(labels)
    return rows.must.rows[is_apart], rows.cannot.rows[is_together & (rows.n_clusters > 1)]


def _outer_rows(
    rows: LinkedRows, together: NDArray[np.int32], labels: NDArray[np.int32], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the row further from the common center of each broken cannot-link, and its next nearest center."""
    if not together.size:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    first, second = (distances.block_costs(rows.X[together[:, side]], None, centers) for side in (0, 1))
    shared = labels[together[:, 0]]
    at = np.arange(shared.size)
    is_first = first[at, shared] >= second[at, shared]
    costs = np.where(is_first[:, None], first, second)
    costs[at, shared] = np.inf
    return np.where(is_first, together[:, 0], together[:, 1]), costs.argmin(axis=1).astype(np.int32)
