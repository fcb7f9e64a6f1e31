"""What every fitted clustering must satisfy, counted from scratch; `conftest.py` has each fit in a test end here."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components

import konstrain
from konstrain import baselines

METHODS = [
    konstrain.BCKMeans,
    konstrain.BLPKMeans,
    konstrain.ConstrainedKMeans,
    konstrain.ExactKMeans,
    konstrain.LagrangianKMeans,
    konstrain.MatchingKMeans,
    *(getattr(baselines, name) for name in baselines.__all__),
]
# K-means under sizes; all other baselines may leave clusters empty and break links.
SIZED = (baselines.BalancedKMeans, baselines.MinSizeKMeans)
# Broken links pull the centers of these away from the means.
PULLED = (baselines.CVQE, baselines.LCVQE)


def pieces_of(labels, edges, names):
    """Pieces of all clusters together, by scipy and edge by edge; other graphs than pairs are taken as good."""
    if isinstance(edges, list) and isinstance(edges[0][0], str):
        edges = [(names.index(edge[0]), names.index(edge[1])) for edge in edges]
    if issparse(edges):
        edges = np.column_stack(edges.nonzero())
    if not isinstance(edges, list | np.ndarray):
        return len(set(labels.tolist()))
    pairs = np.asarray(edges, dtype=float)[:, :2].astype(int)
    inside = pairs[labels[pairs[:, 0]] == labels[pairs[:, 1]]]
    graph = coo_array((np.ones(len(inside)), (inside[:, 0], inside[:, 1])), shape=(labels.size, labels.size))
    return connected_components(graph, directed=False)[0]


def check_fit(
    model,
    X,
    y=None,
    sample_weight=None,
    *,
    must_link=None,
    cannot_link=None,
    demand=None,
    size_min=None,
    size_max=None,
    category=None,
    connectivity=None,
):
    """Links hold or are counted right, sizes are in bounds, centers are means, inertia is what the labels cost."""
    names = list(getattr(X, "axes", [()])[0])
    X = X.toarray() if issparse(X) else np.asarray(X)
    labels, k = model.labels_, model.n_clusters
    # Rounding is relative to the numbers that are added up; `X` far from the origin has large ones.
    rtol = 1e-4 if X.dtype == np.float32 else 1e-7
    X = X.astype(np.float64)
    assert labels.shape == (len(X),)
    assert labels.dtype == np.int32
    assert set(labels.tolist()) <= set(range(k))
    if may_leave_clusters_empty(model):
        check_counts(model, labels, must_link, cannot_link, y)
    else:
        assert set(labels.tolist()) == set(range(k))
        check_links(model, labels, must_link, cannot_link, y)
        check_sizes(model, labels, demand, size_min, size_max)
        if connectivity is not None:
            # Every cluster in one piece, but for edges that `join_components` has added.
            assert (model.n_pieces_ == 1).all()
            assert model.join_components or pieces_of(labels, connectivity, names) == k
        if category is not None:
            check_shares(model, labels, category)
    if getattr(model, "affinity", None) == "precomputed":
        assert np.isnan(model.inertia_)  # X holds similarities, so there are no distances to add up
        return
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    is_cosine = getattr(model, "metric", None) == "cosine"
    if is_cosine:
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = means_of(X, labels, k, weight)
    if is_cosine:
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        # A mean without a direction leaves its center anywhere.
        means = np.where(lengths > 1e-9, means / np.maximum(lengths, 1e-9), model.cluster_centers_)
    counted = ~np.isnan(means).any(axis=1)
    if hasattr(model, "cluster_centers_") and not isinstance(model, PULLED):
        assert_allclose(model.cluster_centers_[counted], means[counted], rtol=rtol, atol=rtol * np.abs(X).max())
    inside = weight > 0
    if getattr(model, "link_metric_", None) is not None:
        X, means = (rows @ model.link_metric_.components_.T for rows in (X, means))
    costs = ((X[inside] - means[labels[inside]]) ** 2).sum(axis=1)
    scale = float(weight[inside] @ (X[inside] ** 2).sum(axis=1))
    assert_allclose(model.inertia_, weight[inside] @ costs, rtol=10 * rtol, atol=1e-3 * rtol * scale)


def may_leave_clusters_empty(model):
    """Whether this is a baseline that labels rows and promises nothing about its clusters."""
    return type(model).__module__.partition(".")[0] != "konstrain" or (
        type(model).__name__ in baselines.__all__ and not isinstance(model, SIZED)
    )


def check_links(model, labels, must_link, cannot_link, y):
    """Hard links and partial labels hold, unless it is the method's way to break some; all are counted right."""
    check_counts(model, labels, must_link, cannot_link, None)
    if isinstance(model, (konstrain.LagrangianKMeans, *SIZED)):
        return
    for i, j in hard(must_link):
        assert labels[i] == labels[j]
    for i, j in hard(cannot_link):
        assert labels[i] != labels[j]
    if is_partial(y):
        known = np.flatnonzero(~unknown(y))
        names, clusters = np.array(as_list(y), dtype=object)[known], labels[known]
        np.testing.assert_array_equal(names[:, None] == names, clusters[:, None] == clusters)


def check_counts(model, labels, must_link, cannot_link, y):
    """`violations_` and `n_violations_` count the broken links."""
    assert model.n_violations_ == model.violations_.must_link + model.violations_.cannot_link
    # Partial labels are links too for the baselines, and a symmetric matrix names each link twice.
    if is_partial(y) or issparse(must_link) or issparse(cannot_link):
        return
    assert model.violations_.must_link == sum(labels[i] != labels[j] for i, j, _ in listed(must_link))
    assert model.violations_.cannot_link == sum(labels[i] == labels[j] for i, j, _ in listed(cannot_link))


def check_sizes(model, labels, demand, size_min, size_max):
    """What clusters hold is counted right, and within the bounds that the model or the test names."""
    if np.ndim(demand) == 2:
        held = np.asarray(demand, dtype=float)
        sizes = np.array([held[labels == j].sum(axis=0) for j in range(model.n_clusters)])
    else:
        sizes = np.bincount(labels, None if demand is None else np.asarray(demand, dtype=float), model.n_clusters)
    assert_allclose(model.cluster_sizes_, sizes)
    # Each by its own bound: a share of the total would excuse clusters beside a large one.
    for low in (size_min, getattr(model, "size_min", None)):
        assert low is None or (sizes >= size_in_numbers(low, sizes, demand) * (1 - 1e-9)).all()
    for high in (size_max, getattr(model, "size_max", None)):
        assert high is None or (sizes <= size_in_numbers(high, sizes, demand) * (1 + 1e-9)).all()
    tolerance = getattr(model, "size_tolerance", None)
    if tolerance is not None:
        share = float(tolerance[:-1]) / 100 if isinstance(tolerance, str) else tolerance
        equal = sizes.mean(axis=0)
        # Rows that cannot be divided into equal parts may differ by one.
        apart = np.maximum(share * equal, 0.0 if demand is not None or equal == int(equal) else 1.0)
        assert (np.abs(sizes - equal) <= apart * (1 + 1e-9)).all()


def size_in_numbers(size, sizes, demand):
    """Return a bound on sizes as numbers: of "12%" that share of all, of names the columns of demand in order."""
    if isinstance(size, dict):
        size = [size.get(name) for name in demand.columns]
    texts = np.array(size, dtype=object)
    total = np.broadcast_to(sizes.sum(axis=0), np.broadcast_shapes(texts.shape, np.shape(sizes.sum(axis=0))))
    return np.array(
        [
            float(text[:-1]) / 100 * whole if isinstance(text, str) else np.nan if text is None else float(text)
            for text, whole in zip(np.broadcast_to(texts, total.shape).ravel(), total.ravel(), strict=True)
        ]
    ).reshape(total.shape)


def check_shares(model, labels, category):
    """Shares are counted right, and within the bounds that the model names."""
    table = pd.DataFrame(
        category if hasattr(category, "columns") or isinstance(category, dict) else {"only": category}
    )
    for name in table:
        counted = pd.crosstab(labels, table[name], normalize="index")
        told = model.cluster_shares_ if len(table.columns) == 1 else model.cluster_shares_[name]
        overall = table[name].value_counts(normalize=True)
        for value in counted:
            shares = counted[value].to_numpy()
            assert_allclose(told[value], shares)
            for bound, sign in ((model.share_min, 1), (model.share_max, -1)):
                limit = bound.get(name, bound) if isinstance(bound, dict) else bound
                limit = limit.get(value) if isinstance(limit, dict) else limit
                limit = float(limit[:-1]) / 100 if isinstance(limit, str) else limit
                assert limit is None or (sign * shares >= sign * limit - 1e-12).all()
            if model.share_tolerance is not None:
                given = model.share_tolerance
                tolerance = float(given[:-1]) / 100 if isinstance(given, str) else given
                assert (shares >= (1 - tolerance) * overall[value] - 1e-12).all()
                assert (shares <= overall[value] / (1 - tolerance) + 1e-12).all()


def means_of(X, labels, k, weight):
    """Weighted means of clusters; NaN where nothing counts."""
    means = np.full((k, X.shape[1]), np.nan)
    for j in range(k):
        inside = labels == j
        if weight[inside].sum() > 0:
            means[j] = np.average(X[inside], axis=0, weights=weight[inside])
    return means


def listed(links):
    """Links in any form as (row, row, confidence); one without a confidence is hard."""
    if links is None:
        return []
    if issparse(links):
        entries = links.tocoo()
        without = entries.dtype.kind != "f" or (entries.data == 1).all()
        confidence = np.full(entries.nnz, np.inf) if without else entries.data
        return list(zip(entries.row, entries.col, confidence, strict=True))
    table = np.asarray(sorted(links) if isinstance(links, set | frozenset) else links, dtype=float)
    return [(int(i), int(j), *(rest or [np.inf])) for i, j, *rest in table]


def hard(links):
    """Pairs of rows that are linked beyond doubt."""
    return [(i, j) for i, j, confidence in listed(links) if np.isinf(confidence)]


def is_partial(y):
    """Whether labels mark some rows as unknown."""
    return y is not None and np.asarray(y).dtype.kind in "iuf" and bool(unknown(y).any())


def as_list(y):
    """Labels one by one: numpy makes floats of whole numbers beside nulls, which merges large ones."""
    return y.to_pylist() if hasattr(y, "to_pylist") else y.to_list() if hasattr(y, "to_list") else list(y)


def unknown(y):
    """Which rows have no label: -1 or missing."""
    values = np.asarray(y, dtype=object)
    return pd.isna(values) | np.array([value is not pd.NA and value == -1 for value in values], dtype=bool)


@contextmanager
def every_fit_checked():
    """Have each fit of a method end in `check_fit`, whoever calls it."""
    under_way = set()

    def checked(fit):
        @wraps(fit)
        def fit_and_check(model, *args, **kwargs):
            # A method's `fit` may call the one it inherits: only the outer one is over when it returns.
            is_outer = id(model) not in under_way
            under_way.add(id(model))
            try:
                fitted = fit(model, *args, **kwargs)
            finally:
                if is_outer:
                    under_way.discard(id(model))
            given = signature(fit).bind(model, *args, **kwargs).arguments
            # Links that can be read only once have been read.
            if is_outer and not any(isinstance(value, Iterator) for value in given.values()):
                known = signature(check_fit).parameters
                check_fit(model, **{name: value for name, value in given.items() if name in known})
            return fitted

        return fit_and_check

    owners = {next(base for base in method.__mro__ if "fit" in vars(base)) for method in METHODS}
    with pytest.MonkeyPatch.context() as patch:
        for owner in owners:
            patch.setattr(owner, "fit", checked(vars(owner)["fit"]))
        yield
