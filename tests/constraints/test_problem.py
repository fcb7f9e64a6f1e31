"""The Problem: blocks, conflicts, means and what it hands to the engines."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from effort import examples
from konstrain import InfeasibleError, Problem
from naive_constraints import apart, blocks_of, random_arguments


def try_build(X, k, **arguments):
    try:
        return Problem.build(X, k, **arguments)
    except InfeasibleError as error:
        return error


def conflict_pairs(problem):
    if problem.conflicts is None:
        return set()
    u, v, _ = problem.conflicts.edges
    return set(zip(u.tolist(), v.tolist(), strict=True))


@pytest.mark.engine
def test_blocks_and_conflicts_equal_the_naive_ones_on_random_inputs():
    rng = np.random.default_rng(0)
    built = 0
    for _ in range(examples(600)):
        n = int(rng.integers(1, 14))
        arguments = random_arguments(rng, n)
        block_of = blocks_of(n, **arguments)
        edges = {tuple(sorted((block_of[a], block_of[b]))) for a, b in apart(n, **arguments)}
        problem = try_build(n, n, nonempty=False, **arguments)
        if any(u == v for u, v in edges):
            assert problem.reason == "contradiction"
            continue
        built += 1
        assert problem.block_of.tolist() == block_of
        assert conflict_pairs(problem) == edges
        for block in range(problem.n_blocks):
            assert problem.rows_of(block).tolist() == [row for row in range(n) if block_of[row] == block]
    assert built > examples(150)


@pytest.mark.engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["C", "F", "strided", "csr_array", "csr_matrix", "long index"])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_and_scatter_equal_the_direct_sums(dtype, form, weighted):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((60, 7)) < 0.5, 0, rng.normal(5, 3, (60, 7))).astype(dtype)
    weight = rng.integers(0, 4, 60).astype(float) if weighted else None
    groups = rng.integers(0, 15, 60)
    problem = Problem.build(in_form(X, form), 2, groups=groups, sample_weight=weight)
    mean = problem.mean.toarray() if form not in ("C", "F", "strided") else problem.mean
    assert mean.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    for block in range(problem.n_blocks):
        rows = problem.rows_of(block)
        w = np.ones(rows.size) if weight is None else weight[rows]
        expected = np.average(X[rows].astype(float), axis=0, weights=w if w.sum() else None)
        np.testing.assert_allclose(mean[block], expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(problem.weight[block], w.sum())
        scatter = (w * ((X[rows] - expected) ** 2).sum(axis=1)).sum()
        np.testing.assert_allclose(problem.scatter[block], scatter, rtol=1e-9, atol=1e-9)


def in_form(X, form):
    if form == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if form == "csr_array":
        return csr_array(X)
    if form == "csr_matrix":
        return csr_matrix(X)
    if form == "long index":
        matrix = csr_array(X)
        matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        return matrix
    return np.array(X, order=form)


def test_a_block_without_weight_has_its_plain_mean_and_no_scatter():
    for X in (np.array([[0.0], [4.0], [9.0]]), csr_array([[0.0], [4.0], [9.0]])):
        problem = Problem.build(X, 2, must_link=[(0, 1)], sample_weight=[0, 0, 1])
        mean = problem.mean if isinstance(problem.mean, np.ndarray) else problem.mean.toarray()
        assert mean.ravel().tolist() == [2.0, 9.0]
        assert problem.scatter.tolist() == [0.0, 0.0]


def test_a_block_costs_like_one_weighted_point():
    rng = np.random.default_rng(1)
    X, weight, center = rng.normal(size=(20, 3)), rng.random(20), rng.normal(size=3)
    problem = Problem.build(X, 2, groups=np.repeat(np.arange(5), 4), sample_weight=weight)
    direct = np.bincount(problem.block_of, weights=weight * ((X - center) ** 2).sum(axis=1))
    blockwise = problem.scatter + problem.weight * ((problem.mean - center) ** 2).sum(axis=1)
    np.testing.assert_allclose(blockwise, direct)


def test_without_must_links_the_mean_is_x_itself_and_x_stays_writeable():
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    problem = Problem.build(X, 2, cannot_link=[(0, 1)])
    assert np.shares_memory(problem.mean, X)
    assert problem.mean.dtype == np.float32
    assert not problem.mean.flags.writeable
    assert X.flags.writeable
    sparse = csr_array(X)
    assert np.shares_memory(Problem.build(sparse, 2).mean.data, sparse.data)


def test_a_number_instead_of_rows_gives_no_means():
    problem = Problem.build(5, 2, must_link=[(0, 4)])
    assert problem.mean is None
    assert problem.scatter is None
    assert problem.weight.tolist() == [2.0, 1.0, 1.0, 1.0]


def test_demand_is_summed_per_block_and_differs_from_weight():
    problem = Problem.build(4, 2, must_link=[(0, 3)], demand=[0.5, 1, 2, 0.25], sample_weight=[1, 2, 3, 4])
    assert problem.demand.tolist() == [0.75, 1.0, 2.0]
    assert problem.weight.tolist() == [5.0, 2.0, 3.0]


def test_every_array_is_read_only_also_after_pickling():
    problem = Problem.build(np.eye(4), 2, must_link=[(0, 1)], cannot_link=[(0, 2, 0.5), (1, 3, np.inf)], size_max=3)
    for candidate in (problem, pickle.loads(pickle.dumps(problem))):
        arrays = [v for v in vars(candidate).values() if isinstance(v, np.ndarray)]
        for graph in (candidate.conflicts, candidate.links):
            arrays += [a for a in (graph.indptr, graph.indices, graph.weights) if a is not None]
        assert len(arrays) >= 9
        assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(AttributeError):
        problem.n_clusters = 3


def test_pickling_keeps_everything():
    problem = Problem.build(np.eye(4), 2, must_link=[(0, 1)], cannot_link=[(0, 2, 0.5), (1, 3, np.inf)])
    problem.links_at(7.0)
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again.mean, problem.mean)
    np.testing.assert_array_equal(again.links.weights, problem.links.weights)
    assert again.links_at(7.0).n_edges == problem.links_at(7.0).n_edges


@pytest.mark.engine
def test_soft_links_cost_what_the_broken_ones_add_up_to():
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(examples(400)):
        n, k = int(rng.integers(2, 8)), int(rng.integers(2, 4))
        arguments = random_arguments(rng, n, soft=True)
        problem = try_build(n, k, nonempty=False, **arguments)
        if isinstance(problem, InfeasibleError):
            continue
        for labels in itertools.islice(itertools.product(range(k), repeat=problem.n_blocks), 200):
            rows = problem.expand(np.array(labels, dtype=np.int32))
            expected = naive_penalty(rows, arguments)
            links = problem.links_at(2.5)
            cost = 0.0 if links is None else links.penalty(np.array(labels, dtype=np.int32))
            if problem.conflicts is not None and not np.isfinite(cost):
                assert any(rows[a] == rows[b] for a, b in apart(n, **arguments))
                continue
            np.testing.assert_allclose(cost + 2.5 * problem.constant_penalty, 2.5 * expected, atol=1e-12)
            seen += 1
    assert seen > examples(1000)


def naive_penalty(rows, arguments):
    total = 0.0
    for name, broken_when_together in (("must_link", False), ("cannot_link", True)):
        for a, b, confidence in arguments[name].tolist():
            together = rows[int(a)] == rows[int(b)]
            if np.isfinite(confidence) and together == broken_when_together:
                total += confidence
    return total


def test_soft_links_do_not_merge_rows_and_hard_ones_win():
    problem = Problem.build(
        4, 2, must_link=[(0, 1, 0.5), (0, 2, 0.4)], cannot_link=[(1, 0, np.inf), (2, 0, 0.4), (2, 3, 0.25)]
    )
    assert problem.n_blocks == 4
    assert conflict_pairs(problem) == {(0, 1)}
    u, v, w = problem.links.edges
    assert list(zip(u.tolist(), v.tolist(), w.tolist(), strict=True)) == [(0, 1, np.inf), (2, 3, 0.25)]
    assert problem.constant_penalty == pytest.approx(0.5 + 0.4)


def test_soft_links_inside_a_block_vanish_or_cost_a_constant():
    problem = Problem.build(4, 2, groups=[0, 0, -1, -1], must_link=[(0, 1, 0.5)], cannot_link=[(1, 0, 0.25)])
    assert problem.links is None
    assert problem.has_soft_links
    assert problem.links_at(4.0) is None
    assert problem.constant_penalty == 0.25


def test_links_at_scales_soft_links_only():
    problem = Problem.build(3, 2, cannot_link=[(0, 1, np.inf), (1, 2, 0.5)])
    assert problem.links_at(10.0).edges[2].tolist() == [np.inf, 5.0]
    assert problem.links_at(10.0) is problem.links_at(10.0)
    assert problem.links_at(0.0) is problem.conflicts
    assert problem.links_at(1.0) is problem.links
    for bad in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="violation_cost must be finite and not negative"):
            problem.links_at(bad)


def test_assignment_problem_carries_links_sizes_and_demand():
    problem = Problem.build(4, 2, must_link=[(0, 1)], cannot_link=[(0, 2, 0.5)], size_min=1, size_max=[2, 3])
    with pytest.raises(ValueError, match="there are soft links: give violation_cost"):
        problem.assignment_problem(np.zeros((3, 2)))
    question = problem.assignment_problem(np.zeros((3, 2)), violation_cost=4.0)
    assert question.links.edges[2].tolist() == [2.0]
    assert question.demand.tolist() == [2.0, 1.0, 1.0]
    assert question.size_min.tolist() == [1.0, 1.0]
    assert question.size_max.tolist() == [2.0, 3.0]
    assert question.nonempty
    assert Problem.build(4, 2, cannot_link=[(0, 1)]).assignment_problem(np.zeros((4, 2))).demand is None


def test_expand_gives_rows_the_label_of_their_block():
    problem = Problem.build(4, 2, must_link=[(0, 3)])
    assert problem.expand([5, 6, 7]).tolist() == [5, 6, 7, 5]
    with pytest.raises(ValueError, match=r"one label per block, shape \(3,\), got \(4,\)"):
        problem.expand([0, 1, 2, 3])


def test_distance_limits_become_links():
    X = [[0.0], [0.5], [4.0], [10.0]]
    problem = Problem.build(X, 3, separation_min=1.0, diameter_max=7.0)
    assert problem.block_of.tolist() == [0, 0, 1, 2]
    assert conflict_pairs(problem) == {(0, 2)}


PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]), max_size=12)


@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_order_direction_and_repetition_of_pairs_do_not_matter(must_link, cannot_link, random):
    def scrambled(pairs):
        changed = [pair[::-1] if random.random() < 0.5 else pair for pair in pairs + pairs[: len(pairs) // 2]]
        random.shuffle(changed)
        return changed

    one = try_build(8, 3, must_link=must_link, cannot_link=cannot_link, nonempty=False)
    other = try_build(8, 3, must_link=scrambled(must_link), cannot_link=scrambled(cannot_link), nonempty=False)
    assert type(one) is type(other)
    if isinstance(one, Problem):
        assert one.block_of.tolist() == other.block_of.tolist()
        assert conflict_pairs(one) == conflict_pairs(other)
    else:
        assert one.reason == other.reason


@given(PAIRS, PAIRS, st.permutations(range(8)))
def test_permuting_rows_permutes_the_blocks(must_link, cannot_link, order):
    def moved(pairs):
        return [(order[a], order[b]) for a, b in pairs]

    one = try_build(8, 3, must_link=must_link, cannot_link=cannot_link, nonempty=False)
    other = try_build(8, 3, must_link=moved(must_link), cannot_link=moved(cannot_link), nonempty=False)
    assert type(one) is type(other)
    if isinstance(one, Problem):
        image = other.block_of[list(order)]
        assert len(set(zip(one.block_of.tolist(), image.tolist(), strict=True))) == one.n_blocks == other.n_blocks
        renamed = dict(zip(one.block_of.tolist(), image.tolist(), strict=True))
        edges = {tuple(sorted((renamed[u], renamed[v]))) for u, v in conflict_pairs(one)}
        assert edges == conflict_pairs(other)
