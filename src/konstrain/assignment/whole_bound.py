"""What whole numbers cost beyond the linear program: a part of the lower bound.

Labels with a given total of a cluster lose what rounding takes off its bounds (`whole_rules.py`). Totals that lose
little may be far away: then blocks have left the clusters that are cheapest for them at the prices, and paid for it.
Every block that moved entered one cluster and left another, so either cluster counts half of what it paid.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.kinds import Kinds
from konstrain.assignment.sifting import Pricing
from konstrain.assignment.whole_rules import WholeRules

# Blocks that enter or leave a cluster, beyond which what they paid is enough of a bound.
MOST_MOVED = 4_000


@dataclass(frozen=True, eq=False)
class LostByTotal:
    """What a cluster loses at least, at each of some totals and at all others."""

    totals: NDArray[np.float64]
    lost: NDArray[np.float64]
    beyond: float

    @property
    def least(self) -> float:
        """Least at any total."""
        return float(min(self.lost.min(), self.beyond))


@dataclass(frozen=True, eq=False)
class WholeBound:
    """By how much all labels that keep the rules exceed the bound of some prices."""

    pricing: Pricing
    whole: WholeRules
    kinds: Kinds

    @cached_property
    def lost(self) -> float:
        """What all clusters lose together, at least."""
        return sum(table.least for table in self.tables)

    @cached_property
    def tables(self) -> list[LostByTotal]:
        """What each cluster loses, by its total."""
        return [self._of_cluster(j) for j in range(self.pricing.paid.shape[1])]

    def _of_cluster(self, cluster: int) -> LostByTotal:
        """Return what a cluster loses by its total: to whole numbers, and half of what moved blocks paid."""
        if not self._totals_are_whole:
            return LostByTotal(np.zeros(1), np.zeros(1), 0.0)
        entering = self._sums_of_least(self._regret[self.pricing.labels != cluster, cluster])
        leaving = self._sums_of_least(self._leaving[self.pricing.labels == cluster])
        held = self._held[cluster]
        lower = np.arange(leaving.size - 1, 0, -1)
        totals = np.concatenate([held - lower, held + np.arange(entering.size)])
        paid = np.concatenate([leaving[lower], entering])
        lost = self.whole.lost_by(cluster, totals, self.pricing.prices[cluster]) + 0.5 * paid
        # Totals further away have cost at least what the furthest ones here have.
        beyond = 0.5 * min(leaving[-1] if held > leaving.size - 1 else np.inf, entering[-1])
        return LostByTotal(totals, lost, beyond)

    @cached_property
    def _of_blocks(self) -> NDArray[np.float64]:
        return self.whole.total[self.kinds.of_block]

    @cached_property
    def _totals_are_whole(self) -> bool:
        return self.whole.has_shares and bool((self.whole.total == np.round(self.whole.total)).all())

    @cached_property
    def _held(self) -> NDArray[np.float64]:
        held = np.bincount(self.pricing.labels, self._of_blocks, self.pricing.paid.shape[1])
        return held.astype(np.float64)

    @cached_property
    def _regret(self) -> NDArray[np.float64]:
        regret = self.pricing.regret.copy()
        regret[np.arange(regret.shape[0]), self.pricing.labels] = np.inf
        return regret

    @cached_property
    def _leaving(self) -> NDArray[np.float64]:
        least: NDArray[np.float64] = self._regret.min(axis=1)
        return least

    def _sums_of_least(self, paid: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a total that is 0, 1, 2, ... away has cost at least; no block counts more than the largest."""
        largest = max(float(self.whole.total.max(initial=0.0)), 1.0)
        n = min(paid.size, MOST_MOVED)
        least = np.sort(np.partition(paid, n - 1)[:n]) if n else paid
        sums = np.concatenate([[0.0], np.cumsum(least)])
        away = np.arange(int(n * largest) + 1)
        moved: NDArray[np.float64] = sums[np.ceil(away / largest).astype(np.intp)]
        return moved
