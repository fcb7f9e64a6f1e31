"""Reading links, groups, labels, sizes and amounts, and refusing what is wrong by name and value."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from konstrain import ConstrainedKMeans, Problem, check, choose_n_clusters, pairs_beyond_diameter
from konstrain.constraints.inputs import read_links, read_rows

PAIRS = [(0, 1), (2, 3), (0, 1)]


def adjacency(values, dtype):
    return coo_array((np.array(values, dtype=dtype), ([0, 2, 1], [1, 3, 0])), shape=(5, 5))


@pytest.mark.parametrize(
    "given",
    [
        PAIRS,
        iter(PAIRS),
        set(PAIRS),
        np.array(PAIRS),
        np.array(PAIRS, dtype=np.uint8),
        np.array(PAIRS, dtype=float),
        np.asfortranarray(PAIRS),
        np.array(PAIRS, dtype=object),
        pd.DataFrame(PAIRS),
        pd.DataFrame(PAIRS, dtype="Int64"),
        pl.DataFrame(PAIRS, orient="row"),
        pa.table({"a": [0, 2, 0], "b": [1, 3, 1]}),
        adjacency([1, 1, 1], bool),
        adjacency([1, 5, 1], int),
        adjacency([1, 1, 1], np.int8).tocsr(),
        csr_matrix(adjacency([1, 1, 1], np.uint8)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_hard_links_read_the_same_from_every_form(given):
    links = read_links("must_link", given, 5)
    assert links.hard.dtype == np.int32
    assert {tuple(sorted(pair)) for pair in links.hard.tolist()} == {(0, 1), (2, 3)}
    assert links.soft.shape == (0, 2)


@pytest.mark.parametrize(
    "given",
    [
        [(0, 1, 0.5), (2, 3, np.inf), (3, 4, 1.0)],
        np.array([(0, 1, 0.5), (2, 3, np.inf), (3, 4, 1.0)]),
        pd.DataFrame({"a": [0, 2, 3], "b": [1, 3, 4], "c": [0.5, np.inf, 1.0]}),
        pl.DataFrame({"a": [0, 2, 3], "b": [1, 3, 4], "c": [0.5, np.inf, 1.0]}),
        pa.table({"a": [0, 2, 3], "b": [1, 3, 4], "c": [0.5, np.inf, 1.0]}),
        coo_array((np.array([0.5, 0.25, np.inf, 1.0]), ([0, 1, 2, 3], [1, 0, 3, 4])), shape=(5, 5)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_third_column_makes_links_soft_and_infinity_keeps_one_hard(given):
    links = read_links("cannot_link", given, 5)
    assert links.hard.tolist() == [[2, 3]]
    assert links.soft.tolist() == [[0, 1], [3, 4]]
    assert links.confidence.tolist() == [0.5, 1.0]


def test_nothing_and_empty_tables_are_no_links():
    for empty in (None, [], np.zeros((0, 2)), pd.DataFrame({"a": [], "b": []}), csr_array((5, 5))):
        assert read_links("must_link", empty, 5).hard.shape == (0, 2)


def test_self_pairs_of_must_links_are_ignored_with_their_confidences():
    links = read_links("must_link", [(1, 1, 0.3), (1, 2, 0.7)], 5)
    assert links.soft.tolist() == [[1, 2]]
    assert links.confidence.tolist() == [0.7]


@pytest.mark.parametrize(
    ("links", "match"),
    [
        ([(0, 1), (4, 120)], r"cannot_link\[1\] is \(4, 120\): row 120 does not exist, rows are 0 to 9"),
        ([(0, 1), (-1, 2)], r"cannot_link\[1\] is \(-1, 2\): row -1 does not exist"),
        ([(0.0, 1.0), (3.0, 2.5)], r"cannot_link\[1\] is \(3, 2.5\): 2.5 is not a row number"),
        ([(0.0, np.nan)], r"cannot_link\[0\] is \(0, nan\): nan is not a row number"),
        ([(0.0, np.inf)], r"cannot_link\[0\] is \(0, inf\): inf is not a row number"),
        ([("a", "b")], r"cannot_link\[0\] is .*'a'.* is not a row number"),
        (np.array([(0, None)], dtype=object), r"cannot_link\[0\] is \(0, None\): None is not a row number"),
        (np.array([(True, False)]), r"is not a row number"),
        (np.array([(0, 1), (2, "x")], dtype=object), r"cannot_link\[1\] is \(2, 'x'\): 'x' is not a row number"),
        (np.array([(0, 1, None)], dtype=object), r"\(0, 1\) with confidence None"),
        (np.array([(0, 1, "high")], dtype=object), r"\(0, 1\) with confidence 'high'"),
        ([(0, 1), (3, 3)], r"cannot_link\[1\] is \(3, 3\): a row cannot be apart from itself"),
        ([(0, 1, 0.5), (2, 3, 1.5)], r"cannot_link\[1\] is \(2, 3\) with confidence 1.5; .* \(0, 1\]"),
        ([(2, 3, 0.0)], r"\(2, 3\) with confidence 0"),
        ([(2, 3, -np.inf)], r"\(2, 3\) with confidence -inf"),
        ([(2, 3, np.nan)], r"\(2, 3\) with confidence nan"),
        ([(0, 1), (2, 3, 0.5)], r"cannot_link\[1\] is \(2, 3, 0.5\), but cannot_link\[0\] is \(0, 1\)"),
        ([(0, 1), (2,)], r"cannot_link\[1\] is \(2,\); each link is two row numbers"),
        ([0, 1], r"cannot_link must have shape \(n_pairs, 2\).*got \(2,\)"),
        ([("a", "b")], r"cannot_link\[0\] is \('a', 'b'\): 'a' is not a row number"),
        (np.eye(10), r"scipy.sparse.csr_array"),
        (pd.DataFrame({"a": [0]}), r"cannot_link must have two columns, or three with a confidence, got 1"),
        (pd.DataFrame({"a": [0, 2], "b": [1, None]}), r"cannot_link\[1\] is \(2, nan\): nan is not a row number"),
        (pa.table({"a": [0, 2], "b": [1, None]}), r"cannot_link\[1\] is \(2, nan\)"),
        (csr_array((3, 3)), r"cannot_link as a matrix must have shape \(10, 10\), got \(3, 3\)"),
        (csr_array(np.diag([-1.0] * 10, 0)), r"cannot_link\[0, 0\] is -1.0; .* no negative values"),
        (coo_array(([2.0], ([3], [4])), shape=(10, 10)), r"cannot_link\[0\] is \(3, 4\) with confidence 2"),
    ],
)
def test_bad_links_are_refused_by_pair_and_value(links, match):
    with pytest.raises(ValueError, match=match):
        check(10, 2, cannot_link=links)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"demand": [1, -2, 1]}, r"demand\[1\] is -2.0; it must be finite and not negative"),
        ({"demand": [1, np.nan, 1]}, r"demand\[1\] is nan"),
        ({"demand": [1, 1]}, r"demand must have one value per row, shape \(3,\), got \(2,\)"),
        ({"demand": ["a", "b", "c"]}, r"demand must hold numbers: could not convert string to float: 'a'"),
        ({"size_max": "many"}, r"size_max 'many' is neither a number nor a percentage such as '12%'"),
        ({"sample_weight": [1, 1, -1]}, r"sample_weight\[2\] is -1.0"),
        ({"groups": [0, 1]}, r"groups must have one value per row, shape \(3,\), got \(2,\)"),
        ({"labels": [0, 1]}, r"labels must have one value per row"),
        ({"size_min": 3, "size_max": 2}, r"size_min 3 is larger than size_max 2 \(cluster 0\)"),
        ({"size_min": [0, 2], "size_max": [1, 1]}, r"size_min 2 is larger than size_max 1 \(cluster 1\)"),
        ({"size_min": [1, 1, 1]}, r"size_min must be one number or one per cluster, 2 here; got 3 values"),
        ({"size_max": -1}, r"size_max\[0\] is -1.0"),
        ({"size_max": [1, np.nan]}, r"size_max\[1\] is nan"),
        ({"size_min": np.inf}, r"size_min\[0\] is inf"),
        ({"time_limit": -1}, r"time_limit must be seconds"),
        ({"diameter_max": 1.0}, r"diameter_max needs the rows themselves: give X instead of their number 3"),
        ({"separation_min": 1.0}, r"separation_min needs the rows themselves"),
    ],
)
def test_other_bad_arguments_are_refused_by_name_and_value(arguments, match):
    with pytest.raises(ValueError, match=match):
        Problem.build(3, 2, **arguments)


@pytest.mark.parametrize("n_clusters", [0, -1, 2.0, "2", True, None])
def test_a_number_of_clusters_that_is_none_is_refused(n_clusters):
    with pytest.raises(ValueError, match="n_clusters must be a whole number of at least 1"):
        Problem.build(3, n_clusters)


@pytest.mark.parametrize("limit", [-1.0, np.nan, "far"])
def test_a_distance_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match="separation_min must be a distance"):
        Problem.build([[0.0], [1.0]], 1, separation_min=limit)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ([[0.0], [np.nan]], "Input X contains NaN in row 1"),
        ([[0.0, 1.0], [2.0, np.inf]], "Input X contains infinity in row 1"),
        (csr_array([[0.0, 1.0], [0.0, np.nan]]), "Input X contains NaN in row 1"),
        (0, "the number of rows must lie between 1 and"),
    ],
)
def test_rows_that_are_not_finite_are_named(X, match):
    with pytest.raises(ValueError, match=match):
        Problem.build(X, 1)


def test_repeated_entries_of_a_sparse_matrix_are_added_in_a_copy():
    X = csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    problem = Problem.build(X, 1, must_link=[(0, 1)])
    assert problem.mean.toarray().tolist() == [[1.5, 2.0]]
    assert X.data.tolist() == [1.0, 2.0, 4.0]


def test_huge_finite_values_are_not_mistaken_for_infinity():
    with pytest.raises(ValueError, match=r"1.7e\+308 in row 0, too large to be squared"):
        read_rows([[1.7e308], [1.7e308]])


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 3.0]}),
        pl.DataFrame({"a": [0.0, 1.0], "b": [2.0, 3.0]}),
        pa.table({"a": [0.0, 1.0], "b": [2.0, 3.0]}),
        [[0, 2], [1, 3]],
    ],
    ids=lambda given: type(given).__name__,
)
def test_rows_come_from_frames_too(X):
    assert read_rows(X)[1].tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_inputs_stay_as_they_were():
    X = np.arange(12.0).reshape(6, 2)
    must_link, cannot_link = np.array([[0, 1], [1, 1]]), np.array([[0.0, 5.0, 0.5]])
    given = [X, must_link, cannot_link, np.array([0, 0, 1, -1, -1, -1]), np.ones(6)]
    before = [array.copy() for array in given]
    Problem.build(
        X, 2, must_link=must_link, cannot_link=cannot_link, groups=given[3], demand=given[4], sample_weight=given[4]
    )
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.writeable


def masked(values, hidden):
    return np.ma.array(values, mask=[i in hidden for i in range(len(values))])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sample_weight": masked([1.0, 1.0, 99.0], {2})}, r"sample_weight\[2\] is masked; fill it in, or leave"),
        ({"demand": masked([1.0, 7.0, 1.0], {1})}, r"demand\[1\] is masked"),
        ({"demand": np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])}, r"demand\[1, 1\] is masked"),
        ({"must_link": np.ma.array([[0, 1], [1, 2]], mask=[[0, 0], [0, 1]])}, r"must_link\[1, 1\] is masked"),
        ({"size_min": masked([1.0, 1.0], {0})}, r"size_min\[0\] is masked"),
        ({"must_link": pl.LazyFrame({"a": [0], "b": [1]})}, r"must_link is a LazyFrame, .* call .collect\(\)"),
        ({"demand": pl.LazyFrame({"d": [1, 1, 1]})}, r"demand is a LazyFrame"),
        ({"category": pl.LazyFrame({"d": list("abc")})}, r"category is a LazyFrame"),
        ({"sample_weight": pl.LazyFrame({"d": [1, 1, 1]})}, r"sample_weight is a LazyFrame"),
        ({"groups": pl.LazyFrame({"d": [1, 1, 1]})}, r"groups is a LazyFrame"),
    ],
)
def test_values_that_are_hidden_or_not_there_yet_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        check(3, 2, **given)


def test_masked_arrays_in_which_nothing_is_hidden_are_read():
    assert check(3, 2, sample_weight=masked([1.0, 1.0, 9.0], {}), must_link=np.ma.array([[0, 1]])).n_blocks == 2


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ma.array([[1.0], [2.0], [3.0]], mask=[[0], [1], [0]]), r"X\[1, 0\] is masked"),
        (pl.LazyFrame({"x": [1.0, 2.0, 3.0]}), r"X is a LazyFrame, which holds no rows yet; call .collect\(\)"),
    ],
)
def test_rows_that_are_hidden_or_not_there_yet_are_refused(X, words):
    for ask in (
        lambda: check(X, 2),
        lambda: ConstrainedKMeans(2).fit(X),
        lambda: ConstrainedKMeans(2).fit([[1.0], [2.0], [5.0]]).predict(X),
        lambda: choose_n_clusters(X),
        lambda: pairs_beyond_diameter(X, 1.0),
    ):
        with pytest.raises(ValueError, match=words):
            ask()
