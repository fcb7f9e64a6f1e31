"""Sizes, demands and non-empty clusters that cannot add up."""

import itertools

import numpy as np
import pytest

from effort import examples
from konstrain import InfeasibleError, Problem, check
from oracles import all_labelings

TIED = [(0, 1), (1, 3)]


@pytest.mark.parametrize(
    ("n", "k", "arguments", "reason", "match", "sums"),
    [
        (9, 3, {"size_min": 4}, "sizes", r"size_min adds up to 12 over 3 clusters, but there are 9 rows", (12, 9)),
        (9, 2, {"size_max": 4}, "sizes", r"size_max adds up to 8 over 2 clusters, but there are 9 rows", (9, 8)),
        (9, 2, {"size_max": 4.9}, "sizes", r"size_max adds up to 8", (9, 8)),
        (3, 2, {"size_min": 2, "demand": [1, 1, 1.5]}, "demand", r"to 4 .* the demands add up to 3.5", (4, 3.5)),
        (2, 3, {}, "non-empty", r"3 clusters must not be empty, but there are only 2 rows", (3, 2)),
        (4, 3, {"must_link": TIED}, "non-empty", r"only 2 blocks of 4 rows \(the largest has 3: 0, 1, 3", (3, 2)),
        (4, 3, {"must_link": TIED, "nonempty": False, "size_min": [0.5] * 3}, "non-empty", r"only 2 blocks", (3, 2)),
        (4, 2, {"size_max": [4, 0]}, "sizes", r"cluster 1 must not be empty, but its size_max is 0", (1, 0)),
        (4, 2, {"size_min": [4, 0]}, "non-empty", r"adds up to 4 and leaves too little .*: 5 are needed", (5, 4)),
        (5, 3, {"must_link": TIED, "size_max": 2}, "sizes", r"0, 1, 3 .* 3 rows, more than .* size_max 2", (3, 2)),
        (3, 3, {"demand": [1, 5, 1], "size_max": 4}, "demand", r"row 1 counts 5, more than .* size_max 4", (5, 4)),
        (6, 2, {"groups": [0, 0, 1, 1, 2, 2], "size_max": 3}, "sizes", r"3 blocks \(of rows 0, 2, 4\)", (3, 2)),
    ],
)
def test_sums_that_cannot_work_are_refused_with_the_sums(n, k, arguments, reason, match, sums):
    with pytest.raises(InfeasibleError, match=match) as caught:
        Problem.build(n, k, **arguments)
    assert caught.value.reason == reason
    assert (caught.value.witness.needed, caught.value.witness.available) == sums


@pytest.mark.parametrize(
    ("n", "k", "arguments"),
    [
        (5, 2, {"must_link": TIED, "size_max": [2, 3]}),
        (6, 3, {"demand": [3, 3, 1, 1, 1, 1], "size_max": [4, 2, 6], "nonempty": False}),
        (4, 2, {"size_max": np.inf, "size_min": 0}),
    ],
)
def test_sums_that_just_work_are_proved(n, k, arguments):
    assert check(n, k, **arguments).feasible is True


def test_large_blocks_need_clusters_of_their_own():
    with pytest.raises(
        InfeasibleError, match=r"2 blocks .* count at least 5 each, .* but only 1 clusters can hold one"
    ):
        Problem.build(3, 3, demand=[5, 5, 1], size_max=[9, 4, 4])


def test_real_demands_may_miss_a_bound_by_rounding():
    assert Problem.build(3, 1, demand=[0.1, 0.2, 0.3], size_max=0.6, size_min=0.6).n_blocks == 3


def test_a_long_block_is_cut_in_the_message_and_whole_in_the_witness():
    with pytest.raises(InfeasibleError, match=r"0, 1, 2, 3, 4, 5, 6, 7, 8, ... \(39 more\) ..., 48, 49") as caught:
        Problem.build(60, 5, groups=[0] * 50 + [-1] * 10, size_max=20)
    assert caught.value.witness.rows == tuple(range(50))


def test_what_is_refused_is_impossible_and_what_is_proved_is_possible():
    """Findings never refuse a feasible problem, and `feasible` is True only when labels exist."""
    rng = np.random.default_rng(1)
    verdicts = []
    for _ in range(examples(500)):
        n, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        demand = rng.choice([np.ones(n), rng.integers(0, 4, n), rng.random(n) * 3])
        low = rng.integers(0, 3, k) * rng.choice([0, 1])
        high = low + rng.integers(0, 5, k) * rng.choice([0.5, 1])
        pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.15]
        arguments = {
            "demand": demand,
            "size_min": low,
            "size_max": high,
            "groups": np.where(rng.random(n) < 0.4, rng.integers(0, 3, n), -1),
            "cannot_link": pairs,
            "nonempty": bool(rng.random() < 0.5),
        }
        verdict = check(n, k, **arguments).feasible
        verdicts.append(verdict)
        if verdict is not None:
            assert verdict == exists(n, k, **arguments)
    assert min(verdicts.count(True), verdicts.count(False)) > examples(50)


def exists(n, k, *, demand, size_min, size_max, groups, cannot_link, nonempty):
    for labels in all_labelings(n, k):
        sizes = np.bincount(labels, weights=demand, minlength=k)
        if (
            (sizes >= size_min - 1e-9).all()
            and (sizes <= size_max + 1e-9).all()
            and (not nonempty or np.unique(labels).size == k)
            and all(labels[a] != labels[b] for a, b in cannot_link)
            and all(np.unique(labels[groups == g]).size <= 1 for g in range(3))
        ):
            return True
    return False
