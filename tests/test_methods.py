"""The table of methods: every name leads to an estimator that takes what the table says."""

import inspect

import pytest
from sklearn.datasets import load_iris

from konstrain import count_violations
from konstrain.methods import METHODS, TO_CONSTRUCTOR, TO_FIT, get_method

IRIS = load_iris().data
LINKS = {"must_link": [(0, 50), (50, 51)], "cannot_link": [(0, 149)]}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_a_method_takes_what_the_table_says(method):
    constructor = inspect.signature(method.estimator).parameters
    fit = inspect.signature(method.estimator.fit).parameters
    assert {name for name in TO_CONSTRUCTOR if name in constructor} == {
        n for n in method.takes if n in TO_CONSTRUCTOR
    }
    taken = {name for name in method.takes if name in TO_FIT}
    assert taken <= set(fit)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_a_method_fits_by_name(method):
    model = method.fit(IRIS[::3], 3, must_link=[(0, 1)], random_state=0, size_max=48, time_limit=20)
    assert len(model.labels_) == 50


def test_what_a_method_ignores_is_named_and_left_out():
    plain = get_method("kmeans")
    assert plain.ignores(**LINKS, size_min=None) == ["must_link", "cannot_link"]
    labels = plain.fit(IRIS, 3, **LINKS, random_state=0).labels_
    assert count_violations(labels, **LINKS).total > 0


def test_parameters_of_the_constructor_go_before_arguments():
    """An experiment without a limit of time says so, whatever limit its rows have."""
    method = get_method("constrained-kmeans")
    model = method.fit(IRIS[::3], 3, params={"time_limit": None, "n_init": 1}, time_limit=20.0)
    assert model.time_limit is None


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"there is no method 'k-mean'; there are: constrained-kmeans, "):
        get_method("k-mean")
    with pytest.raises(TypeError, match=r"unknown arguments \['sizes'\]"):
        get_method("exact").fit(IRIS, 3, sizes=3)
