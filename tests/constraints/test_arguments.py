import inspect

import polars as pl
import pytest

from konstrain import Problem, check, describe
from konstrain._documentation import Docstring
from konstrain.constraints.arguments import ConstraintArguments, ConstraintKeywords


@pytest.mark.parametrize("function", [Problem.build, check])
def test_signatures_name_every_constraint_and_docstrings_explain_it(function):
    shown = inspect.signature(function).parameters
    assert list(shown)[:2] == ["X_or_n", "n_clusters"]
    own = {"X_or_n", "n_clusters", "labels", "nonempty", "time_limit"}
    assert set(shown) == {*own, *ConstraintKeywords.__annotations__}
    described = [name for entry in Docstring(function.__doc__).entries("Parameters") for name in entry.names]
    assert sorted(described) == sorted(shown)


def test_keywords_and_fields_have_the_same_names():
    # An earlier clustering is for fits only.
    others = {"labels", "nonempty", "previous"}
    assert set(ConstraintArguments.__annotations__) == {*ConstraintKeywords.__annotations__, *others}


@pytest.mark.parametrize("function", [Problem.build, check])
def test_a_constraint_that_does_not_exist_is_refused_by_name(function):
    with pytest.raises(TypeError, match="unexpected keyword argument 'must_links'; constraints are must_link, "):
        function(4, 2, must_links=[(0, 1)])


def test_a_constraint_that_a_function_does_not_take_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'groups'; constraints are must_link, "):
        describe([[0.0], [1.0]], [0, 1], groups=[0, 1])


def test_what_models_keep_has_no_frames():
    frame = pl.DataFrame({"volume": [1.0, 2.0], "stops": [3.0, 4.0]})
    kept = ConstraintArguments(demand=frame, category=pl.Series("kind", ["a", "b"]), size_max=[4, 9]).plain()
    assert kept["demand"].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert {name: values.tolist() for name, values in kept["category"].items()} == {"kind": ["a", "b"]}
    assert set(kept) == {"demand", "category", "size_max"}
