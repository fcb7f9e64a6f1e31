"""Column generation against enumeration of all clusterings, with a small branch and bound where it is fractional."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.exact import (
    AnyOf,
    ColumnGenerationBound,
    MaxDifference,
    MaxOverlap,
    MaxSize,
    MaxSoftViolations,
    alternative_to,
)
from konstrain.exact.columns import generation
from konstrain.exact.columns.master import ColumnPool, Master
from konstrain.exact.columns.pricing import Pricer
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Budget


class AtMostOneCorner:
    """Written by a user: at most one of the first and last rows, and no more than four rows."""

    def __init__(self, n):
        self.last = n - 1

    def allows(self, cluster, joining):
        rows = [*cluster, *joining]
        return len(rows) <= 4 and not (0 in rows and self.last in rows)


@dataclass
class Tiny:
    """A problem small enough to enumerate."""

    X: np.ndarray
    n_clusters: int
    must_link: list = field(default_factory=list)
    cannot_link: list = field(default_factory=list)
    constraints: tuple = ()
    weight: np.ndarray | None = None

    @classmethod
    def draw(cls, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 10))
        X = rng.normal(size=(n, int(rng.integers(1, 4)))) * rng.choice([1e-3, 1.0, 1e4])
        if seed % 4 == 0:
            X = np.round(X)
        pairs = [(i, j) for i in range(n) for j in range(i)]
        must = [pairs[i] for i in rng.choice(len(pairs), int(rng.integers(0, 3)), replace=False)]
        cannot = [pairs[i] for i in rng.choice(len(pairs), min(len(pairs), int(rng.integers(0, 9))), replace=False)]
        some = rng.choice(n, n // 2, replace=False)
        kinds = (
            (),
            (MaxSize(int(rng.integers(2, 5))),),
            (MaxOverlap(some, 2), MaxDifference(some, int(rng.integers(1, 4)))),
            (AtMostOneCorner(n),),
            (AnyOf(MaxSize(3), MaxOverlap(some, 1)),),
            (MaxSoftViolations(pairs[::2], 2), MaxSize(2.5, demand=rng.random(n))),
            (alternative_to(np.arange(n) % 3, 2),),
        )
        weight = rng.random(n) + 0.1 if seed % 3 == 0 else None
        return cls(X, int(rng.integers(2, 5)), must, cannot, kinds[seed % len(kinds)], weight)

    def problem(self, must=(), cannot=()):
        """Blocks for k clusters, without the checks that would tell infeasibility before pricing does."""
        links = {"must_link": [*self.must_link, *must] or None, "cannot_link": [*self.cannot_link, *cannot] or None}
        built = Problem.build(self.X, len(self.X), sample_weight=self.weight, nonempty=False, **links)
        return replace(built, n_clusters=self.n_clusters, nonempty=True)

    def cost(self, inside):
        weight = np.ones(len(self.X)) if self.weight is None else self.weight
        gap = self.X[inside] - np.average(self.X[inside], axis=0, weights=weight[inside])
        return float((weight[inside][:, None] * gap**2).sum())

    def is_allowed(self, inside):
        rows = set(inside)
        nothing = np.zeros(0, dtype=np.int32)
        return (
            all((i in rows) == (j in rows) for i, j in self.must_link)
            and not any(i in rows and j in rows for i, j in self.cannot_link)
            and all(c.allows(nothing, np.array(inside)) for c in self.constraints)
        )

    def enumerate(self):
        """Least cost over all partitions into exactly k clusters; infinite when there is none."""
        n = len(self.X)
        cost = {}
        for bits in range(1, 2**n):
            inside = [i for i in range(n) if bits >> i & 1]
            if self.is_allowed(inside):
                cost[bits] = self.cost(inside)
        best = {0: 0.0}
        for _ in range(self.n_clusters):
            larger = {}
            for done, spent in best.items():
                lowest = ~done & (done + 1)  # the first row not covered yet
                for bits, more in cost.items():
                    if bits & lowest and not bits & done:
                        larger[done | bits] = min(larger.get(done | bits, np.inf), spent + more)
            best = larger
        return best.get(2**n - 1, np.inf)


def check(tiny, problem, labels, cost):
    """Labels keep everything and cost what is said."""
    clusters = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    assert len(clusters) == tiny.n_clusters
    assert all(tiny.is_allowed(inside.tolist()) for inside in clusters)
    assert sum(tiny.cost(inside) for inside in clusters) == pytest.approx(cost, rel=1e-9, abs=1e-12)


def branch_and_bound(tiny, upper_bound=np.inf):
    """Best cost by Ryan-Foster branching; children start from their parent's columns."""
    best, nodes, stack = upper_bound, 0, [((), (), ())]
    while stack:
        must, cannot, columns = stack.pop()
        try:
            problem = tiny.problem(must, cannot)
        except InfeasibleError:
            continue
        bound = ColumnGenerationBound(problem, tiny.constraints, columns)
        result = bound.run(best)
        nodes += 1
        assert result.status in ("closed", "optimal", "infeasible")
        if result.incumbent_labels is not None:
            check(tiny, problem, result.incumbent_labels, result.incumbent_cost)
            best = min(best, result.incumbent_cost)
        if result.status == "optimal":
            pair = bound.branching_pair()
            assert (pair is None) == result.is_integral
            if pair is not None:
                rows = tuple(int(problem.rows_of(block)[0]) for block in pair)
                kept = bound.rows_of_columns()
                stack += [((*must, rows), cannot, kept), (must, (*cannot, rows), kept)]
    return best, nodes


@pytest.mark.parametrize("block", range(examples(20)))
def test_bound_and_infeasibility_agree_with_enumeration(block):
    for seed in range(20 * block, 20 * block + 20):
        tiny = Tiny.draw(seed)
        try:
            problem = tiny.problem()
        except InfeasibleError:  # a cannot-link within a block
            assert tiny.enumerate() == np.inf
            continue
        optimum = tiny.enumerate()
        result = ColumnGenerationBound(problem, tiny.constraints).run()
        tolerance = 1e-8 * abs(optimum) + 1e-15 if np.isfinite(optimum) else 0.0
        assert result.lower_bound <= optimum + tolerance, seed
        assert (optimum == np.inf) == (result.status == "infeasible"), seed
        if result.incumbent_labels is not None:
            check(tiny, problem, result.incumbent_labels, result.incumbent_cost)
        if result.status == "closed":
            assert result.lower_bound == pytest.approx(optimum, rel=1e-8, abs=1e-15)
        best, _ = branch_and_bound(tiny)
        assert best == pytest.approx(optimum, rel=1e-8, abs=1e-15), seed


@pytest.mark.parametrize("block", range(examples(4)))
def test_both_ways_to_keep_duals_from_jumping_prove_the_same(block):
    n_compared = 0
    for seed in range(10 * block, 10 * block + 10):
        tiny = Tiny.draw(seed)
        try:
            problem = tiny.problem()
        except InfeasibleError:  # a cannot-link within a block
            continue
        n_compared += 1
        smoothed, perturbed = (
            ColumnGenerationBound(problem, tiny.constraints, stabilization=way).run()
            for way in ("smoothing", "perturbation")
        )
        assert smoothed.status == perturbed.status
        assert perturbed.lower_bound == pytest.approx(smoothed.lower_bound, rel=1e-6, abs=1e-12)
        assert perturbed.lower_bound <= tiny.enumerate() * (1 + 1e-8) + 1e-15
    assert n_compared > 5


def test_covers_are_perturbed_until_duals_agree_with_their_center():
    # A stand-in covers both blocks for 6; half of each cover may be missed for less than that saves.
    pool = ColumnPool()
    master = Master(pool, 2, 1, incumbent_cost=6.0, perturbed=True)
    master.perturb(np.array([1.0, 1.0]), 0.5)
    assert master.solve(Budget(None)).value == pytest.approx(6.0 * 0.5 + 2 * 0.5 * 1.0)
    master.perturb(np.array([1.0, 1.0]), 0.0)
    assert master.solve(Budget(None)).value == pytest.approx(6.0)


def test_perturbation_starts_from_lower_bounds_of_the_duals():
    problem = Problem.build([[0.0], [1.0], [5.0], [6.0], [9.0]], 2, must_link=[(0, 1)])
    bound = ColumnGenerationBound(problem, stabilization="perturbation")
    assert bound._first_theta(7.0).tolist() == [7.0] * 4
    bound.add_clustering([0, 0, 1, 1, 1])
    # What each cluster costs less without the block: all of the first one; 26 / 3 less 4.5, 8 and 0.5 of the second.
    np.testing.assert_allclose(bound._first_theta(7.0), [0.5, 26 / 3 - 4.5, 26 / 3 - 8.0, 26 / 3 - 0.5])


def test_pricing_without_descent_proves_the_same(monkeypatch):
    n_compared = 0
    for seed in range(12):
        tiny = Tiny.draw(seed)
        try:
            problem = tiny.problem()
        except InfeasibleError:  # a cannot-link within a block
            continue
        n_compared += 1
        both = ColumnGenerationBound(problem, tiny.constraints).run()
        with monkeypatch.context() as patch:
            patch.setattr(Pricer, "locally", None)  # not to be called
            alone = ColumnGenerationBound(problem, tiny.constraints, local_pricing=False)
            result = alone.run()
            child = alone.child(problem, tiny.constraints).run()
        assert result.status == both.status == child.status
        assert result.lower_bound == pytest.approx(both.lower_bound, rel=1e-6, abs=1e-12)
    assert n_compared > 5


def test_no_work_begins_when_time_is_over(monkeypatch):
    problem = Problem.build(np.random.default_rng(0).normal(size=(30, 2)), 4)
    bound = ColumnGenerationBound(problem)
    budget = Budget()
    solve, price = Master.solve, Pricer.locally
    late = []

    def solve_until_late(self, given):
        solution = solve(self, given)
        if bound.n_iterations == 3:
            budget.end()
        return solution

    monkeypatch.setattr(Master, "solve", solve_until_late)
    monkeypatch.setattr(
        Pricer, "locally", lambda *a, **k: (late.append(1) if budget.expired() else None, price(*a, **k))[1]
    )
    monkeypatch.setattr(generation, "integer_master", lambda *a, **k: late.append(2))
    assert bound.run(budget=budget).status == "limit"
    assert bound.n_iterations == 4
    assert late == []


def test_an_unknown_stabilization_is_refused():
    with pytest.raises(ValueError, match="smoothing, perturbation"):
        ColumnGenerationBound(Problem.build([[0.0], [1.0]], 1), stabilization="boxes")


def test_an_upper_bound_below_the_optimum_closes_the_node():
    tiny = Tiny.draw(3)
    optimum = tiny.enumerate()
    assert np.isfinite(optimum)
    result = ColumnGenerationBound(tiny.problem(), tiny.constraints).run(0.9 * optimum)
    assert result.status == "closed"
    assert 0.9 * optimum * (1 - 1e-8) <= result.lower_bound <= optimum * (1 + 1e-8)


def test_fractional_relaxations_give_a_pair_and_branching_finishes():
    # Odd cycles of conflicts make fractional covers cheap.
    total = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 9
        cycle = [(i, (i + 1) % n) for i in range(n)]
        tiny = Tiny(rng.normal(size=(n, 2)), 3, cannot_link=cycle, constraints=(MaxSize(4),))
        best, nodes = branch_and_bound(tiny)
        assert best == pytest.approx(tiny.enumerate(), rel=1e-8)
        total += nodes > 1
    assert total > 0


def test_an_odd_cycle_of_conflicts_is_proved_to_need_three_clusters():
    cycle = [(i, (i + 1) % 5) for i in range(5)]
    tiny = Tiny(np.arange(5.0)[:, None], 2, cannot_link=cycle)
    result = ColumnGenerationBound(tiny.problem()).run()
    assert (result.status, result.lower_bound, result.labels) == ("infeasible", np.inf, None)


def test_a_block_that_no_cluster_can_hold_is_infeasible():
    tiny = Tiny(np.arange(5.0)[:, None], 2, must_link=[(0, 1), (1, 2)], constraints=(MaxSize(2),))
    assert ColumnGenerationBound(tiny.problem(), tiny.constraints).run().status == "infeasible"


def test_time_limits_end_a_run_with_what_is_proved():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.normal(size=(120, 4)), 3)
    bound = ColumnGenerationBound(problem, budget=Budget(0.3))
    result = bound.run()
    assert result.status == "limit"
    assert result.lower_bound < np.inf
    at_once = ColumnGenerationBound(problem).run(budget=Budget(0.0))
    assert at_once.status == "limit"
    assert at_once.lower_bound == 0.0


def test_a_node_limit_stalls_with_a_valid_bound():
    rng = np.random.default_rng(1)
    problem = Problem.build(rng.normal(size=(24, 4)), 3)
    proved = ColumnGenerationBound(problem).run()
    assert proved.status == "closed"
    result = ColumnGenerationBound(problem, node_limit=50).run()
    assert result.status == "stalled"
    assert 0.0 <= result.lower_bound <= proved.lower_bound * (1 + 1e-8)


def test_an_interrupted_run_goes_on_where_it_was(monkeypatch):
    rng = np.random.default_rng(2)
    problem = Problem.build(rng.normal(size=(30, 2)), 4)
    bound = ColumnGenerationBound(problem)
    locally, calls = bound.pricer.locally, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return locally(*args, **kwargs)

    monkeypatch.setattr(bound.pricer, "locally", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bound.run()
    n_columns = len(bound.pool)
    assert n_columns > 0
    result = bound.run()
    assert result.status == "closed"
    expected = ColumnGenerationBound(problem).run()
    assert result.lower_bound == pytest.approx(expected.lower_bound, rel=1e-8)


def test_a_clustering_offered_is_an_incumbent_only_if_it_is_allowed():
    problem = Problem.build([[0.0], [1.0], [5.0], [6.0]], 2, cannot_link=[(2, 3)])
    bound = ColumnGenerationBound(problem)
    bound.add_clustering([0, 0, 1, 1])
    assert bound.incumbent is None
    bound.add_clustering([0, 0, 1, 0])
    assert bound.incumbent_cost == pytest.approx(((np.array([0, 1, 6]) - 7 / 3) ** 2).sum())
    result = bound.run()
    assert result.status == "closed"
    assert result.incumbent_cost == pytest.approx(14.0)


def test_same_seed_gives_the_same_run():
    rng = np.random.default_rng(3)
    # More blocks than starts of local pricing, so that the seed matters.
    problem = Problem.build(rng.normal(size=(210, 2)), 150)
    first, second = (ColumnGenerationBound(problem, seed=7).run() for _ in range(2))
    assert (first.n_iterations, first.n_columns) == (second.n_iterations, second.n_columns)
    np.testing.assert_array_equal(first.incumbent_labels, second.incumbent_labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size_min": 2}, "size_min = 2 is a lower bound"),
        ({"size_max": [1, 3]}, "size_max differs between clusters"),
        ({"cannot_link": [(0, 1, 0.5)]}, "soft links"),
    ],
)
def test_what_is_not_anti_monotone_is_refused_or_relaxed(arguments, message):
    X = [[0.0], [1.0], [2.0], [9.0]]
    problem = Problem.build(X, 2, **arguments)
    with pytest.raises(ValueError, match=message):
        ColumnGenerationBound(problem)
    result = ColumnGenerationBound(problem, relax=True).run()
    assert result.lower_bound == pytest.approx(2.0)
    if result.incumbent_labels is not None:
        sizes = np.bincount(result.incumbent_labels)
        assert "size_min" not in arguments or sizes.min() >= 2


def test_sizes_that_suit_only_one_of_two_clusters_make_no_clustering():
    # Two and eight rows: both would have to be the first cluster, for the second holds four or five.
    X = np.concatenate([np.zeros((2, 1)), np.full((8, 1), 9.0)]) + np.arange(10)[:, None] / 100
    problem = Problem.build(X, 2, size_min=[0, 4], size_max=[10, 5])
    result = ColumnGenerationBound(problem, relax=True).run()
    assert not result.is_integral
    if result.incumbent_labels is not None:
        assert np.bincount(result.incumbent_labels)[1] in (4, 5)


def test_clusters_are_numbered_so_that_each_keeps_its_bounds():
    X = np.concatenate([np.zeros((2, 1)), np.full((5, 1), 9.0)])
    result = ColumnGenerationBound(Problem.build(X, 2, size_min=[3, 1], size_max=[6, 2]), relax=True).run()
    assert np.bincount(result.incumbent_labels).tolist() == [5, 2]


def test_a_problem_without_rows_is_refused():
    with pytest.raises(ValueError, match="no means"):
        ColumnGenerationBound(Problem.build(4, 2))


def test_size_max_of_the_problem_counts_demand():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    problem = Problem.build(X, 2, size_max=3.0, demand=[2.0, 1.0, 1.0, 1.0])
    result = ColumnGenerationBound(problem).run()
    sizes = np.bincount(result.incumbent_labels, [2.0, 1.0, 1.0, 1.0])
    assert sizes.max() <= 3.0
    # The relaxation takes fractions of clusters here.
    assert (result.status, result.is_integral) == ("optimal", False)
    assert result.lower_bound < 0.5 + 24.5 <= result.incumbent_cost * (1 + 1e-9)


def test_trace_rises_and_ends_at_the_result():
    rng = np.random.default_rng(4)
    result = ColumnGenerationBound(Problem.build(rng.normal(size=(25, 2)), 3)).run()
    bounds = [point.lower_bound for point in result.trace]
    assert bounds == sorted(bounds)
    values = np.array([point.master_value for point in result.trace])
    assert (np.diff(values) <= 1e-9 * values[1:]).all()
    assert result.trace[-1].n_columns <= result.n_columns


def labelled(data_folder, name):
    table = np.loadtxt(data_folder / "sets" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def draw_links(labels, n_pairs, seed):
    """Babaki et al., section 6: pairs drawn uniformly, must-links within a class, cannot-links between classes."""
    first, second = np.triu_indices(labels.size, 1)
    chosen = np.random.default_rng(seed).choice(first.size, n_pairs, replace=False)
    pairs = np.stack([first[chosen], second[chosen]], axis=1)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def prove(X, n_clusters, **links):
    problem = Problem.build(X, n_clusters, **links)
    bound = ColumnGenerationBound(problem)
    bound.add_clustering(ConstrainedKMeans(n_clusters, random_state=0).fit(X, **links).labels_)
    return bound.run(gap=1e-6, budget=Budget(300.0))


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("n_pairs", [10, 20, 40, 60, 80])
def test_soybean_with_four_clusters_is_proved_as_in_table_8(data_folder, n_pairs):
    X, labels = labelled(data_folder, "soybean")
    result = prove(X, 4, **draw_links(labels, n_pairs, n_pairs))
    assert result.status == "closed"
    assert result.is_integral
    # True labels keep all links, so they bound every optimum.
    truth = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(4))
    assert result.incumbent_cost <= truth * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(("name", "n_clusters"), [("iris", 3), ("iris", 5), ("wine", 3), ("wine", 5)])
def test_five_hundred_constraints_are_proved_as_in_tables_6_and_7(data_folder, name, n_clusters):
    X, labels = labelled(data_folder, name)
    result = prove(X, n_clusters, **draw_links(labels, 500, 500))
    assert (result.status, result.is_integral) == ("closed", True)
    truth = {"iris": 89.2974, "wine": 5232632.0}[name]
    assert result.incumbent_cost <= truth * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("n_clusters", [3, 5])
def test_iris_with_240_constraints_is_proved_as_in_table_6(data_folder, n_clusters):
    X, labels = labelled(data_folder, "iris")
    assert prove(X, n_clusters, **draw_links(labels, 240, 240)).status == "closed"


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(
    ("name", "n_clusters", "optimum"),
    [("ruspini", 10, 4446.282143), ("ruspini", 25, 1162.6667), ("gr202", 30, 799.3109), ("gr202", 60, 236.5981)],
)
def test_planar_points_with_many_clusters_are_proved(data_folder, name, n_clusters, optimum):
    X = np.loadtxt(data_folder / "planar" / f"{name}.txt", skiprows=1)
    result = prove(np.ascontiguousarray(X), n_clusters)
    assert result.status == "closed"
    assert result.incumbent_cost == pytest.approx(optimum, rel=1e-6)
