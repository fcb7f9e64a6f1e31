"""What functions of `konstrain.tables` return for small inputs."""

import numpy as np

from konstrain.tables.columns import Columns
from konstrain.tables.plan import is_identifier, plan_columns
from konstrain.tables.prepare import prepare
from konstrain.tables.profile import number_text, profile_clusters
from konstrain.tables.transformers import day_of, find_format


def test_example_of_columns():
    columns = Columns(np.array([[1.0], [np.nan]]), ("age",), {"plan": np.array(["gold", None], dtype=object)})
    assert (columns.missing("age").tolist(), columns.missing("plan").tolist()) == ([False, True], [False, True])


def test_example_of_is_identifier():
    ids = np.array([1017.0, 1004.0, 1011.0, 1023.0])
    assert [is_identifier(name, ids) for name in ("CustomerID", "customer_id", "paid", "Unnamed: 0")] == [
        True,
        True,
        False,
        True,
    ]
    assert (is_identifier("day", np.arange(100.0)), is_identifier("id", ids + 0.5)) == (True, False)


def test_example_of_plan_columns():
    plans = np.array(["gold", "free", "free", "gold"], dtype=object)
    plan = plan_columns(Columns(np.array([[41.0], [23.0], [35.0], [29.0]]), ("age",), {"plan": plans}))
    assert ([(column.name, column.kind.value) for column in plan.columns], plan.scaled) == (
        [("age", "number"), ("plan", "category")],
        True,
    )


def test_example_of_prepare():
    plans = np.array(["gold", "free", "free", "gold"], dtype=object)
    columns = Columns(np.array([[2.0], [0.0], [0.0], [2.0]]), ("visits",), {"plan": plans})
    done = prepare(columns, plan_columns(columns))
    assert (done.features, done.X.tolist()[:2]) == (
        ("visits", "plan=free", "plan=gold"),
        [[1.0, 0.0, 1.0], [-1.0, 1.0, 0.0]],
    )


def test_example_of_number_text():
    assert [number_text(value) for value in (120103.4, 41.5, 0.01234, 1234.56)] == [
        "120,103",
        "41.5",
        "0.01234",
        "1,235",
    ]


def test_example_of_profile_clusters():
    columns = Columns(np.array([[20.0], [22.0], [60.0]]), ("age",), {})
    plan, labels = (plan_columns(columns), np.array([0, 0, 1]))
    young, old = profile_clusters(columns, plan, labels, 2, np.array([1.0, 1.0, 0.0]))
    assert (young.traits[0].text, round(young.traits[0].difference, 2), old.typical) == ("21", -0.71, 2)


def test_example_of_find_format():
    assert (find_format(["03/04/2024", "12/31/2023"]), find_format(["2024-01-31", "2024-02-01 10:30"])) == (
        "%m/%d/%Y",
        "iso",
    )
    assert (find_format(["yesterday"]) is None, find_format(["20240131"]) is None) == (True, True)


def test_example_of_day_of():
    assert day_of(19753.4) == "2024-01-31"
