"""The kernels of the k-means loop against direct computation in extended precision."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from effort import some
from konstrain.kmeans.distances import block_costs, candidate_distances, center_sums, nearest_pass, own_costs

pytestmark = pytest.mark.engine

N_FEATURES = [1, 2, 3, 7, 8, 9, 64, 65]
N_CLUSTERS = [1, 2, 7, 8, 9, 15, 16, 17, 33, 100]
N_BLOCKS = [0, 1, 5, 1000]


def direct_costs(means, weight, centers):
    """Squared distances one center at a time, in the widest floating-point type there is."""
    rows = np.asarray(means.toarray() if sparse.issparse(means) else means, dtype=np.longdouble)
    costs = np.empty((rows.shape[0], centers.shape[0]))
    for j, center in enumerate(centers):
        costs[:, j] = ((rows - center) ** 2).sum(axis=1)
    return costs if weight is None else costs * weight[:, None]


def direct_sums(means, weight, labels, n_clusters):
    rows = means.toarray() if sparse.issparse(means) else means
    weight = np.ones(rows.shape[0]) if weight is None else weight
    sums, cluster_weight = np.zeros((n_clusters, rows.shape[1])), np.zeros(n_clusters)
    np.add.at(sums, labels, rows.astype(np.float64) * weight[:, None])
    np.add.at(cluster_weight, labels, weight)
    return sums, cluster_weight


def make_rows(rng, kind, shape, dtype):
    """Dense rows, sparse rows, or sparse rows of which every other one is full."""
    rows = rng.normal(size=shape).astype(dtype)
    if kind == "dense":
        return rows
    rows[rng.random(shape) < 0.8] = 0
    if kind == "mixed":
        rows[::2] = rng.normal(size=rows[::2].shape)
    return sparse.csr_array(rows)


def wide_indices(rows):
    wide = sparse.csr_array(rows.shape, dtype=rows.dtype)
    wide.data, wide.indices, wide.indptr = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return wide


def check_all(means, weight, centers, n_threads=1):
    """Check the five functions on one input."""
    n_clusters = centers.shape[0]
    plain = direct_costs(means, None, centers)
    expected = plain if weight is None else plain * weight[:, None]
    atol = 1e-13 * float((centers**2).sum(axis=1).max()) if sparse.issparse(means) else 0.0
    scale = 1.0 if weight is None else float(weight.max(initial=0.0))
    costs = block_costs(means, weight, centers, n_threads=n_threads)
    assert costs.dtype == np.float64
    assert costs.flags.c_contiguous
    assert (costs >= 0).all()
    np.testing.assert_allclose(costs, expected, rtol=1e-12, atol=atol * scale)

    labels, inertia, sums, cluster_weight = nearest_pass(means, weight, centers, n_threads=n_threads)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, block_costs(means, None, centers).argmin(axis=1))
    np.testing.assert_allclose(inertia, expected[np.arange(len(labels)), labels].sum(), rtol=1e-12, atol=atol)

    shifted = ((labels + 1) % n_clusters).astype(np.int32)
    own = own_costs(means, weight, shifted, centers, n_threads=n_threads)
    np.testing.assert_allclose(
        own, expected[np.arange(len(labels)), shifted].sum(), rtol=1e-12, atol=atol * scale * max(1, len(labels))
    )

    direct, direct_weight = direct_sums(means, weight, labels, n_clusters)
    for result in ((sums, cluster_weight), center_sums(means, weight, labels, n_clusters, n_threads=n_threads)):
        np.testing.assert_allclose(result[0], direct, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(result[1], direct_weight, rtol=1e-12)

    distances = candidate_distances(means, centers, n_threads=n_threads)
    np.testing.assert_allclose(distances, plain.T, rtol=1e-12, atol=atol)


@pytest.mark.parametrize(
    ("n_blocks", "n_clusters", "n_features"), some(itertools.product(N_BLOCKS, N_CLUSTERS, N_FEATURES))
)
def test_every_shape_equals_direct_computation(n_blocks, n_clusters, n_features):
    rng = np.random.default_rng([n_blocks, n_clusters, n_features])
    centers = rng.normal(size=(n_clusters, n_features))
    for kind in ("dense", "sparse", "mixed"):
        means = make_rows(rng, kind, (n_blocks, n_features), np.float64)
        check_all(means, None, centers)
        check_all(means, rng.random(n_blocks) * 5, centers)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float32_rows_are_computed_in_double(kind, dtype):
    rng = np.random.default_rng(1)
    means = make_rows(rng, kind, (500, 30), dtype)
    centers = rng.normal(size=(12, 30))
    check_all(means, rng.random(500), centers)
    if kind != "dense":
        check_all(wide_indices(means), rng.random(500), centers)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_four_threads_give_the_bits_of_one(kind, dtype):
    """Rows of sizes from 1e-6 to 1e6, so that any other order of adding would show."""
    rng = np.random.default_rng(2)
    means = make_rows(rng, kind, (20_011, 6), dtype)
    scale = (10.0 ** rng.uniform(-6, 6, 20_011)).astype(dtype)[:, None]
    means = sparse.csr_array(means.multiply(scale)) if sparse.issparse(means) else means * scale
    weight = rng.random(20_011)
    centers = rng.normal(size=(5, 6))
    labels = rng.integers(0, 5, 20_011).astype(np.int32)
    for one, four in zip(
        *(
            [
                block_costs(means, weight, centers, n_threads=n),
                *nearest_pass(means, weight, centers, n_threads=n),
                *center_sums(means, weight, labels, 5, n_threads=n),
                own_costs(means, weight, labels, centers, n_threads=n),
                candidate_distances(means, centers, n_threads=n),
            ]
            for n in (1, 4)
        ),
        strict=True,
    ):
        np.testing.assert_array_equal(one, four)


def test_sums_over_hundreds_of_chunks_are_added_in_one_order():
    """Threads finish in another order each time; several tries, for one may happen to go in order."""
    rng = np.random.default_rng(13)
    rows = rng.normal(size=(600_000, 1)) * 10.0 ** rng.uniform(-6, 6, (600_000, 1))
    centers = np.array([[-1.0], [1.0]])
    labels, inertia, sums, _ = nearest_pass(rows, None, centers)
    for _ in range(10):
        again = nearest_pass(rows, None, centers, n_threads=4)
        np.testing.assert_array_equal(again[0], labels)
        assert again[1] == inertia
        np.testing.assert_array_equal(again[2], sums)
        np.testing.assert_array_equal(center_sums(rows, None, labels, 2, n_threads=4)[0], sums)


def test_many_chunks_and_threads_equal_direct_computation():
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(11, 4))
    for kind in ("dense", "sparse"):
        check_all(make_rows(rng, kind, (9_001, 4), np.float64), rng.random(9_001), centers, n_threads=3)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_large_common_offset_costs_no_digits(kind):
    """The usual |x|^2 - 2xc + |c|^2 keeps about three digits here; the test would notice."""
    rng = np.random.default_rng(4)
    means = rng.normal(size=(300, 10)) + 1e6
    centers = rng.normal(size=(20, 10)) + 1e6
    expected = direct_costs(means, None, centers)
    expanded = (means**2).sum(1)[:, None] - 2 * means @ centers.T + (centers**2).sum(1)
    assert np.abs(expanded / expected - 1).max() > 1e-6
    rows = means if kind == "dense" else sparse.csr_array(means)
    np.testing.assert_allclose(block_costs(rows, None, centers), expected, rtol=1e-12)
    np.testing.assert_array_equal(nearest_pass(rows, None, centers)[0], expected.argmin(axis=1))
    np.testing.assert_allclose(candidate_distances(rows, centers), expected.T, rtol=1e-12)


def test_of_equally_near_centers_the_first_wins():
    rng = np.random.default_rng(5)
    for n_clusters in N_CLUSTERS:
        means = rng.integers(0, 3, (200, 2)).astype(float)
        centers = rng.integers(0, 3, (n_clusters, 2)).astype(float)
        expected = direct_costs(means, None, centers).argmin(axis=1)
        for rows in (means, means.astype(np.float32), sparse.csr_array(means)):
            np.testing.assert_array_equal(nearest_pass(rows, None, centers)[0], expected)


def test_a_block_is_at_distance_zero_from_itself():
    rng = np.random.default_rng(6)
    means = rng.normal(size=(100, 7)) * 1e5
    distances = candidate_distances(means, [3, 50, 99])
    np.testing.assert_array_equal(distances[[0, 1, 2], [3, 50, 99]], 0.0)
    assert (np.delete(distances[0], 3) > 0).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_candidates_may_be_numbers_of_blocks_or_points(kind):
    rng = np.random.default_rng(7)
    means = make_rows(rng, kind, (60, 5), np.float32)
    chosen = np.array([4, 4, 17, 59])
    points = (means.toarray() if kind == "sparse" else means)[chosen].astype(np.float64)
    np.testing.assert_array_equal(candidate_distances(means, chosen), candidate_distances(means, points))


def test_doubling_every_weight_doubles_costs_and_keeps_labels():
    rng = np.random.default_rng(8)
    means, weight, centers = rng.normal(size=(50, 3)), rng.random(50), rng.normal(size=(4, 3))
    once, twice = (nearest_pass(means, w, centers) for w in (weight, 2 * weight))
    np.testing.assert_array_equal(once[0], twice[0])
    for one, two in zip(once[1:], twice[1:], strict=True):
        np.testing.assert_array_equal(2 * np.asarray(one), two)


def test_no_blocks_at_all():
    labels, inertia, sums, cluster_weight = nearest_pass(np.empty((0, 3)), None, np.ones((2, 3)))
    assert labels.shape == (0,)
    assert inertia == 0.0
    np.testing.assert_array_equal(sums, np.zeros((2, 3)))
    np.testing.assert_array_equal(cluster_weight, 0.0)


def test_read_only_and_memory_mapped_inputs_stay_as_they_are(tmp_path):
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(100, 6)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    weight, centers = rng.random(100), rng.normal(size=(3, 6))
    before = weight.copy(), centers.copy()
    weight.flags.writeable = centers.flags.writeable = False
    check_all(mapped, weight, centers)
    np.testing.assert_array_equal(mapped, rows)
    np.testing.assert_array_equal(weight, before[0])
    np.testing.assert_array_equal(centers, before[1])


def test_out_is_filled_and_handed_back():
    rng = np.random.default_rng(10)
    means, centers = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    out = np.full((40, 5), np.nan)
    assert block_costs(means, None, centers, out=out) is out
    np.testing.assert_allclose(out, direct_costs(means, None, centers), rtol=1e-12)


def test_memory_beside_the_output_stays_untouched():
    """Rows of costs that end inside a vector must not spill."""
    rng = np.random.default_rng(11)
    for n_clusters in range(1, 40):
        means, centers = rng.normal(size=(37, 2)), rng.normal(size=(n_clusters, 2))
        room = np.full(37 * n_clusters + 32, -7.0)
        out = room[16:-16].reshape(37, n_clusters)
        block_costs(means, None, centers, out=out)
        np.testing.assert_allclose(out, direct_costs(means, None, centers), rtol=1e-12)
        np.testing.assert_array_equal(np.concatenate([room[:16], room[-16:]]), -7.0)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_costs_too_many_for_the_cache_are_the_same(offset):
    """More than 8 million costs are written past the caches, at any alignment and without spilling."""
    rng = np.random.default_rng(12)
    means, weight, centers = rng.normal(size=(161_001, 1)), rng.random(161_001), rng.normal(size=(50, 1))
    room = np.full(161_001 * 50 + 16, -7.0)
    out = room[8 + offset : 8 + offset + 161_001 * 50].reshape(161_001, 50)
    block_costs(means, weight, centers, n_threads=2, out=out)
    np.testing.assert_allclose(out, (means - centers.T) ** 2 * weight[:, None], rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate([room[: 8 + offset], room[8 + offset + out.size :]]), -7.0)
    part = block_costs(means[:1000], weight[:1000], centers)
    np.testing.assert_array_equal(out[:1000], part)


ROWS, CENTERS = np.zeros((4, 3)), np.zeros((2, 3))


@pytest.mark.parametrize(
    ("means", "message"),
    [
        (np.asfortranarray(ROWS), "means must be in C order"),
        (ROWS[:, ::2], "means must be in C order"),
        (ROWS.astype(int), "means must be float64 or float32, got int64"),
        (sparse.csr_array(ROWS.astype(int)), "means must be float64 or float32, got int64"),
        (ROWS[0], r"shape \(n_blocks, n_features\), got float64, shape \(3,\)"),
        ([[0.0, 1.0, 2.0]], r"shape \(n_blocks, n_features\), got list"),
        (sparse.csc_array(ROWS), "CSR format, got CSC"),
        (sparse.csr_array((np.ones(2), np.zeros(2, int), np.array([0, 2])), shape=(1, 3)), "sum_duplicates"),
    ],
)
def test_rows_that_would_need_a_copy_are_refused(means, message):
    labels = np.zeros(4, dtype=np.int32)
    for call in (
        lambda: block_costs(means, None, CENTERS),
        lambda: nearest_pass(means, None, CENTERS),
        lambda: center_sums(means, None, labels, 2),
        lambda: own_costs(means, None, labels, CENTERS),
        lambda: candidate_distances(means, CENTERS),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"centers": np.zeros((2, 4))}, r"centers must be .*shape \(2, 3\), C order; got float64, shape \(2, 4\)"),
        ({"centers": CENTERS.astype(np.float32)}, "centers must be an array of float64.*; got float32"),
        ({"centers": np.asfortranarray(CENTERS)}, "centers must be .* not C order"),
        ({"centers": np.zeros((0, 3))}, "centers must be a matrix with at least one row"),
        ({"weight": np.ones(3)}, r"weight must be .*shape \(4,\)"),
        ({"weight": np.ones(4, dtype=int)}, "weight must be an array of float64"),
        ({"out": np.zeros((4, 3))}, r"out must be .*shape \(4, 2\)"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(arguments, message):
    call = {"means": ROWS, "weight": None, "centers": CENTERS} | arguments
    with pytest.raises(ValueError, match=message):
        block_costs(**call)


def test_labels_must_be_int32_one_per_block():
    with pytest.raises(ValueError, match="labels must be an array of int32"):
        center_sums(ROWS, None, np.zeros(4, dtype=np.int64), 2)


def test_numbers_that_point_outside_are_refused():
    with pytest.raises(ValueError, match="labels must be from 0 to 1, got 0 to 2"):
        center_sums(ROWS, None, np.array([0, 1, 2, 0], dtype=np.int32), 2)
    with pytest.raises(ValueError, match="labels must be from 0 to 1, got 0 to 2"):
        own_costs(ROWS, None, np.array([0, 1, 2, 0], dtype=np.int32), CENTERS)
    broken = sparse.csr_array(np.eye(3))
    broken.indices[1] = 1_000_000
    with pytest.raises(ValueError, match="columns of means must be from 0 to 2"):
        block_costs(broken, None, CENTERS)
