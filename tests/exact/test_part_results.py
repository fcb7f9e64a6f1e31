"""What parts prove, where they are likely to end, and which of them found better clusters."""

import numpy as np
import pytest

from konstrain.exact.decomposition.part import PartResult
from konstrain.exact.decomposition.results import BoundSum


def result(bound: float, upper: float, *, is_finished: bool = True, centers: np.ndarray | None = None) -> PartResult:
    return PartResult(bound, upper, is_finished=is_finished, work=1.0, seconds=1.0, centers=centers)


def test_parts_cut_short_prove_what_they_have_and_are_estimated_by_the_others():
    sums = BoundSum(np.full(4, 10.0), np.zeros(4))
    sums.take(0, result(9.0, 10.0))
    sums.take(1, result(9.2, 10.0))
    sums.take(2, result(1.0, 10.0, is_finished=False))
    sums.take(3, result(9.8, 10.0, is_finished=False))
    assert sums.lower_bound == pytest.approx(29.0)
    # The third is likely to end at 9.1 as well; the fourth is above that already.
    assert sums.estimate().bound == pytest.approx(9.0 + 9.2 + 9.1 + 9.8)
    assert sums.estimate().error > 0
    assert sums.n_finished == 2


def test_nothing_is_estimated_from_parts_that_were_all_cut_short():
    sums = BoundSum(np.full(2, 10.0), np.zeros(2))
    for part in range(2):
        sums.take(part, result(4.0, 10.0, is_finished=False))
    assert sums.estimate() == (8.0, np.inf)


def test_parts_that_gained_most_for_their_cost_come_first():
    sums = BoundSum(np.array([10.0, 1.0, 5.0]), np.zeros(3))
    sums.take(0, result(7.0, 8.0, centers=np.array([[0.0]])))
    sums.take(1, result(0.9, 0.99, centers=np.array([[1.0]])))
    sums.take(2, result(4.0, 5.0))
    assert [float(centers[0, 0]) for centers in sums.better_centers()] == [0.0, 1.0]
