"""Parts look like the whole: every cluster is in every part, with nearly its own mean."""

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.partition import Partition, merge_equal
from oracles import all_labelings

pytestmark = pytest.mark.engine


def clustered(n: int = 2000, k: int = 4, d: int = 3, **options):
    X = np.random.default_rng(0).normal(size=(n, d)) * np.arange(1, d + 1)
    model = ConstrainedKMeans(k, n_init=1, random_state=0).fit(X)
    return Problem.build(X, k, **options), model.labels_, model.inertia_


def test_clusters_are_spread_evenly():
    problem, labels, _ = clustered()
    partition = Partition.stratified(problem, labels, 100, seed=0)
    counts = np.zeros((partition.n_parts, 4), dtype=int)
    np.add.at(counts, (partition.part_of, labels), 1)
    assert partition.n_parts == 20
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert sorted(np.concatenate(list(partition))) == list(range(2000))


def test_parts_keep_nearly_all_of_the_cost():
    problem, labels, inertia = clustered()
    kept = Partition.stratified(problem, labels, 100, seed=0).costs.sum() / inertia
    assert 0.999 <= kept <= 1 + 1e-12
    by_chance = Partition(problem, labels, np.random.default_rng(0).integers(0, 20, 2000).astype(np.int32), 20)
    assert by_chance.costs.sum() / inertia < 0.97


def test_parts_have_the_spread_of_the_whole():
    problem, labels, _ = clustered()
    partition = Partition.stratified(problem, labels, 100, seed=0)
    spread = [problem.mean[blocks].std(axis=0) for blocks in partition]
    by_chance = np.split(np.random.default_rng(0).permutation(2000), 20)
    spread_by_chance = [problem.mean[blocks].std(axis=0) for blocks in by_chance]
    assert np.std(spread, axis=0).max() < 0.6 * np.std(spread_by_chance, axis=0).max()


def test_costs_are_those_of_the_labels_in_each_part():
    rng = np.random.default_rng(1)
    weight = rng.random(300) + 0.1
    problem, labels, _ = clustered(300, must_link=[(0, 1), (1, 2)], sample_weight=weight)
    block_labels = labels[problem.block_rows[problem.block_indptr[:-1]]]
    partition = Partition.stratified(problem, block_labels, 50, seed=0)
    for part, blocks in enumerate(partition):
        cost = problem.scatter[blocks].sum()
        for j in range(4):
            mine = blocks[block_labels[blocks] == j]
            if mine.size:
                center = np.average(problem.mean[mine], axis=0, weights=problem.weight[mine])
                cost += problem.weight[mine] @ ((problem.mean[mine] - center) ** 2).sum(axis=1)
        np.testing.assert_allclose(partition.costs[part], cost, rtol=1e-9)


def test_cannot_links_stay_within_parts_where_they_fit():
    pairs = np.random.default_rng(0).permutation(2000)[:600].reshape(-1, 2)
    problem, labels, _ = clustered(cannot_link=pairs)
    partition = Partition.stratified(problem, labels, 100, seed=0)
    assert partition.n_cut_links == 0
    inside = [partition.part_problem(part).conflicts for part in range(partition.n_parts)]
    assert sum(graph.n_edges for graph in inside if graph is not None) == 300
    sizes = np.bincount(partition.part_of)
    assert np.ptp(sizes) <= 4


def test_conflicts_of_a_part_are_between_the_blocks_they_were_between():
    pairs = np.random.default_rng(0).integers(0, 1000, (400, 2)) + np.array([0, 1000])
    problem, labels, _ = clustered(cannot_link=pairs)
    partition = Partition.stratified(problem, labels, 100, seed=0)
    first, second, _ = problem.conflicts.edges
    known = set(zip(first.tolist(), second.tolist(), strict=True))
    found = set()
    for part, blocks in enumerate(partition):
        graph = partition.part_problem(part).conflicts
        if graph is not None:
            u, v, _ = graph.edges
            found |= {tuple(sorted(pair)) for pair in zip(blocks[u].tolist(), blocks[v].tolist(), strict=True)}
    assert found <= known
    assert len(known) - len(found) == partition.n_cut_links


def test_the_same_seed_deals_the_same_parts():
    problem, labels, _ = clustered()
    first, second, other = (Partition.stratified(problem, labels, 100, seed=seed).part_of for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_rows_without_weight_and_clusters_of_few_rows_are_placed_too():
    X = np.arange(40.0)[:, None]
    problem = Problem.build(X, 3, sample_weight=np.where(np.arange(40) % 2, 1.0, 0.0))
    labels = np.where(np.arange(40) < 38, 0, np.arange(40) - 37).astype(np.int32)
    partition = Partition.stratified(problem, labels, 10, seed=0)
    assert (partition.part_of >= 0).all()
    assert np.isfinite(partition.costs).all()


def test_equal_rows_become_one_block_with_their_weight():
    problem = Problem.build([[1.0], [2.0], [1.0], [3.0]], 2, sample_weight=[1.0, 2.0, 3.0, 4.0])
    merged, of_block = merge_equal(problem)
    assert merged.weight.tolist() == [4.0, 2.0, 4.0]
    assert of_block.tolist() == [0, 1, 0, 2]
    bounded = Problem.build([[1.0], [2.0], [1.0], [3.0]], 2, size_max=3)
    assert merge_equal(bounded)[0] is bounded


@pytest.mark.parametrize("seed", range(10))
def test_parts_cost_no_less_than_their_floor_before_they_are_looked_at(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(24, 4)) * rng.uniform(0.1, 3, 4), rng.uniform(0.5, 2.0, 24)
    problem = Problem.build(X, 2, must_link=[(0, 1)], sample_weight=weight)
    labels = rng.integers(0, 2, problem.n_blocks).astype(np.int32)
    partition = Partition.stratified(problem, labels, 8, seed=seed)
    for part, blocks in enumerate(partition):
        every = Partition(problem, labels, np.where(partition.part_of == part, 0, 1).astype(np.int32), 2)
        labelings = all_labelings(blocks.size, 2)
        best = np.inf
        for labeling in labelings:
            given = np.zeros(problem.n_blocks, dtype=np.int32)
            given[blocks] = labeling
            best = min(best, Partition(problem, given, every.part_of, 2).costs[0])
        assert problem.scatter[blocks].sum() < partition.floors[part] <= best


def test_a_plane_of_features_has_no_floor_but_what_blocks_cost():
    problem, labels, _ = clustered(300, k=4, d=3, must_link=[(0, 1)])
    partition = Partition.stratified(problem, labels[problem.first_rows], 50, seed=0)
    np.testing.assert_allclose(partition.floors.sum(), problem.scatter.sum())
