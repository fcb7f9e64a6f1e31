"""The semidefinite bound never exceeds the optimum, closes small and published instances, and survives branching."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array

from effort import examples
from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Budget

RELATIVE = 1e-7


@cache
def partitions(n_blocks: int, n_clusters: int) -> np.ndarray:
    """Every partition into at most so many clusters, one per row, clusters numbered by their first blocks."""
    rows = [(0,)]
    for _ in range(n_blocks - 1):
        rows = [(*row, j) for row in rows for j in range(min(max(row) + 2, n_clusters))]
    return np.array(rows)


def optimum(problem: Problem) -> float:
    """Least cost over all feasible partitions; infinite when there is none."""
    labelings = partitions(problem.n_blocks, problem.n_clusters)
    cost = np.full(len(labelings), problem.scatter.sum() + (problem.weight @ problem.mean**2).sum())
    is_feasible = np.ones(len(labelings), dtype=bool)
    if problem.conflicts is not None:
        for u, v, _ in zip(*problem.conflicts.edges, strict=True):
            is_feasible &= labelings[:, u] != labelings[:, v]
    for j in range(problem.n_clusters):
        inside = labelings == j
        weight = inside @ problem.weight
        size = inside @ problem.demand
        sums = inside @ (problem.weight[:, None] * problem.mean)
        cost -= (sums**2).sum(axis=1) / np.where(weight > 0, weight, 1.0)
        # Uniform bounds only: numbering clusters by first blocks loses no partition.
        if problem.size_min is not None:
            is_feasible &= size >= problem.size_min[j] - 1e-9
        if problem.size_max is not None:
            is_feasible &= size <= problem.size_max[j] + 1e-9
        if problem.nonempty:
            is_feasible &= inside.any(axis=1)
    return float(np.where(is_feasible, cost, np.inf).min())


def random_problem(rng: np.random.Generator) -> Problem | None:
    """One small problem with links, weights or sizes, duplicates and odd scales; None when it is infeasible."""
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-3, 4) + 10.0 ** rng.integers(-1, 3)
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    rng.shuffle(pairs)
    n_must, n_cannot = rng.integers(0, 3), rng.integers(0, 4)
    options = {"must_link": pairs[:n_must], "cannot_link": pairs[n_must : n_must + n_cannot]}
    kind = rng.integers(3)
    if kind == 0:
        options["sample_weight"] = rng.random(n) * 3 * (rng.random(n) < 0.9)
    elif kind == 1:
        options["size_min"] = int(rng.integers(0, n // k + 1))
        options["size_max"] = int(rng.integers(-(-n // k), n + 1))
    try:
        return Problem.build(X, k, **options)
    except InfeasibleError:
        return None


def random_problems(count: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    while count:
        problem = random_problem(rng)
        if problem is not None and np.isfinite(optimum(problem)):
            count -= 1
            yield problem


def tolerance(problem: Problem, best: float) -> float:
    # Sums of squares of uncentered rows lose digits in the oracle itself.
    return RELATIVE * abs(best) + 1e-12 * float((problem.weight @ problem.mean**2).sum())


def test_bound_never_exceeds_the_optimum_and_mostly_meets_it():
    n_closed = 0
    for problem in random_problems(examples(300)):
        best = optimum(problem)
        result = SdpBound(problem).run(best, gap=1e-6, max_rounds=12)
        assert result.lower_bound <= best + tolerance(problem, best)
        assert all(step.lower_bound <= best + tolerance(problem, best) for step in result.trace)
        n_closed += result.status == "closed"
    assert n_closed >= 0.9 * examples(300)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_branching_on_the_proposed_pairs_reaches_the_optimum(seed):
    problem = next(random_problems(1, seed=100 + seed))
    best = optimum(problem)
    nodes = [SdpBound(problem)]
    for _ in range(200):
        node = nodes.pop()
        if node.run(best, gap=1e-6, max_rounds=3).status != "closed":
            pair = node.branching_pair()
            if pair is not None:
                nodes += [node.child_must_link(*pair), node.child_cannot_link(*pair)]
        if not nodes:
            break
    assert not nodes


def test_bound_holds_without_an_upper_bound():
    for problem in random_problems(examples(40), seed=1):
        best = optimum(problem)
        assert SdpBound(problem).run(gap=1e-3).lower_bound <= best + tolerance(problem, best)


def test_children_bound_their_own_clusterings_and_never_fall_below_the_parent():
    for problem in random_problems(examples(40), seed=2):
        parent = SdpBound(problem)
        parent.run(np.inf, max_rounds=1)
        pair = parent.branching_pair()
        if pair is None:
            continue
        best = []
        for child in (parent.child_must_link(*pair), parent.child_cannot_link(*pair)):
            result = child.run(np.inf, max_rounds=2)
            assert result.lower_bound >= parent.lower_bound
            best.append(result.lower_bound)
        value = optimum(problem)
        assert min(best) <= value + tolerance(problem, value)


def test_a_child_starts_with_what_the_parent_proved():
    X = np.random.default_rng(0).normal(size=(40, 2))
    parent = SdpBound(Problem.build(X, 4))
    last = parent.run(max_rounds=4).trace[-1].lower_bound
    i, j = parent.branching_pair()
    # A multiplier freed by a conflict or moved by a merge proves as much; only cuts that name a block twice are lost.
    assert parent.child_cannot_link(i, j)._safe_bound() >= last - 1e-9
    assert parent.child_must_link(i, j)._safe_bound() >= last - 0.05 * abs(last)


def test_pairs_keep_the_numbers_of_the_problem_after_merges():
    X = np.random.default_rng(1).normal(size=(12, 2))
    root = SdpBound(Problem.build(X, 3))
    child = root.child_must_link(2, 5).child_must_link(5, 9).child_cannot_link(9, 11)
    assert child.block_of[2] == child.block_of[5] == child.block_of[9]
    assert child.model.n_blocks == 10
    assert child.model.is_conflict[child.block_of[2], child.block_of[11]]
    with pytest.raises(ValueError, match="in conflict"):
        child.child_must_link(2, 11)
    with pytest.raises(ValueError, match="one block"):
        child.child_cannot_link(2, 9)


def test_merged_blocks_cost_what_the_problem_with_the_link_costs():
    X = np.random.default_rng(2).normal(size=(10, 2))
    child = SdpBound(Problem.build(X, 3)).child_must_link(1, 4)
    linked = SdpBound(Problem.build(X, 3, must_link=[(1, 4)]))
    np.testing.assert_allclose(child.model.total, linked.model.total)
    np.testing.assert_allclose(
        child.model.scale * child.model.cost, linked.model.scale * linked.model.cost, atol=1e-12
    )
    np.testing.assert_allclose(child.model.within_blocks, 0.5 * ((X[1] - X[4]) ** 2).sum())


def test_one_cluster_costs_its_scatter():
    X = np.random.default_rng(3).normal(size=(7, 2))
    result = SdpBound(Problem.build(X, 1)).run()
    assert result.status == "closed"
    np.testing.assert_allclose(result.lower_bound, ((X - X.mean(axis=0)) ** 2).sum())


def test_as_many_clusters_as_blocks_cost_the_scatter_of_the_blocks():
    bound = SdpBound(Problem.build([[0.0], [2.0], [5.0], [9.0]], 3, must_link=[(0, 1)])).run().lower_bound
    np.testing.assert_allclose(bound, 2.0)


def test_equal_rows_cost_nothing():
    assert SdpBound(Problem.build(np.ones((6, 2)), 2)).run(0.0).status == "closed"
    X = np.repeat([[0.0], [1.0], [7.0]], 3, axis=0)
    result = SdpBound(Problem.build(X, 3)).run(0.0)
    assert result.status == "closed"
    assert result.lower_bound == 0.0


def test_rows_without_weight_change_nothing():
    X = np.random.default_rng(4).normal(size=(12, 2))
    weight = np.r_[np.ones(10), 0.0, 0.0]
    bound = SdpBound(Problem.build(X, 3, sample_weight=weight, must_link=[(0, 10)]))
    assert bound.block_of.tolist() == [*range(10), -1]
    np.testing.assert_allclose(
        bound.run(max_rounds=3).lower_bound, SdpBound(Problem.build(X[:10], 3)).run(max_rounds=3).lower_bound
    )


def test_weight_two_is_a_repeated_row_that_is_linked():
    X = np.random.default_rng(5).normal(size=(20, 2))
    twice = Problem.build(np.r_[X, X[:5]], 3, must_link=[(i, 20 + i) for i in range(5)])
    heavy = Problem.build(X, 3, sample_weight=np.r_[np.full(5, 2.0), np.ones(15)])
    bounds = [SdpBound(problem).run(max_rounds=3).lower_bound for problem in (twice, heavy)]
    np.testing.assert_allclose(*bounds, rtol=1e-9)


def test_size_bounds_lift_the_bound():
    X = np.r_[np.zeros((9, 1)), np.full((3, 1), 1.0)] + 0.01 * np.arange(12)[:, None]
    free = SdpBound(Problem.build(X, 2)).run().lower_bound
    problem = Problem.build(X, 2, size_min=6, size_max=6)
    best = ConstrainedKMeans(2, size_min=6, size_max=6, random_state=0).fit(X).inertia_
    result = SdpBound(problem).run(best)
    assert result.status == "closed"
    assert free < 0.5 * result.lower_bound


def test_merging_beyond_the_size_bound_has_no_clustering():
    root = SdpBound(Problem.build(np.arange(6.0)[:, None], 3, size_max=2))
    assert root.child_must_link(0, 1).child_must_link(1, 2).lower_bound == np.inf


def test_sizes_counted_in_other_units_are_left_out():
    X = np.arange(6.0)[:, None]
    model = SdpBound(Problem.build(X, 3, size_max=4, demand=[1, 2, 1, 2, 1, 2])).model
    assert model.most_size == np.inf


def test_scale_and_place_of_the_rows_do_not_matter():
    X = np.random.default_rng(6).normal(size=(30, 3))
    bounds = [
        SdpBound(Problem.build(scale * X + shift, 3)).run(max_rounds=4).lower_bound / scale**2
        for scale, shift in ((1.0, 0.0), (1e4, 0.0), (1e-4, 0.01))
    ]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-5)


def test_sparse_rows_give_the_same_bound():
    X = np.random.default_rng(7).poisson(0.7, size=(25, 6)).astype(float)
    dense, sparse = (SdpBound(Problem.build(rows, 3)).run(max_rounds=3).lower_bound for rows in (X, csr_array(X)))
    np.testing.assert_allclose(sparse, dense, rtol=1e-8)


def test_an_expired_deadline_returns_a_bound_that_holds():
    problem = next(random_problems(1, seed=9))
    result = SdpBound(problem, Budget(0.0)).run()
    assert result.status == "limit"
    assert 0.0 <= result.lower_bound <= optimum(problem)


def test_an_interrupt_returns_the_best_bound_so_far(monkeypatch):
    bound = SdpBound(Problem.build(np.random.default_rng(8).normal(size=(30, 2)), 3))
    iterate, count = bound._iterate, itertools.count()

    def interrupted():
        if next(count) == 25:
            raise KeyboardInterrupt
        return iterate()

    monkeypatch.setattr(bound, "_iterate", interrupted)
    result = bound.run()
    assert (result.status, result.interrupted, result.n_iterations) == ("limit", True, 25)
    assert result.lower_bound == bound.lower_bound > 0.0


def test_problems_without_rows_are_refused():
    with pytest.raises(ValueError, match="needs the rows"):
        SdpBound(Problem.build(5, 2))


def load(folder, instance):
    """Rows, number of clusters and links of a published instance."""
    name, _, pairs = instance.partition("/")
    with (folder / "pairwise" / name / "data.txt").open() as lines:
        n_clusters = int(next(lines).split()[2])
        X = np.loadtxt(lines)
    words = (folder / "pairwise" / name / f"{pairs}.txt").read_text().split("\n") if pairs else []
    kinds = {"ML": [], "CL": []}
    for line in filter(None, map(str.strip, words)):
        kind, i, j = line.split()
        kinds[kind].append((int(i), int(j)))
    return X, n_clusters, {"must_link": kinds["ML"] or None, "cannot_link": kinds["CL"] or None}


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(
    "instance",
    [
        "iris",
        "iris/ml_50_cl_50_0",
        "iris/ml_0_cl_100_0",
        "wine",
        "wine/ml_50_cl_50_0",
        "seeds",
        "connectionist",
        "heart",
        "vertebral",
        "glass",
        "glass/ml_50_cl_50_0",
        "glass/ml_0_cl_100_0",
    ],
)
def test_published_instances_close_at_the_root(data_folder, instance):
    X, k, links = load(data_folder, instance)
    upper = ConstrainedKMeans(k, random_state=0).fit(X, **links).inertia_
    result = SdpBound(Problem.build(X, k, **links)).run(upper, 1e-4)
    assert result.status == "closed"
    assert result.lower_bound <= upper * (1 + RELATIVE)
