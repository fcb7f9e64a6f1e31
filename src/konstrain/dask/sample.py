"""A few of the rows on the client: what a start is searched in, and what tells how prices change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import Rows
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

    def constraints_of(self, problem: RemoteProblem) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the bounds of the sample, as parameters of an estimator, and what they are about, for its `fit`."""
        low, high, demand = problem.size_min, problem.size_max, self.rows.demand
        is_asked = low is not None, high is not None
        mine = problem.bounds.times(self.share)
        least, most = np.maximum(np.floor(mine.low), 0.0), np.ceil(mine.high)
        if problem.amounts is not None:
            assert self.rows.held is not None
            n_resources = len(problem.amounts.names)
            demand, is_asked = self.rows.held[:, :n_resources].astype(np.float64), (True, True)
            least, most = np.maximum(self.share * problem.amounts.low, 0.0), self.share * problem.amounts.high
        bounds: dict[str, Any] = {
            "size_min": least if is_asked[0] else None,
            "size_max": most if is_asked[1] else None,
        }
        arguments: dict[str, Any] = {"demand": demand}
        if problem.attributes:
            arguments["category"] = dict(self._groups(problem))
            for side, name in (("low", "share_min"), ("high", "share_max")):
                bounds[name] = {
                    attribute.name: {
                        value: float(getattr(attribute, side)[at])
                        for at, value in enumerate(attribute.values)
                        if (arguments["category"][attribute.name] == value).any()
                    }
                    for attribute in problem.attributes
                }
        return bounds, arguments

    def _groups(self, problem: RemoteProblem) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the value of each row for each attribute."""
        assert self.rows.held is not None
        first = 0 if problem.amounts is None else len(problem.amounts.names)
        for attribute in problem.attributes:
            marks = self.rows.held[:, first : first + len(attribute.values)]
            values = np.array([*attribute.values, None], dtype=object)[:-1]
            yield attribute.name, values[marks.argmax(axis=1)]
            first += len(attribute.values)
