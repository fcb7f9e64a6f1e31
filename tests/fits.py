"""One checker that every fit ends in."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from konstrain.metrics import count_violations


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
