"""The search by cliques, which follows where dense hard links are too much for the quick search."""

from dataclasses import replace

import numpy as np
import pytest

from effort import examples
from konstrain import _core
from konstrain.assignment import AssignmentProblem, linked, milp
from konstrain.links import LinkGraph
from oracles import best_cost, check_assignment, check_engine
from problems import random_costs, random_links


def limited(monkeypatch, **limits):
    """Set limits of the searches over a component."""
    monkeypatch.setattr(linked, "PARAMS", replace(linked.PARAMS, **limits))


@pytest.fixture
def only_cliques(monkeypatch):
    """Leave nothing that needs branching to the quick search."""
    limited(monkeypatch, branchings=0)


@pytest.fixture
def no_highs(monkeypatch):
    """Fail if a component is left to HiGHS."""

    def refuse(component, *_):
        raise AssertionError(f"{component[0].size} blocks were left to HiGHS")

    monkeypatch.setattr(linked, "_solve_by_highs", refuse)


def planted(rng, n_blocks, n_clusters, n_links):
    """Blocks of very different size around centers, and links that their classes keep."""
    classes = rng.integers(n_clusters, size=n_blocks)
    centers = rng.normal(size=(n_clusters, 5))
    points = centers[classes] + rng.normal(size=(n_blocks, 5))
    weight = np.maximum(1.0, np.round(30.0 / (1 + np.arange(n_blocks))))
    u, v = np.triu_indices(n_blocks, 1)
    apart = np.flatnonzero(classes[u] != classes[v])
    # Large blocks collect links, as merging must-linked rows makes them do.
    chance = (weight[u] * weight[v])[apart]
    chosen = rng.choice(apart, n_links, replace=False, p=chance / chance.sum())
    start = points[rng.choice(n_blocks, n_clusters, replace=False)]
    costs = weight[:, None] * np.sqrt(((points[:, None] - start) ** 2).sum(-1))
    return AssignmentProblem(costs, LinkGraph.from_edges(n_blocks, u[chosen], v[chosen]))


def test_search_by_cliques_equals_enumeration(only_cliques, no_highs):
    rng = np.random.default_rng(0)
    n_infeasible = 0
    for _ in range(examples(600)):
        n_clusters = int(rng.integers(2, 5))
        n_blocks = int(rng.integers(3, int(np.log(5000) / np.log(n_clusters)) + 1))
        graph = random_links(rng, n_blocks, "hard", 1.0, density=float(rng.uniform(0.3, 0.9)))
        if graph.n_edges == 0:
            continue
        problem = AssignmentProblem(random_costs(rng, n_blocks, n_clusters), graph)
        expected = best_cost(problem)
        check_engine(linked, problem, expected)
        n_infeasible += np.isinf(expected)
    assert examples(50) < n_infeasible < examples(500)


@pytest.mark.parametrize("seed", range(4))
def test_search_by_cliques_equals_highs_beyond_enumeration(only_cliques, no_highs, seed):
    problem = planted(np.random.default_rng(seed), 40, 6, 200)
    answer = linked.solve(problem)
    check_assignment(problem, answer)
    np.testing.assert_allclose(answer.cost, milp.solve(problem).cost, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_dense_conflicts_need_few_branchings(no_highs, monkeypatch, seed):
    # The quick search alone leaves these open after a thousand branchings.
    problem = planted(np.random.default_rng(seed), 120, 8, 800)
    quick = _core.LinkedAssignment(
        problem.costs, problem.graph.indptr, problem.graph.indices, None, linked.PARAMS.branchings, 0, 60.0
    )
    quick.run()
    assert quick.open()
    limited(monkeypatch, clique_branchings=500)
    answer = linked.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven


@pytest.mark.parametrize("n_pairs", [5, 12])
def test_exponentially_many_cliques_equal_highs(only_cliques, no_highs, n_pairs):
    # All linked but for disjoint pairs: two to the power of the number of pairs are the maximal cliques.
    u, v = np.triu_indices(2 * n_pairs, 1)
    linked_pairs = v - u != n_pairs
    graph = LinkGraph.from_edges(2 * n_pairs, u[linked_pairs], v[linked_pairs])
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem = AssignmentProblem(rng.random((2 * n_pairs, n_pairs + 2)), graph)
        answer = linked.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, milp.solve(problem).cost, rtol=1e-9)


def test_quick_search_goes_on_where_neighbours_are_too_many_for_cliques(no_highs):
    # Hundreds of branchings; 1,100 blocks that all prefer a cluster of their own hang on the dense part.
    dense = planted(np.random.default_rng(1), 100, 8, 600)
    n_blocks, n_far = dense.n_blocks, 1100
    far = np.ones((n_far, dense.n_clusters + 1))
    far[:, -1] = 0.0
    costs = np.hstack([dense.costs, np.full((n_blocks, 1), 10.0 * dense.costs.max())])
    u, v, _ = dense.graph.edges
    first = np.concatenate([u, np.arange(n_far, dtype=np.int32) % n_blocks])
    second = np.concatenate([v, n_blocks + np.arange(n_far, dtype=np.int32)])
    problem = AssignmentProblem(np.vstack([costs, far]), LinkGraph.from_edges(n_blocks + n_far, first, second))
    answer = linked.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven
    np.testing.assert_allclose(answer.cost, linked.solve(dense).cost, rtol=1e-9)


def with_tail(dense, n_far):
    """Hang a chain of blocks on a dense part, each linked to the one before."""
    rng = np.random.default_rng(0)
    u, v, _ = dense.graph.edges
    far = dense.n_blocks + np.arange(n_far, dtype=np.int32)
    graph = LinkGraph.from_edges(
        dense.n_blocks + n_far, np.concatenate([u, np.r_[np.int32(0), far[:-1]]]), np.concatenate([v, far])
    )
    costs = np.vstack([dense.costs, rng.random((n_far, dense.n_clusters))])
    return AssignmentProblem(costs, graph)


@pytest.mark.parametrize(("n_far", "is_whole"), [(40, True), (130, True), (131, False)])
def test_dense_search_takes_up_all_that_hangs_together_if_it_is_little(n_far, is_whole):
    # 250 blocks are little. What is left out may be broken by the answer, and then all is searched again.
    problem = with_tail(planted(np.random.default_rng(0), 120, 8, 800), n_far)
    graph = problem.graph
    search = _core.LinkedAssignment(problem.costs, graph.indptr, graph.indices, None, 0, 1, 60.0)
    search.run()
    taken = np.concatenate([component[0] for component in search.open()])
    assert (taken.size == problem.n_blocks) == is_whole
    assert taken.size > 100
    answer = linked.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven


def test_equal_calls_give_equal_labels():
    problem = planted(np.random.default_rng(1), 120, 8, 800)
    first, second = linked.solve(problem), linked.solve(problem)
    np.testing.assert_array_equal(first.labels, second.labels)


def test_giving_up_hands_over_what_was_found():
    problem = planted(np.random.default_rng(0), 120, 8, 800)
    graph = problem.graph
    search = _core.LinkedAssignment(problem.costs, graph.indptr, graph.indices, None, 0, 1, 60.0)
    search.run()
    ((blocks, costs, first, second, _, labels, value, bound),) = search.open()
    u, v, _ = graph.edges
    assert blocks.size > 0.9 * problem.n_blocks
    assert first.size == second.size == (np.isin(u, blocks) & np.isin(v, blocks)).sum()
    chosen = costs.reshape(blocks.size, -1)[np.arange(blocks.size), labels]
    assert not np.isinf(chosen).any()
    assert (labels[first] != labels[second]).all()
    np.testing.assert_allclose(chosen.sum(), value)
    assert 0.95 * value < bound <= linked.solve(problem).cost
