"""Repair: moves, exchanges and random moves end at labels that keep all rules, and at cheaper ones."""

import numpy as np
import pytest

from konstrain.assignment import Rules
from konstrain.assignment.priced.repair import repaired
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED


def in_two(amounts, low, high):
    """Two clusters that bound each amount alike."""
    held = np.asarray(amounts, dtype=float)
    return Rules.of_amounts(held, np.tile(low, (2, 1)), np.tile(high, (2, 1)))


def mended(costs, rules, labels, links=None):
    duals = np.zeros_like(rules.low)
    return repaired(np.array(costs, dtype=float), rules, np.array(labels, dtype=np.int32), duals, UNLIMITED, links)


def test_exchange_repairs_what_no_single_move_does():
    rules = in_two([[3.0], [1.0], [2.0], [2.0]], [4.0], [4.0])
    found = mended([[0, 1], [1, 0], [0, 1], [1, 0]], rules, [0, 1, 0, 1])
    assert rules.are_kept_by(found)
    assert found is not None


def test_labels_that_keep_all_rules_become_no_dearer():
    rng = np.random.default_rng(0)
    for _ in range(50):
        costs, amounts = rng.random((12, 3)), rng.random((12, 2))
        labels = rng.integers(0, 3, 12).astype(np.int32)
        rules = Rules.of_amounts(amounts, np.zeros((3, 2)), np.zeros((3, 2)))
        values = rules.values(labels)
        rules = Rules.of_amounts(amounts, 0.9 * values, 1.1 * values)
        found = mended(costs, rules, labels)
        assert rules.are_kept_by(found)
        own = np.arange(12)
        assert costs[own, found].sum() <= costs[own, labels].sum()


def test_two_blocks_that_fit_only_together_go_the_same_way():
    rules = in_two([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0], [1.0, 0.0]], [0.0, 0.0], [4.0, 0.0])
    found = mended([[9, 0], [9, 0], [0, 9], [0, 9]], rules, [0, 0, 0, 0])
    assert found.tolist() == [1, 1, 0, 0]


def test_hard_links_are_kept_and_none_is_given_up_honestly():
    rules = in_two([[1.0]] * 4, [2.0], [2.0])
    costs = [[0, 3], [0, 1], [0, 2], [0, 4]]
    apart = LinkGraph.from_edges(4, np.array([1, 0]), np.array([2, 3]))
    found = mended(costs, rules, [0, 0, 0, 0], apart)
    assert rules.are_kept_by(found)
    assert found[1] != found[2]
    assert found[0] != found[3]
    assert mended(costs, rules, [0, 0, 0, 0]).tolist() == [0, 1, 1, 0]
    triangle = LinkGraph.from_edges(4, np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert mended(costs, rules, [0, 0, 0, 0], triangle) is None


@pytest.mark.parametrize("seed", range(5))
def test_hard_sums_are_kept_and_repeatable(seed):
    """Three exact sums of whole amounts per cluster, which some labels are known to keep."""
    rng = np.random.default_rng(seed)
    amounts = rng.integers(1, 9, (60, 3)).astype(float)
    values = Rules.of_amounts(amounts, np.zeros((4, 3)), np.zeros((4, 3))).values(rng.integers(0, 4, 60))
    rules = Rules.of_amounts(amounts, values - 1.0, values + 1.0)
    costs, start = rng.random((60, 4)), rng.integers(0, 4, 60)
    found = mended(costs, rules, start)
    assert found is not None
    assert rules.are_kept_by(found)
    np.testing.assert_array_equal(found, mended(costs, rules, start))
