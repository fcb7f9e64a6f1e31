"""What clusterings cost, the best one by enumeration, and links to draw for them."""

import numpy as np

from konstrain import ConstrainedKMeans
from oracles import all_labelings


def sse(X, labels, weight=None):
    """Weighted squared distances of rows to the mean of their cluster."""
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    total = 0.0
    for j in np.unique(labels):
        inside = labels == j
        if weight[inside].sum() > 0:
            center = np.average(X[inside], axis=0, weights=weight[inside])
            total += float((weight[inside] * ((X[inside] - center) ** 2).sum(axis=1)).sum())
    return total


def keeps_links(labels, must_link=(), cannot_link=()):
    """Whether all links hold."""
    return all(labels[i] == labels[j] for i, j in must_link) and all(labels[i] != labels[j] for i, j in cannot_link)


def best_sse(X, k, *, must_link=(), cannot_link=(), size_min=0, size_max=np.inf):
    """Least SSE of all labelings that keep links and sizes and leave no cluster empty; infinite if none does."""
    best = np.inf
    if np.ndim(size_min) == np.ndim(size_max) == 0:
        # Bounds are alike for all clusters, so their numbers do not matter: the first row may be in cluster 0.
        labelings = np.insert(all_labelings(len(X) - 1, k), 0, 0, axis=1)
    else:
        labelings = all_labelings(len(X), k)
    for labels in labelings:
        sizes = np.bincount(labels, minlength=k)
        fits = (sizes >= np.maximum(1, size_min)).all() and (sizes <= size_max).all()
        if fits and keeps_links(labels, must_link, cannot_link):
            best = min(best, sse(X, labels))
    return best


def random_pairs(rng, truth, count):
    """Must-links and cannot-links that the truth keeps."""
    pairs = rng.integers(0, len(truth), (count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return pairs[same], pairs[~same]


def fit(X, k=3, *, seed=0, fit_arguments=None, **parameters):
    """Fit with few restarts: enough for tests that do not ask for the best optimum."""
    model = ConstrainedKMeans(k, random_state=seed, **{"n_init": 3, **parameters})
    return model.fit(X, **(fit_arguments or {}))
