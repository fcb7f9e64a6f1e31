"""Which loop and how many runs of it a problem gets."""

from dataclasses import replace

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.kmeans import restarts
from konstrain.kmeans.loop import lloyd, lloyd_with_momentum
from konstrain.kmeans.restarts import auto_runs, plan_run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget
from switches import set_to

X = np.random.default_rng(0).normal(size=(40, 3))
DRAWN, GIVEN = Start(X, "k-means++"), Start(X, X[:4])
FREE, SIZED = Problem.build(X, 4), Problem.build(X, 4, size_max=15)
LINKED = Problem.build(X, 4, cannot_link=[(0, 1)])


@pytest.mark.parametrize(
    ("problem", "search", "loop"),
    [
        (FREE, "auto", lloyd),
        (FREE, True, lloyd),
        (SIZED, "auto", lloyd_with_momentum),
        (LINKED, "auto", lloyd_with_momentum),
        (LINKED, False, lloyd),
    ],
)
def test_centers_have_momentum_under_constraints_unless_search_is_ruled_out(problem, search, loop):
    assert plan_run(Steps(problem), DRAWN, 0, search=search).loop.function is loop


def test_the_price_of_soft_links_is_the_mean_cost_at_the_first_start_or_what_was_given():
    soft = Problem.build(X, 4, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3, 0.5)])
    mean = ((X[:, None] - X[:4]) ** 2).sum(axis=-1).mean()
    assert plan_run(Steps(soft), GIVEN, 0).loop.steps.violation_cost == pytest.approx(mean)
    assert plan_run(Steps(soft), GIVEN, 0, violation_cost=3).loop.steps.violation_cost == 3.0
    assert plan_run(Steps(FREE), GIVEN, 0).loop.steps.violation_cost is None


def test_runs_are_one_from_given_centers_else_what_a_fixed_amount_of_work_allows():
    assert auto_runs(FREE, GIVEN) == 1
    assert auto_runs(FREE, DRAWN) == restarts.PARAMS.runs
    work = 40 * 4 * 3 * restarts.PARAMS.iterations
    for spent, n_runs in ((7 * work, 7), (8 * work - 1, 7), (0, 1)):
        with set_to({"konstrain.stop.PARAMS.work": spent}):
            assert auto_runs(FREE, DRAWN) == n_runs


def seconds_of_iterations(problem):
    """Return the seconds of a thousand that the iterations of one run may take, and those that a step may take."""
    loop, seconds = plan_run(Steps(problem, budget=Budget(1000.0)), DRAWN, 0).loop, []

    def function(steps, centers, iterations, warm):
        seconds.extend([iterations.budget.remaining(), steps.budget.remaining()])
        return lloyd(steps, centers, iterations, warm)

    replace(loop, function=function).run(X[:4])
    return seconds


@pytest.mark.parametrize("given", [{"cannot_link": [(0, 1)]}, {"demand": np.arange(1.0, 41.0)}])
def test_where_steps_are_cut_short_runs_leave_time_for_others_and_for_the_proof(given):
    iterations, step = seconds_of_iterations(Problem.build(X, 4, size_max=300, **given))
    assert 400.0 < iterations <= 500.0
    assert step > 900.0


@pytest.mark.parametrize("problem", [FREE, SIZED, LINKED])
def test_elsewhere_a_run_may_take_all_the_time_there_is(problem):
    assert min(seconds_of_iterations(problem)) > 900.0
