"""When loops end: by number, by time, and what they have then."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from konstrain.assignment import Assignment
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Iterations, Loop, lloyd, lloyd_with_momentum
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget

ANSWER = Assignment(np.zeros(1, dtype=np.int32), 1.0, 1.0, True, "none")


def out_of_time():
    raise UndecidedError("no time left")


@dataclass(eq=False)
class HastySteps(Steps):
    """Steps of which only the first few get enough time."""

    n_in_time: int = 0
    n_taken: int = 0

    def step(self, centers, warm):
        self.n_taken += 1
        return super().step(centers, warm) if self.n_taken <= self.n_in_time else out_of_time()


def sized_problem(seed=0):
    X = np.random.default_rng(seed).normal(size=(200, 3))
    return Problem.build(X, 4, size_min=40, size_max=60)


def test_iterations_end_by_number_and_by_time_but_there_is_always_one():
    assert list(Iterations(Budget(None), max_iter=3)) == [1, 2, 3]
    assert list(Iterations(Budget(0.0), max_iter=3)) == [1]


def test_only_the_first_step_may_fail_for_want_of_time():
    iterations = Iterations(Budget(None))
    with pytest.raises(UndecidedError):
        iterations.attempt(out_of_time)
    assert iterations.attempt(lambda: ANSWER) is ANSWER
    assert iterations.attempt(out_of_time) is None


def test_one_step_without_proof_leaves_the_loop_without():
    iterations = Iterations(Budget(None))
    for proven, expected in ((True, True), (False, False), (True, False)):
        iterations.attempt(lambda answer: answer, replace(ANSWER, proven=proven))
        assert iterations.proven is expected


@pytest.mark.parametrize("function", [lloyd, lloyd_with_momentum])
@pytest.mark.parametrize("n_in_time", [1, 2, 5])
def test_a_loop_out_of_time_within_a_step_keeps_the_last_complete_one(function, n_in_time):
    problem = sized_problem()
    cut = Loop(function, HastySteps(problem, n_in_time=n_in_time)).run(problem.mean[:4])
    whole = Loop(function, Steps(problem), max_iter=n_in_time).run(problem.mean[:4])
    assert not cut.converged
    np.testing.assert_array_equal(cut.block_labels, whole.block_labels)
    np.testing.assert_array_equal(cut.centers, whole.centers)


def test_a_loop_whose_last_step_has_no_time_ends_with_the_labels_that_settled():
    """A large tolerance lets the centers settle after one step; the step that would follow has no time."""
    problem = sized_problem()
    end = Loop(lloyd, HastySteps(problem, n_in_time=1), tol=1e9).run(problem.mean[:4])
    first = Loop(lloyd, Steps(problem), max_iter=1).run(problem.mean[:4])
    assert end.converged
    np.testing.assert_array_equal(end.block_labels, first.block_labels)
    np.testing.assert_array_equal(end.centers, first.centers)


def test_a_step_cut_short_that_costs_more_than_the_labels_is_dropped():
    """The second step comes back with labels that are feasible, unproved and poor."""
    problem = sized_problem()

    @dataclass(eq=False)
    class PoorSecondStep(HastySteps):
        def step(self, centers, warm):
            self.n_taken += 1
            answer = Steps.step(self, centers, warm)
            if self.n_taken == 1:
                return answer
            labels = np.ascontiguousarray(answer.labels[::-1])
            return replace(answer, labels=labels, cost=self.cost_of(labels, centers), proven=False)

    end = Loop(lloyd, PoorSecondStep(problem)).run(problem.mean[:4])
    first = Loop(lloyd, Steps(problem), max_iter=1).run(problem.mean[:4])
    np.testing.assert_array_equal(end.block_labels, first.block_labels)
    assert not end.proven
