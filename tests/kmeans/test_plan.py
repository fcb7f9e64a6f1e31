"""Which loop and how many runs of it a problem gets."""

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.kmeans import plan
from konstrain.kmeans.lloyd import lloyd
from konstrain.kmeans.momentum import lloyd_with_momentum
from konstrain.kmeans.plan import auto_runs, deal_out_time, plan_run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Deadline

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


def test_runs_are_one_from_given_centers_else_what_a_fixed_amount_of_work_allows(monkeypatch):
    assert auto_runs(FREE, GIVEN) == 1
    assert auto_runs(FREE, DRAWN) == plan.AUTO_RUNS
    work = 40 * 4 * 3 * plan.AUTO_ITERATIONS
    for spent, n_runs in ((7 * work, 7), (8 * work - 1, 7), (0, 1)):
        monkeypatch.setattr(plan, "AUTO_WORK", spent)
        assert auto_runs(FREE, DRAWN) == n_runs


def dealt(problem, n_runs):
    """Seconds of a thousand that all runs may take, and the part of these for a single one."""
    run = deal_out_time(plan_run(Steps(problem, deadline=Deadline(1000.0)), DRAWN, 0), n_runs)
    return run.loop.steps.deadline.remaining(), run.time_share


@pytest.mark.parametrize("given", [{"cannot_link": [(0, 1)]}, {"demand": np.arange(1.0, 41.0)}])
def test_where_steps_are_cut_short_runs_leave_time_for_others_and_for_the_proof(given):
    hard = Problem.build(X, 4, size_max=300, **given)
    assert dealt(hard, 1) == (pytest.approx(900.0, abs=90.0), 1.0)
    assert dealt(hard, 8) == (pytest.approx(900.0, abs=90.0), 0.5)


@pytest.mark.parametrize("problem", [FREE, SIZED, LINKED])
def test_elsewhere_a_run_may_take_all_the_time_there_is(problem):
    seconds, share = dealt(problem, 8)
    assert seconds > 910.0
    assert share == 1.0


def test_steps_are_proved_on_the_way_where_nothing_but_lloyds_loop_from_given_centers_is_asked_for():
    patient = {
        (is_given, search): plan_run(
            Steps(SIZED), GIVEN if is_given else DRAWN, 0, search=search
        ).loop.steps.is_patient
        for is_given in (True, False)
        for search in (True, False, "auto")
    }
    assert [which for which, is_patient in patient.items() if is_patient] == [(True, False)]
