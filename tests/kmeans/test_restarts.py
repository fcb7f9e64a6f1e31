"""How many runs are made, and which one is kept."""

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.lloyd import lloyd
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import BATCH, RestartPlan, Restarts, Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import NO_DEADLINE, Deadline


def clustering(objective, n_violations=0):
    labels, centers = np.zeros(1, dtype=np.int32), np.zeros((1, 1))
    return Clustering(labels, centers, objective, objective, 1, True, n_violations=n_violations)


def runs_made(objectives, plan):
    """Objective of the best run, and how many were made, when run i ends with the i-th of these."""
    told = []
    search = Restarts(lambda i: clustering(objectives[i]), NO_DEADLINE, callback=told.append)
    return search.best(list(range(len(objectives))), plan).objective, len(told)


def test_as_many_runs_as_asked_for_are_made_whatever_they_find():
    assert runs_made([1.0] * 20, RestartPlan.exactly(20)) == (1.0, 20)


def test_runs_end_when_enough_of_them_agree():
    plan = RestartPlan(100, agreeing=8, least=100)
    assert runs_made([1.0] * 100, plan) == (1.0, BATCH)
    assert runs_made([2.0, 1.0] * 50, plan) == (1.0, 2 * BATCH)
    assert runs_made([1.0 + 1e-7 * i for i in range(100)], plan) == (1.0, 100)


@pytest.mark.parametrize(("last_gain", "n_made"), [(1, 16), (8, 16), (9, 24), (20, 40), (60, 100)])
def test_runs_end_once_as_many_as_led_to_the_last_gain_gained_nothing(last_gain, n_made):
    objectives = [3.0] * (last_gain - 1) + [1.0] + [2.0] * (100 - last_gain)
    plan = RestartPlan(100, agreeing=80, least=16, worth=1e-5)
    if last_gain > 16:
        # Something has to be found on the way: else the search has ended before.
        objectives[7], objectives[15] = 2.5, 2.4
        objectives[31] = min(objectives[31], 1.5)
    assert runs_made(objectives, plan) == (1.0, n_made)


def test_a_gain_too_small_to_count_is_kept_but_prolongs_nothing():
    objectives = [1.0, *([2.0] * 14), 1.0 - 1e-7, *([0.5] * 50)]
    plan = RestartPlan(66, agreeing=8, least=16, worth=1e-5)
    assert runs_made(objectives, plan) == (1.0 - 1e-7, 16)


def test_ends_that_differ_by_less_than_it_is_worth_agree():
    plan = RestartPlan(50, agreeing=8, least=16, worth=1e-5)
    assert runs_made([1.0 + 1e-7 * (50 - i) for i in range(50)], plan)[1] == BATCH


def test_the_first_of_equal_runs_with_the_fewest_broken_links_is_kept():
    ends = [clustering(1.0, 2), clustering(5.0, 1), clustering(4.0, 1), clustering(4.0, 1), clustering(0.5, 3)]
    best = Restarts(lambda i: ends[i], NO_DEADLINE).best(list(range(5)), RestartPlan.exactly(5))
    assert best is ends[2]


def out_of_time(*_):
    raise UndecidedError("no time left")


def test_a_run_that_finds_nothing_in_time_leaves_what_the_others_found():
    search = Restarts(lambda i: out_of_time() if i else clustering(3.0), NO_DEADLINE)
    assert search.best([0, 1, 2], RestartPlan.exactly(3)).objective == 3.0
    with pytest.raises(UndecidedError):
        Restarts(out_of_time, NO_DEADLINE).best([0, 1], RestartPlan.exactly(2))


def short_run(**settings):
    X = np.random.default_rng(0).normal(size=(12, 2))
    steps = Steps(Problem.build(X, 3), deadline=Deadline(3600.0))
    return Run(Loop(lloyd, steps), Start(X, X[:3]), **settings)


def test_a_run_keeps_its_loop_when_what_follows_is_out_of_time():
    def loop_and_no_more(loop, centers, _):
        loop.run(centers)
        out_of_time()

    found = short_run(way=loop_and_no_more)(0)
    assert found.objective == short_run()(0).objective
    assert not found.interrupted


def test_a_run_takes_its_share_of_the_time_and_all_of_it_only_to_find_labels_at_all():
    seconds = []

    def way(loop, centers, _):
        seconds.append(loop.steps.deadline.remaining())
        return loop.run(centers) if len(seconds) > 2 else out_of_time()

    with pytest.raises(UndecidedError):
        short_run(way=way, time_share=0.25)(0)
    assert seconds[0] <= 900.0 < 3000.0 < seconds[1]
    short_run(way=way, time_share=0.25)(0)
    assert len(seconds) == 3
    assert seconds[2] <= 900.0
