"""Where runs over all rows begin: a sample that is searched on the client, or k-means|| for many clusters."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import SEARCHED_ROWS
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import PartitionRows, Scan, Sums
from konstrain.dask.problem import RemoteProblem
from konstrain.estimators import ConstrainedKMeans
from konstrain.estimators._conventions import start_of
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans.start import ROUNDS
from konstrain.stop import Budget

# From this many clusters on k-means|| draws centers from all rows, as documented: a sample has few rows of each.
MANY_CLUSTERS: Final = 1_000

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from all rows alike, and what share of the demand they are."""

    rows: PartitionRows
    share: float

    @classmethod
    def draw(cls, partitions: Partitions, problem: RemoteProblem, seed: int) -> "Sample":
        """Draw rows by their numbers: the same ones however rows are cut into partitions."""
        n = problem.n_samples
        rng = np.random.default_rng(seed)
        numbers = np.sort(rng.choice(n, min(n, SEARCHED_ROWS), replace=False, shuffle=False))
        rows = partitions.rows_at(numbers.astype(np.int64))
        return cls(rows, float(rows.demands().sum()) / max(problem.overview.demand.total, 1e-300))

    def constraints_of(self, problem: RemoteProblem) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the bounds of the sample, as parameters of an estimator, and what they are about, for its `fit`."""
        low, high, demand = problem.size_min, problem.size_max, self.rows.demand
        bounds: dict[str, Any] = {
            "size_min": None if low is None else np.maximum(np.floor(self.share * low), 0.0),
            "size_max": None if high is None else np.ceil(self.share * high),
        }
        if problem.amounts is not None:
            assert self.rows.held is not None
            demand = self.rows.held[:, : len(problem.amounts.names)].astype(np.float64)
            bounds["size_min"] = np.maximum(self.share * problem.amounts.low, 0.0)
            bounds["size_max"] = self.share * problem.amounts.high
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


def searched_centers(estimator: Any, sample: Sample, problem: RemoteProblem, seed: int, budget: Budget) -> Reals:
    """Return the centers of the best clustering of the sample, with the sizes that are its share."""
    local = ConstrainedKMeans(
        problem.n_clusters,
        init=estimator.init,
        n_init=estimator.n_init,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        local_search=estimator.local_search,
        time_limit=budget.part().remaining() if budget.is_timed else None,
        n_jobs=estimator.n_jobs,
        random_state=seed,
    )
    bounds, arguments = sample.constraints_of(problem)
    with warnings.catch_warnings():
        # A start need not be proved, nor converged.
        warnings.simplefilter("ignore")
        try:
            local.set_params(**bounds).fit(sample.rows.values, sample_weight=sample.rows.weight, **arguments)
        except (InfeasibleError, UndecidedError):
            # Few rows cannot always keep what all rows can: shares of small groups, large demands.
            local.set_params(**dict.fromkeys(bounds)).fit(sample.rows.values, sample_weight=sample.rows.weight)
    return np.ascontiguousarray(local.cluster_centers_, dtype=np.float64)


def scalable_centers(partitions: Partitions, problem: RemoteProblem, seed: int) -> Reals:
    """Draw centers from all rows by k-means|| (Bahmani et al. 2012): few rounds, in each of which many are drawn."""
    rng = np.random.default_rng(seed)
    first = rng.integers(problem.n_samples, size=1)
    candidates = partitions.rows_at(first).values.astype(np.float64)
    for _ in range(ROUNDS):
        cost = _added_up(partitions, candidates).cost
        if not cost > 0:
            break
        draw = passes.Draw(candidates, problem.n_clusters / cost, int(rng.integers(2**62)))
        drawn: Reals = partitions.run(passes.draw_candidates, draw, join=np.concatenate)
        candidates = np.concatenate([candidates, drawn])
    if len(candidates) < problem.n_clusters:
        # Too many rows are alike to draw enough: the rest are any rows.
        more = np.sort(rng.choice(problem.n_samples, problem.n_clusters, replace=False, shuffle=False))
        return np.concatenate([candidates, partitions.rows_at(more).values])[: problem.n_clusters].astype(np.float64)
    local = ConstrainedKMeans(problem.n_clusters, n_init=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local.fit(candidates, sample_weight=_added_up(partitions, candidates).totals.weights)
    return np.ascontiguousarray(local.cluster_centers_, dtype=np.float64)


def _added_up(partitions: Partitions, centers: Reals) -> Sums:
    """Return what all rows add up to, each at its nearest center."""
    found: Sums = partitions.run(passes.sum_up, Scan.nearest(centers))
    return found


def first_centers(
    estimator: Any, partitions: Partitions, sample: Sample, problem: RemoteProblem, seed: int, budget: Budget
) -> Reals:
    """Return the centers that the run over all rows begins with."""
    start = start_of(estimator, sample.rows.values)
    if isinstance(start.rule, np.ndarray):
        return start.rule.copy()
    if start.rule == "k-means||" or (start.rule == "k-means++" and problem.n_clusters >= MANY_CLUSTERS):
        return scalable_centers(partitions, problem, seed)
    return searched_centers(estimator, sample, problem, seed, budget)
