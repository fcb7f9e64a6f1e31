"""What parts prove, where they are likely to end, and which of them found better clusters."""

import numpy as np
import pytest

from konstrain.exact.decomposition.ledger import Ledger
from konstrain.exact.decomposition.task import PartAnswer


def answer(bound: float, upper: float, *, is_finished: bool = True, centers: np.ndarray | None = None) -> PartAnswer:
    return PartAnswer(bound, upper, is_finished=is_finished, work=1.0, seconds=1.0, centers=centers)


def test_parts_cut_short_prove_what_they_have_and_are_estimated_by_the_others():
    ledger = Ledger(np.full(4, 10.0), np.zeros(4))
    ledger.take(0, answer(9.0, 10.0))
    ledger.take(1, answer(9.2, 10.0))
    ledger.take(2, answer(1.0, 10.0, is_finished=False))
    ledger.take(3, answer(9.8, 10.0, is_finished=False))
    assert ledger.lower_bound == pytest.approx(29.0)
    # The third is likely to end at 9.1 as well; the fourth is above that already.
    assert ledger.projection().bound == pytest.approx(9.0 + 9.2 + 9.1 + 9.8)
    assert ledger.projection().error > 0
    assert ledger.n_finished == 2


def test_nothing_is_estimated_from_parts_that_were_all_cut_short():
    ledger = Ledger(np.full(2, 10.0), np.zeros(2))
    for part in range(2):
        ledger.take(part, answer(4.0, 10.0, is_finished=False))
    assert ledger.projection() == (8.0, np.inf)


def test_parts_that_gained_most_for_their_cost_come_first():
    ledger = Ledger(np.array([10.0, 1.0, 5.0]), np.zeros(3))
    ledger.take(0, answer(7.0, 8.0, centers=np.array([[0.0]])))
    ledger.take(1, answer(0.9, 0.99, centers=np.array([[1.0]])))
    ledger.take(2, answer(4.0, 5.0))
    assert [float(centers[0, 0]) for centers in ledger.better_centers()] == [0.0, 1.0]
