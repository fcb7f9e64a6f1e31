"""What an assignment problem refuses, and what it knows about labels."""

import numpy as np
import pytest

from konstrain.assignment import Assignment, AssignmentProblem, assign
from konstrain.links import LinkGraph


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": [1.0, 2.0]}, r"costs must have shape \(n_blocks, n_clusters\), got \(2,\)"),
        ({"costs": [[1.0, np.nan]]}, r"costs\[0, 1\] is nan"),
        ({"costs": [[1.0], [np.inf]]}, r"costs\[1, 0\] is inf"),
        ({"demand": [1.0]}, r"demand must have one value per block, shape \(2,\), got \(1,\)"),
        ({"demand": [1.0, -2.0]}, r"demand\[1\] is -2.0"),
        ({"size_min": [1, 2, 3]}, r"size_min must be a number or one per cluster, shape \(2,\), got \(3,\)"),
        ({"size_max": [1, np.nan]}, r"size_max\[1\] is NaN"),
        ({"links": LinkGraph.from_edges(3, [0], [1])}, "links are over 3 blocks, costs over 2"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        AssignmentProblem.checked(**{"costs": [[0.0, 1.0], [1.0, 0.0]], **arguments})


def test_sums_of_demands_may_miss_a_bound_by_rounding_only():
    problem = AssignmentProblem.checked(np.zeros((2, 2)), demand=[0.1, 0.2], size_max=0.3)
    assert problem.is_feasible(np.array([0, 0], dtype=np.int32))
    tight = AssignmentProblem.checked(np.zeros((2, 2)), demand=[0.1, 0.2], size_max=0.29)
    assert not tight.is_feasible(np.array([0, 0], dtype=np.int32))


def test_an_empty_cluster_is_infeasible_only_when_asked():
    labels = np.array([0, 0], dtype=np.int32)
    assert AssignmentProblem.checked(np.zeros((2, 2))).is_feasible(labels)
    assert not AssignmentProblem.checked(np.zeros((2, 2)), nonempty=True).is_feasible(labels)


def test_gap_is_relative_and_zero_when_proved():
    labels = np.zeros(1, dtype=np.int32)
    assert Assignment(labels, 10.0, 9.0, False, "test").gap == pytest.approx(0.1)
    assert Assignment(labels, 10.0, 10.0, True, "test").gap == 0.0


def test_tiny_demands_keep_tiny_bounds():
    """The forgiven rounding is relative to the total demand, whatever its unit."""
    rng = np.random.default_rng(0)
    demand = rng.uniform(0.5, 1.5, 8) * 1e-10
    problem = AssignmentProblem.checked(rng.random((8, 3)), demand=demand, size_max=5e-10)
    answer = assign(problem)
    assert (np.bincount(answer.labels, demand, 3) <= 5e-10 * (1 + 1e-6)).all()
