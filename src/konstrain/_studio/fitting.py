"""From a session to a clustering: a preview from the last centers at once, then a fit from scratch by the seed."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from konstrain._memory import SEARCHED_ROWS
from konstrain._messages import listed
from konstrain._studio.data import PARAMS, StudioData
from konstrain._studio.session import APART, TOGETHER, Pair, SessionState, Settings, Size, ordered
from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.constraints.connectivity import count_pieces
from konstrain.constraints.findings import MustLinkPath, UncolorableRows
from konstrain.estimators import ConstrainedKMeans, LinkMetric
from konstrain.exceptions import InfeasibleError, NotProvenWarning
from konstrain.kmeans import distances
from konstrain.plotting import Projection, project

# A row has a clear home when the next center is this many times as far as its own: the measure that the page shows.
CLEARLY_FURTHER: Final = 1.5


@dataclass(frozen=True, eq=False)
class Fit:
    """A clustering on the page, whole: labels, centers, cost, and what it was asked to keep.

    `X` are the rows as distances are measured, and centers and cost belong to them; `source` are the rows that a
    metric was learned on, the same where there is none.
    `is_preview` is False where it is what the seed gives from scratch; `link_price` is what breaking a link of
    confidence 1 cost, if there are such links.
    """

    X: NDArray[Any]
    source: NDArray[Any]
    settings: Settings
    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    sse: float
    sizes: NDArray[Any]
    is_preview: bool
    link_price: float | None = None
    metric: LinkMetric | None = None

    @property
    def bounds(self) -> tuple[Size, Size]:
        """Least and largest sizes."""
        return self.settings.size_min, self.settings.size_max

    @property
    def measured(self) -> str:
        """How distances are measured, as text; empty where they are plain by choice."""
        if self.settings.metric is None:
            return ""
        if self.metric is None:
            return "" if self.is_preview else "plain distances: held-out links do not speak for learned ones"
        return f"distances as learned from the links ({self.metric.kind})"

    @property
    def n_moved(self) -> int | None:
        """Number of rows that left the clusters to keep; None: there are none."""
        if self.settings.previous is None:
            return None
        kept = np.array(self.settings.previous)
        return int(((kept >= 0) & (kept != self.labels)).sum())

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
        rows = np.ascontiguousarray(self.X[:: max(1, len(self.X) // SEARCHED_ROWS)])
        costs = distances.block_costs(rows, None, np.ascontiguousarray(self.centers, dtype=np.float64))
        nearest = np.partition(costs, 1, axis=1)[:, :2]
        return float((nearest[:, 1] >= CLEARLY_FURTHER**2 * nearest[:, 0]).mean())


@dataclass(frozen=True)
class Trouble:
    """Why no clustering satisfies the constraints: a message, the rows, and the links among which one has to go."""

    message: str
    reason: str
    rows: tuple[int, ...] = ()
    links: tuple[tuple[Pair, str], ...] = ()


class Fitter:
    """Clusters some rows again and again under changing constraints; keeps what it prepared for the last settings."""

    def __init__(self, rows: StudioData) -> None:
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
            # One row has no main components.
            alone = Projection(np.zeros((len(X), 2)), None, ("", ""))
            last = self._prepared = key, X, alone if len(X) < 2 else project(X, names=settings.features)
        return last

    def preview(self, state: SessionState, last: Fit | None) -> Fit:
        """Cluster fast: from the last centers where they fit the settings, else from one start."""
        source, settings = self.prepared(state.settings), state.settings
        # The fit from scratch learns the metric again; until then distances stay what they were.
        params: dict[str, Any] = {"n_init": 1, "time_limit": PARAMS.quick_limit, "metric": None}
        same = last if last is not None and last.is_of(source, settings) else None
        if same is not None and same.settings.n_clusters == settings.n_clusters:
            params["init"] = same.centers
        else:
            params["local_search"] = False
        rows, metric = (source, None) if same is None else (same.X, same.metric)
        model = self._fitted(rows, state, params)
        return _renumbered(_as_fit(model, rows, source, settings, metric, is_preview=True), last)

    def fit(self, state: SessionState, last: Fit | None, is_stale: Callable[[], bool]) -> Fit:
        """Cluster from scratch: what the seed gives, whatever was done before; ends early when stale."""
        X = self.prepared(state.settings)
        model = self._fitted(X, state, {"callback": lambda _: is_stale()})
        metric = model.link_metric_
        rows = X if metric is None else metric.transform(X)
        return _renumbered(_as_fit(model, rows, X, state.settings, metric, is_preview=False), last)

    def _fitted(self, X: NDArray[Any], state: SessionState, params: dict[str, Any]) -> ConstrainedKMeans:
        model = ConstrainedKMeans(**{**arguments(state.settings), **params})
        with warnings.catch_warnings():
            # A step that was not proved optimal is feasible, and the fit from scratch follows.
            warnings.simplefilter("ignore", NotProvenWarning)
            counted = {name: getattr(self._rows, name) for name in ("sample_weight", "demand", "connectivity")}
            model.fit(X, **counted, **state.constraints, previous=state.settings.previous)
        return model


def _as_fit(
    model: ConstrainedKMeans,
    rows: NDArray[Any],
    source: NDArray[Any],
    settings: Settings,
    metric: LinkMetric | None,
    *,
    is_preview: bool,
) -> Fit:
    centers = model.cluster_centers_
    if model.link_metric_ is not None:
        centers = model.link_metric_.transform(centers)
    found = model.labels_, centers, model.inertia_, model.cluster_sizes_
    return Fit(rows, source, settings, *found, is_preview, model.violation_cost_, metric)


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


def with_labels(fit: Fit, rows: StudioData, labels: NDArray[np.int32], sse: float | None = None) -> Fit:
    """Return a clustering with other labels and the centers, sizes and cost that belong to them."""
    k = fit.settings.n_clusters
    weight = np.ones(len(labels)) if rows.sample_weight is None else rows.sample_weight
    sums = [np.bincount(labels, weight * column, k) for column in fit.X.T]
    centers = np.column_stack(sums) / np.maximum(np.bincount(labels, weight, k), np.finfo(float).tiny)[:, None]
    if sse is None:
        sse = float(weight @ ((fit.X - centers[labels]) ** 2).sum(axis=1))
    sizes = np.bincount(labels, rows.demand, k).astype(float)
    return replace(fit, labels=labels, centers=centers, sse=sse, sizes=sizes)


def moved(fit: Fit, rows: StudioData, state: SessionState) -> Fit:
    """Return a clustering after the moves by hand; those that are no longer allowed are left out."""
    for row, beside in state.moves:
        if not refusal_of_move(fit, rows, state, row, beside):
            labels = fit.labels.copy()
            labels[row] = labels[beside]
            fit = with_labels(fit, rows, labels)
    return fit


def refusal_of_move(fit: Fit, rows: StudioData, state: SessionState, row: int, beside: int) -> str:
    """Return why a row cannot join the cluster of another one; empty if it can."""
    labels, name = fit.labels, rows.names.name_of
    own, new = int(labels[row]), int(labels[beside])
    if own == new:
        return f"{name(row)} is in cluster {new} already."
    if rows.neighbours is not None and not (labels[rows.neighbours.neighbours(row)] == new).any():
        return f"{name(row)} has no neighbour in cluster {new}, which would then be in two pieces."
    left = labels.copy()
    left[row] = new
    if not (left == own).any():
        return f"{name(row)} is all of cluster {own}, which would be empty."
    if rows.neighbours is not None and (n_pieces := count_pieces(rows.neighbours, left, len(fit.sizes))[own]) > 1:
        return f"Without {name(row)} cluster {own} would be in {n_pieces} pieces."
    return _sizes_refusal(fit, rows, left, own, new) or _links_refusal(rows, state, left, row)


def _sizes_refusal(fit: Fit, rows: StudioData, left: NDArray[np.int32], own: int, new: int) -> str:
    k = fit.settings.n_clusters
    sizes = np.bincount(left, rows.demand, k)
    slack = TOTAL_RELATIVE * sizes.sum()
    low, high = (np.broadcast_to(np.nan if size is None else size, k) for size in fit.bounds)
    if sizes[own] < low[own] - slack:
        return f"Cluster {own} would hold {sizes[own]:,.10g}, and its least size is {low[own]:,.10g}."
    if sizes[new] > high[new] + slack:
        return f"Cluster {new} would hold {sizes[new]:,.10g}, and its largest size is {high[new]:,.10g}."
    return ""


def _links_refusal(rows: StudioData, state: SessionState, left: NDArray[np.int32], row: int) -> str:
    for link in state.of_kind(TOGETHER, APART):
        if row in link.pair and np.isinf(link.confidence):
            first, second = link.pair
            if (left[first] == left[second]) != (link.kind == TOGETHER):
                return f"{rows.names.name_of(first)} and {rows.names.name_of(second)} are to be {link.kind}."
    return ""


def _renumbered(fit: Fit, last: Fit | None) -> Fit:
    """Number clusters as they were, as far as they are the same: colours must not jump."""
    if last is None:
        return fit
    own_sizes = isinstance(fit.settings.size_min, tuple) or isinstance(fit.settings.size_max, tuple)
    if own_sizes or fit.settings.previous is not None:
        return fit  # each number has sizes or rows of its own
    k = fit.settings.n_clusters
    shared = np.zeros((k, max(k, last.settings.n_clusters)))
    np.add.at(shared, (fit.labels, last.labels), 1.0)
    # Clusters that are too many now take the numbers that are free.
    new, old = linear_sum_assignment(shared[:, :k], maximize=True)
    number = np.empty(k, dtype=np.int32)
    number[new] = old
    order = np.argsort(number)
    return replace(fit, labels=number[fit.labels], centers=fit.centers[order], sizes=fit.sizes[order])


def explain(error: InfeasibleError, rows: StudioData, state: SessionState) -> Trouble:
    """Return why no clustering is possible, with the links among which one has to go."""
    witness, name = error.witness, rows.names.name_of
    if isinstance(witness, MustLinkPath):
        chain = " – ".join(map(name, witness.rows))
        first, second = map(name, witness.pair)
        message = (
            f"{first} and {second} are to be apart, but they are tied together: {chain}. Remove one of these links."
        )
        hops = [ordered(*hop.rows) for hop in witness.hops]
        return Trouble(message, error.reason, witness.rows, _among(state, [ordered(*witness.pair), *hops]))
    if isinstance(witness, UncolorableRows):
        pairs = [ordered(a, b) for a, b, _ in witness.pairs]
        message = _too_few_clusters(witness, name)
        return Trouble(message, error.reason, witness.rows, _among(state, pairs))
    found = tuple(getattr(witness, "rows", ()))
    return Trouble(f"{error}{_called(rows, found)}", error.reason, found)


def _too_few_clusters(witness: UncolorableRows, name: Callable[[int], str]) -> str:
    """Return what is wrong, why, and what to do: the page lists the links, and calls the number of clusters k."""
    rows, k = listed(map(name, witness.rows), ", "), f"k = {witness.n_clusters}"
    if witness.is_clique:
        least = f"to at least {len(witness.rows)}"
        return (
            f"Rows {rows} must all be in different clusters, but {k}. Raise k {least} or remove one of these links."
        )
    return f"Links that keep rows {rows} apart cannot all hold with {k}. Raise k or remove one of these links."


def _among(state: SessionState, pairs: Sequence[Pair]) -> tuple[tuple[Pair, str], ...]:
    return tuple((pair, state.links[pair].kind) for pair in dict.fromkeys(pairs) if pair in state.links)


def _called(rows: StudioData, numbers: Sequence[int]) -> str:
    """Return what rows are called, where they have names."""
    if rows.names.ids is None or not numbers:
        return ""
    return f" ({', '.join(f'row {row} is {rows.names.name_of(row)}' for row in numbers[:8])})"
