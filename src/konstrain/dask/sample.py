"""A few of the rows on the client: what a start is searched in, and what tells how prices change."""

from dataclasses import dataclass

import numpy as np

from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import Rows
from konstrain.dask.prices import Bounds
from konstrain.dask.problem import RemoteProblem

# Rows of the sample: this share of all, within these limits, and no more numbers than that.
SHARE = 1 / 20
LEAST_ROWS = 20_000
MOST_NUMBERS = 20_000_000
MOST_COSTS = 5_000_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from all rows alike, and what share of the demand they are."""

    rows: Rows
    share: float

    @classmethod
    def draw(cls, partitions: Partitions, problem: RemoteProblem, seed: int) -> "Sample":
        """Draw rows by their numbers: the same ones however rows are cut into partitions."""
        n = problem.n_samples
        most = max(LEAST_ROWS, min(MOST_COSTS // problem.n_clusters, MOST_NUMBERS // partitions.source.n_features))
        size = int(min(n, max(LEAST_ROWS, min(SHARE * n, most))))
        rng = np.random.default_rng(seed)
        numbers = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False, shuffle=False))
        rows = partitions.rows_at(numbers.astype(np.int64))
        return cls(rows, float(rows.demands().sum()) / max(problem.overview.demand.total, 1e-300))

    def bounds_of(self, bounds: Bounds) -> Bounds:
        """Return the bounds of the sample."""
        return Bounds(np.floor(bounds.low * self.share), np.ceil(bounds.high * self.share))
