"""Links and sizes together: what need not go to the solver does not."""

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, coupled, linked, prove
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE


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

    monkeypatch.setattr(linked, "_settle", refuse)
    monkeypatch.setattr(prove, "solve_core", refuse)


@pytest.mark.parametrize("seed", range(5))
def test_a_cluster_nobody_wants_gets_its_one_block_without_a_solver(seed, no_solver):
    problem = linked_with_an_unloved_cluster(seed)
    free = linked.solve_linked(problem, NO_DEADLINE)
    assert not (free.labels == 3).any()
    answer = coupled.solve(problem)
    assert answer.proven
    assert (answer.labels == 3).sum() == 1
    assert problem.is_feasible(answer.labels)


@pytest.mark.parametrize("seed", range(3))
def test_a_clique_that_fills_all_clusters_is_matched_whole_without_a_solver(seed, no_solver):
    problem = clique_under_sizes(seed)
    answer = coupled.solve(problem)
    assert answer.proven
    assert problem.is_feasible(answer.labels)
    assert len(set(answer.labels[:20].tolist())) == 20


def test_slack_of_a_matched_clique_is_what_keeping_apart_costs():
    costs = np.array([[0.0, 3.0, 9.0], [0.0, 1.0, 9.0], [5.0, 0.0, 9.0], [7.0, 9.0, 4.0]])
    problem = AssignmentProblem(costs=costs, links=LinkGraph.from_edges(4, [0], [1]))
    answer = linked.solve_linked(problem, NO_DEADLINE)
    assert linked.has_crowded_cliques(problem.graph, 3)
    np.testing.assert_array_equal(answer.labels, [0, 1, 1, 2])
    np.testing.assert_allclose(answer.slack(), [1.0, 1.0, 0.0, 0.0])
