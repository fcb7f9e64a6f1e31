"""Lloyd's loop with momentum: what it keeps of Lloyd's own loop, and where it ends."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.kmeans import restarts
from konstrain.kmeans.loop import Loop, lloyd, lloyd_with_momentum
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


def overlapping_blobs(seed, n_rows=600):
    """Clusters that can hardly be told apart: Lloyd's loop takes many small steps."""
    rng = np.random.default_rng(seed)
    return 0.3 * rng.normal(size=(5, 8))[rng.integers(5, size=n_rows)] + rng.normal(size=(n_rows, 8))


def problems(seed):
    """One problem with sizes, one with hard links, one with soft links and weights."""
    rng = np.random.default_rng(seed)
    X = overlapping_blobs(seed)
    pairs = rng.permutation(600)[:120].reshape(60, 2)
    soft = np.column_stack([pairs, np.full(60, 0.5)])
    yield Problem.build(X, 5, size_min=100, size_max=140)
    yield Problem.build(X, 5, cannot_link=pairs)
    yield Problem.build(X, 5, must_link=soft[:30], cannot_link=soft[30:], sample_weight=rng.uniform(0.5, 2, 600))


@dataclass(eq=False)
class Recorded(Steps):
    """Notes what the labels of each step cost with their own means."""

    objectives: list = field(default_factory=list)

    def step(self, centers, warm):
        answer = super().step(centers, warm)
        means = self.centers_of(answer.labels, centers)
        self.objectives.append(self.inertia(answer.labels, means) + self.penalty(answer.labels))
        return answer


@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_step_is_kept_and_no_step_of_lloyds_own_loop_leads_on(seed):
    for problem in problems(seed):
        price = 1.0 if problem.has_soft_links else None
        steps = Recorded(problem, violation_cost=price)
        end = Loop(lloyd_with_momentum, steps).run(problem.mean[:5].astype(float))
        assert end.converged
        assert end.objective == pytest.approx(min(steps.objectives), rel=1e-9)
        after = Loop(lloyd, Steps(problem, violation_cost=price)).run(end.centers)
        assert after.objective == pytest.approx(end.objective, rel=1e-9)


def test_momentum_takes_fewer_steps_and_ends_lower_on_clusters_that_overlap():
    steps, objectives = np.zeros((2, 10)), np.zeros((2, 10))
    for seed in range(10):
        problem = Problem.build(overlapping_blobs(seed, 3000), 5, size_min=500, size_max=700)
        for row, function in enumerate((lloyd, lloyd_with_momentum)):
            end = Loop(function, Steps(problem), max_iter=1000, tol=1e-4).run(problem.mean[:5])
            steps[row, seed], objectives[row, seed] = end.n_iter, end.objective
    assert steps[1].mean() < steps[0].mean()
    assert objectives[1].mean() < objectives[0].mean()


def test_without_momentum_it_is_lloyds_own_loop(seed):
    problem = Problem.build(overlapping_blobs(seed), 5, size_min=100, size_max=140)
    functions = lloyd, partial(lloyd_with_momentum, momentum=0.0)
    own, other = (Loop(function, Steps(problem)).run(problem.mean[:5]) for function in functions)
    np.testing.assert_array_equal(own.block_labels, other.block_labels)


def test_limits_end_it_with_what_it_has():
    problem = Problem.build(overlapping_blobs(1), 5, size_min=100, size_max=140)
    in_haste = Steps(problem, budget=Budget(0.0))
    for loop in (Loop(lloyd_with_momentum, Steps(problem), max_iter=3), Loop(lloyd_with_momentum, in_haste)):
        end = loop.run(problem.mean[:5])
        assert not end.converged
        assert end.n_iter <= 3
        np.testing.assert_allclose(end.centers, loop.steps.centers_of(end.block_labels, end.centers), atol=1e-12)


def test_the_front_door_uses_it_where_there_are_constraints_and_search_is_not_ruled_out(monkeypatch):
    used = []
    monkeypatch.setattr(restarts, "lloyd_with_momentum", lambda *args: used.append(1) or lloyd_with_momentum(*args))
    X = overlapping_blobs(2)
    ConstrainedKMeans(5, init=X[:5]).fit(X)
    ConstrainedKMeans(5, 100, 140, init=X[:5], local_search=False).fit(X)
    assert not used
    ConstrainedKMeans(5, 100, 140, init=X[:5]).fit(X)
    assert used


@pytest.mark.parametrize("seed", range(4))
def test_momentum_from_centers_far_away_is_not_lost_in_rounding(seed):
    rng = np.random.default_rng(seed)
    problem = Problem.build(rng.normal(size=(60, 2)), 3, size_min=5)
    far = 1e10 * rng.normal(size=(3, 2))
    ends = [Loop(function, Steps(problem)).run(far).inertia for function in (lloyd_with_momentum, lloyd)]
    assert ends[0] <= 1.2 * ends[1]
