"""Shares of groups and several resources as users write them: what is read, what is refused, what is impossible."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from konstrain import InfeasibleError, check
from konstrain.constraints import Problem
from konstrain.constraints.shares import read_shares

SEX = ["F", "M", "M", "F", "M"]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"sex": SEX, "band": [1, 2, 1, 2, 2]}),
        pl.DataFrame({"sex": SEX, "band": [1, 2, 1, 2, 2]}),
        pa.table({"sex": SEX, "band": [1, 2, 1, 2, 2]}),
        {"sex": SEX, "band": np.array([1, 2, 1, 2, 2])},
    ],
    ids=["pandas", "polars", "pyarrow", "dict"],
)
def test_every_table_gives_the_same_attributes(table):
    sex, band = read_shares(table, {"sex": {"F": 0.3}, "band": {2: 0.1}}, None, None, 5)
    assert (sex.name, sex.values, sex.codes.tolist(), sex.low.tolist()) == (
        "sex",
        ["F", "M"],
        [0, 1, 1, 0, 1],
        [0.3, 0],
    )
    assert (band.name, band.values, band.low.tolist()) == ("band", [1, 2], [0.0, 0.1])


def test_a_tolerance_is_relative_to_the_share_in_all_rows():
    (sex,) = read_shares(SEX, None, None, 0.5, 5)
    np.testing.assert_allclose(sex.low, [0.2, 0.3])
    np.testing.assert_allclose(sex.high, [0.8, 1.0])


def test_the_stricter_of_two_bounds_counts():
    (sex,) = read_shares(SEX, {"F": 0.35}, {"M": 0.62}, 0.5, 5)
    np.testing.assert_allclose(sex.low, [0.35, 0.3])
    np.testing.assert_allclose(sex.high, [0.8, 0.62])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"category": [*SEX[:4], None], "share_tolerance": 0.1}, "category has no value in row 4"),
        ({"category": [1.0, np.nan, 1.0, 2.0, 2.0], "share_tolerance": 0.1}, "category has no value in row 1"),
        ({"category": SEX[:4], "share_tolerance": 0.1}, "one value per row, shape \\(5,\\), got \\(4,\\)"),
        ({"category": SEX, "share_min": {"X": 0.1}}, "share_min names 'X', but no row of category has it"),
        ({"category": SEX, "share_min": {"F": 1.2}}, "a share is a number from 0 to 1"),
        ({"category": SEX, "share_min": {"F": 0.5, "M": 0.6}}, "add up to 1.1, more than a whole cluster"),
        ({"category": SEX, "share_max": {"F": 0.5, "M": 0.4}}, "add up to 0.9, less than a whole cluster"),
        ({"category": SEX, "share_min": {"F": 0.5}, "share_max": {"F": 0.4}}, "0.5 of F is larger than .* 0.4"),
        ({"category": SEX, "share_tolerance": 1.0}, "share_tolerance must be a number from 0 to below 1"),
        ({"share_tolerance": 0.1}, "share_tolerance is about groups of rows: give category"),
        (
            {"category": {"a": SEX, "b": SEX}, "share_min": {"F": 0.1}},
            "category has 2 attributes, so name one",
        ),
        ({"category": {"a": SEX, "b": SEX}, "share_min": {"c": {"F": 0.1}}}, "'c', which is no attribute"),
    ],
)
def test_what_is_wrong_with_shares_is_told_in_one_line(asked, words):
    with pytest.raises(ValueError, match=words) as error:
        Problem.build(5, 2, **asked)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("size_max", "words"),
    [
        (5, "one number, but demand has 2 resources"),
        ([5, 6, 7], "one bound per resource, 2 values.*shape \\(3, 2\\); got 3 values"),
        ([5, -1], "a size is not negative"),
    ],
)
def test_bounds_of_several_resources_say_which_is_which(size_max, words):
    with pytest.raises(ValueError, match=words):
        Problem.build(5, 3, demand=np.ones((5, 2)), size_max=size_max)


def test_as_many_resources_as_clusters_are_ambiguous():
    with pytest.raises(ValueError, match="one per cluster or one per resource; give shape \\(2, 2\\)"):
        Problem.build(5, 2, demand=np.ones((5, 2)), size_max=[4, 5])
    assert Problem.build(5, 2, demand=np.ones((5, 2)), size_max=[[4, 5], [4, 5]]).resources is not None


def test_one_resource_in_a_column_is_plain_demand():
    problem = Problem.build(3, 2, demand=[[1.0], [2.0], [3.0]], size_max=4)
    assert problem.resources is None
    assert problem.demand.tolist() == [1.0, 2.0, 3.0]


def test_blocks_hold_what_their_rows_hold():
    problem = Problem.build(4, 2, must_link=[(0, 2)], category=["F", "M", "M", "F"], share_min={"F": 0.25})
    assert problem.resources is not None
    assert problem.resources.amounts.tolist() == [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"share_min": {"F": 0.5}}, "12 of 30 rows are F \\(0.4 of them\\).*at least 0.5 cannot hold all rows"),
        ({"share_max": {"F": 0.3}}, "12 of 30 rows are F.*at most 0.3 cannot hold all of them"),
        (
            {"share_min": {"F": 0.4}, "size_min": 3},
            "12 of 30 rows are F: 8 clusters of at least 3 rows cannot each hold 0.4 of these, for that takes 16",
        ),
    ],
)
def test_impossible_shares_are_explained(asked, words):
    category = ["F"] * 12 + ["M"] * 18
    result = check(30, 8, category=category, **asked)
    assert result.feasible is False
    with pytest.raises(InfeasibleError, match=words) as error:
        Problem.build(30, 8, category=category, **asked)
    assert error.value.reason == "shares"


def test_impossible_resources_are_explained():
    demand = np.column_stack([np.arange(10.0), np.ones(10)])
    for size_max, words in (([30.0, 4.0], "resource 1 adds up to 8"), ([8.0, 9.0], "resource 0 adds up to 16")):
        with pytest.raises(InfeasibleError, match=words):
            Problem.build(10, 2, demand=demand, size_max=np.tile(size_max, (2, 1)))
    with pytest.raises(
        InfeasibleError, match=r"the block of rows 8, 9 \(tied by must-links\) holds 17 of resource 0"
    ):
        Problem.build(10, 3, demand=demand, size_max=np.tile([16.0, 9.0], (3, 1)), must_link=[(8, 9)])


def test_what_fits_one_by_one_but_not_together_is_found():
    category = ["F", "F", "M", "M"]
    result = check(4, 2, category=category, share_min={"F": 0.5}, share_max={"F": 0.5}, must_link=[(0, 1)])
    assert result.feasible is False
    assert "all shares" in result.findings[0].message


def test_check_tells_the_bounds():
    text = str(check(30, 4, category=["F"] * 12 + ["M"] * 18, share_min={"F": 0.3}))
    assert "share of F per cluster: 0.3 to 1 (0.4 of all rows)" in text
