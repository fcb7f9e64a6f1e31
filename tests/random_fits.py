"""Random fits with every kind of constraint, and a checker that recomputes every attribute with numpy alone."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

KINDS = ("must", "cannot", "soft", "sizes", "demand", "weights", "partial")


def random_fit(rng, *, scale=1.0, dtype=np.float64, sparse=False, n_rows=None, kinds=None):
    """Return rows, parameters and arguments of a fit; constraints may be impossible."""
    n = int(rng.integers(8, 40)) if n_rows is None else n_rows
    k = int(rng.integers(2, 5))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))) + 3.0 * rng.normal(size=(k, 1))[rng.integers(k, size=n)]
    if sparse:
        X[rng.random(X.shape) < 0.5] = 0.0
    X = (X * scale).astype(dtype)
    kinds = set(rng.choice(KINDS, rng.integers(0, 5), replace=False)) if kinds is None else kinds
    params, given = {"n_clusters": k, "n_init": 2}, {}
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(12)])
    confidence = rng.choice([0.1, 0.5, 1.0], 12)
    if "soft" in kinds:
        hard = "must" in kinds or "cannot" in kinds
        weight = np.where(hard & (rng.random(12) < 0.3), np.inf, confidence)
        given["must_link"] = np.column_stack([pairs[:6], weight[:6]])
        given["cannot_link"] = np.column_stack([pairs[6:], weight[6:]])
        params["violation_cost"] = float(rng.choice([0.1, 1.0, 10.0])) * scale**2
    else:
        if "must" in kinds:
            given["must_link"] = pairs[:4]
        if "cannot" in kinds:
            given["cannot_link"] = pairs[6:10]
    total = float(n)
    if "demand" in kinds:
        given["demand"] = rng.integers(1, 5, n).astype(float) if rng.random() < 0.5 else rng.random(n) + 0.1
        total = float(given["demand"].sum())
    if "sizes" in kinds or "demand" in kinds:
        params["size_min"], params["size_max"] = 0.4 * total / k, 1.7 * total / k
    if "weights" in kinds:
        given["sample_weight"] = rng.choice([0.0, 0.5, 1.0, 2.0], n, p=[0.1, 0.3, 0.3, 0.3])
    if "partial" in kinds:
        given["y"] = np.where(rng.random(n) < 0.1, rng.integers(0, k, n), -1)
    return (csr_array(X) if sparse else X), params, given


def check_random_fit(model, X, params, given, *, rtol=1e-7):
    """Labels keep every hard constraint; every number is what the labels have."""
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    labels, k = model.labels_, params["n_clusters"]
    weight = given.get("sample_weight", np.ones(len(rows)))
    broken, penalty = 0, 0.0
    for kind in ("must_link", "cannot_link"):
        for first, second, *confidence in np.asarray(given.get(kind, np.zeros((0, 2)))).tolist():
            apart = labels[int(first)] != labels[int(second)]
            is_broken = bool(apart == (kind == "must_link"))
            assert not is_broken or (confidence and np.isfinite(confidence[0])), (kind, first, second)
            broken += is_broken
            penalty += is_broken * (confidence[0] if is_broken else 0.0)
    known = np.flatnonzero(given.get("y", np.full(len(rows), -1)) >= 0)
    if 0 < known.size < len(rows):
        same = given["y"][known][:, None] == given["y"][known]
        assert ((labels[known][:, None] == labels[known]) == same).all()
    sizes = np.bincount(labels, given.get("demand"), k)
    assert (np.bincount(labels, minlength=k) > 0).all()
    if "size_min" in params:
        assert (sizes >= params["size_min"] * (1 - 1e-12)).all()
        assert (sizes <= params["size_max"] * (1 + 1e-12)).all()
    assert_allclose(model.cluster_sizes_, sizes)
    assert model.n_violations_ == broken
    inertia = 0.0
    largest = float(np.abs(rows).max())
    for j in range(k):
        inside = labels == j
        if weight[inside].sum() > 0:
            mean = np.average(rows[inside], axis=0, weights=weight[inside])
            assert_allclose(model.cluster_centers_[j], mean, rtol=rtol, atol=rtol * largest)
            inertia += float(weight[inside] @ ((rows[inside] - mean) ** 2).sum(axis=1))
    slack = 1e-3 * rtol * float(weight @ (rows**2).sum(axis=1))
    assert_allclose(model.inertia_, inertia, rtol=10 * rtol, atol=slack)
    price = params.get("violation_cost", 0.0)
    assert_allclose(model.objective_, inertia + price * penalty, rtol=10 * rtol, atol=slack)
