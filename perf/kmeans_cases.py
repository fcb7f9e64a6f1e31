"""Rows, starting centers and sizes of the k-means comparisons, the same in every process."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SizedCase:
    """Gaussian blobs with bounds on the cluster sizes."""

    name: str
    n_rows: int
    n_features: int
    n_clusters: int
    size_min: int
    size_max: int

    def rows(self) -> np.ndarray:
        """Overlapping blobs of unequal sizes, so that the bounds bind."""
        rng = np.random.default_rng(0)
        share = rng.dirichlet(np.full(self.n_clusters, 2.0))
        label = rng.choice(self.n_clusters, self.n_rows, p=share)
        return 2.0 * rng.normal(size=(self.n_clusters, self.n_features))[label] + rng.normal(
            size=(self.n_rows, self.n_features)
        )

    def start(self, rows: np.ndarray) -> np.ndarray:
        """Return distinct rows as first centers."""
        return rows[np.random.default_rng(1).choice(len(rows), self.n_clusters, replace=False)]


CASES = {
    case.name: case
    for case in (
        SizedCase("23000x50, k=10", 23_000, 50, 10, 1_150, 4_600),
        SizedCase("10000x2, k=100", 10_000, 2, 100, 100, 100),
        SizedCase("5000x10, k=20", 5_000, 10, 20, 250, 250),
    )
}
