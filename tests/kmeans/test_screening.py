"""From 64 centers on, sweeps over dense rows look in single precision first: nothing of that may be seen."""

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, transport
from konstrain.kmeans.distances import block_costs, nearest_pass, sized_pass

pytestmark = pytest.mark.engine

N_ROWS = 700


def equal_centers(rows, centers):
    centers[1::2] = centers[::2][: len(centers[1::2])]


def centers_closer_than_single_precision(rows, centers):
    centers[1::2] = centers[::2][: len(centers[1::2])] * (1 + 1e-9)


def far_from_the_origin(rows, centers):
    rows += 1e6
    centers += 1e6


def tiny(rows, centers):
    rows *= 1e-30
    centers *= 1e-30


def huge(rows, centers):
    rows *= 1e30
    centers *= 1e30


def one_center(rows, centers):
    centers[:] = centers[0]


def rows_beyond_single_precision(rows, centers):
    rows[3] *= 1e38
    rows[5] *= 1e25


def equal_rows(rows, centers):
    rows[: N_ROWS // 2] = rows[0]


def rows_half_way(rows, centers):
    rows[:] = (centers[0] + centers[1]) / 2


HARD = [
    equal_centers,
    centers_closer_than_single_precision,
    far_from_the_origin,
    tiny,
    huge,
    one_center,
    rows_beyond_single_precision,
    equal_rows,
    rows_half_way,
]


def draw(n_clusters, n_features, change=None, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N_ROWS, n_features))
    centers = rows[rng.choice(N_ROWS, n_clusters, replace=False)] + 0.1 * rng.normal(size=(n_clusters, n_features))
    if change is not None:
        change(rows, centers)
    return rows, centers


def check_nearest(rows, centers):
    costs = block_costs(rows, None, centers)
    labels, inertia, *sums = nearest_pass(rows, None, centers)
    np.testing.assert_array_equal(labels, costs.argmin(axis=1))
    np.testing.assert_allclose(inertia, costs.min(axis=1).sum(), rtol=1e-12)
    for one, two in zip((labels, inertia, *sums), nearest_pass(rows, None, centers, n_threads=2), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [1, 2, 8, 33])
@pytest.mark.parametrize("n_clusters", [63, 64, 65, 100, 257])
def test_nearest_centers_are_those_of_doubles(n_clusters, n_features, dtype):
    rows, centers = draw(n_clusters, n_features)
    check_nearest(rows.astype(dtype), centers)


@pytest.mark.parametrize("change", HARD)
def test_nearest_centers_that_single_precision_cannot_tell(change):
    for seed in range(5):
        check_nearest(*draw(80, 6, change, seed))


def check_sized(rows, centers, start=None):
    """Labels within the bounds, and as dear as those found on all costs."""
    n_clusters = len(centers)
    mean = N_ROWS / n_clusters
    lower = np.full(n_clusters, int(0.7 * mean), dtype=np.int64)
    upper = np.full(n_clusters, int(np.ceil(1.4 * mean)), dtype=np.int64)
    answer = sized_pass(rows, None, centers, (lower, upper), start, list_length=transport.PARAMS.list_length)
    labels, _, cost, bound, finished = answer
    for one, two in zip(
        answer,
        sized_pass(rows, None, centers, (lower, upper), start, list_length=transport.PARAMS.list_length, n_threads=2),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert (sizes >= lower).all()
    assert (sizes <= upper).all()
    if not finished:
        return False
    costs = block_costs(rows, None, centers)
    expected = transport.solve(AssignmentProblem(costs, size_min=lower.astype(float), size_max=upper.astype(float)))
    np.testing.assert_allclose(cost, costs[np.arange(N_ROWS), labels].sum(), rtol=1e-12)
    assert cost <= expected.cost * (1 + 1e-9)
    if expected.proven:  # the matrix proves nothing where differences of costs are beyond single precision
        np.testing.assert_allclose(cost, expected.cost, rtol=1e-9)
    if start is None:
        np.testing.assert_allclose(bound, cost, rtol=1e-9)
    return True


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_clusters", [63, 64, 100, 257])
def test_sizes_are_kept_as_cheaply_as_on_all_costs(n_clusters, dtype):
    for seed in range(3):
        rows, centers = draw(n_clusters, 5, seed=seed)
        assert check_sized(rows.astype(dtype), centers)


@pytest.mark.parametrize("change", HARD)
def test_sizes_where_single_precision_cannot_tell(change):
    for seed in range(3):
        rows, centers = draw(80, 6, change, seed)
        # Where very many clusters cost the same, lists may give up: the matrix answers then.
        check_sized(rows, centers)


def test_prices_far_larger_than_the_costs_hide_nothing():
    rows, centers = draw(100, 5)
    start = np.random.default_rng(1).normal(size=100) * 1e6
    check_sized(rows, centers, start)
