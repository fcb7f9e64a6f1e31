"""Small examples of functions that the reference leaves out, with values that can be checked by hand."""

import numpy as np

from konstrain._documentation import Description, Docstring, _joined
from konstrain._memory import CELLS, chunks
from konstrain._messages import (
    Advised,
    are_degrees,
    as_typed,
    counted,
    did_you_mean,
    enumerated,
    has_term,
    row_term,
    share_of_text,
    term,
    using_terms,
)
from konstrain.assignment.priced.repair import fill_empty, repaired
from konstrain.assignment.rules import Rules
from konstrain.baselines.mpck_means import farthest_pair
from konstrain.constraints.connectivity import count_pieces, read_connectivity
from konstrain.constraints.feasibility import match_sizes
from konstrain.constraints.inputs import plain
from konstrain.constraints.previous import Homes
from konstrain.constraints.problem import Problem
from konstrain.dask.passes import digest_of
from konstrain.exact.columns.boxes import BoxColumnBound
from konstrain.exact.decomposition.competing import balanced_partition
from konstrain.exact.decomposition.partition import Partition
from konstrain.exact.decomposition.results import BoundSum, PartResult
from konstrain.exact.sdp.sized import SizedBound
from konstrain.gap import relative_gap
from konstrain.kmeans.distances import (
    block_costs,
    candidate_distances,
    center_sums,
    nearest_distances,
    nearest_pass,
    own_costs,
    sized_pass,
    sized_step,
)
from konstrain.links import LinkGraph
from konstrain.metrics import mean_silhouette, sum_of_squares, touched_rows
from konstrain.report import pieces_message
from konstrain.rounding import demand_rounding, unit_exponent
from konstrain.scaling import column_blocks, scales_of, standardized
from konstrain.stop import Budget


def test_example_of_repaired():
    rules = Rules.of_amounts([[3.0], [2.0], [4.0]], low=[[0.0], [0.0]], high=[[7.0], [7.0]])
    costs = np.array([[0.0, 5.0], [0.0, 1.0], [0.0, 9.0]])
    assert repaired(costs, rules, np.zeros(3, dtype=np.int32), np.zeros((2, 1)), Budget(None)).tolist() == [0, 1, 0]


def test_example_of_fill_empty():
    rise = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    assert fill_empty(np.array([0, 0, 1], dtype=np.int32), rise).tolist() == [0, 2, 1]


def test_example_of_rules():
    half = Rules.of_amounts([[1.0, 0.0], [0.0, 1.0]], low=[[0.0, 1.0]], high=[[1.0, 1.0]])
    assert half.values(np.array([0, 0], dtype=np.int32)).tolist() == [[1.0, 1.0]]


def test_example_of_read_connectivity():
    assert read_connectivity([(0, 1), (1, 0), (2, 2)], 3).indptr.tolist() == [0, 1, 2, 2]


def test_example_of_count_pieces():
    chain = read_connectivity([(0, 1), (1, 2), (2, 3)], 4)
    assert count_pieces(chain, np.array([0, 1, 1, 0]), 2).tolist() == [2, 1]


def test_example_of_match_sizes():
    assert match_sizes(np.array([8.0, 5.0]), low=np.array([0.0, 4.0]), high=np.array([10.0, 5.0])).tolist() == [0, 1]
    assert match_sizes(np.array([8.0, 2.0]), low=np.array([0.0, 4.0]), high=np.array([10.0, 5.0])) is None


def test_example_of_plain():
    import polars as pl

    assert plain(pl.DataFrame({"a": [1.0], "b": [2.0]})).tolist() == [[1.0, 2.0]]
    assert plain([1, 2]) == [1, 2]


def test_example_of_homes():
    homes = Homes.of(np.array([0, 1, -1]), block_of=np.array([0, 0, 1]), n_blocks=2, n_clusters=2)
    assert homes.moved.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert homes.n_moved(np.array([1, 1])) == 1


def test_example_of_block_costs():
    means, centers = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])
    assert block_costs(means, np.array([1.0, 2.0]), centers).tolist() == [[0.0, 9.0], [50.0, 32.0]]


def test_example_of_nearest_pass():
    means = np.array([[0.0], [1.0], [9.0]])
    labels, inertia, sums, cluster_weight = nearest_pass(means, None, np.array([[0.0], [8.0]]))
    assert labels.tolist() == [0, 0, 1]
    assert inertia == 2.0
    assert sums.ravel().tolist() == [1.0, 9.0]
    assert cluster_weight.tolist() == [2.0, 1.0]


def test_example_of_nearest_distances():
    labels, squares = nearest_distances(np.array([[0.0], [6.0]]), np.array([[1.0], [8.0]]))
    assert labels.tolist() == [0, 1]
    assert squares.tolist() == [1.0, 4.0]


def test_example_of_center_sums():
    sums, weight = center_sums(np.array([[1.0], [2.0]]), np.array([1.0, 3.0]), np.array([0, 0], dtype=np.int32), 2)
    assert sums.tolist() == [[7.0], [0.0]]
    assert weight.tolist() == [4.0, 0.0]


def test_example_of_own_costs():
    assert (
        own_costs(np.array([[0.0], [3.0]]), None, np.array([1, 0], dtype=np.int32), np.array([[2.0], [0.0]])) == 1.0
    )


def test_example_of_sized_pass():
    means, one = np.array([[0.0], [1.0], [9.0]]), np.array([1, 1])
    assert sized_pass(means, None, np.array([[0.0], [8.0]]), (one, 2 * one), None, list_length=2)[0].tolist() == [
        0,
        0,
        1,
    ]


def test_example_of_sized_step():
    means, one = np.array([[0.0], [1.0], [9.0]]), np.array([1, 1])
    answer, (sums, weight) = sized_step(
        means, None, np.array([[0.0], [8.0]]), (one, 2 * one), np.zeros(2), np.empty((3, 2))
    )
    assert answer[0].tolist() == [0, 0, 1]
    assert sums.ravel().tolist() == [1.0, 9.0]
    assert weight.tolist() == [2.0, 1.0]


def test_example_of_candidate_distances():
    assert candidate_distances(np.array([[0.0], [1.0], [3.0]]), [1]).tolist() == [[1.0, 0.0, 4.0]]


def test_example_of_digest_of():
    rows, labels = np.arange(3), np.array([0, 1, 1], dtype=np.int32)
    together = digest_of(rows, labels)
    assert together == (digest_of(rows[:1], labels[:1]) + digest_of(rows[1:], labels[1:])) % 2**64


def test_example_of_box_column_bound():
    problem = Problem.build([[0.0], [1.0], [5.0], [6.0]], 2, cannot_link=[(2, 3)])
    bound = BoxColumnBound(problem, np.array([0, 0, 0, 1]))
    assert bound.run(14.0, gap=1e-6) == "closed"
    assert round(bound.lower_bound, 3) == 14.0


def test_example_of_balanced_partition():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    problem, labels = Problem.build(X, 2), (X[:, 0] > 0.5).astype(np.int32)
    assert balanced_partition(problem, labels, 50, seed=0, gap=1e-4, budget=Budget(None)).n_parts == 4


def test_example_of_partition():
    problem = Problem.build([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], 2)
    partition = Partition.stratified(problem, np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), part_size=2, seed=0)
    assert [partition.labels[blocks].tolist() for blocks in partition] == [[0, 1], [0, 1], [0, 1]]


def test_example_of_bound_sum():
    sums = BoundSum(np.array([10.0, 12.0, 11.0]), np.zeros(3))
    sums.take(0, PartResult(9.0, 10.0, is_finished=True, work=1.0, seconds=0.1))
    sums.take(2, PartResult(9.9, 11.0, is_finished=True, work=1.0, seconds=0.1))
    assert sums.lower_bound == 18.9
    assert round(sums.estimate().bound, 6) == 29.7
    sums.take(1, PartResult(3.0, 12.0, is_finished=False, work=1.0, seconds=0.1))
    assert round(sums.lower_bound, 6) == 21.9
    assert round(sums.estimate().bound, 6) == 29.7


def test_example_of_sized_bound():
    problem = Problem.build([[0.0], [1.0], [5.0], [6.0], [9.0]], 2, size_min=[1, 4], size_max=[1, 4])
    result = SizedBound(problem).run(upper_bound=26.0)
    assert result.status == "closed"
    assert 0.9999 * 26.0 <= result.lower_bound <= 26.0


def test_example_of_farthest_pair():
    assert farthest_pair(np.array([[0.0, 0.0], [1.0, 1.0], [-3.0, 0.0], [0.5, 0.0]])) == (2, 1)


def test_example_of_docstring():
    doc = Docstring("Add.\n\nParameters\n----------\na, b : int\n    Terms.\n")
    assert [entry.names for entry in doc.entries("Parameters")] == [("a", "b")]


def test_example_of_joined():
    own, offered = [Description(("b",), "int"), Description(("c",), "int")], [Description(("a", "b"), "float")]
    shared, rest = _joined(own, offered)
    assert [str(entry) for entry in shared] == ["a : float", "b : int"]
    assert [str(entry) for entry in rest] == ["c : int"]


def test_example_of_chunks():
    assert list(chunks(5, CELLS // 2)) == [slice(0, 2), slice(2, 4), slice(4, 6)]


def test_example_of_using_terms():
    with using_terms(options={"n_clusters": "-k"}, name_of=["anna", "bert"].__getitem__):
        assert (term("n_clusters", 3), row_term(1), has_term("max_iter")) == ("-k 3", "bert", False)


def test_example_of_term():
    assert term("size_min") == "size_min"
    assert term("n_clusters", 3) == "n_clusters=3"
    with using_terms(options={"join_components": "--join-components"}):
        assert (term("join_components", True)) == "--join-components"


def test_example_of_advised():
    note = Advised("the best run was cut short", "raise time_limit")
    assert str(note) == "the best run was cut short; raise time_limit"
    assert note.text == "the best run was cut short"


def test_example_of_counted():
    assert counted(1, "row") == "1 row"
    assert counted(2, "row") == "2 rows"


def test_example_of_enumerated():
    assert enumerated(["a.csv"]) == "a.csv"
    assert enumerated(["a.csv", "b.png", "c.html"]) == "a.csv, b.png and c.html"


def test_example_of_as_typed():
    assert as_typed("Umsatz EUR") == "'Umsatz EUR'"
    assert as_typed("a", "b") == "a,b"
    assert as_typed("a", "b,c") == "'a,\"b,c\"'"


def test_example_of_did_you_mean():
    assert did_you_mean("umsatz", ["Umsatz", "Ort"]) == "; did you mean 'Umsatz'?"
    assert did_you_mean("x", ["Umsatz", "Ort"]) == ""


def test_example_of_are_degrees():
    assert are_degrees("Lat", "lon")
    assert not (are_degrees("lon", "lat"))


def test_example_of_share_of_text():
    assert share_of_text("size_max", "12%") == 0.12


def test_example_of_relative_gap():
    assert relative_gap(9.0, 10.0) == 0.1
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(9.0, float("inf")) == np.inf


def test_example_of_link_graph():
    graph = LinkGraph.from_edges(3, [0, 1], [1, 2])
    assert graph.n_edges == 2
    assert graph.is_hard


def test_example_of_touched_rows():
    assert touched_rows(4, must_link=[(0, 2)]).tolist() == [True, False, True, False]


def test_example_of_sum_of_squares():
    assert sum_of_squares([[0.0], [2.0], [5.0]], [0, 0, 1]) == 2.0
    assert sum_of_squares([[0.0], [2.0], [5.0]], [0, 0, 1], sample_weight=[3.0, 1.0, 1.0]) == 3.0


def test_example_of_mean_silhouette():
    assert round(mean_silhouette(np.array([[0.0], [1.0], [9.0], [10.0]]), [0, 0, 1, 1]), 3) == 0.889


def test_example_of_pieces_message():
    assert pieces_message([1, 1]) == "every cluster is in one piece"
    assert pieces_message([1, 3]) == "cluster 1 is in 3 pieces"


def test_example_of_demand_rounding():
    assert not (0.1 + 0.2 <= 0.3)
    assert 0.3 * (1 + demand_rounding(np.array([0.1, 0.2]), 2)) >= 0.1 + 0.2


def test_example_of_unit_exponent():
    assert unit_exponent(np.array([3.0, 8.0])) == 0
    assert unit_exponent(np.array([0.0, 2.0**-1000])) == -999


def test_example_of_standardized():
    assert standardized(np.array([[0.0, 7.0], [2.0, 7.0]])).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_example_of_column_blocks():
    blocks = column_blocks(np.array([[0.0, 7.0], [2.0, 8.0]]))
    assert [(places, columns.tolist()) for places, columns in blocks] == [(range(2), [[0.0, 2.0], [7.0, 8.0]])]


def test_example_of_scales_of():
    assert scales_of(np.array([[0.0, 2.0], [7.0, 7.0]])).tolist() == [[2.0, 7.0], [0.5, 1.0], [0.5, 1.0]]


def test_example_of_budget():
    assert Budget().remaining() == np.inf
    assert Budget(0.0).expired()
    whole = Budget(work=10.0)
    whole.part(work=4.0).spend(3.0)
    assert whole.affords(7.0)
    assert not (whole.affords(8.0))
