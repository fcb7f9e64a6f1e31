"""The link graph: repeated edges, signs, and parts of it."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from effort import examples
from konstrain import _core
from konstrain.links import LinkGraph


@pytest.mark.engine
@pytest.mark.parametrize("weighted", [False, True])
def test_from_edges_equals_the_sum_of_sparse_matrices(weighted):
    rng = np.random.default_rng(0)
    for _ in range(examples(300)):
        n = int(rng.integers(1, 10))
        u, v = rng.integers(0, n, (2, rng.integers(0, 30)))
        u, v = u[u != v], v[u != v]
        w = rng.choice([-1.0, -0.5, 0.5, 1.0, np.inf], u.size) if weighted else None
        graph = LinkGraph.from_edges(n, u, v, w)
        values = np.ones(u.size) if w is None else w
        with np.errstate(invalid="ignore"):
            one_way = coo_array((values, (u, v)), shape=(n, n)).toarray()
            expected = one_way + one_way.T
        dense = np.zeros((n, n))
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        dense[rows, graph.indices] = 1.0 if w is None else graph.weights
        np.testing.assert_array_equal(dense, expected if weighted else expected > 0)
        for node in range(n):
            row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            assert (np.diff(row) > 0).all()
        assert weighted or graph.is_hard


def test_both_directions_of_an_edge_carry_the_same_sum():
    weights = [0.1, 0.2, 0.3, -0.7]
    graph = LinkGraph.from_edges(2, [0, 1, 0, 1], [1, 0, 1, 0], weights)
    assert graph.weights[0] == graph.weights[1]


def test_edges_that_name_no_block_are_refused():
    with pytest.raises(ValueError, match="edges must name blocks 0 to 2"):
        LinkGraph.from_edges(3, [0, 1], [1, 3])
    with pytest.raises(ValueError, match=r"edge lists differ in length: \[2, 1\]"):
        LinkGraph.from_edges(3, [0, 1], [1])


def test_the_part_among_some_blocks_is_renumbered():
    graph = LinkGraph.from_edges(5, [0, 1, 3, 4], [3, 2, 4, 1])
    part = graph.restricted_to(np.array([0, 3, 4], dtype=np.int32))
    assert [e.tolist() for e in part.edges[:2]] == [[0, 1], [1, 2]]
    assert part.is_hard
    weighted = LinkGraph.from_edges(5, [0, 1, 3, 4], [3, 2, 4, 1], [0.5, 1.0, -2.0, np.inf])
    part = weighted.restricted_to(np.array([0, 3, 4], dtype=np.int32))
    assert part.edges[2].tolist() == [0.5, -2.0]


@pytest.mark.engine
def test_kernels_refuse_arrays_of_another_kind():
    indptr, indices = np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.int32)
    for wrong in (indptr.astype(np.int32), indptr.astype(float), np.zeros((3, 1), dtype=np.int64), indptr[::2]):
        with pytest.raises(TypeError):
            _core.greedy_clique(wrong, indices, 1.0)
        with pytest.raises(TypeError):
            _core.color_components(wrong, indices, 2, 1.0)


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


def test_a_part_keeps_the_weights_of_its_edges():
    graph = LinkGraph.from_edges(4, [0, 1, 2], [1, 2, 3], [np.inf, -0.5, 0.25])
    first, second, weights = graph.restricted_to(np.array([1, 2, 3], dtype=np.int32)).edges
    assert list(zip(first.tolist(), second.tolist(), weights.tolist(), strict=True)) == [(0, 1, -0.5), (1, 2, 0.25)]


@pytest.mark.parametrize(
    ("weights", "enough"),
    [
        ([0.8, -0.8], 2 * 10.0 / 0.8),
        ([0.25, -0.5, 1.0], 2 * 10.0 / 0.25),
        ([0.37, -0.8], 2 * 10.0 / 0.01),
        ([2.0**-18, 2.0**-17], 2 * 10.0 * 2.0**18),
        ([0.3 - 0.1, 0.1 + 0.2], 2 * 10.0 / 0.1),
        ([np.inf, 0.5], 2 * 10.0 / 0.5),
        ([1.0 / 3.0, 0.5], 1e12),
        ([np.inf, np.inf], 1e12),
    ],
)
def test_a_price_is_lowered_to_what_the_least_broken_unit_needs(weights, enough):
    graph = LinkGraph.from_edges(4, range(len(weights)), range(1, len(weights) + 1), weights)
    assert graph.enough(1e12, 10.0) == pytest.approx(enough)
    assert graph.enough(3.0, 10.0) == 3.0
