"""Generated data have the sizes, spreads and shapes their formulas say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from konstrain.datasets import make_control_charts, make_gaussian_balls, make_half_rings, make_spirals

MAKERS = [make_gaussian_balls, make_half_rings, make_spirals, make_control_charts]


@pytest.mark.parametrize("make", MAKERS)
def test_one_seed_gives_one_data_set(make):
    first, again, other = make(random_state=3), make(random_state=3), make(random_state=4)
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()


@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.7])
def test_balls_have_variance_sigma_around_centers_in_the_cube(sigma):
    X, labels = make_gaussian_balls(10, sigma=sigma, random_state=0)
    assert X.shape == (500, 512)
    centers = np.array([X[labels == label].mean(axis=0) for label in range(10)])
    # A mean of 256,000 squares: its standard deviation is 0.3%.
    assert_allclose((X - centers[labels]).var(), sigma * 49 / 50, rtol=0.02)
    assert_allclose((centers**2).mean(), 1 / 3 + sigma / 50, rtol=0.05)
    assert np.abs(centers).max() < 1 + 6 * np.sqrt(sigma / 50)


def test_more_balls_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_clusters=7 balls need between 1 and n_samples=5"):
        make_gaussian_balls(7, n_samples=5)


def test_half_rings_without_noise_lie_on_two_half_circles():
    X, labels = make_half_rings(401, noise=0.0, random_state=0)
    assert np.bincount(labels).tolist() == [200, 201]
    upper, lower = X[labels == 0], X[labels == 1]
    assert_allclose(np.hypot(*upper.T), 1.0)
    assert_allclose(np.hypot(*(lower - [1.0, 0.5]).T), 1.0)
    assert (upper[:, 1] >= 0).all()
    assert (lower[:, 1] <= 0.5).all()


def test_spirals_without_noise_are_mirror_images_whose_radius_is_their_angle():
    X, labels = make_spirals(200, noise=0.0, random_state=0)
    first, second = X[labels == 0] - 15, X[labels == 1] - 15
    assert_allclose(first, -second)
    radius = np.hypot(*first.T)
    assert_allclose(first, radius[:, None] * np.column_stack([-np.cos(radius), np.sin(radius)]), atol=1e-12)
    assert radius.max() <= np.deg2rad(780)
    with pytest.raises(ValueError, match="n_samples=3 rows cannot be shared by two equal arms"):
        make_spirals(3)


def test_control_charts_differ_as_their_kinds_say():
    X, labels = make_control_charts(200, random_state=0)
    normal, cyclic, rising, falling, up, down = (X[labels == kind] for kind in range(6))
    assert np.abs(normal - 30).max() <= 6
    assert cyclic.std() > 2 * normal.std()
    trend = rising[:, -10:].mean(axis=1) - rising[:, :10].mean(axis=1)
    assert (trend > 50 * 0.2 - 6).all()
    assert (trend < 50 * 0.5 + 6).all()
    assert_allclose(rising.mean() - 30, 30 - falling.mean(), rtol=0.1)
    for chart, sign in ((up, 1), (down, -1)):
        assert np.abs(chart[:, :19] - 30).max() <= 6
        jump = sign * (chart[:, 40:].mean(axis=1) - 30)
        assert jump.min() > 7.5 - 3
        assert jump.max() < 20 + 3
