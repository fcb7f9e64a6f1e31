"""Large coupled problems without what prices decide: the answer is that of the whole."""

import numpy as np
import pytest

from konstrain.assignment import coupled, milp, narrow
from konstrain.assignment.narrow import Look, Narrowed, broken_links, is_large
from konstrain.assignment.problem import AssignmentProblem, only_prices
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE
from oracles import check_assignment, cost_tolerance

NO_LINK = np.zeros(0, dtype=bool)


@pytest.fixture(autouse=True)
def narrow_always(monkeypatch):
    monkeypatch.setattr(narrow, "MIN_COSTS", 0)


def coupled_problem(rng, kind):
    """Rows in clusters of unequal pull, with links between some of them and sizes within a fifth of equal."""
    n, k = int(rng.integers(40, 90)), int(rng.integers(2, 5))
    demand = rng.choice([1.0, 2.0, 3.5], n, p=[0.94, 0.03, 0.03]) if kind == "demand" else None
    total = n if demand is None else demand.sum()
    first, second = rng.permutation(n)[: n // 3 * 2].reshape(2, -1)
    weights = rng.choice([-0.3, 0.2, np.inf], first.size) if kind == "soft" else None
    return AssignmentProblem(
        costs=rng.random((n, k)) * rng.uniform(0.5, 1.5, k),
        links=LinkGraph.from_edges(n, first, second, weights),
        demand=demand,
        size_min=np.full(k, 0.8 * total / k),
        size_max=np.full(k, 1.2 * total / k),
        nonempty=bool(rng.integers(2)),
    )


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["hard", "soft", "demand"])
def test_the_narrowed_answer_is_the_best_of_the_whole(kind, seed):
    n_narrowed = 0
    rng = np.random.default_rng(seed)
    for _ in range(25):
        problem = coupled_problem(rng, kind)
        start = rng.normal(scale=0.2, size=problem.n_clusters) if rng.integers(2) else None
        referee = milp.solve(problem)
        answer = coupled.solve(problem, warm=only_prices(start))
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, referee.cost, rtol=1e-9, atol=cost_tolerance(problem))
        n_narrowed += coupled._solve_narrowed(problem, start, NO_DEADLINE) is not None
    assert n_narrowed >= 5


@pytest.mark.parametrize("unit", [1.0, 2.5])
def test_moving_a_block_that_was_left_out_raises_the_bound_by_what_is_said(unit, seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((80, 3))
    problem = AssignmentProblem(costs, demand=np.full(80, unit), size_max=np.full(3, 30.0 * unit))
    first, later = rng.normal(scale=0.05, size=(2, 3))
    part = Narrowed.of(Look.at(problem, first), NO_LINK)
    out = np.setdiff1d(np.arange(80), part.blocks)
    priced = costs[out] + unit * later
    own = priced[np.arange(out.size), part.labels[out]]
    priced[np.arange(out.size), part.labels[out]] = np.inf
    assert part.rise(later) <= (priced.min(axis=1) - own).min() + 1e-12
    assert part.rise(first) > 0
    assert part.cost == pytest.approx(costs[out, part.labels[out]].sum())


def test_links_that_hold_are_left_aside_and_broken_ones_taken_up():
    costs = np.array([[0.0, 9.0], [0.0, 9.0], [9.0, 0.0]] * 10)
    links = LinkGraph.from_edges(30, [0, 0], [1, 2])
    problem = AssignmentProblem(costs, links=links, size_max=np.full(2, 28.0))
    part = Narrowed.of(Look.at(problem, np.zeros(2)), np.zeros(2, dtype=bool))
    assert part.is_taken.tolist() == [True, False]
    assert part.problem.graph.n_edges == 1
    assert {0, 1} <= set(part.blocks.tolist())
    assert broken_links(problem, part.joined(np.ones(part.blocks.size, dtype=np.int32))).tolist() == [True, True]


def test_prices_that_crowd_a_cluster_are_not_balanced():
    costs = np.random.default_rng(0).random((100, 2))
    problem = AssignmentProblem(costs, size_max=np.full(2, 55.0))
    assert Look.at(problem, np.zeros(2)).is_balanced
    assert not Look.at(problem, np.array([0.0, 5.0])).is_balanced


def test_small_problems_and_those_without_common_demand_are_solved_whole(monkeypatch):
    rng = np.random.default_rng(0)
    costs = rng.random((60, 2))
    odd = AssignmentProblem(costs, demand=rng.random(60) + 1.0, size_max=np.full(2, 60.0))
    assert Narrowed.of(Look.at(odd, np.zeros(2)), NO_LINK) is None
    monkeypatch.setattr(narrow, "MIN_COSTS", costs.size + 1)
    assert not is_large(odd)


def test_the_more_blocks_are_misplaced_the_more_are_kept():
    costs = np.random.default_rng(0).random((4000, 2))
    problem = AssignmentProblem(costs, size_max=np.full(2, 2100.0))
    near = [Narrowed.of(Look.at(problem, np.array([0.0, price])), NO_LINK).blocks.size for price in (0.0, 0.04, 0.1)]
    assert near[0] < near[1] < near[2] <= 2000


def test_misplaced_blocks_are_counted_at_the_prices_of_their_own_demand():
    """Two of demand 3 would crowd the first cluster if they paid for one unit only."""
    costs = np.array([[0.0, 1.0]] * 2 + [[0.0, 9.0], [9.0, 0.0]] * 4)
    demand = np.array([3.0] * 2 + [1.0] * 8)
    problem = AssignmentProblem(costs, demand=demand, size_max=np.array([4.0, 10.0]))
    assert Look.at(problem, np.array([0.5, 0.0])).misplaced == 0.0
    assert Look.at(problem, np.array([0.2, 0.0])).misplaced == pytest.approx(6 / 14)


def test_what_did_not_suffice_is_widened_up_to_half_of_the_blocks_and_no_further():
    problem = AssignmentProblem(np.random.default_rng(0).random((1000, 2)), size_max=np.full(2, 600.0))
    look = Look.at(problem, np.zeros(2))
    kept = [Narrowed.of(look, NO_LINK, width) for width in (1.0, 4.0, 16.0, 64.0)]
    assert [part.blocks.size for part in kept[:3]] == [31, 125, 500]
    assert kept[3] is None


@pytest.mark.parametrize("n_equal", [10, 900])
def test_blocks_that_cost_the_same_elsewhere_are_kept_or_all_are(n_equal):
    costs = np.random.default_rng(0).random((1000, 2))
    costs[:n_equal] = 0.5
    problem = AssignmentProblem(costs, size_max=np.full(2, 600.0))
    look = Look.at(problem, np.zeros(2))
    part = Narrowed.of(look, NO_LINK)
    assert (part is None) == (n_equal == 900)
    if part is not None:
        assert np.isin(np.arange(n_equal), part.blocks).all()
        assert part.cost == pytest.approx(costs[part.left_out, look.labels[part.left_out]].sum())
        assert np.sort(np.concatenate([part.blocks, part.left_out])).tolist() == list(range(1000))
