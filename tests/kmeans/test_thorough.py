"""Where steps are not proved, searches do not chase what may be luck."""

from types import SimpleNamespace

import numpy as np
import pytest

from konstrain.assignment import Assignment
from konstrain.kmeans import thorough
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering
from konstrain.stop import Deadline


def clustering(objective, gap, *, converged=True):
    labels = np.zeros(3, dtype=np.int32)
    step = Assignment(labels, objective, objective * (1 - gap), proven=gap == 0, engine="test")
    return Clustering(labels, np.zeros((1, 1)), objective, objective, 1, converged, assignment=step)


def scripted(objectives, gap, resources="some"):
    """Return a loop that ends with each of these objectives in turn, and the limits it was run with."""
    limits, left = [], iter(objectives)

    def run(steps, centers, iterations, warm):
        limits.append(iterations.max_iter)
        return clustering(next(left), gap, converged=iterations.max_iter != thorough.PROBE)

    problem = SimpleNamespace(resources=resources)
    return Loop(run, SimpleNamespace(deadline=Deadline(None), problem=problem), 300), limits


@pytest.fixture(autouse=True)
def no_moves(monkeypatch):
    monkeypatch.setattr(thorough, "_polish", lambda loop, clustering, seed: clustering)


def test_relocated_centers_are_given_up_where_they_promise_nothing():
    # From 120 to 119: twice that fall more would be 117, far above the best.
    loop, limits = scripted([120.0, 119.0, 90.0], gap=0.01)
    found = thorough._follow(loop, np.zeros((1, 1)), clustering(100.0, 0.01), 0)
    assert found.objective == 119.0
    assert limits == [thorough.PROBE] * 2
    assert found.n_iter == 2


def test_relocated_centers_are_followed_as_long_as_they_fall_fast():
    loop, limits = scripted([130.0, 115.0, 99.0, 98.0], gap=0.01)
    found = thorough._follow(loop, np.zeros((1, 1)), clustering(100.0, 0.01), 0)
    assert found.objective == 98.0
    assert limits == [thorough.PROBE] * 3 + [300]


@pytest.mark.parametrize(("gap", "resources"), [(0.0, "some"), (0.01, None)], ids=["proved", "without resources"])
def test_other_steps_are_followed_to_the_end(gap, resources):
    loop, limits = scripted([120.0], gap, resources)
    thorough._follow(loop, np.zeros((1, 1)), clustering(100.0, gap), 0)
    assert limits == [300]


@pytest.mark.parametrize(
    ("gap", "objective", "is_worth"), [(0.0, 99.999, True), (0.01, 99.8, False), (0.01, 99.7, True)]
)
def test_a_gain_is_worth_more_work_if_it_is_not_luck(gap, objective, is_worth):
    loop, _ = scripted([], gap)
    assert thorough._is_worth(loop, clustering(objective, gap), clustering(100.0, gap)) is is_worth


def test_an_unknown_gap_is_no_rough_one():
    loop, _ = scripted([], np.inf)
    assert thorough._is_worth(loop, clustering(99.999, 0.0), clustering(100.0, np.inf))
