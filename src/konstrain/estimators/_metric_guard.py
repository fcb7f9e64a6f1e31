"""Whether a learned metric helps: links that the clustering has not seen decide.

Links are dealt into folds. For each fold the metric is learned, and rows are clustered, without it; a metric is worth
what share of the held-out links its clusterings get right, must-links and cannot-links counting alike. It is taken
only if it beats plain distances by more than chance would explain, so that few links never decide by luck.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import Links
from konstrain.estimators._alternation import Cluster, learn_with_clusters
from konstrain.metrics import are_apart
from konstrain.stop import Budget

N_FOLDS = 5
# Fewer links than this are dealt anew, to ask each of them about more than one clustering.
FEW_LINKS, N_DEALS = 40, 2
# A metric must win by this many standard errors over the links on which the two clusterings differ.
MARGIN = 1.5
# Rows that the decision is made on: the linked ones, and others up to this number.
MAX_ROWS = 2000

# From the least that is learned to the most.
KINDS = ("standard", "diagonal", "rca", "itml")


@dataclass(frozen=True)
class MetricChoice:
    """Which metric held-out links spoke for.

    Attributes
    ----------
    kind : str or None
        The `kind` of the `LinkMetric` taken; None: plain distances.
    shares : dict of str to float
        Share of held-out links that the clusterings without them got right, by kind; plain distances as "none".
        Empty when there were too few links to ask.

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
    links = _Dealt.of(must, cannot)
    # Of fewer links than folds, chance alone may have all speak for a metric.
    if len(links.pairs) < N_FOLDS:
        return MetricChoice(None)
    X, links = _fewer_rows(X, links, rng)
    n_deals = N_DEALS if len(links.pairs) < FEW_LINKS else 1
    right = {kind: np.zeros(len(links.pairs)) for kind in ("none", *KINDS)}
    for _ in range(n_deals):
        fold_of = rng.permutation(len(links.pairs)) % N_FOLDS
        for fold in np.unique(fold_of):
            if budget.expired():
                return MetricChoice(None)
            seen, held = links.taken(fold_of != fold), links.taken(fold_of == fold)
            for kind, is_right in right.items():
                is_right[fold_of == fold] += held.is_right(_labels(X, kind, seen, cluster)) / n_deals
    weight = links.weights()
    shares = {kind: float(weight @ is_right) for kind, is_right in right.items()}
    surely_better = [kind for kind in KINDS if _beats(right[kind], right["none"], weight)]
    return MetricChoice(max(surely_better, key=shares.__getitem__, default=None), shares)


def _labels(X: NDArray[Any], kind: str, links: "_Dealt", cluster: Cluster) -> NDArray[np.int32]:
    known = {"must_link": links.must, "cannot_link": links.cannot}
    return cluster(X, known, None) if kind == "none" else learn_with_clusters(kind, X, known, cluster)[1]


def _beats(ours: NDArray[np.float64], plain: NDArray[np.float64], weight: NDArray[np.float64]) -> bool:
    """Whether links on which two metrics differ speak for ours by more than their standard error."""
    difference = weight * (ours - plain)
    return bool(difference.sum() > MARGIN * np.sqrt((difference**2).sum()))


@dataclass(frozen=True, eq=False)
class _Dealt:
    """Links of both kinds in one list, so that they can be dealt."""

    pairs: NDArray[np.int32]
    confidence: NDArray[np.float64]
    is_must: NDArray[np.bool_]

    @classmethod
    def of(cls, must: Links, cannot: Links) -> "_Dealt":
        # Hard links have an infinite confidence, as in a table of links.
        confidence = [
            part for links in (must, cannot) for part in (np.full(len(links.hard), np.inf), links.confidence)
        ]
        pairs = np.concatenate([must.pairs, cannot.pairs])
        return cls(pairs, np.concatenate(confidence), np.arange(len(pairs)) < len(must.pairs))

    def taken(self, which: NDArray[Any]) -> "_Dealt":
        return _Dealt(self.pairs[which], self.confidence[which], self.is_must[which])

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


def _fewer_rows(X: NDArray[Any], links: _Dealt, rng: np.random.Generator) -> tuple[NDArray[Any], _Dealt]:
    """The linked rows and enough others, with the links between them."""
    if len(X) <= MAX_ROWS:
        return X, links
    linked = np.unique(links.pairs)
    others = np.setdiff1d(np.arange(len(X)), linked)
    n_others = max(MAX_ROWS - linked.size, 0)
    rows = np.sort(np.concatenate([linked, rng.choice(others, min(n_others, others.size), replace=False)]))
    pairs = np.searchsorted(rows, links.pairs).astype(np.int32)
    return np.ascontiguousarray(X[rows]), _Dealt(pairs, links.confidence, links.is_must)
