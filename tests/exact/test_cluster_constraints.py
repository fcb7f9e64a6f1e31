"""Cluster constraints: what they allow, that parts are allowed too, and that blocks say the same as rows."""

import itertools

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.exact import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    MaxDifference,
    MaxOverlap,
    MaxSize,
    MaxSoftViolations,
    alternative_to,
)
from konstrain.exact.columns.cluster_constraints import ClusterRules

N = 6
NOTHING = np.zeros(0, dtype=np.int32)


class Odd:
    """A user's constraint: at most one odd row."""

    def allows(self, cluster, joining):
        return sum(int(row) % 2 for row in [*cluster, *joining]) <= 1


CASES = {
    "size": MaxSize(3),
    "demand": MaxSize(0.3, demand=[0.1, 0.2, 0.1, 0.3, 0.05, 0.0]),
    "overlap": MaxOverlap([1, 2, 2, 5], 1),
    "difference": MaxDifference([0, 1, 2], 1),
    "violations": MaxSoftViolations([(0, 1), (1, 0), (2, 3), (4, 5)], 1),
    "user": Odd(),
    "all": AllOf(MaxSize(4), Odd(), MaxOverlap([0, 1], 1)),
    "any": AnyOf(MaxSize(2), MaxDifference([0, 1, 2, 3], 0)),
    "nested": AnyOf(AllOf(MaxSize(2), Odd()), MaxOverlap([0, 1, 2, 3, 4], 0)),
    "alternative": alternative_to([0, 0, 0, 1, 1, 2], 2),
}


def subsets(rows):
    for size in range(len(rows) + 1):
        yield from itertools.combinations(rows, size)


def holds(constraint, rows):
    return constraint.allows(NOTHING, np.array(rows, dtype=np.int32))


@pytest.mark.parametrize("name", CASES)
def test_parts_of_what_is_allowed_are_allowed(name):
    constraint = CASES[name]
    assert isinstance(constraint, ClusterConstraint)
    allowed = {rows for rows in subsets(range(N)) if holds(constraint, rows)}
    assert () in allowed
    assert any(rows not in allowed for rows in subsets(range(N)))
    for rows in allowed:
        assert all(part in allowed for part in subsets(rows))


@pytest.mark.parametrize("name", CASES)
def test_joining_is_judged_as_the_union(name):
    constraint = CASES[name]
    for rows in subsets(range(N)):
        for row in rows:
            rest = np.array([r for r in rows if r != row], dtype=np.int32)
            assert constraint.allows(rest, np.array([row], dtype=np.int32)) == holds(constraint, rows)


@pytest.mark.parametrize("name", CASES)
def test_rules_over_blocks_agree_with_rows(name):
    constraint = CASES[name]
    problem = Problem.build(np.arange(float(N))[:, None], 3, must_link=[(1, 4)])
    rules = ClusterRules.of(problem, (constraint,))
    for blocks in subsets(range(problem.n_blocks)):
        rows = rules.rows_of(np.array(blocks, dtype=np.int32))
        for block in set(range(problem.n_blocks)) - set(blocks):
            if holds(constraint, rows):
                union = np.sort(np.concatenate([rows, problem.rows_of(block)]))
                assert rules.allows(np.array(blocks, dtype=np.int32), block) == holds(constraint, union)


def test_known_constraints_need_no_callback():
    problem = Problem.build(np.arange(float(N))[:, None], 3, size_max=4)
    rules = ClusterRules.of(problem, [CASES[name] for name in ("size", "demand", "overlap", "violations")])
    assert rules.callback is None
    assert rules.amounts.shape == (4, N)
    assert ClusterRules.of(problem, [CASES["all"]]).callback is not None


def test_repeated_pairs_count_once():
    assert MaxSoftViolations([(0, 1), (1, 0)], 1).allows(NOTHING, np.array([0, 1]))


@pytest.mark.parametrize(
    "make", [lambda: MaxSize(-1), lambda: MaxOverlap([0], np.nan), lambda: MaxDifference([], -2)]
)
def test_limits_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match="limit must not be negative"):
        make()


def test_negative_demand_is_refused():
    with pytest.raises(ValueError, match="none of them negative"):
        MaxSize(3, demand=[1.0, -1.0])


def test_what_has_no_method_is_refused():
    problem = Problem.build(np.arange(4.0)[:, None], 2)
    with pytest.raises(TypeError, match="a method allows"):
        ClusterRules.of(problem, [lambda rows: True])
