"""Sizes of unequal demand put right by single moves and exchanges."""

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, lagrangian
from konstrain.assignment.mend import mend_sizes
from konstrain.stop import NO_DEADLINE


@pytest.mark.parametrize("seed", range(10))
def test_mended_labels_keep_every_size(seed):
    rng = np.random.default_rng(seed)
    demand = rng.uniform(1, 10, 60)
    mean = demand.sum() / 4
    problem = AssignmentProblem.checked(rng.random((60, 4)), demand=demand, size_min=0.9 * mean, size_max=1.1 * mean)
    labels = np.zeros(60, dtype=np.int32)
    mended = mend_sizes(problem, labels)
    assert mended is not None
    assert problem.is_feasible(mended)
    assert not labels.any()


def test_two_blocks_are_exchanged_where_no_single_move_helps():
    problem = AssignmentProblem.checked(np.zeros((4, 2)), demand=[5.0, 3.0, 4.0, 2.0], size_min=7, size_max=7)
    mended = mend_sizes(problem, np.array([0, 0, 1, 1], dtype=np.int32))
    assert mended is not None
    assert problem.sizes(mended).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(("n_alike", "is_mended"), [(6, True), (54, False)])
def test_sizes_are_mended_only_where_transport_cannot_put_them_right(n_alike, is_mended, monkeypatch):
    """On a large table with few unequal blocks, moves of single blocks had taken most of the time."""
    rng = np.random.default_rng(0)
    demand = np.where(np.arange(60) < n_alike, 1.0, rng.uniform(2.0, 3.0, 60))
    problem = AssignmentProblem.checked(rng.random((60, 3)), demand=demand, size_max=0.4 * demand.sum())
    asked = []
    monkeypatch.setattr(lagrangian, "mend_sizes", lambda _, labels: asked.append(labels))
    search = lagrangian.Lagrangian(problem, NO_DEADLINE)
    search.repair(search.evaluate(np.zeros(3)))
    assert bool(asked) == is_mended
