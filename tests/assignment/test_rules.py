"""Rules: their bounds, and what becomes of them."""

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, Resources, Rules


def test_the_old_name_is_the_same_class():
    assert Resources is Rules


def test_bounds_between_whole_numbers_prove_more_at_whole_numbers():
    """Sums of whole numbers are whole; sums of fractions and impossible bounds are left alone."""
    amounts = np.column_stack([[1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [1.0, 1.0, 1.0]])
    low, high = np.array([[1.5, 1.5, 1.2]]), np.array([[6.7, 6.7, 1.8]])
    tight = Rules.of_amounts(amounts, low, high).tightened
    np.testing.assert_allclose(tight.low, [[2.0, 1.5, 1.2]], rtol=1e-12)
    np.testing.assert_allclose(tight.high, [[6.0, 6.7, 1.8]], rtol=1e-12)
    assert tight.low[0, 0] == 2.0
    assert tight.high[0, 0] == 6.0
    whole = Rules.of_amounts(amounts, [[0.1 + 0.2 + 0.7] * 3], [[3.0] * 3]).tightened
    assert whole.low[0, [0, 2]].tolist() == [1.0, 1.0]
    even = Rules.of_amounts([[2.0], [4.0]], [[1.0]], [[5.0]]).tightened
    assert (even.low[0, 0], even.high[0, 0]) == (2.0, 4.0)


def test_resources_of_another_shape_are_refused():
    resources = Rules.of_amounts(np.ones((3, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="resources are over"):
        AssignmentProblem.checked(np.zeros((4, 2)), resources=resources)


def test_sizes_are_the_last_rule_and_non_empty_clusters_raise_them():
    rules = Rules.of_amounts(np.ones((4, 1)), np.zeros((2, 1)), np.full((2, 1), 3.0))
    demand = np.array([1.0, 2.0, 2.0, 3.0])
    sized = AssignmentProblem(np.zeros((4, 2)), demand=demand, size_max=np.full(2, 5.0), resources=rules)
    np.testing.assert_array_equal(sized.rules.high, [[3.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(sized.rules.added[:, 1], demand)
    filled = AssignmentProblem(np.zeros((4, 2)), demand=demand, nonempty=True)
    np.testing.assert_array_equal(filled.rules.low, [[1.0], [1.0]])
    weightless = AssignmentProblem(np.zeros((4, 2)), demand=demand - 1.0, nonempty=True)
    np.testing.assert_array_equal(weightless.rules.added, np.ones((4, 1)))
    assert weightless.is_feasible(np.array([0, 1, 1, 1], dtype=np.int32))
    assert not weightless.is_feasible(np.array([1, 1, 1, 1], dtype=np.int32))


def test_rules_of_a_part_take_off_what_others_hold():
    rules = Rules.of_amounts([[1.0], [2.0], [3.0]], [[0.0], [2.0]], [[4.0], [5.0]])
    part = rules.restricted_to(np.array([0, 2]), rules.of(np.array([1])).sums(np.array([1], dtype=np.int32)))
    np.testing.assert_allclose(part.low, [[0.0], [0.0]], atol=1e-12)
    np.testing.assert_allclose(part.high, [[4.0], [3.0]], rtol=1e-12)
