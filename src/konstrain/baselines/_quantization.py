"""The loop of CVQE and LCVQE: nearest centers, broken links settled one by one, centers pulled by the rest."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from konstrain.baselines._base import BaseCenterClusterer, LinkedRows, RowClustering
from konstrain.kmeans import distances


class BaseQuantizer(BaseCenterClusterer):
    """Base of CVQE and LCVQE: a subclass settles links, says what broken ones cost, and how they pull centers."""

    @abstractmethod
    def _settle(
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
            self._settle(rows, costs, centers, labels)
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
