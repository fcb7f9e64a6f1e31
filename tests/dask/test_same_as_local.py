"""From the same centers, rows on a cluster get the labels that they get in memory, however they are cut."""

import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import konstrain
from effort import examples
from konstrain.dask import ConstrainedKMeans, steps

N, K = 900, 5
KINDS = {
    "free": {},
    "sizes": {"size_min": 150, "size_max": 230},
    "fixed sizes": {"size_min": 180, "size_max": 180},
    "links": {"links": True},
    "links and sizes": {"links": True, "size_min": 150, "size_max": 230},
    "soft links": {"links": 0.7, "violation_cost": 0.5},
    "weights": {"sample_weight": True, "size_min": 150, "size_max": 230},
    "demand": {"demand": (1, 2, 3), "size_min": 300, "size_max": 480},
    "demand in fractions": {"demand": (0.5, 3.5), "size_min": 300, "size_max": 480},
    "links and demand": {"links": True, "demand": (1, 2, 3), "size_min": 300, "size_max": 480},
}


def asked(kind, rng):
    """Arguments of the estimator, and those of `fit`."""
    given = dict(KINDS[kind])
    links, fit = given.pop("links", None), {}
    if links is not None:
        pairs = rng.permutation(N)[:120].reshape(-1, 2)
        confidence = np.full((30, 1), np.inf if links is True else links)
        fit = {"must_link": np.hstack([pairs[:30], confidence]), "cannot_link": np.hstack([pairs[30:], confidence])}
    if given.pop("sample_weight", False):
        fit["sample_weight"] = rng.integers(1, 4, N).astype(float)
    demand = given.pop("demand", ())
    if len(demand) == 2:
        fit["demand"] = rng.uniform(*demand, N)
    elif demand:
        fit["demand"] = rng.choice(demand, N).astype(float)
    return given, fit


def rows(kind):
    rng = np.random.default_rng(len(kind))
    return rng, rng.normal(size=(N, 3)) + 1.5 * rng.integers(0, 3, size=(N, 1))


def quietly(model, X, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # five iterations are enough to compare
        return model.fit(X, **arguments)


def few_rows_near_a_tie(monkeypatch):
    """Let so few rows come to the client that a step takes several passes over all rows."""
    monkeypatch.setattr(steps, "KEPT_NUMBERS", 60 * K)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_costs_are_those_of_a_fit_in_memory(kind, cluster, monkeypatch):
    rng, X = rows(kind)
    params, arguments = asked(kind, rng)
    # Where sizes are fractions steps from anywhere take long to prove, and only proved ones must be the same.
    init = KMeans(K, n_init=1, random_state=0).fit(X).cluster_centers_ if kind == "demand in fractions" else X[:K]
    params |= {"n_clusters": K, "init": init, "max_iter": 5, "tol": 0, "local_search": False}
    local = quietly(konstrain.ConstrainedKMeans(**params), X, **arguments)
    few_rows_near_a_tie(monkeypatch)
    with Client(cluster):
        for n_chunks in (7, 2, 1)[: examples(4)]:
            x = da.from_array(X, chunks=(-(-N // n_chunks), 3))
            model = quietly(ConstrainedKMeans(**params), x, **arguments)
            assert model.labels_.chunks[0] == x.chunks[0]
            assert_array_equal(model.labels_.compute(), local.labels_)
            assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)
            assert_allclose(model.cluster_centers_, local.cluster_centers_, rtol=1e-9)
            assert_allclose(model.cluster_sizes_, local.cluster_sizes_)
            assert_allclose(model.objective_, local.objective_, rtol=1e-9)
            assert model.violations_ == local.violations_
            assert model.n_iter_ == local.n_iter_


@pytest.mark.parametrize("kind", ["free", "sizes", "links", "links and sizes", "soft links", "demand"])
def test_new_rows_are_assigned_as_in_memory(kind, cluster, monkeypatch):
    rng, X = rows(kind)
    params, arguments = asked(kind, rng)
    price = {"violation_cost": params.pop("violation_cost")} if "violation_cost" in params else {}
    local = quietly(konstrain.ConstrainedKMeans(K, init=X[:K], max_iter=1, **price), X)
    few_rows_near_a_tie(monkeypatch)
    with Client(cluster):
        model = quietly(ConstrainedKMeans(K, init=X[:K], max_iter=1, **price), da.from_array(X, chunks=(400, 3)))
        found = model.predict(da.from_array(X, chunks=(250, 3)), **params, **arguments)
        assert found.chunks == ((250, 250, 250, 150),)
        assert_array_equal(found.compute(), local.predict(X, **params, **arguments))
