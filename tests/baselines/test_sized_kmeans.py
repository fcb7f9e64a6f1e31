"""Balanced and minimum-size k-means: sizes hold, and the last assignment is the cheapest there is."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from konstrain import InfeasibleError
from konstrain.baselines import BalancedKMeans, MinSizeKMeans


def costs_of(model, X):
    return ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)


@pytest.mark.parametrize(("n", "k"), [(30, 3), (31, 3), (47, 6), (8, 8)])
def test_balanced_steps_are_optimal_assignments_to_places(n, k, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3)) ** 3
    model = BalancedKMeans(k, random_state=0).fit(X)
    assert np.ptp(model.cluster_sizes_) == (1 if n % k else 0)
    costs = costs_of(model, X)
    # The Hungarian method over places, with the larger clusters where the model has them.
    places = np.repeat(np.arange(k), model.cluster_sizes_.astype(int))
    rows, columns = linear_sum_assignment(costs[:, places])
    assert model.inertia_ == pytest.approx(costs[rows, places[columns]].sum())
    assert model.inertia_ == pytest.approx(costs[np.arange(n), model.labels_].sum())


def test_each_balanced_step_chooses_its_larger_clusters():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    model = BalancedKMeans(2, init=[[1.0], [10.5]]).fit(X)
    swapped = BalancedKMeans(2, init=[[10.5], [1.0]]).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    assert swapped.labels_.tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("size_min", [1, 2, [1, 3, 2]])
def test_minimum_sizes_hold_at_least_cost(size_min):
    X = np.array([[0.0], [0.1], [0.2], [0.3], [0.5], [7.0], [20.0]])
    model = MinSizeKMeans(3, size_min, n_init=3, random_state=0).fit(X)
    assert (model.cluster_sizes_ >= size_min).all()
    costs = costs_of(model, X)
    allowed = (
        labels
        for labels in itertools.product(range(3), repeat=7)
        if (np.bincount(labels, minlength=3) >= size_min).all()
    )
    assert model.inertia_ == pytest.approx(min(costs[np.arange(7), labels].sum() for labels in allowed))


def test_minimum_sizes_that_do_not_bind_change_nothing(seed):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    start = X[:3]
    np.testing.assert_array_equal(
        MinSizeKMeans(3, 2, init=start).fit(X).labels_, MinSizeKMeans(3, 1, init=start).fit(X).labels_
    )


def test_minimum_sizes_that_cannot_add_up_are_refused():
    with pytest.raises(InfeasibleError):
        MinSizeKMeans(3, 3).fit(np.arange(8.0).reshape(8, 1))


@pytest.mark.parametrize("estimator", [BalancedKMeans(2), MinSizeKMeans(2)])
def test_links_are_no_part_of_the_methods(estimator):
    with pytest.raises(TypeError, match="must_link"):
        estimator.fit(np.arange(8.0).reshape(8, 1), must_link=[(0, 7)])
    # Labels that mark unknown rows are ignored, too.
    marked = estimator.set_params(random_state=0).fit(np.arange(8.0).reshape(8, 1), [0, -1, -1, -1, 0, 0, 0, 0])
    assert marked.n_violations_ == 0
    np.testing.assert_array_equal(marked.labels_, estimator.fit(np.arange(8.0).reshape(8, 1)).labels_)
