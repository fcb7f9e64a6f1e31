"""A coupled problem in two parts: what they prove together is what the whole would."""

from dataclasses import replace

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem
from konstrain.assignment.lagrangian import Lagrangian
from konstrain.assignment.linked import solve_linked
from konstrain.assignment.split import Split
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE

N_CLUSTERS = 4


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


def split_of(problem):
    return Split(problem)


@pytest.mark.parametrize("with_demand", [False, True])
def test_free_blocks_have_no_links_and_one_demand(with_demand):
    problem = rows_with_some_links(0, with_demand=with_demand)
    split = split_of(problem)
    assert not problem.links.is_linked[split.free].any()
    assert problem.demand is None or (problem.demand[split.free] == 1.0).all()
    np.testing.assert_array_equal(np.sort(np.r_[split.free, split.tied]), np.arange(problem.n_blocks))
    assert 0 < split.tied.size < split.free.size


def test_blocks_of_all_different_demands_leave_one_free():
    rng = np.random.default_rng(0)
    problem = AssignmentProblem(rng.random((9, 2)), demand=rng.random(9) + 1.0, size_max=np.full(2, 9.0))
    assert split_of(problem).free.size == 1


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("with_demand", [False, True])
def test_both_parts_bound_what_the_whole_relaxation_does(seed, with_demand, soft):
    problem = rows_with_some_links(seed, with_demand=with_demand, soft=soft)
    split = split_of(problem)
    tied = split.place_tied(np.zeros(N_CLUSTERS), NO_DEADLINE).labels
    placed = split.place_free(tied, np.zeros(N_CLUSTERS), NO_DEADLINE)
    in_parts = split.relaxed_around(placed, tied, NO_DEADLINE)
    whole = solve_linked(problem, NO_DEADLINE, placed.prices)
    assert np.abs(placed.prices).max() > 0
    assert in_parts.bound == pytest.approx(whole.bound, rel=1e-12)
    paid = problem.costs_at(placed.prices)[np.arange(problem.n_blocks), in_parts.labels].sum()
    assert paid + problem.links.penalty(in_parts.labels) == pytest.approx(whole.cost, rel=1e-12)
    np.testing.assert_allclose(in_parts.slack(), whole.slack(), atol=1e-12)


def test_tied_blocks_that_fill_a_cluster_leave_no_room():
    problem = rows_with_some_links(0, with_demand=False)
    split = split_of(problem)
    everyone = np.zeros(split.tied.size, dtype=np.int32)
    loose = Split(replace(problem, size_max=np.full(N_CLUSTERS, 300.0)))
    tight = Split(replace(problem, size_max=np.r_[everyone.size - 1.0, np.full(N_CLUSTERS - 1, 300.0)]))
    assert loose.place_free(everyone, np.zeros(N_CLUSTERS), NO_DEADLINE) is not None
    assert tight.place_free(everyone, np.zeros(N_CLUSTERS), NO_DEADLINE) is None


def test_agreement_of_both_parts_closes_the_gap(seed):
    problem = rows_with_some_links(seed, with_demand=False)
    search = Lagrangian(problem, NO_DEADLINE)
    search.alternate(np.zeros(N_CLUSTERS))
    assert problem.is_feasible(search.labels)
    # What is left is at most what one free row pays more elsewhere than where it is.
    assert search.cost - search.bound <= 1e-3 * search.cost
