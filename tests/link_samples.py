"""Links drawn from true classes, small data sets that obey none, and one checker every fit ends in."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from konstrain.metrics import count_violations


def uniform_pairs(y: np.ndarray, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Distinct pairs, each as likely: must-links where the classes agree, else cannot-links."""
    first, second = np.triu_indices(len(y), 1)
    chosen = rng.choice(first.size, count, replace=False)
    pairs = np.column_stack([first, second])[chosen]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def half_and_half(y: np.ndarray, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """As many must-links as cannot-links: a random row, then another of the same, or of another, class."""
    links: dict[str, list[tuple[int, int]]] = {"must_link": [], "cannot_link": []}
    for kind, pairs in links.items():
        while len(pairs) < count // 2:
            row = int(rng.integers(len(y)))
            partners = np.flatnonzero((y == y[row]) == (kind == "must_link"))
            other = int(rng.choice(partners))
            if other != row:
                pairs.append((row, other))
    return {kind: np.array(pairs) for kind, pairs in links.items()}


def disjoint_sets(y: np.ndarray, n_sets: int, rng: np.random.Generator) -> np.ndarray:
    """Cannot-links of sets with one row of each class, no row in two sets."""
    members = [rng.permutation(np.flatnonzero(y == label))[:n_sets] for label in np.unique(y)]
    return np.array([(a, b) for group in zip(*members, strict=True) for i, a in enumerate(group) for b in group[:i]])


def gaussian_balls(
    n_clusters: int, n_each: int, n_features: int, sigma: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Balls of variance `sigma` around centers in the cube [-1, 1]."""
    y = np.repeat(np.arange(n_clusters), n_each)
    centers = rng.uniform(-1, 1, (n_clusters, n_features))
    return centers[y] + rng.normal(scale=np.sqrt(sigma), size=(y.size, n_features)), y


def check_fit(model: Any, X: Any, *, sample_weight: Any = None, rtol: float = 1e-7, **links: Any) -> None:
    """Check that centers are means, costs and violations are what the labels have, and no cluster is empty."""
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    labels = model.labels_
    assert labels.dtype == np.int32
    assert labels.shape == (len(X),)
    assert set(labels.tolist()) == set(range(model.n_clusters))
    means = np.array(
        [np.average(X[labels == j], axis=0, weights=weight[labels == j]) for j in range(model.n_clusters)]
    )
    assert_allclose(model.cluster_centers_, means, rtol=rtol, atol=rtol * np.abs(X).max())
    assert_allclose(model.inertia_, weight @ ((X - means[labels]) ** 2).sum(axis=1), rtol=10 * rtol)
    assert model.n_violations_ == count_violations(labels, **links).total
