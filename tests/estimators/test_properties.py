"""Properties of Lloyd's run from given centers: what must not matter does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from clusterings import random_pairs, sse
from konstrain import ConstrainedKMeans

seeds = st.integers(0, 2**32 - 1)


class Case:
    """Rows, links that some truth keeps, and centers to start from."""

    def __init__(self, seed, n=30, k=3):
        rng = np.random.default_rng(seed)
        self.rng, self.n, self.k = rng, n, k
        self.truth = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        self.X = rng.normal(size=(n, 2)) + 2.0 * rng.normal(size=(k, 2))[self.truth]
        self.must, self.cannot = random_pairs(rng, self.truth, 15)
        self.start = self.X[:k].copy()

    def fit(self, X=None, must=None, cannot=None, start=None, *, n_clusters=None, sizes=None, **arguments):
        init = self.start if start is None else start
        # The brief search that follows under sizes visits blocks in an order of its own.
        model = ConstrainedKMeans(self.k, init=init, tol=0, local_search=False, **(sizes or {}))
        return model.fit(
            self.X if X is None else X,
            must_link=self.must if must is None else must,
            cannot_link=self.cannot if cannot is None else cannot,
            **arguments,
        )


@given(seed=seeds)
def test_permuting_rows_with_their_pairs_permutes_the_labels(seed):
    case = Case(seed)
    order = case.rng.permutation(case.n)
    place = np.argsort(order)
    permuted = case.fit(case.X[order], place[case.must], place[case.cannot])
    np.testing.assert_array_equal(permuted.labels_, case.fit().labels_[order])


@given(seed=seeds)
def test_the_order_of_pairs_and_of_their_ends_does_not_matter(seed):
    case = Case(seed)
    shuffled = case.fit(must=case.must[::-1, ::-1], cannot=np.concatenate([case.cannot, case.cannot[:, ::-1]]))
    np.testing.assert_array_equal(shuffled.labels_, case.fit().labels_)


@given(seed=seeds)
def test_implied_links_change_nothing(seed):
    case = Case(seed)
    labels = case.fit(must=[(0, 5), (5, 9)], cannot=[(0, 1)]).labels_
    implied = case.fit(must=[(0, 5), (5, 9), (0, 9)], cannot=[(0, 1), (9, 1)]).labels_
    np.testing.assert_array_equal(labels, implied)


@given(seed=seeds, shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_shifting_and_scaling_rows_leaves_the_labels(seed, shift, scale):
    case = Case(seed)
    moved = case.fit(case.X * scale + shift, start=case.start * scale + shift)
    plain = case.fit()
    np.testing.assert_array_equal(moved.labels_, plain.labels_)
    np.testing.assert_allclose(moved.inertia_, plain.inertia_ * scale**2, rtol=1e-6)


@given(seed=seeds)
def test_an_integer_weight_is_a_repeated_row(seed):
    case = Case(seed)
    weight = case.rng.integers(1, 4, case.n)
    copies = np.repeat(np.arange(case.n), weight)
    first = np.concatenate([[0], np.cumsum(weight)[:-1]])
    repeated = case.fit(
        case.X[copies],
        must=np.concatenate([first[case.must], np.column_stack([first[copies], np.arange(copies.size)])]),
        cannot=first[case.cannot],
    )
    weighted = case.fit(sample_weight=weight)
    np.testing.assert_array_equal(repeated.labels_[first], weighted.labels_)
    np.testing.assert_allclose(repeated.inertia_, weighted.inertia_, rtol=1e-9)


@given(seed=seeds)
def test_bounds_that_do_not_bind_change_nothing(seed):
    case = Case(seed)
    plain = case.fit()
    bounded = case.fit(sizes={"size_min": 1, "size_max": case.n})
    np.testing.assert_array_equal(plain.labels_, bounded.labels_)


@given(seed=seeds)
@pytest.mark.parametrize("make", [csr_array, csr_matrix])
def test_sparse_rows_give_what_dense_ones_give(seed, make):
    case = Case(seed)
    X = np.where(np.abs(case.X) < 0.5, 0.0, case.X)
    dense, sparse = case.fit(X), case.fit(make(X))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(dense.inertia_, sparse.inertia_, rtol=1e-9)


@given(seed=seeds)
def test_single_precision_is_about_as_good(seed):
    case = Case(seed)
    single = case.fit(case.X.astype(np.float32), start=case.start.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(sse(case.X, single.labels_), case.fit().inertia_, rtol=1e-3)


@given(seed=seeds)
def test_one_worker_finds_what_many_find(seed):
    case = Case(seed)
    found = [
        ConstrainedKMeans(3, n_init=4, n_jobs=n_jobs, random_state=seed % 1000)
        .fit(case.X, must_link=case.must, cannot_link=case.cannot)
        .labels_
        for n_jobs in (1, 2, 4)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@given(seed=seeds)
def test_renaming_clusters_renames_their_bounds(seed):
    case = Case(seed)
    low, high = np.array([5.0, 8.0, 10.0]), np.array([8.0, 12.0, 14.0])
    order = case.rng.permutation(3)
    plain = case.fit(must=[], cannot=[], sizes={"size_min": low, "size_max": high})
    renamed = case.fit(
        must=[], cannot=[], start=case.start[order], sizes={"size_min": low[order], "size_max": high[order]}
    )
    np.testing.assert_allclose(plain.inertia_, renamed.inertia_, rtol=1e-9)
