"""The engine for problems without links and sizes."""

import numpy as np
import pytest

from effort import examples
from konstrain.assignment import AssignmentProblem, choose, nearest
from oracles import best_cost, check_assignment, cost_tolerance
from problems import random_problem


@pytest.mark.engine
def test_nearest_equals_brute_force_on_random_problems():
    rng = np.random.default_rng(0)
    for _ in range(examples(2000)):
        problem = random_problem(rng)
        answer = nearest.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        np.testing.assert_allclose(answer.cost, best_cost(problem), rtol=1e-9, atol=cost_tolerance(problem))


@pytest.mark.engine
@pytest.mark.parametrize("n_clusters", [1, 2, 3, 7, 8, 9, 16, 17, 100])
def test_nearest_takes_the_first_of_equal_costs_like_numpy(n_clusters):
    rng = np.random.default_rng(n_clusters)
    costs = rng.integers(0, 3, (200, n_clusters)).astype(float)
    np.testing.assert_array_equal(nearest.solve(AssignmentProblem(costs)).labels, costs.argmin(axis=1))


def test_bounds_that_cannot_bind_still_go_to_nearest():
    problem = AssignmentProblem.checked([[0.0, 1.0], [1.0, 0.0]], size_min=0, size_max=2)
    assert choose(problem) is nearest
