"""Rows, starting centers and sizes of the k-means comparisons, the same in every process."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class SizedCase:
    """Gaussian blobs with bounds on the cluster sizes."""

    n_rows: int
    n_features: int
    n_clusters: int
    size_min: int
    size_max: int
    spread: float
    # How many times as many rows the largest blob has as the smallest; None: drawn at random.
    true_ratio: float | None = None
    seed: int = 0

    @property
    def family(self) -> str:
        """What all seeds share."""
        sizes = f"{self.size_min}..{self.size_max}" if self.size_min < self.size_max else "balanced"
        blobs = "" if self.true_ratio is None else f", blobs up to {self.true_ratio:g}-fold"
        return f"{self.n_rows}x{self.n_features}, k={self.n_clusters}, {sizes}, spread {self.spread:g}{blobs}"

    @property
    def name(self) -> str:
        """Name of the case on the command line of a peer."""
        return f"{self.family}, seed {self.seed}"

    def rows(self) -> np.ndarray:
        """Overlapping blobs of unequal sizes, so that the bounds bind."""
        rng = np.random.default_rng(self.seed)
        share = rng.dirichlet(np.full(self.n_clusters, 2.0))
        if self.true_ratio is not None:
            share = np.geomspace(1.0, self.true_ratio, self.n_clusters)
            share /= share.sum()
        label = rng.choice(self.n_clusters, self.n_rows, p=share)
        return self.spread * rng.normal(size=(self.n_clusters, self.n_features))[label] + rng.normal(
            size=(self.n_rows, self.n_features)
        )

    def start(self, rows: np.ndarray) -> np.ndarray:
        """Return distinct rows as first centers."""
        return rows[np.random.default_rng(1).choice(len(rows), self.n_clusters, replace=False)]


# From blobs that can hardly be told apart to blobs that lie far apart.
SPREADS = (0.15, 0.3, 0.5, 1.0, 2.0)
SEEDS = range(3)
FAMILIES = (
    *(SizedCase(23_000, 50, 10, 1_150, 4_600, spread) for spread in SPREADS),
    SizedCase(10_000, 2, 100, 100, 100, 2.0),
    SizedCase(5_000, 10, 20, 250, 250, 2.0),
)
# Bounds that the blobs themselves break.
BINDING = tuple(SizedCase(23_000, 50, 10, 1_150, 4_600, spread, 20.0) for spread in (0.3, 1.0))
CASES = {case.name: case for family in FAMILIES + BINDING for case in (replace(family, seed=seed) for seed in SEEDS)}
