"""Column generation over boxes: against enumeration of all clusters, dynamic programming, and exact fractions."""

import time
from fractions import Fraction

import numpy as np
import pytest

from effort import examples
from konstrain import ExactKMeans, InfeasibleError, _core, certify
from konstrain.constraints import Problem
from konstrain.exact import MaxSize
from konstrain.exact.columns import boxes as boxes_module
from konstrain.exact.columns.boxes import BoxColumnBound
from konstrain.exact.columns.proximal import ColumnSets, solve_master
from konstrain.exact.nodes import BoxNode
from konstrain.exact.task import ProofTask
from konstrain.stop import Budget

N_PROBLEMS = examples(240)
KINDS = ("free", "weights", "duplicates", "must", "size_min", "size_max", "demand", "cannot", "mixed", "weightless")


class Tiny:
    """Rows and constraints of one kind, with every cluster enumerated."""

    def __init__(self, seed, n=8):
        rng = np.random.default_rng(seed)
        self.kind, d = KINDS[seed % len(KINDS)], 1 + seed // len(KINDS) % 5
        self.k = int(rng.integers(2, 4))
        self.X = rng.normal(size=(n, d))
        self.given = {}
        if self.kind == "duplicates":
            self.X = rng.integers(0, 2, (n, d)).astype(float)
        if self.kind in ("weights", "mixed"):
            self.given["sample_weight"] = rng.integers(1, 4, n).astype(float)
        if self.kind == "weightless":
            # Such rows cost nothing anywhere, but they count: many ties between what is in a cluster and what is out.
            self.given["sample_weight"] = rng.choice([0.0, 0.0, 1.0, 2.0], n)
            self.given |= {"size_min": n // self.k - 1, "size_max": n // self.k + 1}
        if self.kind in ("must", "mixed"):
            self.given["must_link"] = [(0, 1), (2, 3)]
        if self.kind in ("cannot", "mixed"):
            pairs = rng.integers(0, n, (int(rng.integers(1, 7)), 2))
            self.given["cannot_link"] = pairs[pairs[:, 0] != pairs[:, 1]]
        if self.kind in ("demand", "mixed"):
            self.given["demand"] = rng.integers(1, 6, n).astype(float)
            self.given["size_max"] = np.ceil(self.given["demand"].sum() / self.k) + 2
        if self.kind == "size_max":
            self.given["size_max"] = -(-n // self.k)
        if self.kind in ("size_min", "mixed"):
            self.given["size_min"] = 2

    def clusters(self):
        """Members of all clusters, their costs, and which of them keep all constraints."""
        n = len(self.X)
        members = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
        w = self.given.get("sample_weight", np.ones(n))
        X = self.X - self.X.mean(axis=0)
        total = np.maximum(members @ w, 1e-300)
        cost = members @ (w * (X**2).sum(axis=1)) - ((members @ (w[:, None] * X)) ** 2).sum(axis=1) / total
        size = members @ self.given.get("demand", np.ones(n))
        fits = (size >= self.given.get("size_min", 0)) & (size <= self.given.get("size_max", np.inf))
        for i, j in self.given.get("must_link", ()):
            fits &= members[:, i] == members[:, j]
        for i, j in self.given.get("cannot_link", ()):
            fits &= (members[:, i] & members[:, j]) == 0
        fits[0] = False
        return members, np.maximum(cost, 0.0), fits

    def optimum(self):
        """Least cost of a partition into k clusters, by dynamic programming over sets; infinite if there is none."""
        _, cost, fits = self.clusters()
        cost = np.where(fits, cost, np.inf)
        best = cost
        for _ in range(self.k - 1):
            new = np.full(cost.size, np.inf)
            for union in range(1, cost.size):
                lowest, part = union & -union, union
                while part:
                    if part & lowest:
                        new[union] = min(new[union], cost[part] + best[union ^ part])
                    part = (part - 1) & union
            best = new
        return float(best[-1])


def kernel(X, w, demand=None, low=0.0, high=np.inf, pairs=()):
    n = len(X)
    graph = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        graph[i, j] = graph[j, i] = i != j
    indptr = np.concatenate([[0], np.cumsum(graph.sum(axis=1))]).astype(np.int64)
    demand = np.ones(n) if demand is None else demand
    indices = np.nonzero(graph)[1].astype(np.int32)
    return _core.ClusterPoints(np.ascontiguousarray(X), w, demand, float(low), float(high), indptr, indices)


def price(points, duals, tolerance=1e-9, boxes=10**9):
    return points.bound_reduced_cost(duals, 0.0, tolerance, -np.inf, 10, boxes, 2**28, np.inf)


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_the_least_reduced_cost_equals_enumeration(seed):
    tiny = Tiny(seed, n=9)
    members, cost, fits = tiny.clusters()
    w = tiny.given.get("sample_weight", np.ones(9))
    if "must_link" in tiny.given:
        del tiny.given["must_link"]  # merged before they get here
        members, cost, fits = tiny.clusters()
    duals = np.random.default_rng(seed).random(9) * cost.max() / 4
    duals[w == 0.0] = 0.0  # as in every good bound: ties between rows that may be in or out
    true = min(0.0, (cost - members @ duals)[fits].min(initial=0.0))
    points = kernel(
        tiny.X,
        w,
        tiny.given.get("demand"),
        tiny.given.get("size_min", 0),
        tiny.given.get("size_max", np.inf),
        tiny.given.get("cannot_link", ()),
    )
    tolerance = 1e-6 if tiny.X.shape[1] < 4 else 0.1
    bound, least, finished, n_boxes, _, _ = price(points, duals, tolerance)
    # Which of several rows without weight fill a cluster makes no difference, and many boxes.
    assert finished or tiny.kind == "weightless"
    assert bound <= true + 1e-15 * cost.max()
    assert not finished or bound >= true - tolerance - 1e-9
    assert least >= true - 1e-9
    for boxes in (1, n_boxes // 2):
        early, _, finished, _, _, _ = price(points, duals, boxes=boxes)
        assert early <= true + 1e-15 * cost.max()
    start, of_all, costs, reduced, _ = points.descend(duals, np.ascontiguousarray(tiny.X), 0.0, 100, np.inf)
    for j in range(costs.size):
        column = np.zeros(9, dtype=int)
        column[of_all[start[j] : start[j + 1]]] = 1
        number = int(column @ (1 << np.arange(9)))
        assert fits[number]
        assert costs[j] == pytest.approx(cost[number], abs=1e-9)
        assert reduced[j] == pytest.approx(cost[number] - column @ duals, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_weight_fill_clusters_up(seed):
    tiny = Tiny(0, n=6)
    tiny.k, tiny.X = 2, np.random.default_rng(seed).normal(size=(6, 1))
    weight = np.array([1.0, 0.0, 0.0, 2.0, 0.0, 1.0])
    tiny.given = {"size_min": 3, "size_max": 4, "sample_weight": weight}
    bound = BoxColumnBound(Problem.build(tiny.X, 2, **tiny.given))
    bound.run()
    assert bound.lower_bound <= tiny.optimum() * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_the_optimum_equals_enumeration(seed):
    tiny = Tiny(1000 + seed)
    best = tiny.optimum()
    if np.isinf(best):
        with pytest.raises(InfeasibleError):
            certify(tiny.X, tiny.k, bound="columns", **tiny.given)
        return
    gap = (1e-6, 1e-6, 1e-2, 0.2, 0.2)[tiny.X.shape[1] - 1]
    proof = certify(tiny.X, tiny.k, bound="columns", gap=gap, **tiny.given)
    assert proof.is_optimal
    assert proof.lower_bound <= best * (1 + 1e-14)
    assert best * (1 - 1e-12) <= proof.best_cost <= best * (1 + 2 * gap) + 1e-12


def best_in_one_dimension(x, k):
    """Least cost of k clusters on a line, where clusters are intervals."""
    x = np.sort(x)
    sums, squares = np.concatenate([[0], np.cumsum(x)]), np.concatenate([[0], np.cumsum(x * x)])

    def cost(i, j):
        return squares[j] - squares[i] - (sums[j] - sums[i]) ** 2 / (j - i)

    best = np.array([0.0] + [cost(0, j) for j in range(1, x.size + 1)])
    for _ in range(k - 1):
        best = np.array([0.0] + [min(best[i] + cost(i, j) for i in range(j)) for j in range(1, x.size + 1)])
    return best[-1]


@pytest.mark.parametrize(("n", "k"), [(40, 3), (60, 8), (60, 20)])
def test_a_line_is_solved_as_by_dynamic_programming(n, k):
    x = np.random.default_rng(n + k).normal(size=n)
    x -= x.mean()
    proof = certify(x[:, None], k, bound="columns")
    assert proof.is_optimal
    assert proof.best_cost == pytest.approx(best_in_one_dimension(x, k), rel=1e-6)


@pytest.mark.parametrize("offset", [1e3, 1e6, 3e7])
def test_rounding_never_lifts_a_bound(offset):
    """Points far from the origin, where differences cancel, against exact fractions."""
    rng = np.random.default_rng(int(offset))
    for _ in range(20):
        X = rng.normal(size=(6, 2)) + offset
        duals = rng.random(6) * 3
        true = Fraction(0)
        for subset in range(1, 64):
            rows = [i for i in range(6) if subset >> i & 1]
            value = -sum(Fraction(duals[i]) for i in rows)
            for a in range(2):
                column = [Fraction(X[i, a]) for i in rows]
                mean = sum(column) / len(column)
                value += sum((x - mean) ** 2 for x in column)
            true = min(true, value)
        assert Fraction(price(kernel(X, np.ones(6)), duals, tolerance=0.0, boxes=2_000)[0]) <= true


def test_the_master_respects_every_column_and_stays_near_its_center():
    rng = np.random.default_rng(0)
    columns = ColumnSets(6, 1)
    for size in (1, 2, 3):
        for _ in range(4):
            members = np.sort(rng.choice(6, size, replace=False)).astype(np.int32)
            columns.add(np.array([0, size]), members, rng.random(1) + 0.1, np.zeros((1, 1)))
    center = rng.random(6)
    near, far = (solve_master(columns, 2, center, 0.5, penalty, 1e-9) for penalty in (100.0, 1e-3))
    for point in (near, far):
        assert (columns.sums(point.duals) - point.sigma <= columns.cost + 1e-6).all()
    assert np.linalg.norm(near.duals - center) < np.linalg.norm(far.duals - center)
    assert far.value > near.value


def test_a_column_is_kept_once():
    columns = ColumnSets(4, 1)
    start, members = np.array([0, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32)
    assert columns.add(start, members, np.ones(2), np.zeros((2, 1))) == 1
    assert columns.add(start, members, np.ones(2), np.zeros((2, 1))) == 0
    columns.keep(np.array([False]))
    assert len(columns) == 0


def test_banded_and_dense_masters_agree(monkeypatch):
    X = np.random.default_rng(3).normal(size=(80, 1)) * 10
    problem = Problem.build(X, 16)
    bound = BoxColumnBound(problem)
    bound.run(budget=Budget(0.0))
    assert 3 * bound.columns.bandwidth < 80
    center = np.ones(80)
    banded = solve_master(bound.columns, 16, center, 1.0, 1.0, 1e-9)
    monkeypatch.setattr(ColumnSets, "bandwidth", 79)
    dense = solve_master(bound.columns, 16, center, 1.0, 1.0, 1e-9)
    np.testing.assert_allclose(banded.duals, dense.duals, atol=1e-6)


def test_the_bound_is_the_same_for_any_number_of_workers_and_runs():
    X = np.random.default_rng(5).normal(size=(60, 2))
    proofs = [certify(X, 5, bound="columns", n_jobs=n_jobs) for n_jobs in (1, 1, 2)]
    assert len({proof.lower_bound for proof in proofs}) == 1


def test_descents_find_the_same_columns_for_any_number_of_workers(monkeypatch):
    monkeypatch.setattr(boxes_module, "TASK", 16)
    X = np.random.default_rng(5).normal(size=(60, 2))
    problem = Problem.build(X, 5, size_max=15)
    bounds = [BoxColumnBound(problem, n_jobs=n_jobs) for n_jobs in (None, 2, 3)]
    assert {bound.run(gap=1e-4) for bound in bounds} == {"optimal"}
    assert len({bound.lower_bound for bound in bounds}) == 1
    assert len({len(bound.columns) for bound in bounds}) == 1


def test_a_tree_is_the_same_for_any_number_of_workers():
    rng = np.random.default_rng(2)
    X, demand = rng.random((15, 2)), rng.integers(1, 9, 15).astype(float)
    given = {"demand": demand, "size_max": np.ceil(demand.sum() / 3) + 1}
    proofs = [certify(X, 3, bound="columns", gap=1e-3, n_jobs=n_jobs, **given) for n_jobs in (1, 2, 3)]
    assert proofs[0].n_nodes > 3
    assert len({proof.n_nodes for proof in proofs}) == 1
    assert len({proof.lower_bound for proof in proofs}) == 1


def test_a_short_search_says_whether_boxes_are_few():
    """Beyond few features: where rows lie in clusters boxes are few, where they are everywhere they are not."""
    rng = np.random.default_rng(2)
    clustered = 20.0 * np.eye(3, 6)[rng.integers(0, 3, 60)] + rng.normal(size=(60, 6))
    assert certify(clustered, 3).prover == "columns"
    assert certify(rng.random((60, 6)), 3, gap=0.2).prover == "sdp"


def test_a_time_limit_and_a_callback_end_with_the_bound_reached():
    X = np.random.default_rng(6).random(size=(120, 3))
    proof = certify(X, 12, bound="columns", time_limit=0.2)
    assert 0 < proof.lower_bound < proof.cost
    assert certify(X[:40], 4, bound="columns", callback=lambda point: True).n_nodes <= 1


def test_better_labels_come_back():
    X = np.random.default_rng(7).normal(size=(150, 2))
    bad = ExactKMeans(12, bound="columns", random_state=0, gap=1e-4).fit(X)
    assert bad.prover_ == "columns"
    assert bad.is_optimal_
    start = np.arange(150) % 12
    proof = certify(X, 12, labels=start, bound="columns", gap=1e-4)
    assert not proof.is_optimal
    assert proof.best_cost == pytest.approx(bad.inertia_, rel=2e-4)


def test_nodes_below_the_root_return_the_clustering_that_their_master_chose():
    rng = np.random.default_rng(3)
    X, pairs = rng.random((40, 2)), rng.integers(0, 40, (20, 2))
    links = pairs[pairs[:, 0] != pairs[:, 1]]
    task = ProofTask(X, Problem.build(X, 4, cannot_link=links))
    root = BoxNode.root(task, None)
    root.run(np.inf, 1e-6, Budget())
    outcomes = [child.run(1.5 * root.lower_bound, 1e-6, Budget()) for child in root.children((0, 1))]
    best = min(task.cost_of(outcome.labels) for outcome in outcomes if outcome.labels is not None)
    assert best == pytest.approx(certify(X, 4, cannot_link=links, bound="sdp").cost, rel=1e-6)


def test_clusters_whose_rows_are_nearer_to_another_center_do_no_harm():
    X = np.array([[0.0], [10.0], [1.0], [9.0], [50.0], [51.0], [80.0], [81.0], [98.0], [99.0]])
    bound = BoxColumnBound(Problem.build(X, 5), np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], dtype=np.int32))
    assert bound.run() == "optimal"
    assert 0.99 * 2.5 <= bound.lower_bound <= 2.5


def test_without_any_cluster_the_branch_stays_open():
    """Rows of demand 3 make no cluster of 7 or 8: the master has no columns."""
    X = np.random.default_rng(0).random((5, 2))
    bound = BoxColumnBound(Problem.build(X, 2, demand=np.full(5, 3.0), size_min=7, size_max=8))
    assert bound.run(100.0) == "optimal"
    assert bound.branching_pair() is None


def test_a_child_starts_near_the_bound_of_its_parent():
    X = np.random.default_rng(4).random((80, 2))
    root = BoxColumnBound(Problem.build(X, 5))
    root.run(gap=1e-4)
    child = BoxColumnBound(Problem.build(X, 5, cannot_link=[(0, 1)]), parent=root)
    child.run(on_progress=lambda: True)
    assert child.lower_bound > 0.999 * root.lower_bound


def test_cliques_that_share_points_need_few_boxes():
    """Multipliers of one clique are chosen with those of the others at hand, not once and for all."""
    rng = np.random.default_rng(5)
    X = rng.random((60, 2))
    pairs = rng.integers(0, 60, (240, 2))
    points = boxes_module.Points.of(Problem.build(X, 6, cannot_link=pairs[pairs[:, 0] != pairs[:, 1]]), 1.0)
    found = points.kernel().bound_reduced_cost(np.full(60, 0.1), 0.0, 1e-3, 0.0, 9, 10**6, 2**29, 60.0)
    assert found[2]
    assert found[3] < 400


def test_what_the_bound_cannot_see_is_said():
    X = np.random.default_rng(8).normal(size=(12, 2))
    proof = certify(X, 2, bound="columns", size_max=[5, 8])
    assert proof.left_out == ("size_max of single clusters, but for the widest",)
    assert proof.prover == "columns"
    with pytest.raises(ValueError, match="does not cover constraints on single clusters"):
        ExactKMeans(2, bound="columns").fit(X, cluster_constraints=[MaxSize(8)])
    with pytest.raises(ValueError, match="hard links only"):
        certify(X, 2, bound="columns", must_link=[(0, 1, 0.5)], violation_cost=1.0)


def test_an_interrupt_keeps_the_bound(monkeypatch):
    X = np.random.default_rng(9).normal(size=(40, 2))
    calls = []

    def interrupted(*given, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve_master(*given, **options)

    monkeypatch.setattr("konstrain.exact.columns.boxes.solve_master", interrupted)
    proof = certify(X, 6, bound="columns", gap=1e-9)
    assert len(calls) == 2
    assert 0 < proof.lower_bound < proof.cost


def test_progress_comes_within_a_node_and_can_end_it():
    X = np.random.default_rng(11).normal(size=(150, 2))
    points = []
    certify(X, 12, bound="columns", gap=1e-7, callback=points.append)
    within = [point.lower_bound for point in points if point.n_nodes == 0]
    assert len(within) > 2
    assert within == sorted(within)
    stopped = certify(X, 12, bound="columns", gap=1e-7, callback=lambda point: point.lower_bound >= within[1])
    assert stopped.n_nodes == 1
    assert within[1] <= stopped.lower_bound < stopped.cost


@pytest.mark.parametrize("given", [{}, {"size_min": 30, "size_max": 45}])
def test_a_time_limit_holds_from_the_first_duals_on(given):
    X = np.random.default_rng(12).random(size=(800, 2))
    problem = Problem.build(X, 20, **given)
    bound = BoxColumnBound(problem)
    began = time.perf_counter()
    assert bound.run(budget=Budget(0.05)) == "limit"
    assert time.perf_counter() - began < 2.0
    assert bound.lower_bound >= 0.0


def test_signed_duals_are_those_of_covering_every_point_once():
    columns = ColumnSets(3, 1)
    sets, costs = [(0, 1), (1, 2), (0, 2), (0, 1, 2)], np.array([1.0, 1.0, 1.0, 10.0])
    members = np.array([i for s in sets for i in s], dtype=np.int32)
    columns.add(np.array([0, 2, 4, 6, 9]), members, costs, np.zeros((4, 1)))
    # Two pairs cover three points at a cost of 2; to cover each once takes half of each pair, or all three.
    signed, unsigned = (
        solve_master(columns, 2, np.full(3, 0.5), 0.1, 1e-6, 1e-9, are_signed=are_signed)
        for are_signed in (True, False)
    )
    assert signed.value == pytest.approx(1.5, abs=1e-3)
    assert unsigned.value == pytest.approx(1.5, abs=1e-3)
    columns.keep(np.array([True, True, False, True]))
    signed, unsigned = (
        solve_master(columns, 2, np.full(3, 0.5), 0.1, 1e-6, 1e-9, are_signed=are_signed)
        for are_signed in (True, False)
    )
    assert unsigned.value == pytest.approx(2.0, abs=1e-3)
    assert signed.value > 5.0
    assert signed.duals.min() < 0.0


def test_a_bound_ends_where_pricing_stalls(monkeypatch):
    """Pricing that proves nothing and finds no columns must not be repeated for ever."""
    bound = BoxColumnBound(Problem.build(np.random.default_rng(3).normal(size=(40, 2)), 5))
    monkeypatch.setattr(BoxColumnBound, "_improve", lambda *given: None)
    assert bound.run(budget=Budget(5.0)) == "optimal"
