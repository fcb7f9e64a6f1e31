"""Balanced assignment problems for timing, the same in every process that asks for them by name."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_FEATURES = 8


@dataclass(frozen=True)
class Case:
    """Gaussian points, as many of them as rows, and `n_clusters` of them as centers."""

    n_rows: int
    n_clusters: int
    # The integer flow solver needs minutes and gigabytes for the largest one.
    is_slow_for_peers: bool = False

    @property
    def name(self) -> str:
        """Rows x clusters."""
        return f"{self.n_rows}x{self.n_clusters}"

    def points(self) -> NDArray[np.float64]:
        """Rows to cluster."""
        return np.random.default_rng(self.n_rows).normal(size=(self.n_rows, N_FEATURES))

    def centers(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Random rows as first centers."""
        return points[np.random.default_rng(self.n_clusters).choice(self.n_rows, self.n_clusters, replace=False)]

    def costs(self) -> NDArray[np.float64]:
        """Squared distances to the first centers."""
        points = self.points()
        return squared_distances(points, self.centers(points))

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sizes that differ by at most one."""
        share = self.n_rows / self.n_clusters
        return np.full(self.n_clusters, np.floor(share)), np.full(self.n_clusters, np.ceil(share))


CASES = {
    case.name: case
    for case in (
        Case(10_000, 20),
        Case(23_000, 10),
        Case(10_000, 100),
        Case(5_000, 500),
        Case(100_000, 20),
        Case(1_000_000, 50, is_slow_for_peers=True),
    )
}


def squared_distances(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances, one row per point, computed in slices so that nothing else of that size is needed."""
    costs = np.empty((points.shape[0], centers.shape[0]))
    offset = (centers**2).sum(axis=1)
    for part in slices(points.shape[0]):
        rows = points[part]
        np.matmul(rows, -2.0 * centers.T, out=costs[part])
        costs[part] += (rows**2).sum(axis=1)[:, None] + offset
        np.maximum(costs[part], 0.0, out=costs[part])
    return costs


def slices(n_rows: int, length: int = 10_000) -> Iterator[slice]:
    """Cut a range into slices."""
    return (slice(start, start + length) for start in range(0, n_rows, length))
