"""Warnings point at the line that called the estimator, not into the package."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from konstrain import BLPKMeans, ConstrainedKMeans, ExactKMeans, LagrangianKMeans
from konstrain.baselines import PCKMeans
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans.steps import Steps

# The checker would stand between these calls and the warnings, and be taken for the caller.
pytestmark = pytest.mark.unchecked

IRIS = load_iris().data
# Far from where k-means ends, so that one iteration never is enough.
START = IRIS[:3]

CUT_SHORT = [
    ConstrainedKMeans(3, init=START, max_iter=1),
    BLPKMeans(3, init=START, max_iter=1),
    LagrangianKMeans(3, init=START, max_iter=1),
    PCKMeans(3, init=START, max_iter=1),
    make_pipeline(StandardScaler(), ConstrainedKMeans(3, init=START, max_iter=1)),
]


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize("model", CUT_SHORT, ids=lambda model: type(model).__name__)
def test_running_out_of_iterations_is_told_to_the_caller(model, method):
    with pytest.warns(ConvergenceWarning) as told:
        getattr(model, method)(IRIS)
    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_an_unproved_step_is_told_to_the_caller(monkeypatch, method):
    exact = Steps.step
    monkeypatch.setattr(Steps, "step", lambda *arguments: replace(exact(*arguments), proven=False))
    with pytest.warns(NotProvenWarning) as told:
        getattr(ConstrainedKMeans(3, size_max=60, n_init=1, local_search=False, random_state=0), method)(IRIS)
    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_an_open_proof_is_told_to_the_caller(method):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(NotProvenWarning) as told:
        getattr(ExactKMeans(5, time_limit=0.0, random_state=0), method)(X)
    assert [warning.filename for warning in told] == [__file__]


def test_an_interrupt_is_told_to_the_caller():
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted") as told:
        ConstrainedKMeans(3, n_init=3, callback=interrupt).fit(IRIS)
    assert [warning.filename for warning in told] == [__file__]
