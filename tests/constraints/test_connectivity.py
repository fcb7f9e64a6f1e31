"""The graph over rows: how it is given, what is wrong with it, and what its components rule out."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from konstrain import ConstrainedKMeans, InfeasibleError, MatchingKMeans, certify, check, describe
from konstrain.constraints import Problem
from konstrain.constraints.connectivity import BlockParts, by_row_number, join_components, read_connectivity
from konstrain.exact.solve import are_parts_better

CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])


class FakeGraph:
    """What is used of a networkx graph: nodes and neighbours by name."""

    def __init__(self, adjacency):
        self.adj = self.nodes = adjacency

    def number_of_nodes(self):
        return len(self.adj)


MATRIX = csr_array(
    ([0.0, 2.5, 1.0, 1.0, 1.0, 1.0, 3.0], ([0, 0, 1, 2, 3, 4, 5], [5, 1, 2, 3, 4, 5, 5])), shape=(6, 6)
)
BY_NUMBER = {5: [4], 4: [5, 3], 3: [4, 2], 2: [3, 1], 1: [2, 0], 0: [1]}
BY_NAME = {name: [other for other in "abcdef" if abs(ord(other) - ord(name)) == 1] for name in "abcdef"}
FORMS = {
    "pairs": CHAIN,
    "array": np.array([*CHAIN, (1, 0), (3, 3)]),
    "weights": [(*pair, 7.0) for pair in CHAIN],
    "frame": pd.DataFrame(CHAIN, columns=["a", "b"]),
    "matrix": MATRIX,
    "networkx": FakeGraph(BY_NUMBER),
    "networkx by name": FakeGraph(BY_NAME),
    "libpysal W": SimpleNamespace(neighbors=BY_NAME, id_order=list("abcdef")),
    "pairs by name": [("a", "b"), ("b", "c"), ("d", "c"), ("d", "e"), ("e", "f")],
    "weights by name": [("a", "b", 0.5), ("b", "c", 1.0), ("d", "c", 1.0), ("d", "e", 1.0), ("e", "f", 1.0)],
    "frame by name": pd.DataFrame({"from": list("abcde"), "to": list("bcdef")}),
    "libpysal Graph": SimpleNamespace(adjacency=None, unique_ids=list("abcdef"), sparse=MATRIX),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_graph_is_the_same_graph(form):
    frame = pd.DataFrame(X, index=list("abcdef"))
    graph = read_connectivity(by_row_number(FORMS[form], frame), 6)
    assert list(zip(*(ends.tolist() for ends in graph.edges[:2]), strict=True)) == CHAIN
    assert ConstrainedKMeans(2, random_state=0).fit(frame, connectivity=FORMS[form]).n_pieces_.tolist() == [1, 1]


NAMED = ("networkx by name", "libpysal W", "libpysal Graph", "pairs by name", "weights by name", "frame by name")


@pytest.mark.parametrize("form", NAMED)
def test_nodes_with_names_are_rows_of_the_index_in_any_order(form):
    """The rows are in another order than the nodes: c, a, f, b, e, d."""
    order = [2, 0, 5, 1, 4, 3]
    frame = pd.DataFrame(X[order], index=list("cafbed"))
    model = ConstrainedKMeans(2, random_state=0).fit(frame, connectivity=FORMS[form])
    assert dict(zip(frame.index, model.labels_ == model.labels_[1], strict=True)) == {
        name: name in "abc" for name in "abcdef"
    }
    assert check(frame, 2, connectivity=FORMS[form]).n_components == 1
    assert describe(frame, model.labels_, connectivity=FORMS[form]).n_pieces == (1, 1)
    assert certify(frame, 2, connectivity=FORMS[form], labels=model.labels_).lower_bound <= model.inertia_
    with pytest.raises(ValueError, match=r"nodes of connectivity have names \('a', 'b', 'c'.*give X as a DataFrame"):
        ConstrainedKMeans(2).fit(X, connectivity=FORMS[form])


def test_names_that_the_index_or_the_graph_does_not_have_are_named():
    graph = FORMS["networkx by name"]
    fewer, more, twice = (pd.DataFrame(np.ones((len(index), 1)), index=list(index)) for index in names_of_rows())
    with pytest.raises(ValueError, match="connectivity has 1 node that the index of X has not: 'e'; remove"):
        ConstrainedKMeans(2).fit(fewer, connectivity=graph)
    with pytest.raises(ValueError, match="connectivity has no node for 2 rows of X: 'x', 'y'; add a node"):
        ConstrainedKMeans(2).fit(more, connectivity=graph)
    with pytest.raises(ValueError, match="the index of X has 'b' twice"):
        ConstrainedKMeans(2).fit(twice, connectivity=graph)
    with pytest.raises(ValueError, match="connectivity has 2 nodes that the index of X has not: 'b', 'q'"):
        ConstrainedKMeans(2).fit(more.drop(index="b"), connectivity=[("a", "c"), ("b", "q")])
    # Rows in no pair have no neighbours: that is for the components to explain.
    with pytest.raises(InfeasibleError, match="components"):
        ConstrainedKMeans(2).fit(more, connectivity=[("a", "b")])


def names_of_rows():
    return "abcdf", "abcdefxy", "abbcdef"


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    by_number = networkx.Graph()
    by_number.add_nodes_from(range(6))
    by_number.add_weighted_edges_from([(a, b, 3.0) for a, b in CHAIN])
    shuffled = networkx.Graph()
    shuffled.add_nodes_from([3, 0, 5, 1, 4, 2])
    shuffled.add_edges_from(CHAIN)
    for graph in (by_number, shuffled, by_number.to_directed(), networkx.MultiGraph(by_number)):
        read = read_connectivity(graph, 6)
        assert list(zip(*(ends.tolist() for ends in read.edges[:2]), strict=True)) == CHAIN
        assert ConstrainedKMeans(2, random_state=0).fit(X, connectivity=graph).n_pieces_.tolist() == [1, 1]
    with pytest.raises(ValueError, match="5 nodes"):
        read_connectivity(networkx.path_graph(5), 6)


@pytest.mark.filterwarnings("ignore:.*:FutureWarning", "ignore:.*:DeprecationWarning")
def test_graphs_of_libpysal():
    libpysal = pytest.importorskip("libpysal")
    grid = libpysal.weights.lat2W(2, 3)
    cells = [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]
    names = dict(enumerate("abcdef"))
    by_name = libpysal.weights.W({names[a]: [names[b] for b in near] for a, near in grid.neighbors.items()})
    graphs = [grid, by_name, libpysal.graph.Graph.from_W(grid), libpysal.graph.Graph.from_W(by_name)]
    frame = pd.DataFrame(X, index=list("abcdef"))
    for graph in graphs:
        read = read_connectivity(by_row_number(graph, frame), 6)
        assert list(zip(*(ends.tolist() for ends in read.edges[:2]), strict=True)) == cells
    isolated = libpysal.graph.Graph.from_arrays([0, 1, 2, 2, 3, 4, 5], [1, 0, 2, 3, 2, 5, 4], [1, 1, 0, 1, 1, 1, 1])
    assert read_connectivity(isolated, 6).n_edges == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([(0, 6)], r"connectivity\[0\] is \(0, 6\): row 6 does not exist, rows are 0 to 5"),
        ([(0, 1.5)], r"connectivity\[0\] is \(0, 1.5\): 1.5 is not a row number"),
        ([("a", "b")], r"nodes of connectivity have names \('a', 'b'\), and X has none; give X as a DataFrame"),
        ([(0, "b")], "is not a row number"),
        (csr_array((5, 5)), "connectivity has 5 nodes, but there are 6 rows; give one node per row"),
        (FakeGraph({0: [1], 1: [0]}), "connectivity has 2 nodes, but there are 6 rows"),
        (np.ones((6, 6)), "give an adjacency matrix as scipy.sparse.csr_array"),
    ],
)
def test_a_wrong_graph_is_refused_by_its_rows(value, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedKMeans(2).fit(X, connectivity=value)


def test_nothing_is_said_of_pieces_without_a_graph():
    assert ConstrainedKMeans(2, random_state=0).fit(X).n_pieces_ is None


def test_joined_components_are_connected_by_their_nearest_rows():
    graph = join_components(read_connectivity([(0, 1), (3, 4)], 6), X)
    assert {(2, 1), (1, 2)} & set(zip(*(ends.tolist() for ends in graph.edges[:2]), strict=True))
    assert graph.n_edges == 5
    with pytest.raises(ValueError, match="join_components needs the rows themselves"):
        check(6, 2, connectivity=[(0, 1)], join_components=True)


def test_rows_of_a_block_that_touch_are_one_part():
    """Rows 0 and 1 touch, row 5 of the same block does not."""
    parts = BlockParts.of(read_connectivity(CHAIN, 6), np.array([0, 0, 1, 2, 3, 0], dtype=np.int32), 4)
    assert parts.first_part.tolist() == [0, 2, 3, 4, 5]
    assert parts.block_of.tolist() == [0, 0, 1, 2, 3]
    assert list(zip(*(ends.tolist() for ends in parts.graph.edges[:2]), strict=True)) == [
        (0, 2),
        (1, 4),
        (2, 3),
        (3, 4),
    ]


APART = [(0, 1), (1, 2), (3, 4), (4, 5)]
TWO = [[1, 2], [1, 2], [1, 2], [1, 0], [1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("k", "edges", "given", "message"),
    [
        (2, CHAIN[:3], {}, r"has 3 components \(rows 4, 1, 1; with rows 0, 4, 5\), and no cluster can span two"),
        (2, CHAIN[:3], {}, r"\(without neighbours: 4, 5\); add edges between the components, or pass join_comp"),
        (2, APART, {"must_link": [(1, 4)]}, r"rows 1 and 4 are in different components.*must_link \(1, 4\)"),
        (2, APART, {"groups": [0, -1, -1, 0, -1, -1]}, r"rows 0 and 3 are in different components.*in group 0"),
        (2, CHAIN[:4], {"size_min": 2}, r"\(rows 5, 1; .*component 2 is below the least size_min 2; add edges"),
        (2, CHAIN[:4], {"demand": [1.0, 1, 1, 1, 1, 9], "size_max": 9.5, "size_min": 6}, "component 1 is below"),
        (3, APART, {"size_min": 2}, "together they fill at most 2, but n_clusters=3"),
        (3, APART, {"size_max": 2}, "together they need at least 4 clusters, but n_clusters=3"),
        (2, APART, {"demand": TWO, "size_max": [5, 5]}, r"\(resource 1 6, 0; .*they need at least 3 clusters"),
        (2, APART, {"category": [0, 0, 0, 1, 1, 1], "share_min": 0.2}, "0 of the rows of component 2 are 0"),
    ],
)
def test_components_that_hold_no_whole_clusters_are_explained(k, edges, given, message):
    with pytest.raises(InfeasibleError, match=message):
        Problem.build(X, k, connectivity=edges, **given)


def test_a_component_between_two_numbers_of_clusters_is_named():
    edges = [*((i, i + 1) for i in range(19)), *((i, i + 1) for i in range(20, 29))]
    found = check(30, 4, connectivity=edges, size_min=7, size_max=8).findings[0]
    assert found.reason == "components"
    assert "component 1 needs at least 3 clusters of size_max 8 and fills at most 2 of size_min 7" in found.message
    assert found.witness.component == 0


def test_check_knows_when_pieces_are_sure():
    assert check(6, 3, connectivity=CHAIN).feasible is True
    assert check(6, 3, connectivity=CHAIN, must_link=[(0, 1)]).feasible is True
    undecided = check(6, 3, connectivity=CHAIN, must_link=[(0, 2)])
    assert undecided.feasible is None
    assert "graph of connectivity: 1 component" in str(undecided)
    assert check(6, 2, connectivity=APART, must_link=[(0, 3)]).n_omitted == 0


def test_a_certificate_leaves_the_graph_out_and_says_so():
    model = ConstrainedKMeans(2, random_state=0).fit(X, connectivity=CHAIN)
    certificate = model.certify(X)
    assert certificate.left_out == ("connectivity",)
    assert certificate.is_optimal
    with pytest.raises(ValueError, match="cluster 0 has 2 pieces"):
        certify(X, 2, labels=[0, 1, 1, 1, 1, 0], connectivity=CHAIN)
    with pytest.raises(ValueError, match="connectivity needs labels to certify"):
        certify(X, 2, connectivity=CHAIN)


def test_bounds_with_minimum_sizes_are_over_boxes_for_more_rows():
    """The decomposition bound leaves minimum sizes out: on tracts of Arizona its gap is 76% instead of 3%."""
    rows = np.random.default_rng(0).random((7_100, 2))
    assert not are_parts_better(Problem.build(rows[:1_600], 9, size_min=170, size_max=180))
    assert are_parts_better(Problem.build(rows, 9, size_min=700, size_max=800))


def test_a_report_counts_pieces():
    assert "every cluster is in one piece" in str(describe(X, [0, 0, 0, 1, 1, 1], connectivity=CHAIN))
    assert "cluster 0 is in 2 pieces" in str(describe(X, [0, 0, 1, 1, 1, 0], connectivity=CHAIN))


def test_others_do_not_take_a_graph():
    with pytest.raises(TypeError, match="connectivity"):
        MatchingKMeans(2).fit(X, connectivity=CHAIN)
    with pytest.raises(TypeError, match="unexpected keyword argument 'connectivity'"):
        ConstrainedKMeans(2, random_state=0).fit(X).predict(X, connectivity=CHAIN)


def test_a_graph_passes_through_a_pipeline_and_is_refused_in_folds():
    with sklearn.config_context(enable_metadata_routing=True):
        model = ConstrainedKMeans(2, random_state=0).set_fit_request(connectivity=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, connectivity=CHAIN)
        assert pipeline[-1].n_pieces_.tolist() == [1, 1]
        search = GridSearchCV(model, {"n_clusters": [2]}, cv=2, error_score="raise")
        with pytest.raises(ValueError, match=r"folds in which these are other rows|does not exist"):
            search.fit(X, connectivity=csr_array(MATRIX))
