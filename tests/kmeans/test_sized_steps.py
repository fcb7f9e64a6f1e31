"""Steps under sizes from the last step's prices: the answers of steps taken anew."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from effort import some
from konstrain.constraints import Problem
from konstrain.kmeans import distances
from konstrain.kmeans.steps import Steps
from oracles import cost_by_matching

N, K = 2100, 7


def blobs(spread=2.0, seed=0, n_rows=N):
    """Blobs of unequal sizes, most rows of which lie far from any border."""
    rng = np.random.default_rng(seed)
    label = rng.choice(K, n_rows, p=rng.dirichlet(np.full(K, 3.0)))
    return spread * rng.normal(size=(K, 5))[label] + rng.normal(size=(n_rows, 5))


KINDS = {
    "float64": blobs,
    "float32": lambda: blobs().astype(np.float32),
    "sparse": lambda: sparse.csr_array(np.where(np.abs(blobs()) > 1.0, blobs(), 0.0)),
    "far from the origin": lambda: blobs() + 1e6,
    "far apart": lambda: blobs(spread=1e4),
    "beyond floats": lambda: 1e25 * blobs(),
    "below floats": lambda: 1e-30 * blobs(),
    "heaps": lambda: np.round(blobs()),
    "equal rows": lambda: np.ones((N, 3)),
}
SIZES = {
    "fixed": lambda n: {"size_min": n // K, "size_max": n // K + 1},
    "tight": lambda n: {"size_min": 0.8 * n / K, "size_max": 1.2 * n / K},
    "at least": lambda n: {"size_min": 0.7 * n / K},
    "at most": lambda n: {"size_max": 1.3 * n / K},
    "each its own": lambda n: {
        "size_min": np.linspace(0.1, 0.9, K) * n / K,
        "size_max": np.linspace(1.1, 2.5, K) * n / K,
    },
    "loose": lambda n: {"size_min": 1, "size_max": n},
}


def lloyd_centers(steps, centers, n_iter):
    """Centers of a run, one step after the other, with the answers on the way."""
    warm = None
    for _ in range(n_iter):
        warm = steps.step(centers, warm)
        yield centers, warm
        centers = steps.centers_of(warm.labels, centers)


# Those that the sanitizers look at too, where each takes seconds.
SANITIZED = {("float64", "at most"), ("float32", "tight"), ("sparse", "fixed")}


def combinations():
    """Every kind of rows with every kind of sizes, with weights and without."""
    for kind, sizes, weighted in itertools.product(KINDS, SIZES, (False, True)):
        marks = [pytest.mark.engine] if (kind, sizes) in SANITIZED else []
        words = "-".join([kind, sizes, "weighted" if weighted else "plain"])
        yield pytest.param(kind, sizes, weighted, marks=marks, id=words)


ALL = list(combinations())


@pytest.mark.parametrize(
    ("kind", "sizes", "weighted"), [*some(ALL), *(case for case in ALL if case.marks and case not in some(ALL))]
)
def test_every_step_of_a_run_costs_what_it_costs_anew(kind, sizes, weighted):
    X, rng = KINDS[kind](), np.random.default_rng(1)
    rows = X.toarray() if sparse.issparse(X) else X
    weights = {"sample_weight": rng.uniform(0.5, 1.5, N) * (rng.random(N) > 0.1)} if weighted else {}
    problem = Problem.build(X, K, **SIZES[sizes](N), **weights)
    start = rows[:: N // K][:K].astype(np.float64)
    steps = Steps(problem)
    by_two_threads = lloyd_centers(Steps(problem, n_threads=2), start, 30)
    for (centers, answer), (_, same) in zip(lloyd_centers(steps, start, 30), by_two_threads, strict=True):
        fresh = Steps(problem).step(centers, None)
        np.testing.assert_allclose(answer.cost, fresh.cost, rtol=1e-9)
        assert answer.proven
        assert answer.lower_bound <= fresh.cost * (1 + 1e-12)
        assert problem.assignment_problem(fresh_costs(X, weights, centers)).is_feasible(answer.labels)
        sums = distances.center_sums(X, weights.get("sample_weight"), answer.labels, K)
        for mine, plain in zip(steps._sums[1:] if steps._sums else sums, sums, strict=True):
            np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-6)
        np.testing.assert_array_equal(same.labels, answer.labels)


def fresh_costs(X, weights, centers):
    return distances.block_costs(X, weights.get("sample_weight"), centers)


@pytest.mark.engine
def test_centers_that_jump_and_prices_that_do_not_fit_change_no_answer():
    X, rng = blobs(), np.random.default_rng(0)
    problem = Problem.build(X, K, **SIZES["tight"](N))
    steps = Steps(problem)
    *_, (centers, warm) = lloyd_centers(steps, X[:K].copy(), 12)
    for size in (0.01, 0.05, 5.0, 0.01, 0.01, 0.3, 0.0, 0.01):
        centers = centers + size * rng.normal(size=centers.shape)
        if size == 0.3:
            warm = steps_with(warm, warm.prices + rng.normal(size=K))
        warm = steps.step(centers, warm)
        assert warm.proven
        np.testing.assert_allclose(warm.cost, Steps(problem).step(centers, None).cost, rtol=1e-9)


@pytest.mark.engine
def test_prices_alone_may_move_rows():
    """Centers stay and bounds change, and back: no row is missed for it."""
    X = blobs()
    steps = Steps(Problem.build(X, K, **SIZES["tight"](N)))
    *_, (centers, warm) = lloyd_centers(steps, X[:K].copy(), 25)
    prices, costs = warm.prices, np.empty((N, K))
    for room in (*np.linspace(0.2, 0.02, 40), 0.1, *np.linspace(0.1, 0.2, 11)):
        problem = Problem.build(X, K, size_min=(1 - room) * N / K, size_max=(1 + room) * N / K)
        fresh = Steps(problem)
        (_, prices, cost, bound, finished), *_ = distances.sized_step(
            X, None, centers, fresh._sized.bounds, prices, costs
        )
        assert finished
        np.testing.assert_allclose([cost, bound], fresh.step(centers, None).cost, rtol=1e-9)


def steps_with(answer, prices):
    return type(answer)(answer.labels, answer.cost, answer.lower_bound, answer.proven, answer.engine, prices)


@pytest.mark.engine
def test_labels_are_feasible_and_the_bound_holds_when_time_is_up():
    X = blobs()
    problem = Problem.build(X, K, **SIZES["tight"](N))
    steps = Steps(problem)
    *_, (centers, warm) = lloyd_centers(steps, X[:K].copy(), 12)
    bounds = steps._sized.bounds
    moved = centers + 0.05 * np.random.default_rng(0).normal(size=centers.shape)
    costs = np.empty((N, K))
    (labels, _, cost, bound, finished), _ = distances.sized_step(
        X, None, moved, bounds, warm.prices, costs, time_limit=0.0
    )
    assert not finished
    sizes = np.bincount(labels, minlength=K)
    assert (sizes >= bounds[0]).all()
    assert (sizes <= bounds[1]).all()
    best = Steps(problem).step(moved, None).cost
    assert bound <= best * (1 + 1e-12)
    np.testing.assert_allclose(cost, distances.own_costs(X, None, labels, moved), rtol=1e-9)
    assert cost >= best * (1 - 1e-12)


@pytest.mark.engine
@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(24, 60),
    room=st.sampled_from([0, 1, 3, 20]),
    n_decimals=st.sampled_from([0, 1, 9]),
)
def test_steps_of_tiny_problems_are_the_best_there_are(seed, n_rows, room, n_decimals):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 2)) + 4 * rng.integers(0, 3, (n_rows, 1)), n_decimals)
    share = n_rows // 3
    problem = Problem.build(X, 3, size_min=max(0, share - room), size_max=share + 1 + room)
    bounds = Steps(problem)._sized.bounds
    prices, centers = np.zeros(3), X[rng.choice(n_rows, 3, replace=False)].copy()
    costs = np.empty((n_rows, 3))
    for _ in range(8):
        (_, prices, cost, bound, finished), (sums, weight) = distances.sized_step(
            X, None, centers, bounds, prices, costs
        )
        best = cost_by_matching(distances.block_costs(X, None, centers), *bounds)
        assert finished
        np.testing.assert_allclose([cost, bound], best, rtol=1e-9, atol=1e-9)
        centers = np.where(weight[:, None] > 0, sums / np.maximum(weight, 1)[:, None], centers)
        centers += rng.choice([0.0, 0.0, 1e-3, 0.3]) * rng.normal(size=centers.shape)
