"""Numbers so large or small that sums of them overflow: refused by name, never NaN, a wrong verdict or a warning."""

import numpy as np
import pandas as pd
import pytest

import konstrain
from konstrain import ConstrainedKMeans, certify

X = np.random.default_rng(0).normal(size=(12, 2))
HEAVY = np.full(12, 1e308)
METHODS = ["ConstrainedKMeans", "ExactKMeans", "BCKMeans", "MatchingKMeans", "LagrangianKMeans", "BLPKMeans"]


@pytest.mark.parametrize("method", METHODS)
def test_weights_whose_sum_is_infinite_are_refused(method):
    with pytest.raises(ValueError, match=r"sample_weight has values up to 1e\+308, too large to be added up"):
        getattr(konstrain, method)(2, random_state=0).fit(X, sample_weight=HEAVY)


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_make_squared_distances_infinite_are_refused(method):
    with pytest.raises(ValueError, match=r"sample_weight adds up to 1.2e\+301: squared distances"):
        getattr(konstrain, method)(2, random_state=0).fit(X * 1e5, sample_weight=HEAVY / 1e8)


def test_heavy_weights_of_near_rows_are_fine():
    heavy, light = (ConstrainedKMeans(2, random_state=0).fit(X, sample_weight=np.full(12, w)) for w in (1e300, 1.0))
    np.testing.assert_array_equal(heavy.labels_, light.labels_)


def test_heavy_weights_are_refused_by_certify_and_score():
    with pytest.raises(ValueError, match="sample_weight has values up to"):
        certify(X, 2, sample_weight=HEAVY)
    with pytest.raises(ValueError, match="sample_weight has values up to"):
        ConstrainedKMeans(2, random_state=0).fit(X).score(X, sample_weight=HEAVY)


@pytest.mark.parametrize("demand", [HEAVY, np.column_stack([np.ones(12), HEAVY])], ids=["one", "several"])
def test_demand_whose_sum_is_infinite_is_refused(demand):
    with pytest.raises(ValueError, match="demand has values up to"):
        ConstrainedKMeans(3, size_max=np.full(demand.shape[1:], 1e308)).fit(X, demand=demand)


@pytest.mark.parametrize("asked", [{}, {"cannot_link": [(0, 1), (1, 2)]}], ids=["free", "links"])
@pytest.mark.parametrize("sizes", [{}, {"size_min": 3, "size_max": 9}], ids=["no sizes", "sizes"])
def test_initial_centers_whose_distances_overflow_are_refused(asked, sizes):
    far = np.array([[0.0, 1.0], [1e160, 0.0]])
    with pytest.raises(ValueError, match=r"init has 1e\+160 in center 1"):
        ConstrainedKMeans(2, init=far, **sizes).fit(X, **asked)
    near = ConstrainedKMeans(2, init=far / 1e10, **sizes).fit(X, **asked)
    assert np.isfinite(near.cluster_centers_).all()


def test_infinities_of_both_signs_are_refused_without_a_warning():
    model = ConstrainedKMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.where(X > 0, np.inf, -np.inf))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sample_weight": np.ones(12) * 1j}, "sample_weight must hold numbers: they are complex"),
        ({"demand": np.ones(12) * 1j}, "demand must hold numbers: they are complex"),
        ({"demand": np.ones((12, 2)) * 1j}, "demand must hold numbers: they are complex"),
        ({"must_link": np.array([[0, 1 + 1j]])}, r"must_link\[0\] is .* is not a row number"),
        ({"must_link": pd.DataFrame({"a": [0], "b": [1], "c": [0.5 + 1j]})}, r"with confidence \(0.5\+1j\)"),
    ],
)
def test_complex_numbers_are_refused_by_name(asked, words):
    with pytest.raises(ValueError, match=words):
        ConstrainedKMeans(2).fit(X, **asked)


def test_complex_sizes_are_refused_by_name():
    with pytest.raises(ValueError, match="size_max must hold numbers: they are complex"):
        ConstrainedKMeans(2, size_max=np.array([8 + 1j, 8])).fit(X)


@pytest.mark.parametrize("asked", [{}, {"cannot_link": [(0, 1), (1, 2)]}], ids=["sizes", "links"])
@pytest.mark.parametrize("scale", [1e-305, 1e-250, 1e250, 1e305])
def test_the_unit_of_demand_changes_nothing(scale, asked):
    """No warning of numpy, no division by zero, and the same clusters."""
    demand = np.random.default_rng(1).random(12)
    found = [
        ConstrainedKMeans(2, init=X[:2], size_max=0.55 * demand.sum() * unit).fit(X, demand=demand * unit, **asked)
        for unit in (1.0, scale)
    ]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_allclose(found[1].cluster_sizes_ / scale, found[0].cluster_sizes_)


@pytest.mark.parametrize("seed", range(3))
def test_demands_that_vanish_beside_others_are_taken_without_a_warning(seed):
    demand = 10.0 ** np.random.default_rng(seed).uniform(-300, 300, 12)
    model = ConstrainedKMeans(2, init=X[:2], size_min=demand.min(), size_max=demand.sum())
    model.fit(1e3 * X, demand=demand, cannot_link=[(0, 1), (2, 3)])
    assert model.labels_[0] != model.labels_[1]
    assert np.isfinite(model.objective_)


def test_bounds_whose_sum_overflows_bound_nothing():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = ConstrainedKMeans(3, size_max=1e308, random_state=0).fit(X, demand=np.full(30, 1e305))
    assert model.cluster_sizes_.sum() == pytest.approx(3e306)
