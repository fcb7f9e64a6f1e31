"""`duals_`: what one more row in each cluster costs, and new rows placed by it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

from konstrain import ConstrainedKMeans
from konstrain.exceptions import NotProvenWarning


def rows_of(n, d, seed, dtype=np.float64):
    # Blobs of very different sizes, so that caps bind.
    counts = np.random.default_rng(seed).multinomial(n, [0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    return make_blobs(counts.tolist(), n_features=d, cluster_std=2.0, random_state=seed)[0].astype(dtype)


# Both ways a fit can go: the search, and one run of exact steps from given centers; a matrix of costs, and lists.
@pytest.mark.parametrize(("k", "n"), [(6, 600), (220, 2600)])
@pytest.mark.parametrize("is_given", [False, True])
def test_distances_plus_duals_give_the_labels_of_a_converged_fit(k, n, is_given):
    X = rows_of(n, 3, 1)
    init = X[:k] if is_given else "k-means++"
    cap = int(1.05 * n / k) + 1
    model = ConstrainedKMeans(k, size_min=n // k // 2, size_max=cap, init=init, tol=0, random_state=0).fit(X)
    assert model.step_gap_ == 0.0
    priced = ((X[:, None] - model.cluster_centers_) ** 2).sum(-1) + model.duals_
    own = priced[np.arange(n), model.labels_]
    np.testing.assert_allclose(own, priced.min(axis=1), rtol=0, atol=1e-9 * priced.max())
    # A dual above zero belongs to a full cluster, one below zero to one at its least size.
    assert (model.cluster_sizes_[model.duals_ > 1e-12] == cap).all()
    assert (model.cluster_sizes_[model.duals_ < -1e-12] == n // k // 2).all()
    assert (model.duals_ > 0).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_fill_clusters_more_evenly_by_duals(dtype):
    X, new = (np.random.default_rng(seed).standard_exponential((3000, 3)).astype(dtype) ** 2 for seed in (2, 3))
    model = ConstrainedKMeans(20, size_max=155, random_state=0).fit(X)
    labels = model.predict(new, add_duals=True)
    priced = ((new[:, None].astype(float) - model.cluster_centers_) ** 2).sum(-1) + model.duals_
    np.testing.assert_array_equal(labels, priced.argmin(axis=1))
    assert labels.dtype == np.int32
    same = model.predict(X, add_duals=True)
    assert (same == model.labels_).mean() > 0.99
    plain = np.bincount(model.predict(X), minlength=20).max()
    assert np.bincount(same, minlength=20).max() < 1.05 * 155 < plain


def test_sparse_rows_are_placed_like_dense_ones():
    X = np.where(np.abs(rows_of(400, 6, 4)) > 4, rows_of(400, 6, 4), 0.0)
    model = ConstrainedKMeans(5, size_max=90, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(csr_array(X), add_duals=True), model.predict(X, add_duals=True))


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"size_max": 30, "cannot_link": [(0, 1)]},
        {"size_max": 30, "must_link": [(0, 1)]},
        {"size_max": 30, "sample_weight": np.arange(1, 101)},
        {"size_max": 1600, "demand": np.arange(1, 101)},
    ],
)
def test_where_sizes_are_not_all_there_are_no_duals(asked):
    X = rows_of(100, 2, 5)
    bounds = {name: asked.pop(name) for name in ("size_max",) if name in asked}
    model = ConstrainedKMeans(4, random_state=0, **bounds).fit(X, **asked)
    assert model.duals_ is None
    with pytest.raises(ValueError, match="size bounds alone"):
        model.predict(X, add_duals=True)


def test_duals_of_a_step_that_time_ended_are_unknown():
    X = rows_of(4000, 8, 7)
    with pytest.warns(NotProvenWarning):
        model = ConstrainedKMeans(40, size_max=102, time_limit=0.01, random_state=0).fit(X)
    assert model.step_gap_ != 0
    assert model.duals_ is None


def test_with_previous_labels_duals_are_what_places_new_rows():
    X = rows_of(600, 3, 1)
    before = ConstrainedKMeans(6, size_max=105, random_state=0).fit(X).labels_
    previous = np.where(np.arange(600) % 3 == 0, -1, before)
    model = ConstrainedKMeans(6, size_max=101, tol=0, random_state=0).fit(X, previous=previous)
    assert (model.duals_ > 0).any()
    priced = ((X[:, None] - model.cluster_centers_) ** 2).sum(-1) + model.duals_
    moved = (previous[:, None] >= 0) & (previous[:, None] != np.arange(6))
    for costs in (priced + model.move_cost_ * moved, priced[previous < 0]):
        own = model.labels_ if len(costs) == 600 else model.labels_[previous < 0]
        np.testing.assert_allclose(costs[np.arange(len(own)), own], costs.min(axis=1), atol=1e-9 * costs.max())
    bounded = ConstrainedKMeans(6, size_max=101, move_cost=0, max_moved=30, random_state=0)
    assert bounded.fit(X, previous=previous).duals_ is None


def test_duals_and_constraints_on_new_rows_exclude_each_other():
    X = rows_of(100, 2, 6)
    model = ConstrainedKMeans(4, size_max=30, random_state=0).fit(X)
    with pytest.raises(ValueError, match="leave it out"):
        model.predict(X, add_duals=True, cannot_link=[(0, 1)])
