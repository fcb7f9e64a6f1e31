"""The link graph over blocks."""

import numpy as np
import pytest

from konstrain.links import LinkGraph


def test_both_orders_and_repeats_are_one_edge():
    graph = LinkGraph.from_edges(4, [0, 1, 0], [1, 0, 1])
    assert graph.n_edges == 1
    assert graph.indices.tolist() == [1, 0]


def test_repeated_soft_links_add_up_and_opposite_ones_cancel():
    graph = LinkGraph.from_edges(3, [0, 1, 1, 2], [1, 0, 2, 1], [0.5, 0.25, 0.5, -0.5])
    assert [edge.tolist() for edge in graph.edges] == [[0], [1], [0.75]]


def test_a_hard_link_wins_over_soft_ones_on_the_same_pair():
    graph = LinkGraph.from_edges(2, [0, 0], [1, 1], [np.inf, -5.0])
    assert graph.edges[2].tolist() == [np.inf]
    assert graph.is_hard


def test_penalty_counts_what_labels_break():
    graph = LinkGraph.from_edges(4, [0, 1, 2], [1, 2, 3], [2.0, -3.0, np.inf])
    assert graph.penalty(np.array([0, 0, 0, 1], dtype=np.int32)) == 2.0
    assert graph.penalty(np.array([0, 1, 2, 1], dtype=np.int32)) == 3.0
    assert graph.penalty(np.array([0, 1, 1, 1], dtype=np.int32)) == np.inf


def test_hard_part_leaves_soft_links_out():
    graph = LinkGraph.from_edges(4, [0, 1, 2], [1, 2, 3], [2.0, -3.0, np.inf])
    assert [edge.tolist() for edge in graph.hard_part().edges] == [[2], [3], [np.inf]]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], True),
        ([(0, 1)], True),
        ([(0, 1), (2, 3)], True),
        ([(0, 1), (1, 2)], False),
        ([(0, 1), (1, 2), (0, 2)], True),
        ([(0, 1), (1, 2), (2, 3), (0, 3)], False),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)], False),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], True),
    ],
)
def test_disjoint_cliques_are_recognised(edges, expected):
    first, second = np.array(edges, dtype=int).reshape(-1, 2).T
    assert LinkGraph.from_edges(5, first, second).is_disjoint_cliques is expected
