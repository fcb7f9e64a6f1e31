"""Constraints on single clusters that hold for every part of a cluster once they hold for the whole.

Babaki, Guns and Nijssen (2014), section 2, call them anti-monotone: sizes from above, overlap with a given set, rows
outside a given set, violated soft cannot-links, and combinations. A lower bound on sizes is not one of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.problem import Problem
from konstrain.rounding import demand_rounding

Rows = NDArray[np.int32]


@runtime_checkable
class ClusterConstraint(Protocol):
    """Anything with a method `allows`; must be anti-monotone, which is not checked.

    Examples
    --------
    >>> class OneBoss:
    ...     def allows(self, cluster, joining):
    ...         return np.isin([0, 1, 2], np.concatenate([cluster, joining])).sum() <= 1
    >>> isinstance(OneBoss(), ClusterConstraint)
    True
    >>> from konstrain import ExactKMeans
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> len(set(ExactKMeans(3).fit(X, cluster_constraints=[OneBoss()]).labels_[:3].tolist()))
    3
    """

    def allows(self, cluster: Rows, joining: Rows) -> bool:
        """Return whether a cluster of the rows `cluster` and `joining` together is admissible.

        Both are ascending and share no row; `cluster` may be empty. Judge all rows, not only the new ones: within
        `AnyOf`, the cluster so far may be inadmissible to this constraint alone.
        """
        ...


class _Additive(ABC):
    """A constraint of the form: amounts of the rows add up to at most `limit`."""

    limit: float

    @abstractmethod
    def amount_of(self, rows: Rows) -> NDArray[np.float64]:
        """Return the amount of each of these rows."""

    def allows(self, cluster: Rows, joining: Rows) -> bool:
        """See `ClusterConstraint`."""
        amounts = np.concatenate([self.amount_of(cluster), self.amount_of(joining)])
        return bool(amounts.sum() <= self.limit * (1 + demand_rounding(amounts, amounts.size)))


@dataclass(frozen=True, eq=False)
class MaxSize(_Additive):
    """A cluster holds at most `limit` rows, or units of `demand`.

    Parameters
    ----------
    limit : float
        Most a cluster may hold.
    demand : array-like of shape (n_samples,), optional
        What each row counts; not negative. Default 1.

    Examples
    --------
    >>> MaxSize(2).allows(np.array([0, 4]), np.array([7]))
    False
    """

    limit: float
    demand: Any = None

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        if self.demand is not None:
            demand = np.asarray(self.demand, dtype=np.float64)
            if demand.ndim != 1 or not np.isfinite(demand).all() or demand.min(initial=0.0) < 0.0:
                raise ValueError("demand must be one finite number per row, none of them negative")
            object.__setattr__(self, "demand", demand)

    def amount_of(self, rows: Rows) -> NDArray[np.float64]:
        """Return the amount of each of these rows."""
        return np.ones(len(rows)) if self.demand is None else self.demand[rows]


@dataclass(frozen=True, eq=False)
class MaxOverlap(_Additive):
    """A cluster holds at most `limit` of the given rows.

    Examples
    --------
    >>> MaxOverlap([0, 1, 2], 1).allows(np.array([0, 5]), np.array([2]))
    False
    """

    rows: Any
    limit: float

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        object.__setattr__(self, "rows", np.unique(np.asarray(self.rows, dtype=np.int64).ravel()))

    def amount_of(self, rows: Rows) -> NDArray[np.float64]:
        """Return the amount of each of these rows."""
        return np.isin(rows, self.rows).astype(np.float64)


@dataclass(frozen=True, eq=False)
class MaxDifference(MaxOverlap):
    """A cluster holds at most `limit` rows other than the given ones.

    Examples
    --------
    >>> MaxDifference([0, 1, 2], 1).allows(np.array([0, 5]), np.array([2]))
    True
    """

    def amount_of(self, rows: Rows) -> NDArray[np.float64]:
        """Return the amount of each of these rows."""
        return 1.0 - super().amount_of(rows)


@dataclass(frozen=True, eq=False)
class MaxSoftViolations:
    """A cluster holds both rows of at most `limit` of the given pairs.

    Examples
    --------
    >>> MaxSoftViolations([(0, 1), (2, 3)], 1).allows(np.array([0, 1, 2]), np.array([3]))
    False
    """

    pairs: Any
    limit: float

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        pairs = np.asarray(self.pairs, dtype=np.int32).reshape(-1, 2)
        object.__setattr__(self, "pairs", np.unique(np.sort(pairs, axis=1), axis=0))

    def allows(self, cluster: Rows, joining: Rows) -> bool:
        """See `ClusterConstraint`."""
        together = np.isin(self.pairs, np.concatenate([cluster, joining])).all(axis=1)
        return bool(together.sum() <= self.limit)


@dataclass(frozen=True, init=False, eq=False)
class _Members:
    members: tuple[ClusterConstraint, ...]

    def __init__(self, *members: ClusterConstraint) -> None:
        object.__setattr__(self, "members", members)


@dataclass(frozen=True, init=False, eq=False)
class AllOf(_Members):
    """A cluster obeys all of the members.

    Examples
    --------
    >>> AllOf(MaxSize(2), MaxOverlap([0, 1], 1)).allows(np.array([0]), np.array([1]))
    False
    """

    def allows(self, cluster: Rows, joining: Rows) -> bool:
        """See `ClusterConstraint`."""
        return all(member.allows(cluster, joining) for member in self.members)


@dataclass(frozen=True, init=False, eq=False)
class AnyOf(_Members):
    """A cluster obeys at least one of the members.

    Examples
    --------
    >>> AnyOf(MaxSize(1), MaxOverlap([0, 1], 1)).allows(np.array([0]), np.array([5]))
    True
    """

    def allows(self, cluster: Rows, joining: Rows) -> bool:
        """See `ClusterConstraint`."""
        return any(member.allows(cluster, joining) for member in self.members)


def alternative_to(labels: Any, limit: float) -> AllOf:
    """Return the constraint of an alternative clustering: at most `limit` rows in common with each old cluster.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clustering to differ from.
    limit : float
        Most rows an old and a new cluster may have in common.

    Examples
    --------
    >>> alternative_to([0, 0, 1, 1], 1).allows(np.array([0]), np.array([1]))
    False
    """
    known = np.asarray(labels)
    return AllOf(*(MaxOverlap(np.flatnonzero(known == label), limit) for label in np.unique(known)))


@dataclass(frozen=True, eq=False)
class ClusterRules:
    """Cluster constraints in terms of blocks: sums and pairs that the pricer evaluates, and others that it calls."""

    # `amounts` and `amount_limits`: sums that must not be exceeded.
    amounts: NDArray[np.float64]
    amount_limits: NDArray[np.float64]
    # `counts` and `count_limits`: marked pairs of rows between blocks, one symmetric matrix below the other.
    counts: NDArray[np.float64]
    count_limits: NDArray[np.float64]
    others: tuple[ClusterConstraint, ...]  # Constraints that are evaluated by their own method `allows`.
    problem: Problem  # The blocks.

    @classmethod
    def of(cls, problem: Problem, constraints: Sequence[ClusterConstraint]) -> "ClusterRules":
        """Sort the constraints by kind; an upper bound on sizes that the problem has is one of them."""
        flat = _flatten(constraints)
        sums = [c for c in flat if isinstance(c, _Additive)]
        pairs = [c for c in flat if isinstance(c, MaxSoftViolations)]
        amounts = [_per_block(problem, c.amount_of(np.arange(problem.n_samples, dtype=np.int32))) for c in sums]
        limits = [float(c.limit) for c in sums]
        if problem.size_max is not None and np.isfinite(problem.size_max.max()):
            # Bounds that differ between clusters are refused elsewhere, or relaxed to the largest.
            amounts.append(problem.demand)
            limits.append(float(problem.size_max.max()))
        slack = [limit * demand_rounding(a, problem.n_samples) for a, limit in zip(amounts, limits, strict=True)]
        n = problem.n_blocks
        return cls(
            amounts=np.array(amounts, dtype=np.float64).reshape(-1, n),
            amount_limits=np.array(limits, dtype=np.float64) + slack,
            counts=np.array([_pair_counts(problem, c) for c in pairs], dtype=np.float64).reshape(-1, n),
            count_limits=np.array([c.limit for c in pairs], dtype=np.float64),
            others=tuple(c for c in flat if not isinstance(c, (_Additive, MaxSoftViolations))),
            problem=problem,
        )

    @cached_property
    def callback(self) -> Callable[[NDArray[np.int32], int], bool] | None:
        """Function that returns whether a block may join some blocks; None when the pricer needs none."""
        return self._others_allow if self.others else None

    def _others_allow(self, members: NDArray[np.int32], block: int) -> bool:
        cluster = self.rows_of(members)
        return all(bool(c.allows(cluster, self.problem.rows_of(block))) for c in self.others)

    def rows_of(self, members: NDArray[np.int32]) -> Rows:
        """Return the rows of some blocks, ascending."""
        rows = [self.problem.rows_of(int(b)) for b in members]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int32), *rows]))

    def allows(self, members: NDArray[np.int32], block: int) -> bool:
        """Return whether the block may join members that are admissible."""
        union = np.append(members, np.int32(block))
        if (self.amounts[:, union].sum(axis=1) > self.amount_limits).any():
            return False
        n = self.problem.n_blocks
        for i, limit in enumerate(self.count_limits):
            inside = self.counts[i * n : (i + 1) * n][np.ix_(union, union)]
            if np.triu(inside).sum() > limit:
                return False
        return not self.others or self._others_allow(members, block)


def _flatten(constraints: Sequence[ClusterConstraint]) -> list[ClusterConstraint]:
    flat: list[ClusterConstraint] = []
    for constraint in constraints:
        if isinstance(constraint, AllOf):
            flat.extend(_flatten(constraint.members))
        elif isinstance(constraint, ClusterConstraint):
            flat.append(constraint)
        else:
            raise TypeError(f"a cluster constraint has a method allows(cluster, joining), got {constraint!r}")
    return flat


def _per_block(problem: Problem, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros(problem.n_blocks)
    np.add.at(sums, problem.block_of, amounts)
    return sums


def _pair_counts(problem: Problem, constraint: MaxSoftViolations) -> NDArray[np.float64]:
    n = problem.n_blocks
    counts = np.zeros((n, n))
    ends = np.sort(problem.block_of[constraint.pairs], axis=1)
    np.add.at(counts, (ends[:, 0], ends[:, 1]), 1.0)
    symmetric: NDArray[np.float64] = counts + np.triu(counts, 1).T
    return symmetric


def _check_limit(limit: float) -> None:
    if not limit >= 0:
        raise ValueError(f"limit must not be negative, got {limit!r}")
