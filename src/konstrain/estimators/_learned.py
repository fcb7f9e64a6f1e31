"""What `ConstrainedKMeans` with a metric does before it clusters: choose a kind of metric, and learn it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.inputs import read_links
from konstrain.estimators._alternation import learn_with_clusters
from konstrain.estimators._metric_guard import MetricChoice, choose_kind
from konstrain.estimators.link_metric import LinkMetric
from konstrain.stop import Budget

# Runs of each clustering on the way: it shows what a metric is worth, and need not be the best.
QUICK_RUNS = 4


def learned_metric(
    model: Any, X: Any, asked: ConstraintArguments, budget: Budget
) -> tuple[LinkMetric | None, MetricChoice]:
    """Return the metric asked for, or that held-out links speak for, learned from all links, and the choice."""
    if hasattr(X, "toarray"):
        raise ValueError(f"metric={model.metric!r} needs dense rows; give X.toarray(), or leave metric out")
    must, cannot = (read_links(name, pairs, len(X)) for name, pairs in asked.links.items())
    seed = check_random_state(model.random_state).randint(np.iinfo(np.int32).max)
    quick = _Quick(model, len(X), asked, seed, budget)
    if model.metric == "learned":
        choice = choose_kind(X, must, cannot, quick, np.random.default_rng(seed), budget)
    else:
        choice = MetricChoice(model.metric)
    if choice.kind is None:
        return None, choice
    return learn_with_clusters(choice.kind, X, asked.links, quick)[0], choice


def measured(metric: LinkMetric, X: NDArray[Any]) -> NDArray[Any]:
    """Return checked rows, or centers, as the metric sees them."""
    return np.ascontiguousarray((X @ metric.components_.T).astype(X.dtype, copy=False))


class _Quick:
    """Clusters rows as the model would, but briefly."""

    def __init__(self, model: Any, n_samples: int, asked: ConstraintArguments, seed: int, budget: Budget) -> None:
        self._model = clone(model).set_params(
            metric=None, n_jobs=None, verbose=0, callback=None, random_state=seed, local_search=False
        )
        self._n_samples = n_samples
        # Arguments of `fit` with a value per row, which links have not.
        self._beside = {name: getattr(asked, name) for name in ("sample_weight", "demand", "category")}
        self._beside["y"] = asked.labels
        self._budget = budget

    def __call__(self, X: NDArray[Any], links: dict[str, Any], labels: NDArray[np.int32] | None) -> NDArray[np.int32]:
        model, beside = clone(self._model), self._beside
        if len(X) < self._n_samples:
            # A part of the rows: sizes, shares, weights and demand were given for all of them.
            model.set_params(size_min=None, size_max=None, share_min=None, share_max=None, share_tolerance=None)
            beside = {}
        if labels is None:
            model.set_params(init="k-means++", n_init=QUICK_RUNS)
        else:
            model.set_params(init=_means(X, labels, model.n_clusters), n_init=1)
        left = self._budget.remaining()
        model.set_params(time_limit=None if np.isinf(left) else left)
        found: NDArray[np.int32] = model.fit(X, **links, **beside).labels_
        return found


def _means(X: NDArray[Any], labels: NDArray[np.int32], n_clusters: int) -> NDArray[Any]:
    sums = np.zeros((n_clusters, X.shape[1]))
    np.add.at(sums, labels, X)
    means: NDArray[Any] = sums / np.bincount(labels, minlength=n_clusters)[:, None]
    return means
