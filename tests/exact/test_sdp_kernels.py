"""Kernels of the semidefinite bound against their definitions."""

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh

from effort import examples
from konstrain import _core
from konstrain.exact.sdp.spectral import SpectralProjection, deflate, shares_at_total, smallest_sum

pytestmark = pytest.mark.engine

NOTHING = np.zeros(0, dtype=np.int32)


def clustering_matrix(rng, weight, k):
    """Y of a random clustering."""
    labels = rng.permutation(np.r_[np.arange(k), rng.integers(0, k, weight.size - k)])
    inside = labels[:, None] == labels
    return np.where(inside, np.sqrt(np.outer(weight, weight)) / (inside @ weight)[:, None], 0.0)


def random_stars(rng, m, count):
    stars = np.full((count, 6), -1, dtype=np.int32)
    for star in stars:
        size = rng.integers(1, 6)
        center, *members = rng.permutation(m)[: size + 1]
        star[0], star[1 : size + 1] = center, sorted(members)
    return stars


def dense_rows(rows, m):
    """The cuts as symmetric matrices."""
    start, position, coefficient = rows[:3]
    matrices = np.zeros((start.size - 1, m, m))
    for e, t in enumerate(np.repeat(np.arange(start.size - 1), np.diff(start))):
        i, j = divmod(position[e], m)
        matrices[t, i, j] += 0.5 * coefficient[e]
        matrices[t, j, i] += 0.5 * coefficient[e]
    return matrices


def star_rows(stars, weight, forbidden):
    """Rows as the projection wants them: one diagonal entry each, at most 0."""
    rows = _core.sdp_cut_rows(stars, weight, forbidden)[:3]
    return *rows, np.ones(len(stars), dtype=np.int32), np.zeros(len(stars))


def test_every_clustering_satisfies_every_star():
    rng = np.random.default_rng(0)
    for _ in range(examples(50)):
        m, k = int(rng.integers(7, 12)), int(rng.integers(2, 5))
        weight = rng.random(m) * 3 + 0.1
        matrices = dense_rows(_core.sdp_cut_rows(random_stars(rng, m, 100), weight, NOTHING), m)
        np.testing.assert_allclose((matrices**2).sum(axis=(1, 2)), 1.0)
        assert (matrices * clustering_matrix(rng, weight, k)).sum(axis=(1, 2)).max() <= 1e-12


def test_rows_leave_out_what_is_forbidden():
    stars = np.array([[0, 1, 2, -1, -1, -1]], dtype=np.int32)
    _, position, coefficient, norm = _core.sdp_cut_rows(stars, np.ones(3), np.array([2 * 3 + 1], dtype=np.int32))
    assert position.tolist() == [0, 3, 6]
    np.testing.assert_allclose(norm, np.sqrt(2.0))
    np.testing.assert_allclose(coefficient * norm, [-1.0, 1.0, 1.0])


def separate(Y, weight, known=None, most=10**6, stars_below=-1.0):
    known = np.zeros((0, 6), dtype=np.int32) if known is None else known
    found, worst = _core.sdp_separate(np.tril(Y), weight, known, most, 1e-4, 1e-3, stars_below)
    return found.reshape(-1, 6), worst


def test_separation_finds_every_violated_pair_and_triangle():
    rng = np.random.default_rng(1)
    for _ in range(examples(20)):
        m = 9
        weight = rng.random(m) + 0.2
        Z = rng.random((m, m))
        Z = Z + Z.T
        Y = Z * np.sqrt(np.outer(weight, weight))
        expected = {}
        for i in range(m):
            others = [j for j in range(m) if j != i]
            expected |= {(i, j): Z[i, j] / Z[i, i] - 1 for j in others}
            triples = itertools.combinations(others, 2)
            expected |= {(i, a, b): (Z[i, a] + Z[i, b] - Z[a, b]) / Z[i, i] - 1 for a, b in triples}
        found, worst = separate(Y, weight)
        assert {tuple(star[star >= 0]) for star in found} == {cut for cut, by in expected.items() if by > 1e-4}
        np.testing.assert_allclose(worst, max(by for cut, by in expected.items() if len(cut) == 3))
        assert len(separate(Y, weight, known=found)[0]) == 0
        fewer, _ = separate(Y, weight, most=5)
        assert len(fewer) == 10
        least = min(expected[tuple(star[star >= 0])] for star in fewer[5:])
        assert sum(by > least for cut, by in expected.items() if len(cut) == 3) == 4


def test_larger_stars_are_violated():
    rng = np.random.default_rng(2)
    Z = rng.random((12, 12)) * 0.6
    Z = Z + Z.T
    np.fill_diagonal(Z, 1.0)
    found, _ = separate(Z, np.ones(12), stars_below=np.inf)
    larger = [star[star >= 0] for star in found if star[3] >= 0]
    assert larger
    for i, *members in larger:
        pairs = sum(Z[a, b] for a, b in itertools.combinations(members, 2))
        assert Z[i, members].sum() - pairs - Z[i, i] > 1e-3 * Z[i, i]


def random_polyhedron(rng, m):
    weight = rng.random(m) + 0.5
    forbidden = np.array([3 * m + 1, 5 * m + 2], dtype=np.int32)
    return weight, forbidden, star_rows(random_stars(rng, m, 30), weight, forbidden)


def test_projection_with_many_sweeps_is_the_nearest_point():
    rng = np.random.default_rng(3)
    m = 8
    _, forbidden, rows = random_polyhedron(rng, m)
    low, high = np.full(m, 0.1), np.full(m, 0.6)
    u = rng.normal(size=m)
    Y, Z, U = (np.tril(rng.normal(size=(m, m))) for _ in range(3))
    mu = np.zeros(rows[0].size - 1)
    point = np.tril(Y + np.outer(u, u) + U)
    cost = np.tril(rng.normal(size=(m, m)))
    before = Z.copy()
    sizes = _core.SdpPolyhedron(*rows, forbidden, low, high).project(cost, u, 4000, Y, Z, U, mu, np.zeros((m, m)))
    full = Z + np.tril(Z, -1).T
    matrices = dense_rows(rows, m)
    np.testing.assert_allclose(Z + U, point, atol=1e-12)
    assert Z.ravel()[forbidden].tolist() == [0.0, 0.0]
    assert Z.min() >= 0.0
    assert Z.diagonal().min() >= 0.1
    assert Z.diagonal().max() <= 0.6
    slack = (matrices * full).sum(axis=(1, 2))
    assert slack.max() <= 1e-8
    # The rest is normal to the set: on cuts that are tight and on limits that are met.
    np.testing.assert_allclose(mu * slack, 0.0, atol=1e-7)
    rest = U - np.tril(np.tensordot(mu, matrices, 1))
    rest.ravel()[forbidden] = 0.0
    inside = (Z > 0) & ~np.eye(m, dtype=bool)
    np.testing.assert_allclose(rest[inside], 0.0, atol=1e-8)
    sym = lambda a: np.tril(a) + np.tril(a, -1).T  # noqa: E731
    expected = [sym(Y) - sym(Z), sym(Y), sym(Z) - sym(before), sym(U)]
    np.testing.assert_allclose(sizes[:4], [np.linalg.norm(a) for a in expected])
    np.testing.assert_allclose(sizes[4], (sym(cost) * sym(Y)).sum())


@pytest.mark.parametrize("has_limits", [False, True])
def test_dual_matrix_bounds_every_clustering(has_limits):
    rng = np.random.default_rng(4)
    m, k = 9, 3
    for _ in range(examples(100)):
        weight, _, _ = random_polyhedron(rng, m)
        Y = clustering_matrix(rng, weight, k)
        forbidden = np.flatnonzero(np.tril(Y == 0, -1) & (rng.random((m, m)) < 0.2)).astype(np.int32)
        rows = star_rows(random_stars(rng, m, 30), weight, forbidden)
        low = Y.diagonal() * 0.9 if has_limits else np.zeros(m)
        high = Y.diagonal() * 1.1 if has_limits else np.full(m, np.inf)
        cost, U = (np.tril(a + a.T) for a in rng.normal(size=(2, m, m)))
        M = np.zeros((m, m))
        norm, limits, _ = _core.SdpPolyhedron(*rows, forbidden, low, high).dual_matrix(
            cost, U, rng.random(30), 0.7, M
        )
        full = [np.tril(a) + np.tril(a, -1).T for a in (cost, M)]
        np.testing.assert_allclose(norm, np.linalg.norm(full[1]))
        assert (full[0] * Y).sum() >= (full[1] * Y).sum() + limits - 1e-10


def test_shares_add_up():
    rng = np.random.default_rng(5)
    for _ in range(examples(200)):
        values = np.sort(rng.normal(size=rng.integers(1, 12)) * rng.choice([0.1, 1.0, 10.0]))
        total = int(rng.integers(1, values.size + 1))
        shares, theta = shares_at_total(values, total)
        np.testing.assert_allclose(shares.sum(), total, rtol=1e-10)
        np.testing.assert_allclose(shares, np.clip(values - theta, 0, 1))


def test_deflation_and_the_sum_of_smallest_eigenvalues():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(30, 30))
    A = A + A.T
    u = rng.normal(size=30)
    u /= np.linalg.norm(u)
    lower = np.tril(A)
    np.testing.assert_allclose(deflate(lower, u, 99.0), u @ A @ u)
    P = np.eye(30) - np.outer(u, u)
    np.testing.assert_allclose(lower, np.tril(P @ A @ P + 99.0 * np.outer(u, u)), atol=1e-10)
    expected = np.sort(eigh(P @ A @ P + 99.0 * np.outer(u, u), eigvals_only=True))[:4].sum()
    np.testing.assert_allclose(smallest_sum(lower, 4), expected)


def test_followed_eigenvectors_project_like_a_full_decomposition():
    rng = np.random.default_rng(7)
    m, trace = 80, 4
    base = rng.normal(size=(m, 20)) / np.sqrt(m)
    A = base @ base.T + 0.02 * np.diag(rng.random(m))
    u = np.full(m, m**-0.5)
    spectral = SpectralProjection(trace)
    noise = rng.normal(size=(m, m)) * 1e-5
    for step in range(10):
        A = A + noise + noise.T
        factor = spectral.factor(np.tril(A), u)
        exact = SpectralProjection(trace).factor(np.tril(A), u)
        np.testing.assert_allclose(factor @ factor.T, exact @ exact.T, atol=1e-4, err_msg=f"step {step}")
        np.testing.assert_allclose(u @ factor, 0.0, atol=1e-9)
        np.testing.assert_allclose((factor**2).sum(), trace)


@pytest.mark.parametrize("stars", [np.zeros((2, 5), dtype=np.int32), np.zeros((2, 6), dtype=np.int64)])
def test_stars_of_another_kind_are_refused(stars):
    with pytest.raises(TypeError):
        _core.sdp_cut_rows(stars, np.ones(4), NOTHING)
