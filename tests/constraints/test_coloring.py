"""Whether conflicts leave room for the clusters, and the smallest rows that show they do not."""

import itertools

import numpy as np
import pytest

from effort import examples
from konstrain import InfeasibleError, Problem, _core, check
from konstrain.links import LinkGraph
from naive_constraints import is_colorable


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


def mycielski(steps):
    """Make a graph without triangles that needs steps + 2 colours."""
    edges, n = [(0, 1)], 2
    for _ in range(steps):
        edges = edges + [(u, v + n) for u, v in edges] + [(v, u + n) for u, v in edges]
        edges += [(u + n, 2 * n) for u in range(n)]
        n = 2 * n + 1
    return n, edges


def too_few(n, k, **arguments):
    with pytest.raises(InfeasibleError) as caught:
        Problem.build(n, k, nonempty=False, time_limit=20, **arguments)
    assert caught.value.reason == "too few clusters"
    return caught.value


def random_graph(rng):
    n = int(rng.integers(1, 8))
    u, v = np.triu_indices(n, 1)
    keep = rng.random(u.size) < rng.random()
    return n, list(zip(u[keep].tolist(), v[keep].tolist(), strict=True))


def graph_of(n, edges):
    u, v = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    return LinkGraph.from_edges(n, u, v)


@pytest.mark.engine
def test_verdicts_equal_enumeration_and_sets_are_irreducible():
    rng = np.random.default_rng(0)
    refused = cliques = 0
    for _ in range(800):
        n, edges = random_graph(rng)
        k = int(rng.integers(1, 4))
        try:
            problem = Problem.build(n, k, cannot_link=edges, nonempty=False, time_limit=None)
            assert problem.colorable is True
            assert is_colorable(n, edges, k)
            continue
        except InfeasibleError as error:
            witness = error.witness
        refused += 1
        cliques += witness.is_clique
        assert not is_colorable(n, edges, k)
        assert witness.irreducible
        check_irreducible(witness, k)
        assert {tuple(sorted(pair[:2])) for pair in witness.pairs} == {
            pair for pair in edges if pair[0] in witness.rows and pair[1] in witness.rows
        }
    assert refused > 200
    assert refused > cliques > 100


def check_irreducible(witness, k):
    """Assert that the rows cannot be coloured, and can without any one of them."""
    local = {row: i for i, row in enumerate(witness.rows)}
    pairs = [(local[a], local[b]) for a, b, _ in witness.pairs]
    assert not is_colorable(len(local), pairs, k)
    for gone in range(len(local)):
        assert is_colorable(len(local), [pair for pair in pairs if gone not in pair], k)


@pytest.mark.engine
def test_components_are_decided_one_by_one():
    edges = cycle(5) + [(u + 5, v + 5) for u, v in cycle(4)] + [(u + 9, v + 9) for u, v in cycle(3)] + [(12, 13)]
    graph = graph_of(14, edges)
    component, verdict = _core.color_components(graph.indptr, graph.indices, 2, 10.0)
    assert verdict[component[[0, 5, 9]]].tolist() == [0, 1, 0]
    # Nodes with fewer conflicts than clusters never matter.
    assert component[12] == component[13] == -1


@pytest.mark.engine
@pytest.mark.parametrize(("steps", "k"), [(2, 3), (3, 4)])
def test_graphs_without_triangles_are_refused_by_exact_search(steps, k):
    n, edges = mycielski(steps)
    error = too_few(n, k, cannot_link=edges)
    # These graphs are critical: no node can be left out.
    assert error.witness.rows == tuple(range(n))
    assert error.witness.irreducible
    assert not error.witness.is_clique
    assert Problem.build(n, k + 1, cannot_link=edges, nonempty=False).colorable is True


@pytest.mark.engine
def test_a_needle_in_a_large_component_is_found():
    rng = np.random.default_rng(4)
    n = 3000
    side = np.arange(n) % 3
    pairs = rng.integers(0, n, (60_000, 2))
    edges = pairs[side[pairs[:, 0]] != side[pairs[:, 1]]].tolist()
    wheel = [(n + u, n + v) for u, v in cycle(7)] + [(n + 7, n + v) for v in range(7)] + [(0, n)]
    assert Problem.build(n, 3, cannot_link=edges, time_limit=20).colorable is True
    error = too_few(n + 8, 3, cannot_link=edges + wheel)
    assert error.witness.rows == tuple(range(n, n + 8))
    check_irreducible(error.witness, 3)


@pytest.mark.engine
def test_a_long_odd_cycle_is_the_witness_for_two_clusters():
    tree = [(i, i // 2) for i in range(1, 1000)]
    error = too_few(2001, 2, cannot_link=tree + [(u + 1000, v + 1000) for u, v in cycle(1001)] + [(0, 1000)])
    assert error.witness.rows == tuple(range(1000, 2001))


@pytest.mark.engine
@pytest.mark.parametrize(("n", "k"), [(150, 5), (1000, 5), (1000, 10)])
def test_conflicts_between_true_classes_are_proved_to_fit(n, k):
    """Dense enough that the first descent fails, and that the complete search alone would take ages."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, n)
    pairs = rng.integers(0, n, (12 * n * k, 2))
    pairs = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]][: 5 * n * k]
    assert Problem.build(n, k, cannot_link=pairs, time_limit=20).colorable is True


def test_what_time_does_not_decide_stays_open_and_is_no_error():
    n, edges = mycielski(4)
    problem = Problem.build(n, 5, cannot_link=edges, time_limit=0.0)
    assert problem.colorable is None
    result = check(n, 5, cannot_link=edges, time_limit=0.0)
    assert result.feasible is None
    assert "5 clusters suffice for 1 of the conflict components" in str(result)


@pytest.mark.engine
def test_shrinking_without_time_returns_an_uncolorable_set_flagged_as_such():
    n, edges = mycielski(2)
    graph = graph_of(n + 1, [*edges, (0, n)])
    members = np.arange(n + 1, dtype=np.int32)
    found, irreducible = _core.shrink_uncolorable(graph.indptr, graph.indices, members, 3, 0.0)
    assert not irreducible
    assert set(range(n)) <= set(found.tolist())


def test_a_clique_names_one_row_more_than_there_are_clusters():
    error = too_few(10, 3, cannot_link=list(itertools.combinations([9, 1, 3, 5, 7], 2)))
    assert len(error.witness.rows) == 4
    assert error.witness.is_clique
    assert len(error.witness.pairs) == 6
    assert "must all be in different clusters, but n_clusters=3" in str(error)
    assert "raise n_clusters to at least 4" in str(error)


def test_a_clique_of_blocks_says_so_and_names_the_pairs():
    error = too_few(6, 2, must_link=[(0, 3), (1, 4)], cannot_link=[(3, 4), (4, 2), (2, 0)])
    assert error.witness.rows == (0, 1, 2)
    assert error.witness.pairs == ((3, 4, "cannot_link"), (2, 0, "cannot_link"), (4, 2, "cannot_link"))
    assert "the blocks of rows 0, 1, 2 must all be" in str(error)
    assert "cannot_link (3, 4)" in str(error)


def test_an_odd_cycle_says_that_leaving_out_one_row_would_do():
    error = too_few(5, 2, cannot_link=cycle(5))
    assert "the conflicts among rows 0, 1, 2, 3, 4 cannot all hold with n_clusters=2; leaving out any one" in str(
        error
    )


def test_more_labels_than_clusters_need_no_pairs_of_all_labels():
    error = too_few(100_000, 3, labels=np.arange(100_000))
    assert len(error.witness.rows) == 4
    assert "rows 0 and 1 have different labels" in str(error)


@pytest.mark.engine
def test_greedy_cliques_are_cliques_and_find_planted_ones():
    rng = np.random.default_rng(9)
    for _ in range(examples(200)):
        n, edges = random_graph(rng)
        clique = _core.greedy_clique(*compressed(n, edges), 1.0).tolist()
        assert clique == sorted(clique)
        assert all(pair in edges for pair in itertools.combinations(clique, 2))
        assert bool(clique)
    planted = list(itertools.combinations(range(40, 60), 2))
    noise = [tuple(sorted(pair)) for pair in rng.integers(0, 200, (300, 2)).tolist() if pair[0] != pair[1]]
    assert _core.greedy_clique(*compressed(200, planted + noise), 1.0).size >= 20


def compressed(n, edges):
    graph = graph_of(n, edges)
    return graph.indptr, graph.indices
