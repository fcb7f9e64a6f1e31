"""The engine for size bounds: against enumeration, against an assignment solver, and by its own proofs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from effort import examples
from konstrain import _core
from konstrain.assignment import Assignment, AssignmentProblem, assign, choose, nearest, transport
from konstrain.exceptions import InfeasibleError
from konstrain.links import LinkGraph
from konstrain.stop import Budget
from oracles import best_cost, check_assignment, cost_tolerance
from problems import random_costs, random_problem

# Each forces one path of the kernel that small problems would not take: short and long lists of candidates, cores
# that turn out too small, prices estimated on samples of samples.
KERNEL_OPTIONS = [
    {},
    {"list_length": 1},
    {"list_length": 8},
    {"core_rows": 1, "list_length": 1},
    {"core_rows": 6, "list_length": 2},
    {"core_rows": 20, "list_length": 8},
    {"sample_rows": 1},
    {"sample_rows": 1, "core_rows": 4},
]


def with_prices(prices) -> Assignment:
    """Make an earlier answer of which only the prices matter."""
    return Assignment(np.empty(0, np.int32), 0.0, 0.0, True, "test", np.asarray(prices, dtype=float))


def balanced(costs: np.ndarray) -> AssignmentProblem:
    share = costs.shape[0] / costs.shape[1]
    return AssignmentProblem.checked(costs, size_min=np.floor(share), size_max=np.ceil(share))


def random_counts(rng: np.random.Generator, n_blocks: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds around one random way to fill the clusters, so that they always add up."""
    sizes = np.bincount(rng.integers(0, n_clusters, n_blocks), minlength=n_clusters)
    if rng.random() < 0.3:
        sizes = rng.multinomial(n_blocks, rng.dirichlet(np.full(n_clusters, 0.5)))
    spread = rng.choice([0, 1, n_blocks // 10, n_blocks])
    lower = np.maximum(sizes - rng.integers(0, spread + 1, n_clusters), 0)
    upper = np.minimum(sizes + rng.integers(0, spread + 1, n_clusters), n_blocks)
    return lower.astype(np.int64), upper.astype(np.int64)


def matching_cost(costs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Least cost by a rectangular assignment: one column per place, places below a lower bound must be taken."""
    # A place that must be taken earns a bonus larger than anything the costs could outweigh.
    bonus = 4.0 * (np.abs(costs).max() + 1e-300) * (costs.shape[0] + 1)
    columns = [costs[:, [j]] - bonus * (place < lower[j]) for j in range(lower.size) for place in range(upper[j])]
    table = np.hstack(columns)
    rows, places = linear_sum_assignment(table)
    owner = np.repeat(np.arange(lower.size), upper)
    return float(costs[rows, owner[places]].sum())


def wrong_prices(rng: np.random.Generator, costs: np.ndarray) -> np.ndarray:
    scale = np.abs(costs).max() * rng.choice([0.1, 1.0, 100.0])
    return rng.normal(size=costs.shape[1]) * scale * (rng.random(costs.shape[1]) < 0.8)


def check_kernel(costs, lower, upper, start, trust, expected, **options):
    """Labels, sizes, cost, prices and bound of one kernel call, all recomputed."""
    labels, prices, cost, bound, finished = _core.transport(
        costs, lower, upper, start, time_limit=np.inf, trust_duals=trust, **options
    )
    tolerance = 1e-9 * max(np.abs(costs).max(), np.abs(prices).max() * upper.max(), abs(expected))
    sizes = np.bincount(labels, minlength=lower.size)
    assert finished
    assert (sizes >= lower).all()
    assert (sizes <= upper).all()
    dual = (costs + prices).min(axis=1).sum() - np.where(prices > 0, prices * upper, prices * lower).sum()
    np.testing.assert_allclose(costs[np.arange(labels.size), labels].sum(), cost, rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(cost, expected, rtol=1e-9, atol=tolerance)
    # The kernel's bound is summed in parts; it must not promise more than its prices prove.
    assert bound <= dual + tolerance
    np.testing.assert_allclose(bound, cost, rtol=1e-9, atol=tolerance)


@pytest.mark.engine
def test_transport_equals_brute_force_on_random_problems():
    rng = np.random.default_rng(0)
    n_solved = n_infeasible = 0
    while n_solved < examples(2000):
        problem = random_problem(rng, sizes=True)
        if not transport.supports(problem):
            continue
        expected = best_cost(problem)
        if expected == np.inf:
            n_infeasible += 1
            with pytest.raises(InfeasibleError) as caught:
                transport.solve(problem)
            assert caught.value.reason == "sizes"
            continue
        n_solved += 1
        answer = transport.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, expected, rtol=1e-9, atol=cost_tolerance(problem))
    assert n_infeasible > examples(100)


@pytest.mark.engine
@pytest.mark.parametrize("options", KERNEL_OPTIONS, ids=str)
def test_every_path_of_the_kernel_equals_a_matching(options):
    rng = np.random.default_rng(1)
    for _ in range(examples(120)):
        n_blocks, n_clusters = int(rng.integers(2, 121)), int(rng.integers(1, 9))
        costs = random_costs(rng, n_blocks, n_clusters)
        lower, upper = random_counts(rng, n_blocks, n_clusters)
        expected = matching_cost(costs, lower, upper)
        check_kernel(costs, lower, upper, np.zeros(n_clusters), False, expected, **options)
        check_kernel(costs, lower, upper, wrong_prices(rng, costs), True, expected, **options)


@pytest.mark.engine
@pytest.mark.parametrize(("n_blocks", "n_clusters"), [(3000, 7), (4100, 10), (1500, 60), (400, 130), (90, 90)])
def test_larger_problems_are_proven_from_any_start(n_blocks, n_clusters):
    rng = np.random.default_rng(n_blocks)
    points = rng.normal(size=(n_blocks, 3))
    costs = ((points[:, None] - points[rng.choice(n_blocks, n_clusters, replace=False)]) ** 2).sum(-1)
    for problem in (
        balanced(costs),
        AssignmentProblem.checked(costs, size_min=n_blocks // n_clusters // 2),
        AssignmentProblem.checked(np.round(costs), size_max=n_blocks // n_clusters + 1),
    ):
        cold = transport.solve(problem)
        check_assignment(problem, cold)
        assert cold.proven
        for start in (rng.normal(size=n_clusters), 1e4 * rng.normal(size=n_clusters), cold.prices):
            warm = transport.solve(problem, warm=with_prices(start))
            check_assignment(problem, warm)
            assert warm.proven
            np.testing.assert_allclose(warm.cost, cold.cost, rtol=1e-9)


@pytest.mark.engine
@pytest.mark.parametrize("prices", [[1e300, -1e300, 0.0], [np.inf, 0.0, np.nan], [1e16, 1.0, 3.0], [1.0, 2.0]])
def test_absurd_warm_prices_never_change_the_cost(prices):
    rng = np.random.default_rng(3)
    problem = balanced(rng.random((50, 3)))
    answer = transport.solve(problem, warm=with_prices(prices))
    check_assignment(problem, answer)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, transport.solve(problem).cost, rtol=1e-12)


@pytest.mark.engine
def test_prices_make_every_label_the_cheapest_column():
    rng = np.random.default_rng(4)
    problem = balanced(rng.random((300, 5)))
    answer = transport.solve(problem)
    reduced = problem.costs + answer.prices
    np.testing.assert_allclose(reduced[np.arange(300), answer.labels], reduced.min(axis=1), atol=1e-12)


@pytest.mark.engine
def test_the_same_call_gives_the_same_labels():
    rng = np.random.default_rng(5)
    problem = balanced(rng.integers(0, 5, (5000, 6)).astype(float))
    first, second = transport.solve(problem), transport.solve(problem)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.prices, second.prices)


@pytest.mark.engine
def test_inputs_are_left_unchanged():
    rng = np.random.default_rng(6)
    problem = balanced(rng.random((200, 4)))
    warm = with_prices(rng.normal(size=4))
    arrays = [problem.costs, problem.size_min, problem.size_max, warm.prices]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    transport.solve(problem, warm=warm)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.engine
@pytest.mark.parametrize("time_limit", [0.0, 1e-4])
def test_time_limit_returns_feasible_labels_with_a_valid_bound(time_limit):
    rng = np.random.default_rng(7)
    problem = balanced(rng.random((3000, 40)))
    best = transport.solve(problem)
    answer = transport.solve(problem, budget=Budget(time_limit))
    check_assignment(problem, answer)
    assert answer.lower_bound <= best.cost * (1 + 1e-12)
    assert best.cost <= answer.cost * (1 + 1e-12)
    if time_limit == 0.0:
        assert not answer.proven
        assert answer.gap > 0


@pytest.mark.engine
def test_time_limit_keeps_uneven_bounds():
    rng = np.random.default_rng(8)
    for _ in range(examples(200)):
        n_blocks, n_clusters = int(rng.integers(2, 80)), int(rng.integers(2, 9))
        lower, upper = random_counts(rng, n_blocks, n_clusters)
        costs = random_costs(rng, n_blocks, n_clusters)
        problem = AssignmentProblem.checked(costs, size_min=lower, size_max=upper)
        answer = transport.solve(problem, budget=Budget(0.0))
        check_assignment(problem, answer)
        assert answer.lower_bound <= matching_cost(costs, lower, upper) + cost_tolerance(problem) * n_blocks


@pytest.mark.engine
def test_costs_too_large_to_subtract_give_feasible_labels():
    costs = np.array([[-1.5e308, 1.5e308], [-1.5e308, 1.5e308], [-1.5e308, 1.5e308], [0.0, 1.0]])
    problem = AssignmentProblem(costs, size_min=np.array([0.0, 3.0]))
    assert problem.is_feasible(transport.solve(problem).labels)


@pytest.mark.engine
def test_nonempty_moves_the_cheapest_row_into_an_empty_cluster():
    costs = np.array([[0.0, 5.0, 90.0], [0.0, 4.0, 80.0], [3.0, 0.0, 85.0], [1.0, 9.0, 99.0]])
    problem = AssignmentProblem.checked(costs, nonempty=True)
    answer = transport.solve(problem)
    check_assignment(problem, answer)
    assert answer.labels.tolist() == [0, 2, 1, 0]


@pytest.mark.engine
def test_nonempty_without_empty_clusters_is_the_plain_minimum():
    rng = np.random.default_rng(9)
    costs = rng.random((5000, 8))
    answer = transport.solve(AssignmentProblem.checked(costs, nonempty=True))
    np.testing.assert_array_equal(answer.labels, costs.argmin(axis=1))
    assert answer.proven
    assert not answer.prices.any()


@pytest.mark.engine
def test_uniform_demand_counts_like_blocks_and_prices_are_per_unit():
    rng = np.random.default_rng(10)
    costs = rng.random((9, 3))
    weighted = AssignmentProblem.checked(costs, demand=np.full(9, 2.5), size_min=7.5, size_max=7.5)
    plain = AssignmentProblem.checked(costs, size_min=3, size_max=3)
    answer, expected = transport.solve(weighted), transport.solve(plain)
    check_assignment(weighted, answer)
    np.testing.assert_array_equal(answer.labels, expected.labels)
    np.testing.assert_allclose(answer.prices * 2.5, expected.prices, rtol=1e-12)
    again = transport.solve(weighted, warm=answer)
    np.testing.assert_allclose(again.cost, answer.cost, rtol=1e-12)


@pytest.mark.engine
def test_sums_of_uniform_demand_may_miss_bounds_by_rounding_only():
    # 0.1 + 0.1 + 0.1 > 0.3 in floating point.
    costs = np.zeros((6, 2))
    problem = AssignmentProblem.checked(costs, demand=np.full(6, 0.1), size_max=0.3)
    assert np.bincount(transport.solve(problem).labels).tolist() == [3, 3]
    tight = AssignmentProblem.checked(costs, demand=np.full(6, 0.1), size_max=0.29)
    with pytest.raises(InfeasibleError, match="upper bounds add up to 4 blocks"):
        transport.solve(tight)


def test_supports_asks_for_sizes_equal_demand_and_no_links():
    costs = np.zeros((3, 2))
    sized = AssignmentProblem.checked(costs, size_max=2)
    assert choose(sized) is transport
    assert transport.supports(dataclasses.replace(sized, demand=np.full(3, 0.5), size_max=np.ones(2)))
    assert not transport.supports(dataclasses.replace(sized, demand=np.array([1.0, 1.0, 2.0])))
    assert not transport.supports(dataclasses.replace(sized, demand=np.zeros(3)))
    assert not transport.supports(dataclasses.replace(sized, links=LinkGraph.from_edges(3, [0], [1])))
    assert not transport.supports(AssignmentProblem.checked(costs))


@pytest.mark.parametrize(
    ("bounds", "match", "witness"),
    [
        ({"size_min": 2}, "lower bounds add up to 4 blocks, but the total is 3", {"sum_min": 4}),
        ({"size_max": 1}, "upper bounds add up to 2 blocks, but the total is 3", {"sum_max": 2}),
        ({"size_min": [2, 0], "size_max": [1, 3]}, "cluster 0 must hold at least 2 and at most 1", {"cluster": 0}),
        ({"size_min": np.inf}, "cluster 0 must hold at least 4 and at most 3", {"total": 3}),
        ({"size_max": [-1, 3]}, "cluster 0 must hold at least 0 and at most -1", {"cluster": 0}),
    ],
)
def test_bounds_that_cannot_add_up_are_refused_with_the_sums(bounds, match, witness):
    problem = AssignmentProblem.checked(np.zeros((3, 2)), **bounds)
    with pytest.raises(InfeasibleError, match=match) as caught:
        assign(problem)
    assert caught.value.reason == "sizes"
    assert witness.items() <= caught.value.witness.items()


def test_more_clusters_than_blocks_cannot_all_be_nonempty():
    with pytest.raises(InfeasibleError, match="lower bounds add up to 3 blocks, but the total is 2"):
        assign(AssignmentProblem.checked(np.zeros((2, 3)), nonempty=True))


@st.composite
def sized_problems(draw) -> AssignmentProblem:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_blocks, n_clusters = draw(st.integers(1, 60)), draw(st.integers(1, 10))
    lower, upper = random_counts(rng, n_blocks, n_clusters)
    return AssignmentProblem.checked(random_costs(rng, n_blocks, n_clusters), size_min=lower, size_max=upper)


@pytest.mark.engine
@given(sized_problems(), st.integers(0, 10**6), st.floats(-1e3, 1e3))
def test_a_constant_on_one_row_shifts_the_cost_by_it(problem, row, shift):
    costs = problem.costs.copy()
    costs[row % problem.n_blocks] += shift
    shifted = dataclasses.replace(problem, costs=costs)
    cost, moved = transport.solve(problem).cost, transport.solve(shifted)
    check_assignment(shifted, moved)
    np.testing.assert_allclose(moved.cost - shift, cost, rtol=1e-9, atol=1e-9 * (np.abs(costs).max() + abs(shift)))


@pytest.mark.engine
@given(sized_problems(), st.randoms(use_true_random=False))
def test_renaming_clusters_keeps_the_cost(problem, random):
    order = np.array(random.sample(range(problem.n_clusters), problem.n_clusters))
    renamed = AssignmentProblem.checked(
        problem.costs[:, order], size_min=problem.size_min[order], size_max=problem.size_max[order]
    )
    answer = transport.solve(renamed)
    check_assignment(renamed, answer)
    np.testing.assert_allclose(answer.cost, transport.solve(problem).cost, rtol=1e-9, atol=cost_tolerance(problem))


@pytest.mark.engine
@given(sized_problems())
def test_bounds_that_do_not_bind_leave_the_plain_minimum(problem):
    free = nearest.solve(AssignmentProblem(problem.costs))
    sizes = problem.sizes(free.labels)
    loose = dataclasses.replace(
        problem,
        size_min=np.minimum(problem.size_min, sizes),
        size_max=np.maximum(problem.size_max, sizes),
    )
    answer = transport.solve(loose)
    np.testing.assert_array_equal(answer.labels, free.labels)
    assert answer.proven


@pytest.mark.engine
@given(sized_problems(), st.integers(0, 2**32 - 1))
def test_a_warm_start_never_changes_the_cost(problem, seed):
    prices = wrong_prices(np.random.default_rng(seed), problem.costs)
    answer = transport.solve(problem, warm=with_prices(prices))
    check_assignment(problem, answer)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, transport.solve(problem).cost, rtol=1e-9, atol=cost_tolerance(problem))


@pytest.mark.engine
@pytest.mark.parametrize(("n_blocks", "n_clusters"), [(40_000, 20), (2_000, 150)])
def test_thousands_of_equal_rows_are_spread_not_moved_one_by_one(n_blocks, n_clusters):
    # One path per row took seconds here; the limit is far above what spreading takes and far below that.
    alike = balanced(np.zeros((n_blocks, n_clusters)))
    answer = transport.solve(alike, budget=Budget(2.0))
    check_assignment(alike, answer)
    assert answer.proven
    rng = np.random.default_rng(11)
    repeated = balanced(rng.integers(0, 3, (40, n_clusters)).astype(float)[rng.integers(0, 40, n_blocks)])
    answer = transport.solve(repeated, budget=Budget(2.0))
    check_assignment(repeated, answer)
    assert answer.proven


@pytest.mark.engine
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_clusters_that_cost_the_same_or_are_far_off_are_proved(far):
    # Clusters that all cost the same; two near ones that hardly differ, and a third far off.
    costs = np.zeros((40, 3))
    if far:
        costs[:, :2] = 1e-3 * np.random.default_rng(1).random((40, 2))
        costs[:, 2] = far
    sizes, start = np.array([13, 13, 14]), np.zeros(3)
    problem = AssignmentProblem.checked(costs, size_min=sizes, size_max=sizes)
    for options in KERNEL_OPTIONS:
        check_kernel(costs, sizes, sizes, start, False, matching_cost(costs, sizes, sizes), **options)
    assert transport.solve(problem).proven


@pytest.mark.engine
@pytest.mark.parametrize("n_clusters", [31, 32, 199, 200])
@pytest.mark.parametrize("kind", ["rows", "equal rows", "whole numbers"])
def test_fixed_sizes_equal_a_matching(n_clusters, kind):
    rng = np.random.default_rng(n_clusters)
    costs = rng.random((1000, n_clusters))
    if kind == "equal rows":
        costs = costs[np.zeros(1000, dtype=int)]
    elif kind == "whole numbers":
        costs = rng.integers(0, 4, costs.shape).astype(float)
    problem = balanced(costs)
    lower, upper = transport.count_bounds(problem)
    answer = transport.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, matching_cost(costs, lower, upper), rtol=1e-9)


@pytest.mark.engine
@pytest.mark.parametrize("n_clusters", [31, 32, 60])
@pytest.mark.parametrize("off", [1e-4, 1e-2, 0.1, 1.0, 30.0])
def test_fixed_sizes_from_prices_that_are_off_equal_a_matching(n_clusters, off):
    """From few rows out of place, which paths mend, to so many that prices are found anew."""
    rng = np.random.default_rng(n_clusters)
    rows = rng.random((1000, 2))
    problem = balanced(((rows[:, None] - rows[:n_clusters]) ** 2).sum(-1))
    cold = transport.solve(problem)
    spread = off * np.median(np.abs(cold.prices))
    warm = transport.solve(problem, warm=with_prices(cold.prices + spread * rng.normal(size=n_clusters)))
    check_assignment(problem, warm)
    assert warm.proven
    expected = matching_cost(problem.costs, *transport.count_bounds(problem))
    np.testing.assert_allclose([cold.cost, warm.cost], expected, rtol=1e-9)


@pytest.mark.parametrize("n_clusters", [7, 60, 199, 200])
@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e-30, 1e30, 1e39, 1e60, 1e200])
@pytest.mark.parametrize("room", [0, 3])
def test_costs_of_any_size_are_solved_and_proved(n_clusters, scale, room):
    """Gaps between clusters are kept as floats, which end at 1e38: nothing but speed may depend on them."""
    rng = np.random.default_rng(0)
    costs, share = rng.random((1000, n_clusters)), 1000 // n_clusters
    bounds = {"size_min": max(0, share - room), "size_max": share + 1 + room}
    expected = transport.solve(AssignmentProblem.checked(costs, **bounds)).cost
    problem = AssignmentProblem.checked(scale * costs, **bounds)
    answer = transport.solve(problem)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, scale * expected, rtol=1e-9)
    warm = transport.solve(problem, warm=with_prices(answer.prices + 0.1 * scale * rng.normal(size=n_clusters)))
    assert warm.proven
    np.testing.assert_allclose(warm.cost, scale * expected, rtol=1e-9)
