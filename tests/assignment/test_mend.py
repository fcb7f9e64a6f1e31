"""Sizes of unequal demand put right by single moves and exchanges."""

from dataclasses import replace

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, coupled, lagrangian, mend
from konstrain.assignment.mend import can_exchange, exchange_blocks, mend_sizes
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE


@pytest.mark.parametrize("seed", range(10))
def test_mended_labels_keep_every_size(seed):
    rng = np.random.default_rng(seed)
    demand = rng.uniform(1, 10, 60)
    mean = demand.sum() / 4
    problem = AssignmentProblem.checked(rng.random((60, 4)), demand=demand, size_min=0.9 * mean, size_max=1.1 * mean)
    labels = np.zeros(60, dtype=np.int32)
    mended = mend_sizes(problem, labels)
    assert mended is not None
    assert problem.is_feasible(mended)
    assert not labels.any()


def test_two_blocks_are_exchanged_where_no_single_move_helps():
    problem = AssignmentProblem.checked(np.zeros((4, 2)), demand=[5.0, 3.0, 4.0, 2.0], size_min=7, size_max=7)
    mended = mend_sizes(problem, np.array([0, 0, 1, 1], dtype=np.int32))
    assert mended is not None
    assert problem.sizes(mended).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(("n_alike", "is_mended"), [(6, True), (54, False)])
def test_sizes_are_mended_only_where_transport_cannot_put_them_right(n_alike, is_mended, monkeypatch):
    """On a large table with few unequal blocks, moves of single blocks had taken most of the time."""
    rng = np.random.default_rng(0)
    demand = np.where(np.arange(60) < n_alike, 1.0, rng.uniform(2.0, 3.0, 60))
    problem = AssignmentProblem.checked(rng.random((60, 3)), demand=demand, size_max=0.4 * demand.sum())
    asked = []
    monkeypatch.setattr(lagrangian, "mend_sizes", lambda _, labels: asked.append(labels))
    search = lagrangian.Lagrangian(problem, NO_DEADLINE)
    search.repair(search.evaluate(np.zeros(3)))
    assert bool(asked) == is_mended


def crowded(rng, n=9, k=3):
    """A problem of unequal demand with labels that keep its sizes, though at a high cost."""
    demand, labels = rng.uniform(1.0, 4.0, n), np.arange(n, dtype=np.int32) % k
    sizes = np.bincount(labels, demand)
    problem = AssignmentProblem.checked(
        rng.random((n, k)), demand=demand, size_min=0.8 * sizes.min(), size_max=1.1 * sizes.max(), nonempty=True
    )
    return problem, labels


@pytest.mark.parametrize("seed", range(20))
def test_after_exchanges_no_move_and_no_exchange_within_the_sizes_lowers_the_cost(seed):
    problem, labels = crowded(np.random.default_rng(seed))
    found = exchange_blocks(problem, labels)
    assert problem.is_feasible(found)
    assert problem.cost_of(found) <= problem.cost_of(labels)
    for i in range(9):
        for j in range(3):
            moved = found.copy()
            moved[i] = j
            assert not problem.is_feasible(moved) or problem.cost_of(moved) >= problem.cost_of(found) - 1e-12
        for other in range(i):
            swapped = found.copy()
            swapped[[i, other]] = found[[other, i]]
            assert not problem.is_feasible(swapped) or problem.cost_of(swapped) >= problem.cost_of(found) - 1e-12


def test_a_cluster_that_must_not_be_empty_keeps_its_last_block():
    problem = AssignmentProblem.checked([[0.0, 1.0], [0.0, 5.0]], demand=[1.0, 2.0], nonempty=True)
    assert exchange_blocks(problem, np.array([1, 0], dtype=np.int32)).tolist() == [1, 0]


def test_blocks_without_demand_stay_where_they_are():
    problem = AssignmentProblem.checked([[1.0, 0.0], [0.0, 1.0]], demand=[0.0, 0.0], size_max=1)
    assert exchange_blocks(problem, np.array([0, 0], dtype=np.int32)).tolist() == [0, 0]


@pytest.mark.parametrize("is_brief", [True, False])
def test_steps_on_the_way_exchange_blocks_and_the_last_one_asks_a_core(is_brief, monkeypatch):
    problem, _ = crowded(np.random.default_rng(0), n=40, k=4)
    problem = replace(problem, costs=problem.costs * [0.2, 1.0, 1.0, 1.0])
    asked = []
    monkeypatch.setattr(coupled, "prove", lambda search: asked.append(search) or search.bound)
    deadline = NO_DEADLINE.brief(1.0, 10) if is_brief else NO_DEADLINE
    answer = coupled.solve(problem, deadline=deadline)
    assert problem.is_feasible(answer.labels)
    assert not answer.proven
    assert len(asked) == (not is_brief)


def test_steps_on_the_way_look_for_better_prices_only_while_there_are_no_labels(monkeypatch):
    problem, _ = crowded(np.random.default_rng(0), n=40, k=4)
    mean = problem.total_demand / 4
    problem = replace(problem, size_min=np.full(4, 0.99 * mean), size_max=np.full(4, 1.01 * mean))
    climbed = []
    climb = lagrangian.Lagrangian.climb
    monkeypatch.setattr(lagrangian.Lagrangian, "climb", lambda search: climbed.append(search.labels) or climb(search))
    deadline = NO_DEADLINE.brief(1.0, 10)
    assert problem.is_feasible(coupled.solve(problem, deadline=deadline).labels)
    assert not climbed
    coupled.solve(problem, deadline=NO_DEADLINE)
    assert len(climbed) == 1
    # Where moves cannot put sizes right, prices may.
    monkeypatch.setattr(lagrangian, "mend_sizes", lambda *_: None)
    assert problem.is_feasible(coupled.solve(problem, deadline=deadline).labels)
    assert len(climbed) == 2
    assert climbed[1] is None


def test_linked_blocks_and_very_many_are_left_to_the_core(monkeypatch):
    problem, _ = crowded(np.random.default_rng(0))
    assert can_exchange(problem)
    assert not can_exchange(replace(problem, links=LinkGraph.from_edges(9, [0], [1])))
    monkeypatch.setattr(mend, "MOST_CHEAPER_PAIRS", 80)
    assert not can_exchange(problem)
