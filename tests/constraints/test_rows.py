"""Rows in every form that scikit-learn lets through: unsorted sparse ones work, too large ones are named."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from konstrain import ConstrainedKMeans, ExactKMeans, Problem, _core, check, describe, lower_bound, suggest_pairs
from konstrain.baselines import CVQE, LCVQE, COPKMeans, GreedyKMeans, PCKMeans
from konstrain.constraints.inputs import usable_rows
from konstrain.estimators import BLPKMeans, LagrangianKMeans, MatchingKMeans

DENSE = np.round(np.random.default_rng(0).normal(size=(24, 5)), 1) * (np.random.default_rng(1).random((24, 5)) < 0.6)
LINKS = {"must_link": [(0, 1), (2, 9)], "cannot_link": [(0, 2)]}


def shuffled_columns(X, make=csr_matrix, dtype=np.float64):
    """The same matrix with the columns of every row in another order, as scipy's products have them."""
    X = csr_matrix(X, dtype=dtype)
    for row in range(X.shape[0]):
        here = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[here], X.data[here] = X.indices[here][::-1].copy(), X.data[here][::-1].copy()
    return make((X.data, X.indices, X.indptr), shape=X.shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [csr_matrix, csr_array])
@pytest.mark.parametrize(
    "method",
    [
        ConstrainedKMeans,
        ExactKMeans,
        BLPKMeans,
        MatchingKMeans,
        LagrangianKMeans,
        COPKMeans,
        GreedyKMeans,
        PCKMeans,
        CVQE,
        LCVQE,
    ],
)
def test_unsorted_columns_change_nothing(method, make, dtype):
    X, sorted_ = shuffled_columns(DENSE, make, dtype), make(csr_matrix(DENSE, dtype=dtype))
    assert not X.has_sorted_indices
    before = X.indices.copy()
    model, expected = (method(2, random_state=0).fit(rows, **LINKS) for rows in (X, sorted_))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(sorted_))
    np.testing.assert_array_equal(model.transform(X), expected.transform(sorted_))
    assert model.score(X) == expected.score(sorted_)
    assert describe(X, model.labels_, 2, **LINKS).sse == pytest.approx(describe(sorted_, model.labels_, 2).sse)
    np.testing.assert_array_equal(X.indices, before)


@pytest.mark.parametrize("size", [1e154, -1e200, 1e308])
@pytest.mark.parametrize("make", [np.array, csr_matrix])
def test_rows_that_cannot_be_squared_are_named(size, make):
    rows = np.arange(12.0).reshape(6, 2)
    rows[4, 1] = size
    X = make(rows)
    calls = [
        lambda: ConstrainedKMeans(2, size_max=3).fit(X, must_link=[(0, 1)], cannot_link=[(0, 5)]),
        lambda: ExactKMeans(2).fit(X),
        lambda: COPKMeans(2).fit(X),
        lambda: Problem.build(X, 2),
        lambda: check(X, 2),
        lambda: lower_bound(X, 2),
        lambda: describe(X, [0, 0, 0, 1, 1, 1]),
        lambda: ConstrainedKMeans(2, random_state=0).fit(np.arange(12.0).reshape(6, 2)).predict(X),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"Input X has .*e\+\d+ in row 4, too large to be squared"):
            call()


def test_rows_just_small_enough_are_clustered():
    X = np.array([[0.0], [1.0], [9.0], [10.0]]) * 1e152
    model = ConstrainedKMeans(2, size_max=2, random_state=0).fit(X, cannot_link=[(0, 2)])
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.inertia_ == pytest.approx(1e304)


@pytest.mark.parametrize("strategy", ["margin", "explore-consolidate", "min-max"])
def test_links_given_as_iterators_are_not_forgotten(strategy):
    given = {"must_link": [(0, 1)], "cannot_link": [(0, 2), (1, 5)]}
    once = {kind: iter(pairs) for kind, pairs in given.items()}
    expected = suggest_pairs(DENSE, 3, ask=8, strategy=strategy, random_state=0, **given)
    np.testing.assert_array_equal(suggest_pairs(DENSE, 3, ask=8, strategy=strategy, random_state=0, **once), expected)


@pytest.mark.engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_the_largest_magnitude_is_that_of_any_sign(dtype, size):
    values = np.random.default_rng(size).normal(size=size).astype(dtype)
    assert _core.largest_magnitude(values) == np.abs(values).max(initial=0.0)


@pytest.mark.engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf], ids=["nan", "-nan", "inf", "-inf"])
def test_one_value_that_is_not_finite_shows_in_the_largest_magnitude(dtype, bad):
    values = np.random.default_rng(0).normal(size=1000).astype(dtype)
    values[123], values[500] = bad, np.finfo(dtype).max
    assert not np.isfinite(_core.largest_magnitude(values))


def test_rows_in_any_order_of_memory_are_looked_at_whole():
    X = np.zeros((4, 6))
    X[2, 3] = 1e200
    for given in (X, np.asfortranarray(X), X[:, 1:5]):
        with pytest.raises(ValueError, match="in row 2, too large"):
            usable_rows(given)
