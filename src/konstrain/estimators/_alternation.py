"""Metric and clusters in turn: the clusters say what to expect of the metric where links say little, and so on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.estimators.link_metric import LinkMetric

# Times that the metric is learned again from the clusters it led to; most settle after two.
MAX_ROUNDS = 3
# These have more parameters than few links can determine, and gain from what clusters say.
ALTERNATING = ("rca", "itml")

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
    for _ in range(MAX_ROUNDS if kind in ALTERNATING else 0):
        metric = LinkMetric(kind).fit(X, **links, labels=labels)
        before, labels = labels, cluster(metric.transform(X), links, labels)
        if adjusted_rand_score(before, labels) == 1.0:
            break
    return metric, labels
