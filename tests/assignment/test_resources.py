"""Prices, repair and proofs under several sums per cluster, beyond what can be enumerated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from konstrain import _core
from konstrain.assignment import AssignmentProblem, Resources, free_blocks, milp, priced
from konstrain.assignment.resource_search import ResourceSearch
from konstrain.assignment.sifting import Pricing, sift
from konstrain.exceptions import InfeasibleError
from konstrain.stop import NO_DEADLINE, Deadline
from oracles import check_assignment


def share_problem(n, k, low, seed=0):
    """Rows around k centers, of two groups that prefer different ones; each group has at least a share of `low`."""
    rng = np.random.default_rng(seed)
    points, centers = rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
    group = (rng.random(n) < 1 / (1 + np.exp(-2 * points[:, 0]))).astype(int)
    amounts = np.eye(2)[group]
    rules = np.array([[1 - low, -low], [-low, 1 - low]])
    resources = Resources(amounts, rules, np.zeros((k, 2)), np.full((k, 2), np.inf))
    return AssignmentProblem.checked(((points[:, None] - centers) ** 2).sum(-1), resources=resources)


@pytest.mark.engine
@pytest.mark.parametrize(("n", "k"), [(300, 3), (3000, 5), (20_000, 4)])
def test_prices_and_repair_leave_a_small_gap(n, k):
    """On both sides of the sample that gives the first prices of many rows."""
    problem = share_problem(n, k, 0.4)
    search = ResourceSearch(problem, Deadline(None))
    search.run(None)
    assert search.labels is not None
    assert problem.is_feasible(search.labels)
    assert 0.0 <= search.cost - search.bound <= 2.0 * k * k / n * search.cost
    again = priced.solve(problem, deadline=Deadline(None, max_nodes=1, is_brief=True))
    check_assignment(problem, again)


@pytest.mark.engine
def test_bounds_hold_and_answers_equal_the_referee():
    """Too many rows to enumerate: the referee is the whole model in HiGHS."""
    for seed in range(4):
        problem = share_problem(24, 3, 0.25, seed)
        expected = milp.solve(problem)
        answer = priced.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        assert answer.cost == pytest.approx(expected.cost)


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(4))
def test_shares_with_hardly_any_room_are_repaired_without_a_solver(seed):
    """Clusters that are short of a group get it from far off, through others that pass a row on."""
    rng = np.random.default_rng(seed)
    n, k = 6000, 12
    places = np.sort(rng.uniform(0, k, n))
    held = np.eye(2)[(rng.random(n) < 0.3 + 0.1 * np.sin(places)).astype(int)]
    low = 0.99 * held.mean(axis=0).min()
    rules = np.array([[1 - low, -low], [-low, 1 - low]])
    tight = Resources(held, rules, np.zeros((k, 2)), np.full((k, 2), np.inf))
    problem = AssignmentProblem.checked((places[:, None] - np.arange(k) - 0.5) ** 2, resources=tight)
    search = ResourceSearch(problem, Deadline(None))
    search.run(None)
    assert search.labels is not None
    assert problem.is_feasible(search.labels)
    assert search.cost - search.bound <= 0.02 * search.cost


def territories(n=400, k=8, seed=0):
    """Rows with three amounts of their own; every cluster within a tenth of an equal part of each."""
    rng = np.random.default_rng(seed)
    points, centers = rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
    held = np.column_stack([rng.lognormal(0.0, 0.7, n), rng.poisson(3.0, n) + 1.0, rng.gamma(2.0, 1.0, n)])
    mean = np.tile(held.sum(axis=0) / k, (k, 1))
    costs = ((points[:, None] - centers) ** 2).sum(-1)
    return AssignmentProblem.checked(costs, resources=Resources.of_amounts(held, 0.9 * mean, 1.1 * mean))


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(3))
def test_sifted_prices_have_the_bound_of_the_whole_linear_program(seed):
    """Most choices never become a column; scipy solves the program with all of them."""
    problem = territories(seed=seed)
    rules, _ = problem.resources.compared.scaled
    sifted = sift(problem.costs, rules, np.zeros_like(rules.low), NO_DEADLINE)
    assert sifted.least - rules.paid_by_bounds(sifted.prices) == pytest.approx(sifted.bound)
    assert sifted.bound == pytest.approx(Pricing.at(problem.costs, rules, sifted.prices).bound)
    assert sifted.bound == pytest.approx(_whole_program(problem.costs, rules), rel=1e-6)


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(3))
def test_shares_solve_the_linear_program(seed):
    """They add up to one, keep all bounds and cost as much as the prices prove."""
    problem = territories(seed=seed)
    rules, _ = problem.resources.compared.scaled
    sifted = sift(problem.costs, rules, np.zeros_like(rules.low), NO_DEADLINE)
    assert (sifted.shares >= 0.0).all()
    assert sifted.shares.sum(axis=1) == pytest.approx(1.0)
    held = sifted.shares.T @ rules.of_blocks
    assert (held >= rules.low - 1e-5).all()
    assert (held <= rules.high + 1e-5).all()
    assert (sifted.shares * problem.costs).sum() == pytest.approx(sifted.bound, rel=1e-6)


@pytest.mark.engine
def test_the_linear_program_takes_bounds_of_every_kind():
    """Both sides, one side, none, and bounds that leave no room at all."""
    problem = territories(n=60, k=3)
    scaled, _ = problem.resources.compared.scaled
    low, high = scaled.low.copy(), scaled.high.copy()
    low[:, 0], high[0], low[0] = -np.inf, np.inf, -np.inf
    low[1, 2] = high[1, 2] = 18.5
    rules = replace(scaled, low=low, high=high)
    sifted = sift(problem.costs, rules, np.zeros_like(low), NO_DEADLINE)
    assert sifted.bound == pytest.approx(_whole_program(problem.costs, rules), rel=1e-6)


@pytest.mark.engine
def test_the_linear_program_ends_where_nothing_keeps_the_rules():
    problem = territories(n=40, k=3)
    scaled, _ = problem.resources.compared.scaled
    rules = replace(scaled, low=scaled.low + 100.0, high=scaled.high + 100.0)
    sifted = sift(problem.costs, rules, np.zeros_like(rules.low), NO_DEADLINE)
    assert np.isfinite(sifted.bound)
    assert np.isfinite(sifted.shares).all()


def test_bounds_between_whole_numbers_prove_more_at_whole_numbers():
    """Sums of whole numbers are whole; sums of fractions and impossible bounds are left alone."""
    amounts = np.column_stack([[1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [1.0, 1.0, 1.0]])
    low, high = np.array([[1.5, 1.5, 1.2]]), np.array([[6.7, 6.7, 1.8]])
    tight = Resources.of_amounts(amounts, low, high).tightened
    assert tight.low.tolist() == [[2.0, 1.5, 1.2]]
    assert tight.high.tolist() == [[6.0, 6.7, 1.8]]
    whole = Resources.of_amounts(amounts, [[0.1 + 0.2 + 0.7] * 3], [[3.0] * 3]).tightened
    assert whole.low.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.engine
def test_whole_amounts_give_a_higher_bound():
    problem = territories()
    search = ResourceSearch(problem, Deadline(None, max_nodes=1, is_brief=True))
    search.run(None)
    rules, _ = problem.resources.compared.scaled
    assert search.bound > 1.0001 * sift(problem.costs, rules, np.zeros_like(rules.low), NO_DEADLINE).bound
    assert search.bound <= search.cost


def _whole_program(costs, rules):
    n, k = costs.shape
    in_cluster = np.kron(rules.of_blocks.T, np.eye(k))
    most = np.concatenate([rules.high.T.ravel(), -rules.low.T.ravel()])
    asked = np.isfinite(most)
    return linprog(
        costs.ravel(),
        A_ub=np.vstack([in_cluster, -in_cluster])[asked],
        b_ub=most[asked],
        A_eq=np.kron(np.eye(n), np.ones(k)),
        b_eq=np.ones(n),
    ).fun


@pytest.mark.engine
@pytest.mark.parametrize("warmth", [0.1, 1.0])
def test_walks_end_at_labels_that_keep_all_bounds_and_are_repeatable(warmth):
    problem = territories()
    rules, _ = problem.resources.compared.scaled
    sifted = sift(problem.costs, rules, np.zeros_like(rules.low), NO_DEADLINE)
    start = Pricing.at(problem.costs, rules, sifted.prices).paid.argmin(axis=1).astype(np.int32)
    assert not problem.is_feasible(start)
    arrays = [np.ascontiguousarray(part) for part in (rules.rules, rules.low, rules.high, sifted.prices)]
    results = [
        _core.walk_by_resources(
            problem.costs, rules.amounts, *arrays, start, warmth, 20 * sifted.prices.size, 400_000, seed, np.inf
        )
        for seed in (0, 0, 1)
    ]
    for labels, is_kept in results:
        assert is_kept
        assert problem.is_feasible(labels)
        assert problem.cost_of(labels) <= 1.1 * sifted.bound
    assert np.array_equal(results[0][0], results[1][0])
    assert not np.array_equal(results[0][0], results[2][0])


@pytest.mark.engine
@pytest.mark.parametrize("is_poor", [False, True], ids=["good", "poor"])
def test_only_a_wide_gap_is_worth_the_linear_program(is_poor, monkeypatch):
    """Both sides of the switch keep all bounds; beyond it neither bound nor labels get worse."""
    problem = territories()
    brief = Deadline(None, max_nodes=1, is_brief=True)
    asked = []
    monkeypatch.setattr(free_blocks, "FEW_KINDS", problem.n_blocks)
    monkeypatch.setattr(free_blocks, "sift", lambda *given: asked.append(1) or sift(*given))
    monkeypatch.setattr(free_blocks, "POOR_GAP", np.inf)
    first = ResourceSearch(problem, brief)
    first.run(None)
    assert not asked
    gap = free_blocks.relative_gap(first.bound, first.cost)
    assert 0.0 < gap < np.inf
    monkeypatch.setattr(free_blocks, "POOR_GAP", 0.9 * gap if is_poor else 1.1 * gap)
    search = ResourceSearch(problem, brief)
    search.run(None)
    assert bool(asked) == is_poor
    assert problem.is_feasible(search.labels)
    assert search.bound >= first.bound * (1.0 - 1e-12)
    assert search.cost <= first.cost


@pytest.mark.engine
@pytest.mark.parametrize("n_kinds", [free_blocks.FEW_KINDS, free_blocks.FEW_KINDS + 1], ids=["few", "many"])
def test_newton_steps_are_for_few_kinds_of_blocks(n_kinds, monkeypatch):
    """Blocks with amounts of their own go to the linear program at once; both ways keep all bounds."""
    problem = territories()
    amounts = problem.resources.amounts[np.arange(problem.n_blocks) % n_kinds]
    mean = np.tile(amounts.sum(axis=0) / problem.n_clusters, (problem.n_clusters, 1))
    problem = replace(problem, resources=Resources.of_amounts(amounts, 0.9 * mean, 1.1 * mean))
    asked = []
    place = _core.place_by_resources
    monkeypatch.setattr(_core, "place_by_resources", lambda *given: asked.append(1) or place(*given))
    search = ResourceSearch(problem, Deadline(None, max_nodes=1, is_brief=True))
    search.run(None)
    assert bool(asked) == (n_kinds == free_blocks.FEW_KINDS)
    assert problem.is_feasible(search.labels)
    assert search.bound <= search.cost <= 1.1 * search.bound


def test_warm_prices_lead_to_the_same_bound():
    problem = share_problem(20_000, 4, 0.4)
    cold, warm = ResourceSearch(problem, Deadline(None)), ResourceSearch(problem, Deadline(None))
    cold.run(None)
    first = priced.solve(share_problem(20_000, 4, 0.39), deadline=Deadline(None, is_brief=True))
    warm.run(first)
    assert warm.bound == pytest.approx(cold.bound, rel=1e-6)


def test_bounds_that_cannot_add_up_are_refused_without_a_solver():
    amounts = np.ones((6, 2))
    low = np.array([[4.0, 0.0], [4.0, 0.0]])
    problem = AssignmentProblem.checked(np.zeros((6, 2)), resources=Resources.of_amounts(amounts, low, low + 9.0))
    with pytest.raises(InfeasibleError, match="rule 0 add up to 8 at least"):
        priced.solve(problem)


def test_resources_of_another_shape_are_refused():
    resources = Resources.of_amounts(np.ones((3, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="resources are over"):
        AssignmentProblem.checked(np.zeros((4, 2)), resources=resources)
