"""Size bounds over short lists of clusters: against enumeration, a matching, the matrix and OR-tools."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from effort import examples
from konstrain import _core
from konstrain.assignment import Assignment, AssignmentProblem, transport
from konstrain.stop import Budget
from oracles import best_cost, check_assignment, cost_by_matching, cost_tolerance
from problems import random_costs, random_problem

# Lists that hardly ever suffice, lists of the usual length, lists with all clusters.
LENGTHS = [2, 5, 24, 1000]


@pytest.fixture(params=[1, 10**9], ids=["lists", "matrix"])
def either_way(request, monkeypatch):
    """Both sides of the switch, with lists so short that they must be made anew."""
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=request.param))
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, list_length=2))


@pytest.fixture
def lists_always(monkeypatch):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))


def listed(costs, lower, upper, start=None, *, length=24, n_threads=1, time_limit=np.inf):
    first = np.zeros(costs.shape[1]) if start is None else start
    return _core.listed_transport(
        costs,
        lower,
        upper,
        first,
        time_limit=time_limit,
        is_warm=start is not None,
        n_threads=n_threads,
        list_length=length,
    )


def by_matrix(costs, lower, upper):
    """Least cost by the other kernel, which tests of its own compare with a matching."""
    start = np.zeros(costs.shape[1])
    return _core.transport(costs, lower, upper, start, time_limit=np.inf, trust_duals=False)[2]


def check_listed(costs, lower, upper, start=None, **options):
    """Labels, sizes, cost, prices and bound, all recomputed; returns whether the lists served."""
    labels, prices, cost, bound, finished = listed(costs, lower, upper, start, **options)
    expected = by_matrix(costs, lower, upper)
    scale = max(np.abs(costs).max(), np.abs(prices).max() * upper.max(), abs(expected))
    sizes = np.bincount(labels, minlength=lower.size)
    assert (sizes >= lower).all()
    assert (sizes <= upper).all()
    assert bound <= expected + 1e-9 * scale
    if finished:
        dual = (costs + prices).min(axis=1).sum() - np.where(prices > 0, prices * upper, prices * lower).sum()
        np.testing.assert_allclose(costs[np.arange(labels.size), labels].sum(), cost, rtol=1e-9, atol=1e-9 * scale)
        np.testing.assert_allclose(cost, expected, rtol=1e-9, atol=1e-9 * scale)
        np.testing.assert_allclose(bound, dual, rtol=1e-9, atol=1e-9 * scale)
        np.testing.assert_allclose(bound, cost, rtol=1e-9, atol=1e-9 * scale)
    return finished


def random_counts(rng, n_blocks, n_clusters):
    """Bounds around one random way to fill the clusters: fixed sizes, tight ones, hardly any."""
    sizes = np.bincount(rng.integers(0, n_clusters, n_blocks), minlength=n_clusters)
    spread = rng.choice([0, 1, n_blocks])
    lower = np.maximum(sizes - rng.integers(0, spread + 1, n_clusters), 0)
    return lower, np.minimum(sizes + rng.integers(0, spread + 1, n_clusters), n_blocks)


@pytest.mark.engine
@pytest.mark.usefixtures("either_way")
def test_both_ways_equal_brute_force_on_random_problems():
    rng = np.random.default_rng(0)
    n_solved = 0
    while n_solved < examples(500):
        problem = random_problem(rng, sizes=True)
        if not transport.supports(problem) or best_cost(problem) == np.inf:
            continue
        n_solved += 1
        answer = transport.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, best_cost(problem), rtol=1e-9, atol=cost_tolerance(problem))


@pytest.mark.engine
@pytest.mark.parametrize("length", LENGTHS)
def test_lists_of_any_length_equal_the_matrix_from_any_start(length):
    rng = np.random.default_rng(length)
    n_finished = 0
    n_problems = examples(60)
    for _ in range(n_problems):
        n_clusters = int(rng.integers(1, 70))
        n_blocks = int(rng.integers(n_clusters, 8 * n_clusters + 10))
        costs = random_costs(rng, n_blocks, n_clusters)
        lower, upper = random_counts(rng, n_blocks, n_clusters)
        start = rng.normal(size=n_clusters) * np.abs(costs).max()
        n_finished += check_listed(costs, lower, upper, length=length)
        n_finished += check_listed(costs, lower, upper, start, length=length)
    # Where every cluster costs the same, short lists say so and leave the rest to the matrix.
    assert n_finished >= (2 * n_problems if length >= 70 else n_problems)


@pytest.mark.engine
@pytest.mark.parametrize(("n_blocks", "n_clusters"), [(3000, 40), (6000, 300), (520, 500), (300, 300)])
def test_large_problems_equal_the_matrix(n_blocks, n_clusters):
    rng = np.random.default_rng(n_clusters)
    points = rng.normal(size=(n_blocks, 4))
    costs = ((points[:, None] - points[rng.choice(n_blocks, n_clusters, replace=False)]) ** 2).sum(-1)
    share = n_blocks / n_clusters
    for low, high in ((np.floor(share), np.ceil(share)), (share // 2, 1 + 3 * share // 2), (0, n_blocks)):
        lower, upper = np.full(n_clusters, int(low)), np.full(n_clusters, int(high))
        assert check_listed(costs, lower, upper)
    lower, upper = random_counts(rng, n_blocks, n_clusters)
    assert check_listed(costs, lower, upper)


@pytest.mark.engine
@pytest.mark.parametrize("error", [None, 0.0, 0.1, 30.0], ids=["none", "right", "near", "far"])
@pytest.mark.parametrize("is_starved", [False, True], ids=["usual", "starved"])
def test_prices_of_any_worth_lead_to_the_least_cost(is_starved, error):
    """Given prices are kept or replaced by those of a sample; a cluster far from most rows needs lists made anew."""
    rng = np.random.default_rng(5)
    rows, centers = rng.normal(size=(6000, 3)), rng.normal(size=(60, 3))
    if is_starved:
        centers[7] += 2.0
    costs = ((rows[:, None] - centers) ** 2).sum(axis=2)
    lower, upper = np.full(60, 60), np.full(60, 140)
    start = None
    if error is not None:
        right = _core.transport(costs, lower, upper, np.zeros(60), time_limit=np.inf, trust_duals=False)[1]
        start = right + error * rng.normal(size=60)
    assert check_listed(costs, lower, upper, start)


@pytest.mark.engine
def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(9000, 5))
    costs = ((points[:, None] - points[:60]) ** 2).sum(-1)
    lower, upper = np.full(60, 100), np.full(60, 200)
    one = listed(costs, lower, upper)
    for n_threads in (2, 7):  # more than there are chunks of rows, too
        several = listed(costs, lower, upper, n_threads=n_threads)
        np.testing.assert_array_equal(one[0], several[0])
        np.testing.assert_array_equal(one[1], several[1])
        assert one[2:] == several[2:]


@pytest.mark.engine
@pytest.mark.usefixtures("lists_always")
@pytest.mark.parametrize("n_groups", [1, 7])
def test_equal_rows_are_shared_out(n_groups):
    rng = np.random.default_rng(n_groups)
    costs = rng.random((n_groups, 50))[rng.integers(0, n_groups, 1000)]
    problem = AssignmentProblem.checked(costs, size_min=20, size_max=20)
    answer = transport.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven


@pytest.mark.engine
@pytest.mark.usefixtures("lists_always")
def test_where_lists_are_of_no_use_the_matrix_answers(monkeypatch):
    rng = np.random.default_rng(4)
    # At the right prices all clusters cost a row the same.
    problem = AssignmentProblem.checked(rng.random((2000, 1)) + rng.random((1, 80)), size_min=24, size_max=26)
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, list_length=2))
    assert not listed(problem.costs, *transport.count_bounds(problem), length=2)[4]
    answer = transport.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven


def far_centers(rng):
    """Squared distances to centers of which three are far from all rows, and so on nobody's list."""
    centers = rng.normal(size=(200, 3))
    centers[:3] += 100.0
    return ((rng.normal(size=(1000, 1, 3)) - centers) ** 2).sum(axis=2)


# Costs for which lists give up, and how long these are.
HOPELESS = {
    "far": (far_centers, 24),
    "ties": (lambda rng: rng.integers(0, 3, (1000, 200)).astype(float), 2),
}


@pytest.mark.engine
@pytest.mark.parametrize("kind", HOPELESS)
@pytest.mark.parametrize("small", [5, 2], ids=["equal", "unequal"])
def test_where_lists_give_up_under_fixed_sizes_the_matrix_answers(monkeypatch, kind, small):
    rng = np.random.default_rng(8)
    make, length = HOPELESS[kind]
    costs, sizes = make(rng), rng.permutation(np.repeat([small, 10 - small], 100))
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, list_length=length))
    assert transport.uses_lists(200)
    *_, finished = listed(costs, sizes, sizes, length=length)
    assert not finished
    problem = AssignmentProblem.checked(costs, size_min=sizes, size_max=sizes)
    answer = transport.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, cost_by_matching(costs, sizes, sizes), rtol=1e-9)


@pytest.mark.usefixtures("lists_always")
def test_no_time_still_gives_labels_within_bounds():
    costs = np.random.default_rng(5).random((2000, 40))
    problem = AssignmentProblem.checked(costs, size_min=45, size_max=55)
    answer = transport.solve(problem, budget=Budget(0.0))
    check_assignment(problem, answer)
    assert not answer.proven


@pytest.mark.usefixtures("lists_always")
def test_prices_of_the_last_answer_lead_to_the_same_cost():
    costs = np.random.default_rng(6).random((2000, 40))
    problem = AssignmentProblem.checked(costs, size_min=45, size_max=55, demand=np.full(2000, 1.0))
    cold = transport.solve(problem)
    warm = transport.solve(problem, warm=cold)
    wrong = Assignment(cold.labels, 0.0, 0.0, True, "test", 1e6 * np.random.default_rng(0).normal(size=40))
    for answer in (warm, transport.solve(problem, warm=wrong)):
        assert answer.proven
        np.testing.assert_allclose(answer.cost, cold.cost, rtol=1e-12)


def test_lists_equal_the_flow_of_ortools():
    pytest.importorskip("ortools")
    # In a process of its own: ortools and highspy do not load together.
    script = """
        import numpy as np
        from ortools.graph.python import min_cost_flow
        costs = np.random.default_rng(7).integers(0, 1000, (600, 210))
        flow = min_cost_flow.SimpleMinCostFlow()
        rows, columns = (i.ravel() for i in np.indices(costs.shape))
        flow.add_arcs_with_capacity_and_unit_cost(rows, 600 + columns, np.ones(rows.size, int), costs.ravel())
        flow.add_arcs_with_capacity_and_unit_cost(
            600 + np.arange(210), np.full(210, 810), np.full(210, 3), np.zeros(210, int)
        )
        flow.set_nodes_supplies(np.arange(811), np.r_[np.ones(600, int), np.zeros(210, int), -600])
        assert flow.solve() == flow.OPTIMAL
        print(flow.optimal_cost())
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True
    )
    costs = np.random.default_rng(7).integers(0, 1000, (600, 210)).astype(float)
    assert transport.uses_lists(210)
    answer = transport.solve(AssignmentProblem.checked(costs, size_max=3))
    assert answer.proven
    assert answer.cost == float(found.stdout)
