"""Searches end: after as many iterations as were allowed, and wherever rounding hides what a move gains."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from konstrain import ConstrainedKMeans
from konstrain.exceptions import NotProvenWarning


def overlapping_rows(n_rows=90, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 3))


# What is asked of a fit, and of its estimator.
KINDS = {
    "free": ({}, {}),
    "links": ({"must_link": [(0, 1), (5, 9)], "cannot_link": [(2, 3), (3, 4)]}, {}),
    "sizes": ({}, {"size_min": 12, "size_max": 20}),
    "sizes from given centers": ({}, {"size_min": 12, "size_max": 20, "init": overlapping_rows()[:5]}),
    "links and sizes": ({"cannot_link": [(2, 3), (3, 4)]}, {"size_min": 12, "size_max": 20}),
    "demand": ({"demand": np.arange(90) % 7 + 1.0}, {"size_max": 90.0}),
}


@pytest.mark.parametrize("max_iter", [1, 2, 5, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_takes_no_more_iterations_than_allowed(kind, max_iter):
    asked, options = KINDS[kind]
    model = ConstrainedKMeans(5, n_init=1, max_iter=max_iter, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NotProvenWarning)
        model.fit(overlapping_rows(), **asked)
    assert 1 <= model.n_iter_ <= max_iter


@pytest.mark.parametrize("kind", ["free", "links", "sizes"])
def test_one_iteration_is_one_assignment_to_the_first_centers(kind):
    asked, options = KINDS[kind]
    X = overlapping_rows()
    found = [
        ConstrainedKMeans(5, init=X[:5], max_iter=1, local_search=local_search, **options)
        for local_search in ("auto", False)
    ]
    with pytest.warns(ConvergenceWarning):
        first, second = (model.fit(X, **asked).labels_ for model in found)
    np.testing.assert_array_equal(first, second)
