"""How many runs are made, and which one is kept."""

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.restarts import Restarts, Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import UNLIMITED, Budget


def clustering(objective, n_violations=0):
    labels, centers = np.zeros(1, dtype=np.int32), np.zeros((1, 1))
    return Clustering(labels, centers, objective, objective, 1, True, n_violations=n_violations)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_as_many_runs_as_asked_for_are_made_whatever_they_find(n_jobs):
    reports = []
    search = Restarts(lambda i: clustering(1.0 + i), UNLIMITED, n_jobs=n_jobs, callback=reports.append)
    assert search.best(list(range(20))).objective == 1.0
    assert [report.n_done for report in reports] == list(range(1, 21))


def test_the_first_of_equal_runs_with_the_fewest_broken_links_is_kept():
    ends = [clustering(1.0, 2), clustering(5.0, 1), clustering(4.0, 1), clustering(4.0, 1), clustering(0.5, 3)]
    best = Restarts(lambda i: ends[i], UNLIMITED).best(list(range(5)))
    assert best is ends[2]


def out_of_time(*_):
    raise UndecidedError("no time left")


def test_a_run_that_finds_nothing_in_time_leaves_what_the_others_found():
    search = Restarts(lambda i: out_of_time() if i else clustering(3.0), UNLIMITED)
    assert search.best([0, 1, 2]).objective == 3.0
    with pytest.raises(UndecidedError):
        Restarts(out_of_time, UNLIMITED).best([0, 1])


def short_run(function=lloyd, **settings):
    X = np.random.default_rng(0).normal(size=(12, 2))
    steps = Steps(Problem.build(X, 3), budget=Budget(3600.0))
    return Run(Loop(function, steps), Start(X, X[:3]), **settings)
