"""Groups and labels written out as pairs imply the same as the groups and labels themselves."""

import numpy as np
import pytest

from konstrain import InfeasibleError, Problem, pairs_from_groups, pairs_from_labels
from konstrain.constraints import pairs


def test_pairs_from_groups_give_the_same_blocks():
    rng = np.random.default_rng(0)
    for _ in range(50):
        groups = rng.integers(-1, 6, 20)
        built = Problem.build(20, 1, must_link=pairs_from_groups(groups))
        np.testing.assert_array_equal(built.block_of, Problem.build(20, 1, groups=groups).block_of)


def test_pairs_from_labels_give_the_same_problem():
    rng = np.random.default_rng(1)
    for _ in range(50):
        labels = rng.integers(-1, 4, 15)
        must_link, cannot_link = pairs_from_labels(labels)
        one = Problem.build(15, 4, must_link=must_link, cannot_link=cannot_link, nonempty=False)
        other = Problem.build(15, 4, labels=labels, nonempty=False)
        np.testing.assert_array_equal(one.block_of, other.block_of)
        for a, b in zip(one.conflicts.edges, other.conflicts.edges, strict=True):
            np.testing.assert_array_equal(a, b)


def test_no_groups_and_no_labels_are_no_pairs():
    assert pairs_from_groups([None, -1, np.nan]).shape == (0, 2)
    assert [p.shape for p in pairs_from_labels([-1, -1])] == [(0, 2), (0, 2)]


def test_too_many_labels_are_refused_with_the_number_of_pairs(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_NUMBERS", 5)
    with pytest.raises(ValueError, match="4 labels make 6 cannot-links, more than the 5"):
        pairs_from_labels([0, 1, 2, 3])
    with pytest.raises(InfeasibleError, match="raise n_clusters to at least 2"):
        Problem.build(4, 1, labels=[0, 1, 2, 3])
