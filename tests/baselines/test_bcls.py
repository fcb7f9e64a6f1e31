"""BCLS: each step by its closed form, the copy agrees in the end, and sizes are nearly equal."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from konstrain.baselines import BCLS
from konstrain.baselines.bcls import Multipliers, Regression
from konstrain.datasets import load, make_gaussian_balls
from konstrain.estimators.bc_kmeans import one_hot
from konstrain.kmeans.restarts import draw_seeds


def blobs(seed=0, sizes=(100, 60, 20)):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(size, 8)) + rng.normal(size=8) * 3 for size in sizes])


def state(seed=0, n=30, k=3, balance=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    multipliers = Multipliers(
        Regression(X - X.mean(axis=0), 0.3, balance), one_hot(rng.integers(k, size=n), k), 0.5, 1.1
    )
    multipliers.multipliers = rng.normal(size=(n, k))
    return multipliers


def test_the_linear_map_is_the_ridge_regression_with_a_free_constant():
    step = state()
    X = step.regression.X
    W, b = step.regression.map(step.Y)
    # The same as plain least squares with the ridge as further rows.
    padded = np.block([[X, np.ones((30, 1))], [np.sqrt(0.3) * np.eye(4), np.zeros((4, 1))]])
    expected = np.linalg.lstsq(padded, np.vstack([step.Y, np.zeros((4, 3))]), rcond=None)[0]
    np.testing.assert_allclose(np.vstack([W, b]), expected, atol=1e-10)


def test_the_copy_solves_its_linear_system():
    step = state()
    matrix = step.mu * np.eye(30) + 2 * step.regression.balance * np.ones((30, 30))
    expected = np.linalg.solve(matrix, step.mu * step.Y + step.multipliers)
    np.testing.assert_allclose(step.copy_step(), expected, atol=1e-10)


def test_labels_minimise_the_augmented_objective_row_by_row():
    step = state()
    W, b = step.regression.map(step.Y)
    mu, multipliers = step.mu, step.multipliers
    step.step()
    choices = np.eye(3)[:, None, :]  # each label for all rows at once
    costs = ((step.regression.X @ W + b - choices) ** 2).sum(axis=2)
    costs += mu / 2 * ((choices - step.Z + multipliers / mu) ** 2).sum(axis=2)
    np.testing.assert_array_equal(step.Y.argmax(axis=1), costs.argmin(axis=0))
    np.testing.assert_allclose(step.multipliers, multipliers + mu * (step.Y - step.Z))
    assert step.mu == pytest.approx(0.5 * 1.1)


def test_the_copy_agrees_with_the_labels_in_the_end():
    X = blobs(sizes=(40, 40, 40))
    labels = np.random.default_rng(0).permutation(np.arange(120) % 3)
    multipliers = Multipliers(Regression(X - X.mean(axis=0), 1e-5, 1.0), one_hot(labels, 3), 0.1, 1.005)
    residuals = []
    for _ in range(1200):
        multipliers.step()
        residuals.append(multipliers.residual)
    assert residuals[0] > 0.5
    assert residuals[-1] < 1e-3


def test_labels_are_found_that_random_ones_of_equal_sizes_are_not():
    X, truth = make_gaussian_balls(10, sigma=0.1, random_state=0)
    start = np.random.default_rng(0).permutation(truth)
    found = BCLS(10, variance=0.8, n_init=3, random_state=0).fit(X).labels_
    assert normalized_mutual_info_score(truth, start) < 0.1
    assert normalized_mutual_info_score(truth, found) > 0.9


def test_a_run_starts_from_labels_drawn_one_by_one_and_its_last_labels_count():
    X = blobs(sizes=(40, 40, 40))
    model = BCLS(3, n_init=1, max_iter=7, random_state=0).fit(X)
    seed = draw_seeds(check_random_state(0), 1)[0]
    labels = np.random.default_rng(seed).integers(3, size=120)
    assert np.ptp(np.bincount(labels)) > 0
    multipliers = Multipliers(Regression(X - X.mean(axis=0), 1e-5, 100.0), one_hot(labels, 3), 0.1, 1.005)
    for _ in range(7):
        multipliers.step()
    np.testing.assert_array_equal(model.labels_, multipliers.Y.argmax(axis=1))
    assert (model.labels_ != labels).any()


def test_components_are_those_of_the_standardised_features():
    X = blobs() * [1.0, 2.0, 5.0, 0.1, 1.0, 1.0, 1.0, 3.0]
    before = X.copy()
    reduced = PCA(0.8, svd_solver="full").fit_transform(StandardScaler().fit_transform(X))
    assert reduced.shape[1] < X.shape[1]
    by_option = BCLS(3, variance=0.8, n_init=2, random_state=0).fit(X)
    by_hand = BCLS(3, n_init=2, random_state=0).fit(reduced)
    np.testing.assert_array_equal(by_option.labels_, by_hand.labels_)
    np.testing.assert_array_equal(X, before)


def test_digits_after_components_stay_in_ten_clusters():
    digits = load("digits").sample_classes(10, 50, random_state=1)
    model = BCLS(10, variance=0.85, n_init=1, random_state=0).fit(digits.X)
    assert model.cluster_sizes_.min() >= 45
    assert normalized_mutual_info_score(digits.labels, model.labels_) > 0.4


def test_objective_is_its_definition_and_below_that_of_the_start():
    X = blobs()
    model = BCLS(3, ridge=0.1, balance=0.5, n_init=3, random_state=0).fit(X)
    Y, H = one_hot(model.labels_, 3), X - X.mean(axis=0)
    W = np.linalg.solve(H.T @ H + 0.1 * np.eye(8), H.T @ Y)
    error = H @ W + Y.mean(axis=0) - Y
    sizes = np.bincount(model.labels_, minlength=3)
    assert model.objective_ == pytest.approx((error**2).sum() + 0.1 * (W**2).sum() + 0.5 * (sizes**2).sum())
    start = one_hot(np.arange(len(X)) % 3, 3)
    assert model.objective_ < Regression(H, 0.1, 0.5).objective(start)
    np.testing.assert_array_equal(model.cluster_sizes_, sizes)


@pytest.mark.parametrize("seed", range(3))
def test_sizes_are_more_alike_than_those_of_kmeans(seed):
    X = blobs(seed)
    plain = np.bincount(KMeans(3, n_init=3, random_state=0).fit(X).labels_)
    ours = BCLS(3, n_init=3, random_state=0).fit(X).cluster_sizes_
    assert np.ptp(ours) <= 3
    assert np.ptp(plain) > 30


def test_links_are_no_part_of_the_method():
    with pytest.raises(TypeError, match="must_link"):
        BCLS(2).fit(blobs(), must_link=[(0, 1)])
    assert BCLS(2, n_init=1, random_state=0).fit(blobs()).n_violations_ == 0
