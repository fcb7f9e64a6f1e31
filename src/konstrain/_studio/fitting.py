"""From what is known to a clustering: at once from the last centers, then settled from scratch by the seed."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from konstrain._studio.data import Rows
from konstrain._studio.session import APART, TOGETHER, Known, Pair, Settings, ordered
from konstrain.constraints.witness import MustLinkPath, UncolorableRows
from konstrain.estimators import ConstrainedKMeans, LinkMetric
from konstrain.exceptions import InfeasibleError, NotProvenWarning
from konstrain.kmeans import distances
from konstrain.plotting import Projection, project

# A row is at home in its cluster when the next center is so many times as far as its own.
AT_HOME = 1.5
# Rows that the share of rows at home is taken from: it is told in whole percents.
LOOKED_AT = 4_000
# Seconds after which a first look takes the best assignment so far; the fit that settles has no limit.
GLANCE_LIMIT = 5.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A clustering on the page, whole: labels, centers, cost, and what it was asked to keep.

    `X` are the rows as distances are measured, and centers and cost belong to them; `source` are the rows that a
    metric was learned on, the same where there is none.
    `settled` tells that it is what the seed gives from scratch, not a quick look from the last centers; `link_price`
    is what breaking a link of confidence 1 cost, if there are such links.
    """

    X: NDArray[Any]
    source: NDArray[Any]
    settings: Settings
    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    sse: float
    sizes: NDArray[Any]
    settled: bool
    link_price: float | None = None
    metric: LinkMetric | None = None

    @property
    def measured(self) -> str:
        """How distances are measured, in words; empty where nothing else was asked for."""
        if self.settings.metric is None:
            return ""
        if self.metric is None:
            return "plain distances: held-out links do not speak for learned ones" if self.settled else ""
        return f"distances as learned from the links ({self.metric.kind})"

    def is_of(self, source: NDArray[Any], settings: Settings) -> bool:
        """Whether its rows are what these settings lead to."""
        return self.source is source and self.settings.metric == settings.metric

    def guess(self, pair: Pair) -> str:
        """Whether a pair is together in this clustering."""
        return TOGETHER if self.labels[pair[0]] == self.labels[pair[1]] else APART

    @cached_property
    def share_at_home(self) -> float:
        """Share of rows whose second nearest center is clearly further than the nearest."""
        if len(self.centers) < 2:
            return 1.0
        rows = np.ascontiguousarray(self.X[:: max(1, len(self.X) // LOOKED_AT)])
        costs = distances.block_costs(rows, None, np.ascontiguousarray(self.centers, dtype=np.float64))
        nearest = np.partition(costs, 1, axis=1)[:, :2]
        return float((nearest[:, 1] >= AT_HOME**2 * nearest[:, 0]).mean())


@dataclass(frozen=True)
class Trouble:
    """Why nothing can satisfy what was asked: words, the rows, and the links among which one has to go."""

    words: str
    reason: str
    rows: tuple[int, ...] = ()
    links: tuple[tuple[Pair, str], ...] = ()


class Fitter:
    """Clusters some rows again and again under changing constraints; keeps what it prepared for the last settings."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._prepared: tuple[tuple[Any, ...], NDArray[Any], Projection] | None = None

    def prepared(self, settings: Settings) -> NDArray[Any]:
        """Return the columns to cluster by."""
        return self._prepare(settings)[1]

    def plane(self, settings: Settings) -> Projection:
        """Return the rows on the main components of these columns."""
        return self._prepare(settings)[2]

    def _prepare(self, settings: Settings) -> tuple[tuple[Any, ...], NDArray[Any], Projection]:
        key = (settings.features, settings.standardize)
        # Taken once: another thread may replace it meanwhile.
        last = self._prepared
        if last is None or last[0] != key:
            X = self._rows.clustered(settings.features, standardize=settings.standardize)
            last = self._prepared = key, X, _project(X, settings.features)
        return last

    def glance(self, known: Known, last: Fit | None) -> Fit:
        """Cluster fast: from the last centers where they fit the settings, else from one start."""
        source, settings = self.prepared(known.settings), known.settings
        # The metric is learned again when the clustering settles; until then distances stay what they were.
        params: dict[str, Any] = {"n_init": 1, "time_limit": GLANCE_LIMIT, "metric": None}
        same = last if last is not None and last.is_of(source, settings) else None
        if same is not None and same.settings.n_clusters == settings.n_clusters:
            params["init"] = same.centers
        else:
            params["local_search"] = False
        rows, metric = (source, None) if same is None else (same.X, same.metric)
        model = self._fitted(rows, known, params)
        return _renumbered(_as_fit(model, rows, source, settings, metric, settled=False), last)

    def settle(self, known: Known, last: Fit | None, is_stale: Callable[[], bool]) -> Fit:
        """Cluster from scratch: what the seed gives, however the person got here; ends early when stale."""
        X = self.prepared(known.settings)
        model = self._fitted(X, known, {"callback": lambda _: is_stale()})
        metric = model.link_metric_
        rows = X if metric is None else metric.transform(X)
        return _renumbered(_as_fit(model, rows, X, known.settings, metric, settled=True), last)

    def _fitted(self, X: NDArray[Any], known: Known, params: dict[str, Any]) -> ConstrainedKMeans:
        model = ConstrainedKMeans(**{**arguments(known.settings), **params})
        with warnings.catch_warnings():
            # A step that was not proved optimal is feasible, and the fit that settles follows.
            warnings.simplefilter("ignore", NotProvenWarning)
            model.fit(X, sample_weight=self._rows.sample_weight, demand=self._rows.demand, **known.constraints)
        return model


def _as_fit(
    model: ConstrainedKMeans,
    rows: NDArray[Any],
    source: NDArray[Any],
    settings: Settings,
    metric: LinkMetric | None,
    *,
    settled: bool,
) -> Fit:
    centers = model.cluster_centers_
    if model.link_metric_ is not None:
        centers = model.link_metric_.transform(centers)
    found = model.labels_, centers, model.inertia_, model.cluster_sizes_
    return Fit(rows, source, settings, *found, settled, model.violation_cost_, metric)


def _project(X: NDArray[Any], features: Sequence[str]) -> Projection:
    if len(X) < 2:
        return Projection(np.zeros((len(X), 2)), None, ("", ""))
    return project(X, names=features)


def arguments(settings: Settings) -> dict[str, Any]:
    """Return what `ConstrainedKMeans` is made with."""
    found = {
        "n_clusters": settings.n_clusters,
        "size_min": settings.size_min,
        "size_max": settings.size_max,
        "random_state": settings.random_state,
        "metric": settings.metric,
    }
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in found.items() if value is not None
    }


def _renumbered(fit: Fit, last: Fit | None) -> Fit:
    """Number clusters as they were, as far as they are the same: colours must not jump."""
    if last is None:
        return fit
    if isinstance(fit.settings.size_min, tuple) or isinstance(fit.settings.size_max, tuple):
        return fit  # each number has sizes of its own
    k = fit.settings.n_clusters
    shared = np.zeros((k, max(k, last.settings.n_clusters)))
    np.add.at(shared, (fit.labels, last.labels), 1.0)
    # Clusters that are too many now take the numbers that are free.
    new, old = linear_sum_assignment(shared[:, :k], maximize=True)
    number = np.empty(k, dtype=np.int32)
    number[new] = old
    order = np.argsort(number)
    return replace(fit, labels=number[fit.labels], centers=fit.centers[order], sizes=fit.sizes[order])


def explain(error: InfeasibleError, rows: Rows, known: Known) -> Trouble:
    """Say in words why nothing is possible, with the links among which one has to go."""
    witness, name = error.witness, rows.names.name_of
    if isinstance(witness, MustLinkPath):
        chain = " – ".join(map(name, witness.rows))
        first, second = map(name, witness.pair)
        words = (
            f"{first} and {second} are to be apart, but they are tied together: {chain}. Remove one of these links."
        )
        hops = [ordered(*hop.rows) for hop in witness.hops]
        return Trouble(words, error.reason, witness.rows, _among(known, [ordered(*witness.pair), *hops]))
    if isinstance(witness, UncolorableRows):
        pairs = [ordered(a, b) for a, b, _ in witness.pairs]
        words = f"{str(error).replace('n_clusters=', 'k = ').replace('n_clusters', 'k')}{_called(rows, witness.rows)}"
        return Trouble(words, error.reason, witness.rows, _among(known, pairs))
    found = tuple(getattr(witness, "rows", ()))
    return Trouble(f"{error}{_called(rows, found)}", error.reason, found)


def _among(known: Known, pairs: Sequence[Pair]) -> tuple[tuple[Pair, str], ...]:
    return tuple((pair, known.links[pair].kind) for pair in dict.fromkeys(pairs) if pair in known.links)


def _called(rows: Rows, numbers: Sequence[int]) -> str:
    """Say what rows are called, where they have names."""
    if rows.names.ids is None or not numbers:
        return ""
    return f" ({', '.join(f'row {row} is {rows.names.name_of(row)}' for row in numbers[:8])})"
