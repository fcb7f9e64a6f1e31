"""Blocks of few kinds: how many of each go where, then which; and what whole numbers cost beyond prices."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from konstrain.assignment import AssignmentProblem, Resources, counted, priced
from konstrain.assignment.counted import kinds_worth_counting, place_by_counts
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.sifting import Pricing, sift
from konstrain.assignment.transfers import Transfers
from konstrain.assignment.whole_bound import WholeBound
from konstrain.assignment.whole_rules import WholeRules
from konstrain.assignment.whole_totals import NearTotals
from konstrain.gap import relative_gap
from konstrain.stop import NO_DEADLINE, Deadline
from oracles import check_assignment

pytestmark = pytest.mark.engine


def crossed(n=1500, k=5, n_bands=5, tolerance=0.2, seed=0):
    """Rows with two attributes that have much to do with where they lie; every share near that in all rows."""
    rng = np.random.default_rng(seed)
    points, centers = rng.normal(size=(n, 2)), 1.5 * rng.normal(size=(k, 2))
    sex = (rng.random(n) < 1 / (1 + np.exp(-points[:, 0]))).astype(int)
    band = np.searchsorted(np.quantile(points[:, 1], np.arange(1, n_bands) / n_bands), points[:, 1])
    costs = ((points[:, None] - centers) ** 2).sum(-1)
    return AssignmentProblem.checked(costs, resources=shares_of([sex, band], k, tolerance))


def shares_of(attributes, k, tolerance):
    """Bounds on the share of every value of every attribute."""
    columns = [np.eye(codes.max() + 1)[codes] for codes in attributes]
    starts = np.cumsum([0] + [part.shape[1] for part in columns])
    rules, low, high = [], [], []
    for part, start in zip(columns, starts, strict=False):
        for value, share in enumerate(part.mean(axis=0)):
            for bound, least, most in (((1 - tolerance) * share, 0, np.inf), (share / (1 - tolerance), -np.inf, 0)):
                row = np.zeros(starts[-1])
                row[start : start + part.shape[1]] = -bound
                row[start + value] += 1.0
                rules.append(row)
                low.append(least)
                high.append(most)
    return Resources(np.hstack(columns), np.array(rules), np.tile(low, (k, 1)), np.tile(high, (k, 1)))


def test_kinds_are_told_apart_up_to_a_number():
    """Both sides of it."""
    amounts = np.arange(32.0)[:, None][np.tile(np.arange(32), 3)]
    kinds = Kinds.among(amounts)
    assert kinds.count == 32
    assert all((amounts[blocks] == amounts[blocks[0]]).all() for blocks in kinds.blocks)
    labels = np.repeat(np.arange(3, dtype=np.int32), 32)
    assert np.array_equal(kinds.counts(labels, 3), np.ones((32, 3)))
    assert Kinds.among(np.arange(33.0)[:, None]) is None


def test_one_attribute_is_not_crossed_with_sizes():
    one, two = shares_of([np.array([0, 1, 0, 1])], 2, 0.2), crossed(n=40, k=2).resources
    for rules, expected in ((one, False), (two, True)):
        sized = rules.with_rule(np.ones(len(rules.amounts)), np.ones(2), np.full(2, 30.0))
        for asked in (rules, sized):
            assert Kinds.among(asked.amounts).are_crossed(asked.amounts) is expected


def test_counting_takes_many_blocks_of_few_kinds_in_few_clusters():
    """Both sides of each limit."""
    rules = crossed(n=40, k=3, n_bands=5).resources
    assert kinds_worth_counting(rules) is not None
    few = Resources(rules.amounts[:39], rules.rules, rules.low, rules.high)
    assert Kinds.among(few.amounts).count == 10
    assert kinds_worth_counting(few) is None
    assert kinds_worth_counting(crossed(n=100, k=22).resources) is not None
    assert kinds_worth_counting(crossed(n=100, k=23).resources) is None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_transfers_hold_every_block_once_per_target_cheapest_first(seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 3
    costs, labels = rng.random((n, k)), rng.integers(0, k, n).astype(np.int32)
    kinds = Kinds.among(rng.integers(0, 2, (n, 1)).astype(float))
    transfers = Transfers.between(costs, labels, kinds)
    for kind, source, target in itertools.product(range(kinds.count), range(k), range(k)):
        here = (transfers.kind == kind) & (transfers.source == source) & (transfers.target == target)
        moved = (kinds.of_block == kind) & (labels == source)
        if source == target or not moved.any():
            assert not here.any()
            continue
        lost = np.sort(costs[moved, target] - costs[moved, source])
        assert transfers.capacity[here].sum() == moved.sum()
        assert (np.diff(transfers.cost[here]) >= 0).all()
        assert transfers.cost[here][0] == lost[0]
        assert transfers.capacity[here] @ transfers.cost[here] == pytest.approx(lost.sum())


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_bounds_on_whole_counts_let_through_what_the_rules_let_through(seed):
    """For the total that a cluster has, no more and no less."""
    rng = np.random.default_rng(seed)
    rules = crossed(n=60, k=2, n_bands=3, tolerance=rng.choice([0.2, 0.5]), seed=seed).resources.compared
    kinds = Kinds.among(rules.amounts)
    whole = WholeRules.of(rules, kinds)
    assert whole.is_whole.all()
    for _ in range(20):
        labels = rng.integers(0, 2, 60).astype(np.int32)
        values, totals = rules.values(labels), np.bincount(labels, minlength=2).astype(float)
        low, high = whole.bounds(totals)
        assert (low >= rules.low).all()
        assert (high <= rules.high).all()
        near = 1e-9
        are_kept = (values >= rules.low) & (values <= rules.high)
        assert np.array_equal(are_kept, (values >= low - near) & (values <= high + near))


def test_a_rule_over_amounts_of_any_size_is_not_a_count():
    rules = Resources.of_amounts(np.repeat([[0.3], [0.7], [1.1]], 4, axis=0), [[0.0]] * 2, [[5.0]] * 2)
    whole = WholeRules.of(rules, Kinds.among(rules.amounts))
    assert not whole.is_whole.any()
    low, high = whole.bounds(np.array([3.0, 4.0]))
    assert np.array_equal(low, rules.low)
    assert np.array_equal(high, rules.high)


@pytest.mark.parametrize("spread", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_totals_are_the_cheapest_of_all_with_the_same_sum(seed, spread):
    rng = np.random.default_rng(seed)
    problem = crossed(n=90, k=3, seed=seed)
    rules, reach = problem.resources, 3
    whole = WholeRules.of(rules, Kinds.among(rules.amounts))
    prices = rules.payable(rng.normal(size=rules.low.shape))
    wanted = rng.dirichlet(np.ones(3)) * 90
    found = NearTotals.of(wanted, prices, whole, reach).cheapest(spread)

    def cost(totals):
        return whole.lost(totals, prices).sum() + spread * ((totals - wanted) ** 2).sum()

    near = (np.round(wanted) + steps for steps in itertools.product(range(-reach, reach + 1), repeat=3))
    best = min(cost(totals) for totals in near if totals.sum() == 90 and (totals >= 0).all())
    assert found.sum() == 90
    assert cost(found) == pytest.approx(best)


def small_shares(seed):
    """Costs and rules of eight blocks, some of which are several rows."""
    rng = np.random.default_rng(seed)
    n, k = 8, int(rng.integers(2, 4))
    rules = shares_of([rng.permutation([0, 1] * (n // 2))], k, rng.choice([0.3, 0.5]))
    if rng.random() < 0.5:
        rows = rng.integers(1, 3, n)[:, None]
        rules = Resources(rules.amounts * rows, rules.rules, rules.low, rules.high)
    return rng.random((n, k)), rules.compared


def least_cost(costs, rules):
    """Of all labels that keep the rules."""
    n, k = costs.shape
    every = (np.array(labels, dtype=np.int32) for labels in itertools.product(range(k), repeat=n))
    return min((costs[np.arange(n), labels].sum() for labels in every if rules.are_kept_by(labels)), default=np.inf)


def test_totals_keep_sizes():
    """Both sides of either bound, with room for rounding."""
    rules = crossed(n=90, k=3).resources.with_rule(np.ones(90), np.full(3, 29.0), np.full(3, 31.0))
    for asked in (rules, rules.compared.scaled[0]):
        whole = WholeRules.of(asked, Kinds.among(asked.amounts))
        assert whole.allows(np.array([29.0, 30.0, 31.0])).all()
        assert whole.allows(np.array([28.0, 30.0, 32.0])).tolist() == [False, True, False]
        found = NearTotals.of(np.array([20.0, 30.0, 40.0]), np.zeros_like(asked.low), whole, 20).cheapest(1.0)
        assert found.tolist() == [29.0, 30.0, 31.0]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_labels_that_keep_the_rules_cost_less_than_prices_and_whole_numbers_say(seed):
    costs, rules = small_shares(seed)
    kinds = Kinds.among(rules.amounts)
    prices = sift(costs, rules, np.zeros_like(rules.low), NO_DEADLINE).prices
    pricing = Pricing.at(costs, rules, prices, kinds)
    lost = WholeBound(pricing, WholeRules.of(rules, kinds), kinds).lost
    assert lost >= 0.0
    assert pricing.bound + lost <= least_cost(costs, rules) + 1e-9


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_closer_look_at_totals_leaves_labels_and_bound_right(seed):
    """However narrow the gap is: it is looked at, and the bound rises but not above the best labels."""
    costs, rules = small_shares(seed)
    kinds, start = Kinds.among(rules.amounts), np.zeros_like(rules.low)
    best = least_cost(costs, rules)
    found = []
    for reach in (0.0, 1e9):
        with patch.object(counted, "WITHIN_REACH", reach):
            found.append(place_by_counts(costs, rules, kinds, start, NO_DEADLINE))
    without, after = found
    assert after.lost >= without.lost
    assert after.least - rules.paid_by_bounds(after.prices) + after.lost <= best + 1e-9
    if rules.are_kept_by(after.labels):
        assert costs[np.arange(len(costs)), after.labels].sum() >= best - 1e-9


def test_whole_numbers_cost_something_where_shares_are_tight():
    """A bound beyond that of the linear program, which labels come near to."""
    problem = crossed(n=1500)
    rules = problem.resources.compared
    kinds = kinds_worth_counting(rules)
    found = place_by_counts(problem.costs, rules, kinds, np.zeros_like(rules.low), NO_DEADLINE)
    cost, bound = problem.cost_of(found.labels), found.least - rules.paid_by_bounds(found.prices)
    assert problem.is_feasible(found.labels)
    assert found.lost > 0.1 * (cost - bound)
    assert relative_gap(bound + found.lost, cost) <= 3e-3


@pytest.mark.parametrize("seed", range(3))
def test_counted_labels_are_nearer_to_the_bound_than_repaired_ones(seed, monkeypatch):
    """Two attributes at once: repair for one breaks the other."""
    problem = crossed(n=4000, k=6, seed=seed)
    brief = Deadline(None, max_nodes=1, is_brief=True)
    answer = priced.solve(problem, deadline=brief)
    check_assignment(problem, answer)
    assert answer.gap <= 3e-3
    monkeypatch.setattr(counted, "MOST_PAIRS", 0)
    assert answer.gap < priced.solve(problem, deadline=brief).gap


def test_counting_again_from_warm_prices_gives_no_wider_gap():
    problem = crossed(n=4000, k=6)
    brief = Deadline(None, max_nodes=1, is_brief=True)
    cold = priced.solve(problem, deadline=brief)
    warm = priced.solve(problem, warm=cold, deadline=brief)
    check_assignment(problem, warm)
    assert warm.gap <= 1.2 * cold.gap  # among prices as good as each other, others may be found


def test_blocks_of_several_rows_and_sizes_beside_shares_are_counted():
    """Sizes are a rule of their own, and blocks count as many rows as they have."""
    rng = np.random.default_rng(3)
    n, k = 1200, 4
    points, centers = rng.normal(size=(n, 2)), 1.5 * rng.normal(size=(k, 2))
    rows = rng.integers(1, 3, n).astype(float)
    sex = (rng.random(n) < 1 / (1 + np.exp(-points[:, 0]))).astype(int)
    rules = shares_of([sex], k, 0.1)
    resources = Resources(rules.amounts * rows[:, None], rules.rules, rules.low, rules.high)
    problem = AssignmentProblem.checked(
        ((points[:, None] - centers) ** 2).sum(-1) * rows[:, None],
        resources=resources,
        demand=rows,
        size_min=0.2 * rows.sum(),
        size_max=0.3 * rows.sum(),
    )
    answer = priced.solve(problem, deadline=Deadline(None, max_nodes=1, is_brief=True))
    check_assignment(problem, answer)
    assert answer.gap <= 3e-3
