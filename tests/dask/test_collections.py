"""What is accepted as rows, what is refused and with which words, and what a fit leaves behind."""

import pickle
import subprocess
import sys
import tracemalloc

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans

import konstrain
from konstrain import InfeasibleError
from konstrain.dask import ConstrainedKMeans, start, steps


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + 3 * rng.integers(0, 3, size=(300, 1))


def fitted(x, X, **arguments):
    return ConstrainedKMeans(3, size_min=80, size_max=120, init=X[:3], random_state=0).fit(x, **arguments)


def test_frames_arrays_of_unknown_sizes_empty_partitions_and_cut_columns_give_the_same_labels(cluster, X):
    with Client(cluster):
        whole = fitted(da.from_array(X, chunks=(100, 4)), X)
        labels = whole.labels_.compute()
        frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=4)
        by_frame = fitted(frame, X)
        assert_array_equal(by_frame.labels_.compute(), labels)
        assert by_frame.feature_names_in_.tolist() == list("abcd")
        unknown = frame.to_dask_array()
        assert np.isnan(unknown.shape[0])
        assert_array_equal(fitted(unknown, X).labels_.compute(), labels)
        empty = da.concatenate([da.zeros((0, 4)), da.from_array(X[:120]), da.zeros((0, 4)), da.from_array(X[120:])])
        assert_array_equal(fitted(empty, X).labels_.compute(), labels)
        assert_array_equal(fitted(da.from_array(X, chunks=(150, 3)), X).labels_.compute(), labels)


def test_single_precision_stays_and_integers_become_doubles(cluster, X):
    with Client(cluster):
        single = fitted(da.from_array(X.astype(np.float32), chunks=(100, 4)), X)
        assert single.cluster_centers_.dtype == np.float32
        local = konstrain.ConstrainedKMeans(3, size_min=80, size_max=120, init=X[:3]).fit(X.astype(np.float32))
        assert_array_equal(single.labels_.compute(), local.labels_)
        whole = fitted(da.from_array(np.round(10 * X).astype(int), chunks=(100, 4)), 10 * X)
        assert whole.cluster_centers_.dtype == np.float64


def test_bad_rows_are_named_with_partition_and_column(cluster, X):
    bad = X.copy()
    bad[210, 2] = np.nan
    frame = pd.DataFrame(bad, columns=list("abcd"))
    with Client(cluster):
        with pytest.raises(
            ValueError, match=r"missing value in partition 2, row 10 of it \(row 210 of all\), column 2"
        ):
            fitted(da.from_array(bad, chunks=(100, 4)), X)
        with pytest.raises(ValueError, match=r"partition 2, row 10 of it \(row 210 of all\), column 'c'"):
            fitted(dd.from_pandas(frame, npartitions=3), X)
        with pytest.raises(ValueError, match=r"demand is -1.0 in partition 1, row 5 of it \(row 105 of all\)"):
            fitted(da.from_array(X, chunks=(100, 4)), X, demand=np.where(np.arange(300) == 105, -1.0, 1.0))
        with pytest.raises(ValueError, match="partition 1, too large to be squared"):
            fitted(da.from_array(np.where(np.arange(300)[:, None] == 150, 1e200, X), chunks=(100, 4)), X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: X, "call dask.array.from_array"),
        (lambda X: da.from_array(X[:, 0]), "call X.reshape"),
        (lambda X: da.from_array(X.astype(str)), "call X.astype"),
        (lambda X: dd.from_pandas(pd.DataFrame({"key": ["a", "b"], "x": [0.0, 1.0]})), "'key' of X holds no numbers"),
    ],
)
def test_other_rows_are_refused_with_what_to_call(make, words, X):
    with pytest.raises((TypeError, ValueError), match=words):
        ConstrainedKMeans(3).fit(make(X))


def test_weights_and_demands_must_be_cut_like_the_rows(cluster, X):
    x = da.from_array(X, chunks=(100, 4))
    with Client(cluster):
        with pytest.raises(ValueError, match="sample_weight has 2 partitions, but X has 3"):
            fitted(x, X, sample_weight=da.ones(300, chunks=150))
        with pytest.raises(ValueError, match=r"partition [01] of demand has shape"):
            fitted(x, X, demand=da.ones(300, chunks=((50, 150, 100),)))
        with pytest.raises(ValueError, match="give demand as a dask array or series"):
            fitted(dd.from_pandas(pd.DataFrame(X), npartitions=2), X, demand=np.ones(300))
        with pytest.raises(ValueError, match="y has 2 partitions, but X has 3"):
            fitted(x, X, y=da.full(300, -1, chunks=150))
        with pytest.raises(ValueError, match=r"partition [01] of y has shape"):
            fitted(x, X, y=da.full(300, -1, chunks=((50, 150, 100),)))
        frame = dd.from_pandas(pd.DataFrame({"x": X[:, 0], "w": 1.0 + np.arange(300) % 3}), npartitions=3)
        by_series = ConstrainedKMeans(3, init=X[:3, :1]).fit(frame[["x"]], sample_weight=frame["w"])
        local = konstrain.ConstrainedKMeans(3, init=X[:3, :1]).fit(X[:, :1], sample_weight=1.0 + np.arange(300) % 3)
        assert_array_equal(by_series.labels_.compute(), local.labels_)


def test_rows_without_weight_go_to_their_nearest_center(cluster, X):
    weight = np.where(np.arange(300) % 5 == 0, 0.0, 1.0)
    local = konstrain.ConstrainedKMeans(3, init=X[:3]).fit(X, sample_weight=weight)
    with Client(cluster):
        model = ConstrainedKMeans(3, init=X[:3]).fit(da.from_array(X, chunks=(77, 4)), sample_weight=weight)
        nearest = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
        assert_array_equal(model.labels_.compute()[weight == 0], nearest[weight == 0])
        assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)


def test_rows_without_weight_go_to_the_nearest_center_that_sizes_leave_them(cluster, X):
    weight = np.where(np.arange(300) % 4 == 0, 0.0, 1.0)
    demand = np.where(np.arange(300) % 12 == 0, 0.0, 1.0)  # some count nothing at all
    sizes = {"size_min": 70, "size_max": 100, "init": X[:3], "local_search": False, "tol": 0}
    given = {"sample_weight": weight, "demand": demand}
    local = konstrain.ConstrainedKMeans(3, **sizes).fit(X, **given)
    with Client(cluster):
        model = ConstrainedKMeans(3, **sizes).fit(da.from_array(X, chunks=(77, 4)), **given)
        labels = model.labels_.compute()
    assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)
    assert_array_equal(labels[weight > 0], local.labels_[weight > 0])
    assert_allclose(model.cluster_sizes_, np.bincount(labels, demand))
    assert 70 <= model.cluster_sizes_.min() <= model.cluster_sizes_.max() <= 100
    apart = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    idle = np.flatnonzero(weight == 0)
    assert_allclose(apart[idle, labels[idle]].sum(), apart[idle, local.labels_[idle]].sum())


@pytest.mark.parametrize("confidence", [np.inf, 0.7])
def test_linked_rows_without_weight_go_to_the_nearest_center_that_links_leave_them(confidence, cluster, X):
    links = np.random.default_rng(1).permutation(300)[:80].reshape(-1, 2)
    weight = np.where(np.isin(np.arange(300), links[:, 0]), 0.0, 1.0)
    weight[links[10:30]] = 0.0  # whole blocks, and both ends of a cannot-link
    given = {
        "sample_weight": weight,
        "must_link": np.column_stack([links[:20], np.full(20, confidence)]),
        "cannot_link": np.column_stack([links[20:], np.full(20, confidence)]),
    }
    start = {"init": X[:3], "local_search": False, "tol": 0, "violation_cost": 1.0}
    local = konstrain.ConstrainedKMeans(3, **start).fit(X, **given)
    with Client(cluster):
        model = ConstrainedKMeans(3, **start).fit(da.from_array(X, chunks=(77, 4)), **given)
        labels = model.labels_.compute()
    assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)
    assert_array_equal(labels, local.labels_)
    assert_array_equal(model.cluster_sizes_, np.bincount(labels))
    assert model.violations_ == local.violations_


def test_a_cluster_of_linked_rows_without_weight_alone_is_not_left_empty(cluster):
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    weight = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    with Client(cluster):
        model = ConstrainedKMeans(3, init=X[::2], local_search=False)
        model.fit(da.from_array(X, chunks=(2, 1)), sample_weight=weight, must_link=[(4, 5)])
        assert model.labels_.compute().tolist() == [0, 0, 1, 1, 2, 2]


def swapped(frame, number):
    """Return a partition of a dataframe, the second one with its columns in the other order."""
    part = frame[100 * number : 100 * (number + 1)]
    return part[part.columns[::-1]] if number == 1 else part


def test_columns_are_taken_by_name_from_every_partition(cluster, X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    amounts = pd.DataFrame({"money": 1.0 + np.arange(300) % 3, "people": 1.0 + np.arange(300) % 5})
    groups = pd.DataFrame(
        {"sex": np.where(np.arange(300) % 2, "F", "M"), "age": np.where(np.arange(300) % 3, "o", "y")}
    )
    as_given = [dd.from_pandas(table, npartitions=3, sort=False) for table in (frame, amounts, groups)]
    by_hand = [
        dd.from_delayed(
            [dask.delayed(swapped)(table, number) for number in range(3)], meta=table[:0], verify_meta=False
        )
        for table in (frame, amounts, groups)
    ]
    with Client(cluster):
        wanted, found = (
            ConstrainedKMeans(
                3, size_max=[230, 330], share_min={"sex": {"F": 0.3}, "age": {"y": 0.2}}, init=X[:3], time_limit=120
            ).fit(x, demand=demand, category=category)
            for x, demand, category in (as_given, by_hand)
        )
        assert_array_equal(found.labels_.compute(), wanted.labels_.compute())
        assert_allclose(found.cluster_sizes_, wanted.cluster_sizes_)
        assert found.cluster_shares_.keys() == wanted.cluster_shares_.keys()
        other = dd.from_delayed([dask.delayed(frame.rename)(columns={"b": "z"})], meta=frame[:0], verify_meta=False)
        with pytest.raises(
            ValueError, match=r"partition 0 of X has the columns a, z, c, d, but X has a, b, c, d; give"
        ):
            ConstrainedKMeans(3).fit(other)


def test_labels_of_frames_of_delayed_parts_can_be_computed(cluster, X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    parts = [dask.delayed(swapped)(frame, number) for number in (0, 2)]
    x = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    weight = x["a"].abs()
    rows = np.r_[0:100, 200:300]
    with Client(cluster):
        model = ConstrainedKMeans(3, init=X[:3]).fit(x, sample_weight=weight)
        local = konstrain.ConstrainedKMeans(3, init=X[:3]).fit(X[rows], sample_weight=np.abs(X[rows, 0]))
        assert_array_equal(model.labels_.compute(), local.labels_)
        assert_array_equal(model.predict(x).compute(), local.predict(X[rows]))
        assert_allclose(model.transform(x).compute(), local.transform(X[rows]))


@pytest.mark.parametrize("rows", [np.float32, np.float64])
@pytest.mark.parametrize("centers", [np.float32, np.float64])
def test_distances_are_single_only_where_rows_and_centers_are(rows, centers, cluster, X):
    with Client(cluster):
        model = fitted(da.from_array(X.astype(centers), chunks=(100, 4)), X)
        found = model.transform(da.from_array(X.astype(rows), chunks=(100, 4)))
        wanted = KMeans(3, init=X[:3], n_init=1).fit(X.astype(centers)).transform(X[:1].astype(rows)).dtype
        assert found.dtype == found.compute().dtype == wanted


def test_clashes_are_told_in_the_numbers_of_all_rows(cluster, X):
    x = da.from_array(X, chunks=(100, 4))
    with Client(cluster):
        with pytest.raises(InfeasibleError, match=r"cannot_link \(40, 290\) contradicts must_link path 40-170-290"):
            fitted(x, X, must_link=[(40, 170), (170, 290)], cannot_link=[(40, 290)])
        apart = [(i, j) for i in (5, 105, 205, 299) for j in (5, 105, 205, 299) if i < j]
        with pytest.raises(InfeasibleError, match="rows 5, 105, 205, 299 must all be in different clusters"):
            fitted(x, X, cannot_link=apart)
        with pytest.raises(InfeasibleError, match="size_max adds up to 30 over 3 clusters, but there are 300 rows"):
            ConstrainedKMeans(3, size_max=10).fit(x)
        with pytest.raises(InfeasibleError, match=r"block of rows 0, 1, 2, .* more than the largest size_max 120"):
            fitted(x, X, must_link=[(i, i + 1) for i in range(130)])
        with pytest.raises(ValueError, match="row 300 does not exist, rows are 0 to 299"):
            fitted(x, X, must_link=[(0, 300)])
        with pytest.raises(ValueError, match="n_samples=300 should be >= n_clusters=400"):
            ConstrainedKMeans(400).fit(x)
        y = np.full(300, None, dtype=object)
        y[[40, 290]] = "one", "other"
        with pytest.raises(InfeasibleError, match=r"rows 40 and 290 have different labels.* path 40-170-290"):
            fitted(x, X, y=y, must_link=[(40, 170), (170, 290)])


@pytest.mark.parametrize("given", ["array", "dask array", "series"])
def test_partial_labels_are_links_as_in_memory(given, cluster, X):
    y = np.where(np.arange(300) % 10 == 3, np.arange(300) % 20 // 10, -1)
    links = {"must_link": [(1, 250)], "cannot_link": [(3, 250)]}
    sizes = {"size_min": 80, "size_max": 120, "init": X[:3], "local_search": False}
    local = konstrain.ConstrainedKMeans(3, **sizes).fit(X, y, **links)
    x = da.from_array(X, chunks=(100, 4))
    y = {
        "array": y,
        "dask array": da.from_array(y, chunks=100),
        # Partitions with and without missing labels have other types.
        "series": dd.from_pandas(pd.Series(np.where(y == -1, np.nan, y)), npartitions=3),
    }[given]
    with Client(cluster):
        model = ConstrainedKMeans(3, **sizes).fit(x, y, **links)
        labels = model.labels_.compute()
        assert_array_equal(labels, local.labels_)
        assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)
        assert len(set(labels[3::20])) == len(set(labels[13::20])) == 1
        assert labels[3] != labels[13]
        free, complete = (ConstrainedKMeans(3, **sizes).fit(x, y).labels_.compute() for y in (None, local.labels_))
        assert_array_equal(free, complete)
        assert (free != labels).any()


@pytest.mark.parametrize("init", ["k-means++", "random", "k-means||", lambda X, k, random_state: X[:k]])
def test_one_seed_gives_one_answer_whatever_the_partitions(init, cluster, X):
    with Client(cluster):
        one, other = (
            ConstrainedKMeans(3, size_max=110, init=init, n_init=2, random_state=5).fit(
                da.from_array(X, chunks=(c, 4))
            )
            for c in (300, 90)
        )
        assert_array_equal(one.labels_.compute(), other.labels_.compute())
        assert_allclose(one.inertia_, other.inertia_, rtol=1e-9)
        assert np.bincount(one.labels_.compute()).max() <= 110


def test_a_local_model_predicts_transforms_and_scores_the_same(cluster, X):
    x = da.from_array(X, chunks=(100, 4))
    with Client(cluster) as client:
        model = fitted(x, X)
        local = model.to_local()
        assert type(local) is konstrain.ConstrainedKMeans
        assert not hasattr(local, "labels_")
        assert model.client_ is client
        assert_array_equal(model.predict(x).compute(), local.predict(X))
        assert_array_equal(model.predict(X), local.predict(X))
        assert_allclose(model.transform(x).compute(), local.transform(X))
        assert_allclose(model.score(x), local.score(X))
        with pytest.raises(ValueError, match="X has 2 features, but the fit was to 4"):
            model.predict(x[:, :2])
        with pytest.raises(TypeError, match="certify needs the rows in memory"):
            model.certify(x)
        copy = clone(ConstrainedKMeans(3, client=client))
        assert copy.client is client
        assert pickle.loads(pickle.dumps(ConstrainedKMeans(3, client=client))).client is None


def test_what_workers_import_leaves_their_memory_to_the_rows():
    heavy = {"sklearn", "highspy", "polars", "matplotlib"}
    command = f"import konstrain.dask.passes, konstrain.dask.rows, sys; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, timeout=90)
    assert done.stdout.strip() == "[]"


def test_labels_are_lazy_and_the_client_holds_nothing_of_the_size_of_the_rows(cluster, monkeypatch):
    # With few rows near a tie and in the sample, what is left on the client would show any array of n entries.
    monkeypatch.setattr(steps, "KEPT_NUMBERS", 3 * 4_000)
    monkeypatch.setattr(start, "SEARCHED_ROWS", 2_000)
    n = 2_000_000
    x = da.random.default_rng(0).normal(size=(n, 2), chunks=(n // 8, 2))
    with Client(cluster):
        tracemalloc.start()
        model = ConstrainedKMeans(3, size_min=n // 4, size_max=n // 2.8, max_iter=9, random_state=0, tol=0.1).fit(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.5 * n  # bytes: not even one and a half per row
        assert isinstance(model.labels_, da.Array)
        assert model.cluster_sizes_.sum() == n
        assert model.cluster_sizes_.max() <= n // 2.8
        assert model.cluster_sizes_.min() >= n // 4
