"""Shares of groups and several resources over a cluster: kept over all rows, at the cost that a fit in memory has."""

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import konstrain
from effort import examples
from konstrain import InfeasibleError
from konstrain.dask import ConstrainedKMeans, start, steps
from konstrain.exceptions import NotProvenWarning

N, K = 900, 5
BOUNDS = {
    "share": {"share_min": {"F": 0.25}, "share_max": {"F": 0.5}},
    "share and sizes": {"share_min": {"F": 0.25}, "share_max": {"F": 0.5}, "size_min": 150, "size_max": 230},
    "share and links": {"share_min": {"F": 0.25}, "share_max": {"F": 0.5}},
    "two attributes": {"share_tolerance": 0.2},
    "resources": {"size_min": 0.8, "size_max": 1.2},
    "counts of kinds": {"size_min": 0.8, "size_max": 1.2},
}
# Where every step is proved on the way, in memory and here.
PROVED = ("counts of kinds",)
# Where a step takes seconds: cut in one way only, and among the slow tests.
SLOW = ("two attributes", "resources")
KINDS = [pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ()) for kind in BOUNDS]


@pytest.fixture
def _few_rows_here(monkeypatch):
    """Let so few rows come to the client, and so small a sample be drawn, that prices have to be looked for."""
    monkeypatch.setattr(steps, "KEPT_NUMBERS", 60 * K)
    monkeypatch.setattr(start, "SEARCHED_ROWS", 200)


def case(kind):
    """Rows, arguments of the estimator, and those of `fit`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 1.5 * rng.integers(0, 3, size=(N, 1))
    sex = np.where(rng.random(N) + 0.1 * X[:, 0] < 0.55, "F", "M")
    params, fit = dict(BOUNDS[kind]), {"category": sex}
    if kind == "two attributes":
        fit = {"category": {"sex": sex, "school": rng.choice(["a", "b", "c"], N)}}
    if kind == "share and links":
        fit |= {
            "must_link": rng.permutation(N)[:40].reshape(-1, 2),
            "cannot_link": rng.permutation(N)[:40].reshape(-1, 2),
        }
    if kind in ("resources", "counts of kinds"):
        one_kind = np.eye(2)[rng.integers(0, 2, N)]
        amounts = (
            np.column_stack([rng.uniform(0.5, 2, N), rng.integers(0, 4, N)]) if kind == "resources" else one_kind
        )
        fit = {"demand": amounts}
        params = {name: np.round(share * amounts.sum(axis=0) / K) for name, share in params.items()}
    return X, params, fit


def chunkings(kind):
    """Numbers of pieces that rows come in."""
    return (7,) if kind in SLOW else (2, 7)[-examples(4) :]


def quietly(model, X, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NotProvenWarning)
        return model.fit(X, **arguments)


def check_kept(labels, model, params, fit):
    """Recompute everything that was bounded from the labels of all rows."""
    if "demand" in fit:
        held = np.column_stack([np.bincount(labels, column, K) for column in fit["demand"].T])
        assert_allclose(model.cluster_sizes_, held)
        assert (held >= params["size_min"] * (1 - 1e-12)).all()
        assert (held <= params["size_max"] * (1 + 1e-12)).all()
        return
    sizes = np.bincount(labels, minlength=K)
    assert_array_equal(model.cluster_sizes_, sizes)
    assert sizes.min() >= params.get("size_min", 1)
    assert sizes.max() <= params.get("size_max", N)
    named = fit["category"] if isinstance(fit["category"], dict) else {"": fit["category"]}
    for name, values in named.items():
        told = model.cluster_shares_[name] if name else model.cluster_shares_
        for value in np.unique(values):
            share, overall = np.bincount(labels, values == value, K) / sizes, (values == value).mean()
            assert_allclose(told[value], share)
            slack = 1 - params.get("share_tolerance", 1.0)
            low = params.get("share_min", {}).get(value, slack * overall)
            high = params.get("share_max", {}).get(value, overall / slack if slack else 1.0)
            assert (share >= low - 1e-12).all()
            assert (share <= high + 1e-12).all()


@pytest.mark.usefixtures("_few_rows_here")
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_kept_over_all_rows_at_the_cost_in_memory(kind, cluster):
    X, params, fit = case(kind)
    given = {**params, "n_clusters": K, "init": X[:K], "max_iter": 3, "tol": 0, "local_search": False}
    local = quietly(konstrain.ConstrainedKMeans(**given), X, **fit)
    with Client(cluster):
        found = []
        for n_chunks in chunkings(kind):
            model = quietly(ConstrainedKMeans(**given), da.from_array(X, chunks=(-(-N // n_chunks), 3)), **fit)
            found.append(model.labels_.compute())
            check_kept(found[-1], model, params, fit)
            assert model.n_violations_ == 0
            # Unproved steps are off by less than a percent, here and there, and lead to other ends.
            assert_allclose(model.inertia_, local.inertia_, rtol=1e-9 if kind in PROVED else 1e-2)
            if kind in PROVED:
                assert_array_equal(found[-1], local.labels_)


def test_groups_and_resources_come_as_collections_of_any_kind(cluster):
    X, params, fit = case("two attributes")
    table = pd.DataFrame(fit["category"])
    with Client(cluster):
        model = ConstrainedKMeans(K, **params, init=X[:K], max_iter=1, local_search=False)
        x = da.from_array(X, chunks=(300, 3))
        labels = quietly(model, x, **fit).labels_.compute()
        frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
        groups = dd.from_pandas(table, npartitions=3)
        assert_array_equal(quietly(model, frame, category=groups).labels_.compute(), labels)
        lazy = {name: da.from_array(column.astype(str), chunks=300) for name, column in fit["category"].items()}
        assert_array_equal(quietly(model, x, category=lazy).labels_.compute(), labels)
        amounts = case("resources")[2]["demand"]
        bounds = case("resources")[1]
        model = ConstrainedKMeans(K, **bounds, init=X[:K], max_iter=1, local_search=False)
        labels = quietly(model, x, demand=amounts).labels_.compute()
        cut = da.from_array(amounts, chunks=(300, 1))
        assert_array_equal(quietly(model, x, demand=cut).labels_.compute(), labels)
        named = dd.from_pandas(pd.DataFrame(amounts, columns=["money", "people"]), npartitions=3)
        assert_array_equal(quietly(model, frame, demand=named).labels_.compute(), labels)


def test_without_given_centers_a_sample_is_searched_under_the_same_rules(cluster):
    X, params, fit = case("share and sizes")
    params |= {"n_init": 2, "random_state": 0}
    with Client(cluster):
        model = quietly(ConstrainedKMeans(K, **params), da.from_array(X, chunks=(250, 3)), **fit)
        check_kept(model.labels_.compute(), model, params, fit)
    local = quietly(konstrain.ConstrainedKMeans(K, **params), X, **fit)
    assert model.inertia_ <= 1.02 * local.inertia_


def test_a_cluster_that_shares_alone_would_leave_empty_gets_a_row(cluster):
    X, params, fit = case("share")
    far = np.vstack([X[: K - 1], np.full((1, 3), 1e3)])
    with Client(cluster):
        model = ConstrainedKMeans(K, **params, init=far, max_iter=1, local_search=False)
        labels = quietly(model, da.from_array(X, chunks=(250, 3)), **fit).labels_.compute()
    assert np.bincount(labels, minlength=K).min() >= 1
    check_kept(labels, model, params, fit)


def test_rows_without_weight_keep_shares_too(cluster):
    X, params, fit = case("share")
    weight = np.ones(N)
    weight[::7] = 0.0
    with Client(cluster):
        model = ConstrainedKMeans(K, **params, init=X[:K], max_iter=2, local_search=False)
        x = da.from_array(X, chunks=(250, 3))
        labels = quietly(model, x, sample_weight=weight, **fit).labels_.compute()
    check_kept(labels, model, params, fit)


@pytest.mark.usefixtures("_few_rows_here")
@pytest.mark.filterwarnings("error::konstrain.exceptions.NotProvenWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.values != ("two attributes",)])
def test_a_proved_step_gives_the_labels_of_a_proved_step_in_memory(kind, cluster):
    X, params, fit = case(kind)
    local = quietly(konstrain.ConstrainedKMeans(K, init=X[:K], max_iter=3, time_limit=60), X)
    wanted = local.predict(X, **params, **fit)
    with Client(cluster):
        model = ConstrainedKMeans(K, init=X[:K], max_iter=3, time_limit=60)
        model = quietly(model, da.from_array(X, chunks=(400, 3)))
        for n_chunks in chunkings(kind):
            x = da.from_array(X, chunks=(-(-N // n_chunks), 3))
            assert_array_equal(model.predict(x, **params, **fit).compute(), wanted)


@pytest.mark.parametrize(
    ("params", "fit", "words"),
    [
        ({"share_min": 0.1}, {}, "share_min is about groups of rows: give category"),
        ({"share_min": {"F": 0.9}}, {"category": "sex"}, "clusters that each hold a share of at least 0.9"),
        ({"share_min": {"X": 0.1}}, {"category": "sex"}, "names 'X', but no row of category has it"),
        ({"share_min": 0.1}, {"category": "gap"}, "category has no value in partition 1, row 50 of it"),
        ({"size_max": [1.0, 9.0]}, {"demand": "amounts"}, "size_max of resource 0 adds up to 5"),
        ({"size_max": [500.0, 500.0]}, {"demand": "large"}, "row 7 holds 600 of resource 1, more than the largest"),
        ({"size_max": [500.0, 500.0]}, {"demand": "bad"}, "demand is -1.0 in partition 1, row 50 of it"),
    ],
    ids=lambda value: None if not isinstance(value, str) else value.replace(" ", "-")[:40],
)
def test_what_cannot_be_kept_is_refused_in_one_line(params, fit, words, cluster):
    X, _, given = case("share")
    gap = given["category"].astype(object)
    gap[300] = None
    amounts = case("resources")[2]["demand"]
    large, bad = amounts.copy(), amounts.copy()
    large[7, 1], bad[300, 0] = 600.0, -1.0
    columns = {"sex": given["category"], "gap": gap, "amounts": amounts, "large": large, "bad": bad}
    with Client(cluster), pytest.raises((ValueError, InfeasibleError), match=words):
        ConstrainedKMeans(K, **params).fit(
            da.from_array(X, chunks=(250, 3)), **{name: columns[column] for name, column in fit.items()}
        )
