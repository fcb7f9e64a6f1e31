"""Rules: bounds on sums per cluster. Sizes, demand, resources and shares of groups are all rules.

A block adds its amounts to the sums of its cluster. A rule is a weighted sum of these, and every cluster bounds every
rule from both sides. Sizes are the rule whose amounts are 1, a resource is a rule of one amount; a share of at least
s of group g is the rule "number of g less s times the number of rows" with the lower bound 0.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.exceptions import InfeasibleError
from konstrain.rounding import LARGEST_EXACT, demand_rounding

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rules:
    """What blocks hold, which sums of it are bounded, and the bounds of each cluster."""

    amounts: Reals  # (n_blocks, n_amounts): what each block adds to the sums of its cluster.
    weights: Reals  # (n_rules, n_amounts): weights of the amounts in each bounded sum.
    # `low` and `high`: (n_clusters, n_rules): bounds of each cluster, infinite where there are none.
    low: Reals
    high: Reals
    # Whether sums are compared with the bounds as they are; else these give way by rounding first.
    is_compared: bool = False

    @classmethod
    def of_amounts(cls, amounts: object, low: object, high: object) -> "Rules":
        """Bound each amount on its own."""
        held = np.ascontiguousarray(amounts, dtype=np.float64)
        least, most = (np.ascontiguousarray(bound, dtype=np.float64) for bound in (low, high))
        return cls(held, np.eye(held.shape[1]), least, most)

    @classmethod
    def none(cls, n_blocks: int, n_clusters: int) -> "Rules":
        """Bound nothing."""
        bounds = np.zeros((n_clusters, 0))
        return cls(np.zeros((n_blocks, 0)), np.zeros((0, 0)), bounds, bounds, is_compared=True)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.low.shape[0])

    @property
    def n_rules(self) -> int:
        """Number of bounded sums per cluster."""
        return int(self.weights.shape[0])

    @cached_property
    def added(self) -> Reals:
        """What each block adds to each rule, shape (n_blocks, n_rules)."""
        return np.ascontiguousarray(self.amounts @ self.weights.T)

    @cached_property
    def units(self) -> Reals:
        """What a block adds to each rule on average: duals and violations of rules are compared in these units."""
        if not self.amounts.shape[0]:
            return np.ones(self.n_rules)
        unit = np.abs(self.added).mean(axis=0)
        return np.where(unit > 0, unit, 1.0)

    @cached_property
    def widened(self) -> tuple[Reals, Reals]:
        """The bounds as sums are compared with them: each gives way by rounding at the magnitude of its terms."""
        if self.is_compared:
            return self.low, self.high
        rounding = demand_rounding(np.abs(self.amounts).ravel(), self.amounts.shape[0])
        return widened_rules(self.weights, self.low, self.high, np.abs(self.amounts).sum(axis=0), rounding)

    @cached_property
    def compared(self) -> "Rules":
        """Rules with the bounds that sums are compared with."""
        low, high = self.widened
        return replace(self, low=low, high=high, is_compared=True)

    @cached_property
    def tightened(self) -> "Rules":
        """The compared rules with bounds that sums can reach, where blocks add whole numbers.

        A fractional assignment may reach what lies between, and would prove less.
        """
        is_whole = (self.added == np.round(self.added)).all(axis=0)
        is_whole &= np.abs(self.added).sum(axis=0) < LARGEST_EXACT
        # Sums are multiples of what the amounts have in common.
        whole = np.where(is_whole, self.added, 0.0).astype(np.int64)
        unit = np.maximum(np.gcd.reduce(whole, axis=0), 1).astype(np.float64)
        low, high = self.widened
        least, most = unit * np.ceil(low / unit), unit * np.floor(high / unit)
        # Bounds that allow no sum at all stay as they are: HiGHS proves that nothing keeps them.
        is_moved = is_whole & (least <= most)
        return replace(self.compared, low=np.where(is_moved, least, low), high=np.where(is_moved, most, high))

    def sums(self, labels: NDArray[np.int32]) -> Reals:
        """What each cluster holds of each amount, shape (n_clusters, n_amounts)."""
        columns = (np.bincount(labels, column, self.n_clusters) for column in self.amounts.T)
        return np.column_stack(list(columns)) if self.amounts.shape[1] else np.zeros((self.n_clusters, 0))

    def values(self, labels: NDArray[np.int32]) -> Reals:
        """What each cluster has of each rule, shape (n_clusters, n_rules)."""
        found: Reals = self.sums(labels) @ self.weights.T
        return found

    def are_kept_by(self, labels: NDArray[np.int32]) -> bool:
        """Whether every rule is within its bounds in every cluster."""
        values, (low, high) = self.values(labels), self.widened
        return bool((values >= low).all() and (values <= high).all())

    def charges(self, duals: Reals) -> Reals:
        """What each block pays in each cluster at duals of shape (n_clusters, n_rules)."""
        paid: Reals = self.amounts @ (duals @ self.weights).T
        return paid

    def paid_by_bounds(self, duals: Reals) -> float:
        """What the bounds take off the cost at these duals in a lower bound."""
        low, high = self.widened
        bound = np.where(duals > 0, high, np.where(duals < 0, low, 0.0))
        return float((duals * bound).sum())

    def payable(self, duals: Reals) -> Reals:
        """Duals without those that push towards a bound which does not exist."""
        up, down = np.isfinite(self.high), np.isfinite(self.low)
        return np.where(((duals > 0) & ~up) | ((duals < 0) & ~down), 0.0, duals)

    def of(self, blocks: NDArray[np.intp]) -> "Rules":
        """The same bounds over these blocks alone."""
        return replace(self.compared, amounts=np.ascontiguousarray(self.amounts[blocks]))

    def restricted_to(self, blocks: NDArray[np.intp], others: Reals) -> "Rules":
        """Rules for these blocks alone; `others`, shape (n_clusters, n_amounts), are the sums of all other blocks."""
        held = others @ self.weights.T
        low, high = self.widened
        return replace(self.of(blocks), low=low - held, high=high - held)

    def with_rule(self, amount: Reals, low: Reals, high: Reals) -> "Rules":
        """Add one more amount with bounds of its own, one per cluster; all bounds are compared ones."""
        n_rules, n_amounts = self.weights.shape
        weights = np.zeros((n_rules + 1, n_amounts + 1))
        weights[:-1, :-1], weights[-1, -1] = self.weights, 1.0
        least, most = self.widened
        return Rules(
            np.column_stack([self.amounts, amount]),
            weights,
            np.column_stack([least, low]),
            np.column_stack([most, high]),
            is_compared=True,
        )

    def refuse_impossible(self) -> None:
        """Raise when the bounds of some rule cannot add up, whatever the labels."""
        low, high = self.widened
        total, slack = self.added.sum(axis=0), TOTAL_RELATIVE * np.abs(self.added).sum(axis=0)
        for r in range(self.n_rules):
            refuse_bounds(low[:, r], high[:, r], float(total[r]), slack[r], f" of rule {r}", "resources")


def refuse_bounds(low: Any, high: Any, total: float, slack: float, unit: str, reason: str) -> None:
    """Raise when the bounds of a cluster cross, or no sums within the bounds of all add up to the total."""
    sums = {"sum_min": float(low.sum()), "sum_max": float(high.sum()), "total": total}
    crossed = np.flatnonzero(low > high)
    if crossed.size:
        j = int(crossed[0])
        sums |= {"cluster": j, "min": float(low[j]), "max": float(high[j])}
        message = f"cluster {j} must hold at least {low[j]:.10g} and at most {high[j]:.10g}{unit}"
    elif sums["sum_min"] > total + slack:
        message = f"the lower bounds add up to {sums['sum_min']:.10g}{unit}, but the total is {total:.10g}"
    elif sums["sum_max"] < total - slack:
        message = f"the upper bounds add up to {sums['sum_max']:.10g}{unit}, but the total is {total:.10g}"
    else:
        return
    relax = "its bounds" if reason == "resources" else f"{term('size_min')} or {term('size_max')}"
    raise InfeasibleError(f"{message}; relax {relax}", reason=reason, witness=sums)


def widened_rules(weights: Reals, low: Reals, high: Reals, total: Reals, rounding: float) -> tuple[Reals, Reals]:
    """Bounds of rules that give way by this share of their terms; `total` is what all blocks hold of each amount."""
    # A rule of one amount misses its bound by rounding of that size; terms of both signs may cancel.
    is_single = np.count_nonzero(weights, axis=1) <= 1
    cancelling = np.where(is_single, 0.0, np.abs(weights) @ total)
    return (
        low - rounding * np.maximum(np.where(np.isfinite(low), np.abs(low), 0.0), cancelling),
        high + rounding * np.maximum(np.where(np.isfinite(high), np.abs(high), 0.0), cancelling),
    )
