"""Steps under sizes without a matrix of costs: the same answers as with one, in the memory they promise."""

import itertools
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from effort import some
from konstrain import ConstrainedKMeans
from konstrain.assignment import transport
from konstrain.constraints import Problem
from konstrain.datasets import load
from konstrain.kmeans import distances, sized_part
from konstrain.kmeans.sized_part import SizedPart
from konstrain.kmeans.steps import Steps
from konstrain.stop import UNLIMITED, Budget
from oracles import cost_by_matching


def blobs(n_rows, n_features, n_clusters, seed=0):
    """Overlapping blobs of unequal sizes, so that bounds bind."""
    rng = np.random.default_rng(seed)
    label = rng.choice(n_clusters, n_rows, p=rng.dirichlet(np.full(n_clusters, 2.0)))
    return rng.normal(size=(n_clusters, n_features))[label] + 0.7 * rng.normal(size=(n_rows, n_features))


def sparse_rows(n_rows, n_columns, seed=0):
    """Rows of which many share no column with most others: at the same distance from many centers."""
    return sparse.random(n_rows, n_columns, density=0.02, format="csr", random_state=seed)


def steps_of(X, n_clusters, **constraints):
    return Steps(Problem.build(X, n_clusters, **constraints))


def both_ways(monkeypatch, X, centers, **constraints):
    """One step on lists and the same on the matrix."""
    answers = []
    for many in (1, 10**9):
        monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=many))
        steps = steps_of(X, len(centers), **constraints)
        assert steps._sized.uses_lists == (many == 1)
        answers.append(steps.step(centers, None))
    return answers


KINDS = {
    "float64": lambda: blobs(3000, 6, 50),
    "float32": lambda: blobs(3000, 6, 50).astype(np.float32),
    "sparse": lambda: sparse_rows(2000, 300),
    "equal rows": lambda: np.ones((1000, 3)),
}


@pytest.mark.engine
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [0.0, 0.2, 1e9], ids=["fixed", "tight", "loose"])
def test_lists_and_matrix_give_the_same_cost(monkeypatch, kind, room):
    X = KINDS[kind]()
    rows = X.toarray() if sparse.issparse(X) else X
    centers = rows[np.random.default_rng(1).choice(len(rows), 50, replace=False)].astype(np.float64)
    share = len(rows) / 50
    low, high = max(0.0, np.floor(share * (1 - room))), np.ceil(min(len(rows), share * (1 + room)))
    listed, matrix = both_ways(monkeypatch, X, centers, size_min=low, size_max=high)
    sizes = np.bincount(listed.labels, minlength=50)
    assert sizes.min() >= low
    assert sizes.max() <= high
    assert listed.proven
    np.testing.assert_allclose(listed.cost, matrix.cost, rtol=1e-9)
    np.testing.assert_allclose(listed.lower_bound, matrix.cost, rtol=1e-9)


FEW_CLUSTERS = {
    "float64": lambda: blobs(5000, 6, 7),
    "float32": lambda: blobs(5000, 6, 7).astype(np.float32),
    "sparse": lambda: sparse_rows(2000, 300),
    "equal rows": lambda: np.ones((1000, 3)),
    "few rows": lambda: blobs(9, 3, 7),
    "samples": lambda: blobs(9000, 3, 7),
}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "weighted", "room", "shift"),
    some(itertools.product(FEW_CLUSTERS, (False, True), (0.0, 0.2, 3.0), (0.0, 0.05, 3.0))),
)
def test_a_step_from_prices_is_the_engines_own(kind, weighted, room, shift):
    """Costs, labels and sums of the one sweep are those of three, from prices that fit well or badly."""
    X, rng = FEW_CLUSTERS[kind](), np.random.default_rng(1)
    rows = X.toarray() if sparse.issparse(X) else X
    share = len(rows) / 7
    sizes = {"size_min": np.floor(share * max(0.0, 1 - room)), "size_max": np.ceil(share * (1 + room))}
    weights = {"sample_weight": rng.uniform(0.5, 1.5, len(rows))} if weighted else {}
    problem = Problem.build(X, 7, **sizes, **weights)
    start = rows[rng.choice(len(rows), 7, replace=False)].astype(np.float64)
    centers = start + shift * rng.normal(size=start.shape)
    expected = Steps(problem).step(centers, None)
    answers = []
    for n_threads in (1, 2):
        warm = Steps(problem, n_threads=n_threads).step(start, None)
        steps = Steps(problem, n_threads=n_threads)
        answer = steps.step(centers, warm)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, expected.cost, rtol=1e-9)
        assert problem.assignment_problem(steps.costs(centers)).is_feasible(answer.labels)
        assert steps._sums[0] is answer.labels, "the sweep has not summed the clusters up"
        known = weights.get("sample_weight")
        for mine, plain in zip(steps._sums[1:], distances.center_sums(X, known, answer.labels, 7), strict=True):
            np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(steps._known[0], distances.block_costs(X, known, centers))
        answers.append((answer.labels, answer.prices, *steps._sums[1:]))
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.engine
def test_prices_beyond_all_costs_do_not_spoil_a_step_from_them():
    """They drown the costs' last digits: such a step is not proved, and the engine starts anew."""
    X = blobs(3000, 4, 7)
    steps = steps_of(X, 7, size_min=400, size_max=450)
    good = steps.step(X[:7].copy(), None)
    again = steps.step(X[:7].copy(), replace(good, prices=good.prices + 1e18 * np.arange(7)))
    assert again.proven
    np.testing.assert_allclose(again.cost, good.cost, rtol=1e-9)


@pytest.mark.engine
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("high", [40, 60], ids=["fixed", "loose"])
def test_a_center_far_from_all_rows_takes_no_matrix(monkeypatch, high, weighted):
    X = blobs(2000, 4, 50)
    constraints = {"size_min": 40 if high == 40 else 20, "size_max": high}
    if weighted:
        constraints["sample_weight"] = np.random.default_rng(0).uniform(0.5, 1.5, 2000)
    centers = X[:50].copy()
    centers[7] += 1000.0
    expected = both_ways(monkeypatch, X, centers, **constraints)[1]
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    steps = steps_of(X, 50, **constraints)
    monkeypatch.setattr(steps, "costs", lambda *_: pytest.fail("the matrix was made"))
    answer = steps.step(centers, None)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, expected.cost, rtol=1e-9)


@pytest.mark.engine
@pytest.mark.parametrize("high", [40, 60], ids=["fixed", "loose"])
def test_centers_far_from_all_rows_are_filled_all_the_same(monkeypatch, high):
    X = blobs(2000, 4, 50)
    centers = X[:50].copy()
    centers[:2] += 1000.0
    listed, matrix = both_ways(monkeypatch, X, centers, size_min=40 if high == 40 else 20, size_max=high)
    assert listed.proven
    np.testing.assert_allclose(listed.cost, matrix.cost, rtol=1e-9)


def per_cluster(n_rows, n_clusters):
    """Bounds that differ from cluster to cluster, around sizes that add up."""
    rng = np.random.default_rng(3)
    sizes = np.bincount(np.arange(n_rows) % n_clusters)
    return np.maximum(sizes - rng.integers(0, 3, n_clusters), 1), sizes + rng.integers(0, 3, n_clusters)


def equal_sizes(n_rows, n_clusters):
    sizes = np.bincount(np.arange(n_rows) % n_clusters)
    return sizes, sizes


# Rows and bounds for a step of 199 or 200 clusters.
BESIDE_THE_SWITCH = {
    "equal rows": (lambda: np.ones((500, 3)), per_cluster),
    "duplicates": (lambda: np.repeat(blobs(125, 3, 10), 4, axis=0), per_cluster),
    "nearly as many clusters": (lambda: blobs(203, 3, 10), per_cluster),
    "every size given": (lambda: blobs(500, 6, 50), equal_sizes),
    "never in the way": (lambda: blobs(1000, 6, 50), lambda n, k: (np.zeros(k, int), np.full(k, 300))),
    "bounds per cluster": (lambda: blobs(500, 6, 50), per_cluster),
    "float32": (lambda: blobs(500, 6, 50).astype(np.float32), per_cluster),
    "sparse": (lambda: sparse_rows(500, 100), per_cluster),
}


@pytest.mark.engine
@pytest.mark.parametrize("n_clusters", [199, 200])
@pytest.mark.parametrize("kind", BESIDE_THE_SWITCH)
def test_steps_on_both_sides_of_the_switch_equal_a_matching(kind, n_clusters):
    make, bounds = BESIDE_THE_SWITCH[kind]
    X = make()
    rows = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    low, high = bounds(len(rows), n_clusters)
    centers = rows[np.random.default_rng(1).permutation(len(rows))[:n_clusters]].copy()
    costs = ((rows[:, None] - centers) ** 2).sum(axis=2)
    expected = costs.min(axis=1).sum() if kind == "never in the way" else cost_by_matching(costs, low, high)
    for n_threads in (1, 2):
        steps = Steps(Problem.build(X, n_clusters, size_min=low, size_max=high), n_threads=n_threads)
        assert steps._sized.uses_lists == (n_clusters == 200)
        answer = steps.step(centers, None)
        sizes = np.bincount(answer.labels, minlength=n_clusters)
        assert (low <= sizes).all()
        assert (sizes <= high).all()
        assert answer.proven
        np.testing.assert_allclose(answer.cost, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.engine
@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize("n_clusters", [120, 128, 129, 130])
def test_nearly_as_many_clusters_as_rows(monkeypatch, n_clusters, low):
    X = blobs(130, 3, 10)
    centers = X[np.random.default_rng(1).permutation(130)[:n_clusters]] + 0.5
    listed, matrix = both_ways(monkeypatch, X, centers, size_min=low, size_max=2)
    sizes = np.bincount(listed.labels, minlength=n_clusters)
    assert sizes.min() >= low
    assert sizes.max() <= 2
    assert listed.proven
    np.testing.assert_allclose(listed.cost, matrix.cost, rtol=1e-9)


@pytest.mark.engine
def test_weights_and_bounds_per_cluster_count(monkeypatch):
    rng = np.random.default_rng(2)
    X, weight = blobs(2000, 4, 30), rng.random(2000) + 0.5
    low, high = rng.integers(20, 60, 30), rng.integers(70, 100, 30)
    demand = np.full(2000, 2.0)
    listed, matrix = both_ways(
        monkeypatch, X, X[:30].copy(), sample_weight=weight, size_min=2.0 * low, size_max=2.0 * high, demand=demand
    )
    sizes = np.bincount(listed.labels, minlength=30)
    assert (sizes >= low).all()
    assert (sizes <= high).all()
    np.testing.assert_allclose(listed.cost, matrix.cost, rtol=1e-9)
    # Prices are per unit of demand: at them every block is where it costs least.
    priced = weight[:, None] * ((X[:, None] - X[:30]) ** 2).sum(-1) + 2.0 * listed.prices
    np.testing.assert_allclose(priced[np.arange(2000), listed.labels], priced.min(axis=1), rtol=1e-9)


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore:the best run did not converge")
def test_many_clusters_of_sparse_rows():
    X = sparse_rows(1600, 300)
    model = ConstrainedKMeans(210, size_min=4, size_max=16, max_iter=3, n_init=1, random_state=0, local_search=False)
    sizes = np.bincount(model.fit(X).labels_, minlength=210)
    assert sizes.min() >= 4
    assert sizes.max() <= 16


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore:the best run did not converge")
def test_whole_fits_do_not_depend_on_lists_or_threads(monkeypatch):
    X = blobs(4000, 8, 60).astype(np.float32)
    fits = []
    for many in (1, 10**9):
        monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=many))
        model = ConstrainedKMeans(
            60, size_min=40, size_max=90, init=X[:60], n_init=1, max_iter=10, local_search=False
        )
        fits.append(model.fit(X))
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    centers, bounds = X[:60].astype(np.float64), (np.full(60, 40), np.full(60, 90))
    one, two = (distances.sized_pass(X, None, centers, bounds, None, list_length=24, n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("constraints", [{}, {"size_max": 90, "cannot_link": [(0, 1)]}], ids=["none", "links"])
def test_other_problems_are_left_to_the_engines(monkeypatch, constraints):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    assert SizedPart.of(Problem.build(blobs(300, 2, 5), 5, **constraints), None) is None


def test_bounds_that_no_longer_bind_cost_one_sweep(monkeypatch):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    X = blobs(2000, 3, 10)
    steps = steps_of(X, 10, size_min=1, size_max=1900)
    first = steps.step(X[:10].copy(), None)
    assert not first.prices.any()
    monkeypatch.setattr(distances, "sized_pass", lambda *_, **__: pytest.fail("lists were made"))
    again = steps.step(X[:10].copy(), first)
    np.testing.assert_array_equal(again.labels, first.labels)
    np.testing.assert_array_equal(
        steps.centers_of(again.labels, X[:10]), steps_of(X, 10).centers_of(first.labels, X[:10])
    )


def test_no_time_still_gives_labels_within_bounds(monkeypatch):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    X = blobs(3000, 3, 40)
    part = SizedPart.of(Problem.build(X, 40, size_min=70, size_max=80), None)
    answer, _ = part.step_by_lists(X[:40].copy(), None, None, Budget(0.0), 1)
    sizes = np.bincount(answer.labels, minlength=40)
    assert sizes.min() >= 70
    assert sizes.max() <= 80
    assert not answer.proven
    np.testing.assert_allclose(answer.cost, ((X - X[:40][answer.labels]) ** 2).sum(), rtol=1e-9)
    best, _ = part.step_by_lists(X[:40].copy(), None, None, UNLIMITED, 1)
    assert answer.lower_bound <= best.cost <= answer.cost


@pytest.mark.parametrize(
    ("kept", "n_clusters", "n_features", "expected"),
    [
        (10**9, 250, 300, False),  # costs of many features are fastest by products
        (10**9, 250, 200, True),
        (10**9, 199, 2, False),
        (0, 250, 300, True),  # the matrix would be larger than half of the rows
        (0, 250, 600, False),
    ],
)
def test_features_and_memory_decide_between_lists_and_matrix(monkeypatch, kept, n_clusters, n_features, expected):
    monkeypatch.setattr(sized_part, "KEPT_NUMBERS", kept)
    part = SizedPart.of(Problem.build(np.zeros((1000, n_features)), n_clusters, size_max=9), None)
    assert part.uses_lists == expected


def without_lists(monkeypatch):
    """Let lists lead nowhere; returns the calls."""
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    calls, sized_pass = [], distances.sized_pass

    def failing(*given, **options):
        calls.append(1)
        return sized_pass(*given, **{**options, "time_limit": 0.0})

    monkeypatch.setattr(distances, "sized_pass", failing)
    return calls


def test_lists_that_fail_are_not_tried_again(monkeypatch):
    X = blobs(2000, 4, 30)
    expected = [steps_of(X, 30, size_max=70).step(X[first : first + 30].copy(), None) for first in (0, 30)]
    calls, steps = without_lists(monkeypatch), steps_of(X, 30, size_max=70)
    first = steps.step(X[:30].copy(), None)
    n_calls = len(calls)
    second = steps.step(X[30:60].copy(), first)
    assert len(calls) == n_calls > 0
    for solution, best in zip((first, second), expected, strict=True):
        assert solution.proven
        np.testing.assert_allclose(solution.cost, best.cost, rtol=1e-9)


def test_no_matrix_is_made_that_is_too_large(monkeypatch):
    without_lists(monkeypatch)
    monkeypatch.setattr(sized_part, "MOST_NUMBERS", 0)
    monkeypatch.setattr(Steps, "costs", lambda *_: pytest.fail("the matrix was made"))
    X = blobs(2000, 4, 30)
    solution = steps_of(X, 30, size_min=10, size_max=70).step(X[:30].copy(), None)
    sizes = np.bincount(solution.labels, minlength=30)
    assert sizes.min() >= 10
    assert sizes.max() <= 70
    assert not solution.proven
    np.testing.assert_allclose(solution.cost, ((X - X[:30][solution.labels]) ** 2).sum(), rtol=1e-9)


def test_memory_stays_within_what_the_docstring_says():
    # In a process of its own, whose peak is that of this step alone; a matrix of costs would take 480 MB.
    script = """
        import json, numpy as np
        from konstrain.kmeans import distances
        def peak():
            lines = open("/proc/self/status").read().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
        n, k = 200_000, 300
        X = np.random.default_rng(0).random((n, 4), dtype=np.float32)
        bounds = np.full(k, 333), np.full(k, 1000)
        few = bounds[0][:3] * 0, bounds[1][:3]
        distances.sized_pass(X[:2000], None, X[:3].astype(float), few, None, list_length=2)
        before = peak()
        *_, finished = distances.sized_pass(X, None, X[:k].astype(float), bounds, None, list_length=24)
        print(json.dumps([finished, peak() - before]))
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True
    )
    finished, grown = json.loads(found.stdout)
    assert finished
    # Per block as promised, the labels, and what grows with clusters only.
    assert grown <= 200_000 * (12 * 24 + 40 + 4) + 30e6


def test_no_price_is_looked_for_when_time_is_up(monkeypatch):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    X = blobs(300, 3, 10)
    part = SizedPart.of(Problem.build(X, 10, size_min=20), None)
    monkeypatch.setattr(distances, "block_costs", lambda *_, **__: pytest.fail("costs were measured"))
    assert part._prices_that_reach_all(X[:10], None, np.zeros(10), Budget(0.0), 1) is None


@pytest.mark.parametrize("name", ["lower", "upper", "start"])
def test_wrong_arrays_are_refused_by_name(name):
    X, one = np.zeros((4, 2)), np.ones(2, dtype=np.int64)
    given = {"lower": one, "upper": 4 * one, "start": np.zeros(2)}
    given[name] = given[name].astype(np.float32)
    with pytest.raises(ValueError, match=f"{name} must be an array of"):
        distances.sized_pass(
            X, None, np.zeros((2, 2)), (given["lower"], given["upper"]), given["start"], list_length=2
        )


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("n_moved", [0, 1, 3, 7])
def test_costs_at_centers_that_stay_are_not_computed_again(kind, n_moved, monkeypatch):
    X, asked = FEW_CLUSTERS[kind](), []
    kernel = distances.sized_step
    monkeypatch.setattr(distances, "sized_step", lambda *a, **k: asked.append(k["moved"]) or kernel(*a, **k))
    rows = X.toarray() if sparse.issparse(X) else X
    sizes = {"size_min": len(rows) // 9, "size_max": len(rows) // 5}
    steps = steps_of(X, 7, **sizes)
    start = rows[:7].astype(np.float64)
    warm = steps.step(start, None)
    centers = start.copy()
    centers[[5, 0, 2, 6, 1, 3, 4][:n_moved]] += 0.1
    answer = steps.step(centers, warm)
    assert [moved.tolist() for moved in asked] == [sorted([5, 0, 2, 6, 1, 3, 4][:n_moved])]
    np.testing.assert_array_equal(steps._known[0], distances.block_costs(X, None, centers))
    np.testing.assert_allclose(answer.cost, steps_of(X, 7, **sizes).step(centers, None).cost, rtol=1e-9)
    for mine, plain in zip(steps._sums[1:], distances.center_sums(X, None, answer.labels, 7), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_a_step_whose_prices_hide_the_last_digits_is_solved_from_all_costs(seed):
    """Under equal sizes prices are known up to a common number; far from zero they round more than costs do."""
    X = blobs(336, 7, 8, seed)
    steps = steps_of(X, 8, size_min=42, size_max=42)
    centers = X[:8].copy()
    answer = steps.step(centers, None)
    cost, answer = answer.cost, replace(answer, prices=answer.prices + 1e6)
    for _ in range(4):
        # The first two of these measure all rows; those after them leave out rows that will stay.
        answer = steps.step(centers, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, cost, rtol=1e-6)
        centers = centers + 1e-9


@pytest.mark.slow
@pytest.mark.skipif("KONSTRAIN_DATA" not in os.environ, reason="needs ecoli: name its folder in KONSTRAIN_DATA")
def test_equal_sizes_on_ecoli():
    rows = StandardScaler().fit_transform(load("ecoli").X)
    model = ConstrainedKMeans(8, size_min=42, size_max=42, random_state=0).fit(rows)
    assert model.cluster_sizes_.tolist() == [42.0] * 8
