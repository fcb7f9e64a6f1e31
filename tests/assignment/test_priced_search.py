"""The priced search: what its duals prove, its labels, and its answers beyond what can be enumerated."""

import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from effort import examples
from konstrain import ConstrainedKMeans
from konstrain.assignment import AssignmentProblem, Rules, linked, milp, priced, transport
from konstrain.assignment.linked import solve_linked
from konstrain.assignment.priced import PricedSearch, bound_at, duals_of, reduced
from konstrain.assignment.priced.duals import FreeBlocks, newton_duals
from konstrain.assignment.priced.repair import labels_by_kind
from konstrain.assignment.problem import warm_start
from konstrain.exceptions import InfeasibleError
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget
from oracles import check_assignment, cost_tolerance

N_CLUSTERS = 4
LABELS_ONLY = Budget(work=0.0)


def share_problem(n, k, low, seed=0):
    """Rows around k centers, of two groups that prefer different ones; each group has at least a share of `low`."""
    rng = np.random.default_rng(seed)
    points, centers = rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
    group = (rng.random(n) < 1 / (1 + np.exp(-2 * points[:, 0]))).astype(int)
    amounts = np.eye(2)[group]
    rules = np.array([[1 - low, -low], [-low, 1 - low]])
    resources = Rules(amounts, rules, np.zeros((k, 2)), np.full((k, 2), np.inf))
    return AssignmentProblem.checked(((points[:, None] - centers) ** 2).sum(-1), resources=resources)


@pytest.mark.engine
@pytest.mark.parametrize(("n", "k"), [(300, 3), (3000, 5), (20_000, 4)])
def test_prices_and_repair_leave_a_small_gap(n, k):
    """On both sides of the sample that gives the first prices of many rows."""
    problem = share_problem(n, k, 0.4)
    search = PricedSearch(problem, Budget(None))
    search.run(None)
    assert search.labels is not None
    assert problem.is_feasible(search.labels)
    assert 0.0 <= search.cost - search.bound <= 2.0 * k * k / n * search.cost
    again = priced.solve(problem, budget=LABELS_ONLY)
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
    tight = Rules(held, rules, np.zeros((k, 2)), np.full((k, 2), np.inf))
    problem = AssignmentProblem.checked((places[:, None] - np.arange(k) - 0.5) ** 2, resources=tight)
    search = PricedSearch(problem, Budget(None))
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
    return AssignmentProblem.checked(costs, resources=Rules.of_amounts(held, 0.9 * mean, 1.1 * mean))


def _whole_program(costs, rules):
    n, k = costs.shape
    in_cluster = np.kron(rules.added.T, np.eye(k))
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
@pytest.mark.parametrize("seed", range(3))
def test_duals_of_amounts_prove_nearly_what_the_linear_program_does(seed):
    problem = territories(n=200, k=5, seed=seed)
    search = PricedSearch(problem, LABELS_ONLY)
    search.run(None)
    best = _whole_program(problem.costs, problem.rules)
    assert 0.995 * best <= search.bound <= best * (1.0 + 1e-9)
    check_assignment(problem, priced.solve(problem, budget=LABELS_ONLY))
    assert search.cost <= 1.05 * search.bound


@pytest.mark.engine
def test_duals_far_from_a_problem_do_not_spoil_its_bound():
    """Newton steps from duals of another problem begin anew where these prove less than none."""
    problem = territories()
    spoilt = 50.0 * np.random.default_rng(0).normal(size=problem.rules.low.shape) * problem.costs.max()
    cold, warm = PricedSearch(problem, LABELS_ONLY), PricedSearch(problem, LABELS_ONLY)
    cold.run(None)
    warm.run(warm_start(spoilt))
    assert warm.bound == pytest.approx(cold.bound, rel=1e-3)


@pytest.mark.engine
def test_whole_amounts_give_a_higher_bound():
    problem = territories()
    search = PricedSearch(problem, LABELS_ONLY)
    search.run(None)
    assert search.bound > 1.0001 * _whole_program(problem.costs, problem.rules_as_given)
    assert search.bound <= search.cost


def test_warm_prices_lead_to_the_same_bound():
    problem = share_problem(20_000, 4, 0.4)
    cold, warm = PricedSearch(problem, Budget(None)), PricedSearch(problem, Budget(None))
    cold.run(None)
    first = priced.solve(share_problem(20_000, 4, 0.39), budget=LABELS_ONLY)
    warm.run(first)
    assert warm.bound == pytest.approx(cold.bound, rel=1e-6)


def test_bounds_that_cannot_add_up_are_refused_without_a_solver():
    amounts = np.ones((6, 2))
    low = np.array([[4.0, 0.0], [4.0, 0.0]])
    problem = AssignmentProblem.checked(np.zeros((6, 2)), resources=Rules.of_amounts(amounts, low, low + 9.0))
    with pytest.raises(InfeasibleError, match="lower bounds add up to 8 of rule 0, but the total is 6"):
        priced.solve(problem)


def clique_under_sizes(seed, n_clusters=20, n_free=160):
    """As many blocks of two rows as clusters, no two of them together, and free rows; clusters of ten rows each."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n_clusters, 1)
    demand = np.r_[np.full(n_clusters, 2.0), np.ones(n_free)]
    return AssignmentProblem(
        costs=rng.random((n_clusters + n_free, n_clusters)) * demand[:, None],
        demand=demand,
        links=LinkGraph.from_edges(n_clusters + n_free, first, second),
        size_min=np.full(n_clusters, 10.0),
    )


def linked_with_an_unloved_cluster(seed, n_blocks=60):
    """Rows of three classes, linked across them; the last of four clusters is dear for all but a few rows."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(3, size=n_blocks)
    first, second = np.triu_indices(n_blocks, 1)
    drawn = (classes[first] != classes[second]) & (rng.random(first.size) < 0.3)
    costs = rng.random((n_blocks, 4))
    costs[:, 3] = 2.0 + rng.random(n_blocks)
    return AssignmentProblem(
        costs=costs, links=LinkGraph.from_edges(n_blocks, first[drawn], second[drawn]), nonempty=True
    )


@pytest.fixture
def no_solver(monkeypatch):
    """Fail when HiGHS is asked."""

    def refuse(*args, **kwargs):
        raise AssertionError("the solver was asked")

    monkeypatch.setattr(linked, "_solve_by_highs", refuse)
    monkeypatch.setattr(reduced.ReducedProblem, "solve", refuse)


@pytest.mark.parametrize("seed", range(5))
def test_a_cluster_nobody_wants_gets_its_one_block_without_a_solver(seed, no_solver):
    problem = linked_with_an_unloved_cluster(seed)
    free = linked.solve_linked(problem, UNLIMITED)
    assert not (free.labels == 3).any()
    answer = priced.solve(problem)
    assert answer.proven
    assert (answer.labels == 3).sum() == 1
    assert problem.is_feasible(answer.labels)


@pytest.mark.parametrize("seed", range(3))
def test_a_clique_that_fills_all_clusters_is_matched_whole_without_a_solver(seed, no_solver):
    problem = clique_under_sizes(seed)
    answer = priced.solve(problem)
    assert answer.proven
    assert problem.is_feasible(answer.labels)
    assert len(set(answer.labels[:20].tolist())) == 20


def test_slack_of_a_matched_clique_is_what_keeping_apart_costs():
    costs = np.array([[0.0, 3.0, 9.0], [0.0, 1.0, 9.0], [5.0, 0.0, 9.0], [7.0, 9.0, 4.0]])
    problem = AssignmentProblem(costs=costs, links=LinkGraph.from_edges(4, [0], [1]))
    answer = linked.solve_linked(problem, UNLIMITED)
    assert linked.has_crowded_cliques(problem.graph, 3)
    np.testing.assert_array_equal(answer.labels, [0, 1, 1, 2])
    np.testing.assert_allclose(answer.slack(), [1.0, 1.0, 0.0, 0.0])


def rows_with_some_links(seed, *, with_demand, soft=False, n_blocks=300):
    """Rows of which one in five is linked; sizes that bind, and must-linked blocks of three rows where asked for."""
    rng = np.random.default_rng(seed)
    demand = None
    if with_demand:
        demand = np.where(rng.random(n_blocks) < 0.1, 3.0, 1.0)
    total = n_blocks if demand is None else demand.sum()
    ends = rng.permutation(n_blocks)[: n_blocks // 5].reshape(2, -1)
    weights = rng.choice([-0.2, 0.3, np.inf], ends.shape[1]) if soft else None
    return AssignmentProblem(
        costs=rng.random((n_blocks, N_CLUSTERS)) * [1.0, 0.6, 1.0, 1.4],
        links=LinkGraph.from_edges(n_blocks, *ends, weights),
        demand=demand,
        size_min=np.full(N_CLUSTERS, np.floor(0.9 * total / N_CLUSTERS)),
        size_max=np.full(N_CLUSTERS, np.ceil(1.1 * total / N_CLUSTERS)),
    )


@pytest.mark.parametrize("with_demand", [False, True])
def test_free_blocks_have_no_links_and_one_demand(with_demand):
    problem = rows_with_some_links(0, with_demand=with_demand)
    split = FreeBlocks(problem, problem.rules)
    assert not problem.links.is_linked[split.free].any()
    assert problem.demand is None or (problem.demand[split.free] == 1.0).all()
    np.testing.assert_array_equal(np.sort(np.r_[split.free, split.tied]), np.arange(problem.n_blocks))
    assert 0 < split.tied.size < split.free.size


def test_blocks_of_all_different_demands_are_all_free():
    rng = np.random.default_rng(0)
    problem = AssignmentProblem(rng.random((9, 2)), demand=rng.random(9) + 1.0, size_max=np.full(2, 9.0))
    blocks = FreeBlocks(problem, problem.rules)
    assert blocks.is_counted is None
    assert blocks.free.size == 9


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("with_demand", [False, True])
def test_both_parts_bound_what_the_whole_relaxation_does(seed, with_demand, soft):
    problem = rows_with_some_links(seed, with_demand=with_demand, soft=soft)
    search = PricedSearch(problem, UNLIMITED)
    blocks = search.blocks
    tied = search._place_tied(np.zeros((N_CLUSTERS, 1))).labels
    placed = blocks.place(blocks.sums_of_tied(tied), np.zeros((N_CLUSTERS, 1)), UNLIMITED)
    in_parts = search._relaxed_around(placed)
    priced_costs = problem.costs + problem.rules.charges(placed.duals)
    whole = solve_linked(AssignmentProblem(priced_costs, problem.links), UNLIMITED)
    assert np.abs(placed.duals).max() > 0
    assert in_parts.bound == pytest.approx(whole.bound, rel=1e-12)
    paid = priced_costs[np.arange(problem.n_blocks), in_parts.labels].sum()
    assert paid + problem.links.penalty(in_parts.labels) == pytest.approx(whole.cost, rel=1e-12)
    np.testing.assert_allclose(in_parts.slack(), whole.slack(), atol=1e-12)
    bound = bound_at(problem, placed.duals[:, 0], UNLIMITED)
    assert bound == pytest.approx(whole.bound - problem.rules.paid_by_bounds(placed.duals), rel=1e-12)


def test_tied_blocks_that_fill_a_cluster_leave_no_capacity():
    problem = rows_with_some_links(0, with_demand=False)
    n_tied = FreeBlocks(problem, problem.rules).tied.size
    everyone = np.zeros(n_tied, dtype=np.int32)

    def placed(first_max):
        bounds = np.r_[first_max, np.full(N_CLUSTERS - 1, 290.0)]
        blocks = FreeBlocks(problem, replace(problem, size_max=bounds).rules)
        return blocks.place(blocks.sums_of_tied(everyone), np.zeros((N_CLUSTERS, 1)), UNLIMITED)

    assert placed(290.0) is not None
    assert placed(n_tied - 1.0) is None


@pytest.mark.parametrize("seed", range(8))
def test_newton_steps_lead_up_from_zero_where_bounds_of_both_sides_are_broken(seed):
    problem = rows_with_some_links(seed, with_demand=False)
    search = PricedSearch(problem, UNLIMITED)
    tied = search._place_tied(np.zeros((N_CLUSTERS, 1))).labels
    rules = problem.rules.restricted_to(search.blocks.free, search.blocks.sums_of_tied(tied))
    costs = np.ascontiguousarray(problem.costs[search.blocks.free])
    _, duals, least = newton_duals(costs, rules, np.zeros((N_CLUSTERS, 1)), UNLIMITED)
    best = transport.solve(AssignmentProblem(costs, size_min=rules.low[:, 0], size_max=rules.high[:, 0]))
    assert least - rules.paid_by_bounds(duals) == pytest.approx(best.cost, rel=1e-3)


def test_agreement_of_both_parts_closes_the_gap(seed):
    problem = rows_with_some_links(seed, with_demand=False)
    search = PricedSearch(problem, UNLIMITED)
    search.run(None)
    assert problem.is_feasible(search.labels)
    # What is left is at most what one free row pays more elsewhere than where it is.
    assert search.cost - search.bound <= 1e-3 * search.cost


def linked_and_sized(rng, kind):
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
def test_answers_from_any_duals_equal_the_referee(kind, seed):
    rng = np.random.default_rng(seed)
    for _ in range(examples(25)):
        problem = linked_and_sized(rng, kind)
        start = rng.normal(scale=0.2, size=problem.n_clusters) if rng.integers(2) else None
        answer = priced.solve(problem, warm=warm_start(start))
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, milp.solve(problem).cost, rtol=1e-9, atol=cost_tolerance(problem))


def test_categories_that_share_nothing_are_placed_by_transport_and_proved():
    rng = np.random.default_rng(0)
    amounts = np.eye(3)[rng.integers(0, 3, 600)] * [1.0, 2.0, 5.0]
    mean = np.tile(amounts.sum(axis=0) / 5, (5, 1))
    rules = Rules.of_amounts(amounts, np.floor(0.8 * mean), np.ceil(1.2 * mean))
    problem = AssignmentProblem(rng.random((600, 5)) * rng.uniform(0.5, 2.0, 5), resources=rules)
    search = PricedSearch(problem, UNLIMITED)
    search.run(None)
    assert search.is_closed()
    assert duals_of(problem, None).shape == (5, 3)


@pytest.mark.parametrize("kind", ["sizes", "demand", "mixed demand", "shares"])
def test_duals_of_a_problem_prove_nearly_its_best_bound(kind):
    """What a sample of rows that are elsewhere tells about the duals of all of them."""
    problem = share_problem(600, 4, 0.4)
    if kind != "shares":
        rng = np.random.default_rng(0)
        draws = {"sizes": np.ones(600), "demand": rng.random(600), "mixed demand": rng.choice([1.0, 1.0, 3.0], 600)}
        total = draws[kind].sum()
        problem = AssignmentProblem(
            problem.costs,
            demand=draws[kind],
            size_min=np.full(4, np.floor(0.2 * total)),
            size_max=np.full(4, np.ceil(0.3 * total)),
        )
    search = PricedSearch(problem, LABELS_ONLY)
    search.run(None)
    found = duals_of(problem, None)
    assert found.shape == search.prices.shape
    assert 0.999 * search.bound <= bound_at(problem, found, UNLIMITED) <= search.cost * (1.0 + 1e-9)


@pytest.mark.parametrize("first", range(0, 50 * examples(8), 50))
def test_numbers_of_each_kind_give_labels_or_prove_that_there_are_none(first):
    """Against enumeration: bounds that some labels keep, often just, and bounds that hardly any keep."""
    n_found = n_infeasible = 0
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
        amounts = np.column_stack([np.ones(n), rng.integers(0, 2, (n, 2))])
        weights = np.array([[1, 0, 0], [-0.4, 1, 0], [-0.6, 1, 0], [-0.3, 0, 1]]) if seed % 2 else np.eye(3)
        amounts *= rng.choice([1e-9, 1.0, 0.1, 1e9 / 3])
        free = np.full((k, len(weights)), np.inf)
        values = Rules(amounts, weights, -free, free).values(rng.integers(0, k, n).astype(np.int32))
        slack = rng.choice([0, 0, 0.5, 1], values.shape) * amounts.max()
        is_low, is_high = rng.random((2, *values.shape)) < 0.6
        low, high = np.where(is_low, values - slack, -np.inf), np.where(is_high, values + slack, np.inf)
        rules = Rules(amounts, weights, np.minimum(low + rng.choice([0, 0, 0, 1]) * amounts.max(), high), high)
        problem = AssignmentProblem(rng.random((n, k)), resources=rules, nonempty=bool(seed % 3))
        allowed = [np.array(labels, np.int32) for labels in product(range(k), repeat=n)]
        is_feasible = any(rules.are_kept_by(a) and (np.unique(a).size == k or seed % 3 == 0) for a in allowed)
        try:
            labels = labels_by_kind(problem, problem.rules, UNLIMITED, 200)
        except InfeasibleError:
            assert not is_feasible, seed
            n_infeasible += 1
            continue
        assert problem.is_feasible(labels), seed
        n_found += 1
    assert n_found > 20
    assert n_infeasible > 5


def test_shares_that_no_cluster_sizes_allow_are_infeasible_at_once():
    """Of sizes 14 to 18 only 15 and 18 keep the shares, and 208 is no sum of these."""
    category = np.repeat(["u", "v", "w"], [67, 73, 68])
    X = np.random.default_rng(0).normal(size=(208, 3))
    model = ConstrainedKMeans(13, size_tolerance=0.15, share_tolerance=0.061, random_state=0)
    before = time.process_time()
    with pytest.raises(InfeasibleError, match="keeps all sizes and all resources and shares"):
        model.fit(X, category=category)
    # Demand is of too many kinds, and links are no numbers; neither makes the shares possible.
    demand = np.random.default_rng(1).integers(1, 20, 208)
    with pytest.raises(InfeasibleError, match="keeps all links and all sizes and all resources and shares"):
        ConstrainedKMeans(13, size_max=200.0, share_tolerance=0.01, random_state=0).fit(
            X, category=category, demand=demand, cannot_link=[(0, 1)]
        )
    assert time.process_time() - before < 60.0
