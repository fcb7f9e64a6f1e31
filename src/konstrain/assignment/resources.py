"""Bounds on several sums per cluster: what each cluster may hold of each resource, and shares of groups.

A block adds its amounts to the sums of its cluster. A rule is a weighted sum of these, and every cluster bounds every
rule from both sides. A resource is a rule of one amount; a share of at least s of group g is the rule "number of g
less s times the number of rows" with the lower bound 0.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.rounding import demand_rounding

# Below this, sums of whole numbers are exact.
MOST_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Resources:
    """What blocks hold, which sums of it are bounded, and the bounds of each cluster.

    Parameters
    ----------
    amounts : ndarray of float64, shape (n_blocks, n_amounts), C-contiguous
        What each block adds to the sums of its cluster.
    rules : ndarray of float64, shape (n_rules, n_amounts), C-contiguous
        Weights of the amounts in each bounded sum.
    low, high : ndarray of float64, shape (n_clusters, n_rules), C-contiguous
        Bounds of each cluster, infinite where nothing is asked.

    Examples
    --------
    >>> half = Resources.of_amounts([[1.0, 0.0], [0.0, 1.0]], low=[[0.0, 1.0]], high=[[1.0, 1.0]])
    >>> half.values(np.array([0, 0], dtype=np.int32)).tolist()
    [[1.0, 1.0]]
    """

    amounts: NDArray[np.float64]
    rules: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of_amounts(cls, amounts: object, low: object, high: object) -> "Resources":
        """Bound each amount on its own."""
        held = np.ascontiguousarray(amounts, dtype=np.float64)
        bounds = (np.ascontiguousarray(bound, dtype=np.float64) for bound in (low, high))
        return cls(held, np.eye(held.shape[1]), *bounds)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.low.shape[0])

    @property
    def n_rules(self) -> int:
        """Number of bounded sums per cluster."""
        return int(self.rules.shape[0])

    @cached_property
    def of_blocks(self) -> NDArray[np.float64]:
        """What each block adds to each rule, shape (n_blocks, n_rules)."""
        added: NDArray[np.float64] = self.amounts @ self.rules.T
        return added

    @cached_property
    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What all blocks together have of each rule, and how far rounding may have taken that."""
        return self.of_blocks.sum(axis=0), TOTAL_RELATIVE * np.abs(self.of_blocks).sum(axis=0)

    @cached_property
    def widened(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds as sums are compared with them: each gives way by rounding at the magnitude of its terms."""
        rounding = demand_rounding(np.abs(self.amounts).ravel(), self.amounts.shape[0])
        return widened_rules(self.rules, self.low, self.high, np.abs(self.amounts).sum(axis=0), rounding)

    @cached_property
    def compared(self) -> "Resources":
        """Rules with the bounds that sums are compared with."""
        low, high = self.widened
        return replace(self, low=low, high=high)

    @cached_property
    def n_kinds(self) -> int:
        """Number of different blocks, by what they hold."""
        return len(np.unique(self.amounts, axis=0))

    @cached_property
    def tightened(self) -> "Resources":
        """The same rules with bounds at whole numbers where blocks add whole numbers: what is between is never held.

        The linear program may hold it, and would prove less.
        """
        added = self.of_blocks
        is_whole = (added == np.round(added)).all(axis=0) & (np.abs(added).sum(axis=0) < MOST_EXACT)
        low, high = self.widened
        # Where no whole number is allowed at all, the bounds stay as they are: whoever proves it says so.
        least, most = np.ceil(low), np.floor(high)
        is_moved = is_whole & (least <= most)
        return replace(self, low=np.where(is_moved, least, self.low), high=np.where(is_moved, most, self.high))

    def sums(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """What each cluster holds of each amount, shape (n_clusters, n_amounts)."""
        columns = (np.bincount(labels, column, self.n_clusters) for column in self.amounts.T)
        return np.column_stack(list(columns)) if self.amounts.shape[1] else np.zeros((self.n_clusters, 0))

    def values(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """What each cluster has of each rule, shape (n_clusters, n_rules)."""
        found: NDArray[np.float64] = self.sums(labels) @ self.rules.T
        return found

    def are_kept_by(self, labels: NDArray[np.int32]) -> bool:
        """Whether every rule is within its bounds in every cluster."""
        values, (low, high) = self.values(labels), self.widened
        return bool((values >= low).all() and (values <= high).all())

    def charges(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each block pays in each cluster at prices of shape (n_clusters, n_rules)."""
        paid: NDArray[np.float64] = self.amounts @ (prices @ self.rules).T
        return paid

    def paid_by_bounds(self, prices: NDArray[np.float64]) -> float:
        """What the bounds take off the cost at these prices in a lower bound."""
        low, high = self.widened
        bound = np.where(prices > 0, high, np.where(prices < 0, low, 0.0))
        return float((prices * bound).sum())

    def payable(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Prices without those that push towards a bound which does not exist."""
        up, down = np.isfinite(self.high), np.isfinite(self.low)
        return np.where(((prices > 0) & ~up) | ((prices < 0) & ~down), 0.0, prices)

    def restricted_to(self, blocks: NDArray[np.intp], others: NDArray[np.float64]) -> "Resources":
        """Rules for these blocks alone; `others`, shape (n_clusters, n_amounts), are the sums of all other blocks.

        The bounds are the widened ones: what rounding may do to all sums is taken off once.
        """
        held = others @ self.rules.T
        low, high = self.widened
        return replace(self, amounts=np.ascontiguousarray(self.amounts[blocks]), low=low - held, high=high - held)

    def with_rule(
        self, amount: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> "Resources":
        """Add one more amount with bounds of its own, one per cluster."""
        n_rules, n_amounts = self.rules.shape
        rules = np.zeros((n_rules + 1, n_amounts + 1))
        rules[:-1, :-1], rules[-1, -1] = self.rules, 1.0
        return Resources(
            np.column_stack([self.amounts, amount]),
            rules,
            np.column_stack([self.low, low]),
            np.column_stack([self.high, high]),
        )

    @cached_property
    def scaled(self) -> tuple["Resources", NDArray[np.float64]]:
        """Rules in units of what a block adds to them on average, and these units: for steps that compare prices."""
        unit = np.abs(self.of_blocks).mean(axis=0) if self.amounts.shape[0] else np.ones(self.n_rules)
        unit = np.where(unit > 0, unit, 1.0)
        return replace(self, rules=self.rules / unit[:, None], low=self.low / unit, high=self.high / unit), unit


def widened_rules(
    rules: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    total: NDArray[np.float64],
    rounding: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of rules that give way by this share of their terms; `total` is what all blocks hold of each amount."""
    # A rule of one amount misses its bound by rounding of that size; terms of both signs may cancel.
    is_single = np.count_nonzero(rules, axis=1) <= 1
    cancelling = np.where(is_single, 0.0, np.abs(rules) @ total)
    return (
        low - rounding * np.maximum(np.where(np.isfinite(low), np.abs(low), 0.0), cancelling),
        high + rounding * np.maximum(np.where(np.isfinite(high), np.abs(high), 0.0), cancelling),
    )
