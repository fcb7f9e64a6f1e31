"""What becomes of the columns of a table, and what is said about it."""

import time

import numpy as np
import pytest

from konstrain import FileError
from konstrain.tables import Columns, plan_columns, prepare
from konstrain.tables.plan import Kind, is_identifier, plain_plan


def table(n=40, **columns):
    """Columns of numbers and text, by their values."""
    numbers = {name: np.asarray(v, dtype=float) for name, v in columns.items() if not isinstance(v[0], str | None)}
    texts = {name: np.array(v, dtype=object) for name, v in columns.items() if name not in numbers}
    X = np.column_stack(list(numbers.values())) if numbers else np.zeros((n, 0))
    return Columns(X, tuple(numbers), texts)


RNG = np.random.default_rng(0)
AGE, INCOME = RNG.normal(40, 10, 40), RNG.normal(40_000, 9_000, 40)
CITY = ["Rome", "Oslo"] * 20


def words(plan):
    return "\n".join(plan.notes)


def test_numbers_of_one_size_stay_as_they_are_without_a_word():
    plan = plan_columns(table(age=AGE, height=AGE + 100))
    assert plan.is_plain
    assert plan.notes == ()


def test_spreads_that_differ_by_more_than_a_hundred_are_scaled_and_named():
    plan = plan_columns(table(age=AGE, income=INCOME))
    assert plan.scaled
    assert "'income'" in words(plan)
    assert "--no-standardize" in words(plan)
    assert not plan_columns(table(age=AGE, income=INCOME), standardize=False).scaled
    assert not plan_columns(table(age=AGE, income=AGE * 99)).scaled


def test_one_feature_that_drowns_the_others_is_named_where_it_is_not_scaled():
    plan = plan_columns(table(age=AGE, miles=AGE[::-1] * 20))
    assert not plan.scaled
    assert "column 'miles' makes up 100% of all squared distances" in words(plan)
    assert plan_columns(table(age=AGE, miles=AGE[::-1] * 2)).notes == ()


def test_text_with_few_values_is_a_category_and_with_many_is_left_out():
    plan = plan_columns(table(age=AGE, city=CITY, name=[f"n{i}" for i in range(40)]))
    assert [(c.name, c.kind) for c in plan.columns] == [("age", Kind.NUMBER), ("city", Kind.CATEGORY)]
    assert plan.scaled
    assert "column 'name' is text with 40 different values: left out" in words(plan)
    assert "--id name" in words(plan)


def test_many_values_count_if_they_are_asked_for():
    plan = plan_columns(table(age=AGE, name=[f"n{i}" for i in range(40)]), categorical=["name"])
    assert plan.of_kind(Kind.CATEGORY) == ["name"]


def test_text_that_is_the_same_everywhere_and_columns_without_values_are_left_out():
    plan = plan_columns(table(age=AGE, land=["x"] * 40, gap=[np.nan] * 40, none=[None] * 40))
    assert plan.names == ["age"]
    assert "holds 'x' everywhere" in words(plan)
    assert words(plan).count("has no values") == 2


def test_dates_are_found_in_the_way_that_fits_all():
    plan = plan_columns(table(age=AGE, day=["03/04/2024", "12/31/2023"] * 20))
    assert plan.columns[1].format == "%m/%d/%Y"
    assert plan.scaled


@pytest.mark.parametrize("name", ["CustomerID", "customer_id", "customerid", "Unnamed: 0", "id", "Index"])
def test_whole_numbers_that_differ_and_are_called_so_are_identifiers(name):
    values = RNG.permutation(1_000)[:40].astype(float)
    plan = plan_columns(table(**{"age": AGE, name: values}))
    assert plan.names == ["age"]
    assert f"column {name!r} seems to be an identifier" in words(plan)
    assert plan_columns(table(**{"age": AGE, name: values}), asked=[name]).names == ["age", name]
    assert is_identifier(name, values)
    assert not is_identifier(name, values % 5)


@pytest.mark.parametrize("name", ["paid", "income", "idea", "width", "humid"])
def test_other_whole_numbers_that_differ_are_no_identifiers(name):
    assert not is_identifier(name, RNG.permutation(1_000)[:40].astype(float))


def test_zip_codes_may_repeat_and_rows_may_be_counted_under_any_name():
    assert is_identifier("zip", RNG.integers(10_000, 10_030, 200).astype(float))
    assert not is_identifier("zip", np.tile([1.0, 2.0, 3.0], 30))
    assert is_identifier("n", np.arange(1.0, 31.0))
    assert not is_identifier("n", np.arange(1.0, 31.0)[::-1])


def test_an_identifier_counts_where_there_is_nothing_else():
    assert plan_columns(table(id=np.arange(40.0))).names == ["id"]


def test_no_column_that_is_left_is_refused_with_the_reasons():
    with pytest.raises(FileError, match=r"no column is left to cluster by: column 'name' is text with 40"):
        plan_columns(table(name=[f"n{i}" for i in range(40)]))


def test_nothing_is_decided_where_nothing_is_asked():
    plan = plain_plan(table(id=np.arange(40.0), income=INCOME))
    assert plan.names == ["id", "income"]
    assert plan.is_plain


def test_a_column_that_is_mostly_empty_is_left_out_unless_it_is_asked_for():
    columns = table(age=AGE, gap=[np.nan] * 21 + [1.0] * 19, full=[np.nan] * 20 + [1.0] * 20)
    plan = plan_columns(columns)
    assert plan.names == ["age", "full"]
    assert "column 'gap' is empty in 21 of 40 rows: left out" in words(plan)
    assert plan_columns(columns, asked=["gap"]).names == ["age", "gap", "full"]


def test_numbers_whose_squares_no_double_holds_are_planned():
    plan = plan_columns(table(x=AGE * 1e306, y=AGE * 2e304), standardize=False)
    assert "column 'x' makes up 100% of all squared distances" in words(plan)


def test_words_beside_numbers_may_mean_that_none_is_known():
    values = [f"{value:.3f}" for value in AGE]
    plan = plan_columns(table(age=AGE, income=[*values[:-2], "k.A.", "not known"]))
    assert "column 'income' is text with 40 different values: left out" in words(plan)
    assert "; --na 'k.A.,not known' takes the others as numbers" in words(plan)
    assert "--na" not in words(plan_columns(table(age=AGE, name=[f"p{i}" for i in range(40)])))


def test_a_table_of_many_columns_is_planned_in_time_that_grows_with_them():
    def seconds(n_columns):
        columns = Columns(RNG.random((3, n_columns)), tuple(f"c{i}" for i in range(n_columns)), {})
        begin = time.process_time()
        prepare(columns, plan_columns(columns, standardize=False))
        return time.process_time() - begin

    seconds(100)
    assert seconds(8_000) < 9 * seconds(2_000)
