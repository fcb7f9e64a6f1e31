"""Choice of the kind of metric of `ConstrainedKMeans`, and its learning.

Links are split into folds. For each fold the metric is learned, and rows are clustered, without it. The score of a
metric is the share of held-out links that its clusterings keep, must-links and cannot-links counting alike. It is
taken only if it beats plain distances by more than chance would explain. The metric is then learned from all links,
in turn with the clusters that it leads to.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from konstrain._memory import SAMPLE_ROWS
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.findings import listed_rows
from konstrain.constraints.inputs import Links, read_links
from konstrain.estimators._base import BOUNDS
from konstrain.estimators.link_metric import KINDS, LinkMetric
from konstrain.kmeans.search import PARAMS as SEARCH
from konstrain.metrics import are_apart
from konstrain.stop import Budget

# These have more parameters than few links can determine, and gain from clusters.
ALTERNATING = ("rca", "itml")


@dataclass(frozen=True)
class MetricChoiceParams:
    """Settings of the choice of a metric."""

    # Folds of links, each held out once; larger: more clusterings, each of which gets more links.
    n_folds: int = 5
    # Standard errors, over links on which two clusterings differ, by which a metric must win; larger: fewer.
    margin: float = 1.5
    # Times that the metric is learned again from the clusters it led to; most converge after two.
    max_rounds: int = 3


PARAMS = MetricChoiceParams()

# Labels of rows, as measured, under links; the last argument are labels to begin with, or None.
Cluster = Callable[[NDArray[Any], dict[str, Any], NDArray[np.int32] | None], NDArray[np.int32]]


def learn_with_clusters(
    kind: str, X: NDArray[Any], links: dict[str, Any], cluster: Cluster
) -> tuple[LinkMetric, NDArray[np.int32]]:
    """Return the metric and the clusters that it and they led to."""
    # Imported here: it takes a while, and few fits learn a metric.
    from sklearn.metrics import adjusted_rand_score

    metric = LinkMetric(kind).fit(X, **links)
    labels = cluster(metric.transform(X), links, None)
    for _ in range(PARAMS.max_rounds if kind in ALTERNATING else 0):
        metric = LinkMetric(kind).fit(X, **links, labels=labels)
        before, labels = labels, cluster(metric.transform(X), links, labels)
        if adjusted_rand_score(before, labels) == 1.0:
            break
    return metric, labels


@dataclass(frozen=True)
class MetricChoice:
    """Which metric held-out links favoured.

    Attributes
    ----------
    kind : str or None
        The `kind` of the `LinkMetric` taken, or "cosine"; None: plain distances.
    shares : dict of str to float
        Share of held-out links that the clusterings without them got right, by kind; plain distances as "none".
        Empty when there were too few links.

    Examples
    --------
    >>> MetricChoice("rca", {"none": 0.6, "rca": 0.8}).kind
    'rca'
    """

    kind: str | None
    shares: dict[str, float] = field(default_factory=dict)


def choose_kind(
    X: NDArray[Any], must: Links, cannot: Links, cluster: Cluster, rng: np.random.Generator, budget: Budget
) -> MetricChoice:
    """Return the kind of metric whose clusterings get held-out links right most often."""
    links = _LinkTable.of(must, cannot)
    # With fewer links than folds, chance alone may have all favour a metric.
    if len(links.pairs) < PARAMS.n_folds:
        return MetricChoice(None)
    X, links = _fewer_rows(X, links, rng)
    right = {kind: np.zeros(len(links.pairs)) for kind in ("none", *KINDS)}
    fold_of = rng.permutation(len(links.pairs)) % PARAMS.n_folds
    for fold in range(PARAMS.n_folds):
        if budget.expired():
            return MetricChoice(None)
        seen, held = links.taken(fold_of != fold), links.taken(fold_of == fold)
        for kind, is_right in right.items():
            is_right[fold_of == fold] = held.is_right(_labels(X, kind, seen, cluster))
    weight = links.weights()
    shares = {kind: float(weight @ is_right) for kind, is_right in right.items()}
    surely_better = [kind for kind in KINDS if _beats(right[kind], right["none"], weight)]
    return MetricChoice(max(surely_better, key=shares.__getitem__, default=None), shares)


def _labels(X: NDArray[Any], kind: str, links: "_LinkTable", cluster: Cluster) -> NDArray[np.int32]:
    known = {"must_link": links.must, "cannot_link": links.cannot}
    return cluster(X, known, None) if kind == "none" else learn_with_clusters(kind, X, known, cluster)[1]


def _beats(ours: NDArray[np.float64], plain: NDArray[np.float64], weight: NDArray[np.float64]) -> bool:
    """Whether links on which two metrics differ favour ours by more than their standard error."""
    difference = weight * (ours - plain)
    return bool(difference.sum() > PARAMS.margin * np.sqrt((difference**2).sum()))


@dataclass(frozen=True, eq=False)
class _LinkTable:
    """Links of both kinds in one list, from which folds are taken."""

    pairs: NDArray[np.int32]
    confidence: NDArray[np.float64]
    is_must: NDArray[np.bool_]

    @classmethod
    def of(cls, must: Links, cannot: Links) -> "_LinkTable":
        # Hard links have an infinite confidence, as in a table of links.
        confidence = [
            part for links in (must, cannot) for part in (np.full(len(links.hard), np.inf), links.confidence)
        ]
        pairs = np.concatenate([must.pairs, cannot.pairs])
        return cls(pairs, np.concatenate(confidence), np.arange(len(pairs)) < len(must.pairs))

    def taken(self, which: NDArray[Any]) -> "_LinkTable":
        return _LinkTable(self.pairs[which], self.confidence[which], self.is_must[which])

    def _table(self, which: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        return np.column_stack([self.pairs[which], self.confidence[which]]) if which.any() else None

    @property
    def must(self) -> NDArray[np.float64] | None:
        return self._table(self.is_must)

    @property
    def cannot(self) -> NDArray[np.float64] | None:
        return self._table(~self.is_must)

    def is_right(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = are_apart(labels, self.pairs) != self.is_must
        return right

    def weights(self) -> NDArray[np.float64]:
        """What each link counts: both kinds alike, links of one kind by their confidence."""
        weight = np.minimum(self.confidence, 1.0)
        kinds = [kind for kind in (self.is_must, ~self.is_must) if kind.any()]
        for kind in kinds:
            weight[kind] /= weight[kind].sum() * len(kinds)
        return weight


def _fewer_rows(X: NDArray[Any], links: _LinkTable, rng: np.random.Generator) -> tuple[NDArray[Any], _LinkTable]:
    """The linked rows and enough others, with the links between them."""
    if len(X) <= SAMPLE_ROWS:
        return X, links
    linked = np.unique(links.pairs)
    others = np.setdiff1d(np.arange(len(X)), linked)
    n_others = max(SAMPLE_ROWS - linked.size, 0)
    rows = np.sort(np.concatenate([linked, rng.choice(others, min(n_others, others.size), replace=False)]))
    pairs = np.searchsorted(rows, links.pairs).astype(np.int32)
    return np.ascontiguousarray(X[rows]), _LinkTable(pairs, links.confidence, links.is_must)


def learned_metric(
    model: Any, X: Any, arguments: ConstraintArguments, budget: Budget
) -> tuple[LinkMetric | None, MetricChoice]:
    """Return the given metric, or the one that held-out links favour, learned from all links, and the choice."""
    if hasattr(X, "toarray"):
        raise ValueError(f"metric={model.metric!r} needs dense rows; give X.toarray(), or leave metric out")
    must, cannot = (read_links(name, pairs, len(X)) for name, pairs in arguments.links.items())
    seed = check_random_state(model.random_state).randint(np.iinfo(np.int32).max)
    quick = _Quick(model, len(X), arguments, seed, budget)
    if model.metric == "learned":
        choice = choose_kind(X, must, cannot, quick, np.random.default_rng(seed), budget)
    else:
        choice = MetricChoice(model.metric)
    if choice.kind is None:
        return None, choice
    return learn_with_clusters(choice.kind, X, arguments.links, quick)[0], choice


def measured(metric: LinkMetric, X: NDArray[Any]) -> NDArray[Any]:
    """Return checked rows, or centers, as the metric sees them."""
    return np.ascontiguousarray((X @ metric.components_.T).astype(X.dtype, copy=False))


def unit_rows(X: Any) -> Any:
    """Return checked rows, or centers, divided by their lengths: themselves where these are one but for rounding.

    Rows of length zero raise a ValueError.
    """
    is_sparse = hasattr(X, "toarray")
    if is_sparse:
        row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares = np.bincount(row_of, X.data.astype(np.float64) ** 2, X.shape[0])
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    short = np.flatnonzero(squares < np.finfo(np.float64).tiny)
    if short.size:
        raise ValueError(
            f"metric='cosine' compares directions, and these rows have length zero, or nearly: {listed_rows(short)}; "
            "leave them out"
        )
    if (np.abs(squares - 1.0) <= 16 * np.finfo(X.dtype).eps).all():
        return X
    lengths = np.sqrt(squares)
    if is_sparse:
        return type(X)(((X.data / lengths[row_of]).astype(X.dtype), X.indices, X.indptr), shape=X.shape)
    return np.divide(X, lengths[:, None], out=np.empty_like(X), casting="same_kind")


class _Quick:
    """Clusters rows as the model would, with few runs and no local search."""

    def __init__(self, model: Any, n_samples: int, arguments: ConstraintArguments, seed: int, budget: Budget) -> None:
        self._model = clone(model).set_params(
            metric=None, n_jobs=None, verbose=0, callback=None, random_state=seed, local_search=False
        )
        self._n_samples = n_samples
        # Arguments of `fit` with a value per row.
        self._row_arguments = {name: getattr(arguments, name) for name in ("sample_weight", "demand", "category")}
        self._row_arguments["y"] = arguments.labels
        self._budget = budget

    def __call__(self, X: NDArray[Any], links: dict[str, Any], labels: NDArray[np.int32] | None) -> NDArray[np.int32]:
        model, row_arguments = clone(self._model), self._row_arguments
        if len(X) < self._n_samples:
            # A part of the rows: sizes, shares, weights and demand were given for all of them.
            model.set_params(**dict.fromkeys(BOUNDS))
            row_arguments = {}
        if labels is None:
            model.set_params(init="k-means++", n_init=SEARCH.n_starts)
        else:
            model.set_params(init=_means(X, labels, model.n_clusters), n_init=1)
        left = self._budget.remaining()
        model.set_params(time_limit=None if np.isinf(left) else left)
        found: NDArray[np.int32] = model.fit(X, **links, **row_arguments).labels_
        return found


def _means(X: NDArray[Any], labels: NDArray[np.int32], n_clusters: int) -> NDArray[Any]:
    sums = np.zeros((n_clusters, X.shape[1]))
    np.add.at(sums, labels, X)
    means: NDArray[Any] = sums / np.bincount(labels, minlength=n_clusters)[:, None]
    return means
