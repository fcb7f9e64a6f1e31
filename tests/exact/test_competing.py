"""Parts of balanced partitions gain less by clusters of their own; where they gain nothing, the first one will do."""

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.competing import balanced_partition
from konstrain.exact.decomposition.partition import Partition
from konstrain.stop import Budget

pytestmark = pytest.mark.engine

UNLIMITED = Budget(None)


def without_clusters(n: int = 1200, d: int = 3, **options):
    """Rows of a cube, which has many clusterings nearly as good as the best."""
    X = np.random.default_rng(0).uniform(size=(n, d))
    model = ConstrainedKMeans(3, n_init=5, random_state=0).fit(X)
    return Problem.build(X, 3, **options), model.labels_


def gain(partition: Partition) -> float:
    """Share of its cost that the whole clustering loses to clusters of the parts' own."""
    X, weight = partition.problem.mean, partition.problem.weight
    own = [
        ConstrainedKMeans(3, n_init=5, random_state=1).fit(X[blocks], sample_weight=weight[blocks])
        for blocks in partition
    ]
    return 1 - sum(model.inertia_ for model in own) / partition.whole_cost


@pytest.mark.parametrize("weights", [[1.0], [1.0, 8.0]])
def test_parts_gain_much_less_by_clusters_of_their_own(weights):
    problem, labels = without_clusters(sample_weight=np.random.default_rng(1).choice(weights, 1200))
    first = Partition.stratified(problem, labels, 150, seed=0)
    partition = balanced_partition(problem, labels, 150, 0, 0.001, UNLIMITED)
    assert 0 < gain(partition) < 0.7 * gain(first)
    assert np.ptp(np.bincount(partition.part_of)) <= 3


def test_the_first_partition_will_do_where_clusters_are_apart():
    labels = np.repeat(np.arange(3, dtype=np.int32), 100)
    X = np.random.default_rng(0).normal(size=(300, 2)) + 100.0 * labels[:, None]
    problem = Problem.build(X, 3)
    partition = balanced_partition(problem, labels, 50, 0, 0.001, UNLIMITED)
    np.testing.assert_array_equal(partition.part_of, Partition.stratified(problem, labels, 50, seed=0).part_of)


def test_the_same_seed_gives_the_same_parts():
    problem, labels = without_clusters(300)
    first, second = (balanced_partition(problem, labels, 50, 3, 0.001, UNLIMITED).part_of for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_cannot_links_stay_within_parts():
    pairs = np.random.default_rng(0).permutation(300)[:60].reshape(-1, 2)
    problem, labels = without_clusters(300, cannot_link=pairs)
    partition = balanced_partition(problem, labels, 50, 0, 0.001, UNLIMITED)
    assert partition.n_cut_links == 0


@pytest.mark.parametrize("part_size", [3, 50])
def test_rows_are_placed_when_time_is_up_and_when_parts_are_smaller_than_clusters(part_size):
    problem, labels = without_clusters(60)
    budget = Budget(0.0) if part_size == 50 else UNLIMITED
    partition = balanced_partition(problem, labels, part_size, 0, 0.001, budget)
    assert sorted(np.concatenate(list(partition))) == list(range(60))
