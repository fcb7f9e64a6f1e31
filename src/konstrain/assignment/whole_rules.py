"""Rules read as whole numbers: a share of a group is a count of rows beside a share of the cluster's total.

A rule is ``unit * count + share * total`` with a whole count. For a given total a bound on the rule is a bound on
the count, which is whole as well: what rounding it takes off the bound, at the bound's price, is lost to every
assignment with this total.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import TOTAL_RELATIVE, WHOLE
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.resources import Resources

# Some of the rules, by number.
Selected = NDArray[np.intp] | slice
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class WholeRules:
    """What blocks of each kind add to the total of their cluster, and how each rule is made of totals and counts.

    Parameters
    ----------
    rules : Resources
        The rules of all blocks.
    total : ndarray of float64, shape (n_kinds,)
        What a block adds to the total.
    share : ndarray of float64, shape (n_rules,)
        Weight of the total in each rule.
    unit : ndarray of float64, shape (n_rules,)
        What one more in the count adds to the rule.
    is_whole : ndarray of bool, shape (n_rules,)
        Whether the rule is made like that at all.
    of_total : ndarray of float64, shape (n_rules,)
        What a rule that bounds the total itself adds for each of it; 0: the rule bounds something else.
    """

    rules: Resources
    total: NDArray[np.float64]
    share: NDArray[np.float64]
    unit: NDArray[np.float64]
    is_whole: NDArray[np.bool_]
    of_total: NDArray[np.float64]

    @classmethod
    def of(cls, rules: Resources, kinds: Kinds) -> "WholeRules":
        """Read the rules, for blocks of these kinds."""
        held = rules.amounts[kinds.examples]
        share = np.array([_share(weights) for weights in rules.rules])
        totals = [held[:, weights != 0].sum(axis=1) for weights in rules.rules]
        sharing = np.flatnonzero(share)
        total = totals[sharing[0]] if sharing.size else np.ones(kinds.count)
        unit = np.array([_unit(rest) for rest in (held @ rules.rules.T - np.outer(total, share)).T])
        # Another total than the one that is looked at would have to be fixed as well.
        is_whole = (unit > 0) & [s == 0 or np.array_equal(t, total) for s, t in zip(share, totals, strict=True)]
        of_total = np.array([_multiple(added, total) for added in (held @ rules.rules.T).T])
        return cls(rules, total, np.where(is_whole, share, 0.0), np.where(is_whole, unit, 1.0), is_whole, of_total)

    @cached_property
    def has_shares(self) -> bool:
        """Whether some rule depends on the total."""
        return bool(self.share.any())

    def allows(self, totals: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each cluster may have its total, as far as rules bound that itself."""
        reached, bounding = np.outer(totals, self.of_total), self.of_total != 0
        within = (reached >= self.rules.low - _slack(reached)) & (reached <= self.rules.high + _slack(reached))
        allowed: NDArray[np.bool_] = (within | ~bounding).all(axis=1)
        return allowed

    def bounds(self, totals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the rules in clusters of these totals, as far as whole counts go; shape (n_clusters, n_rules)."""
        return self._rounded(totals, self.rules.low, self.rules.high)

    def bounds_at(
        self, cluster: int, total: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the rules, then of the totals, where one cluster has this total and all others have any."""
        is_fixed = np.arange(self.rules.n_clusters) == cluster
        tight = self.bounds(np.full(self.rules.n_clusters, total))
        low, high = (
            np.where(is_fixed[:, None], *bounds)
            for bounds in zip(tight, (self.rules.low, self.rules.high), strict=True)
        )
        return low, high, np.where(is_fixed, total, -np.inf), np.where(is_fixed, total, np.inf)

    def lost(self, totals: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """What whole counts cost each cluster at these prices of the rules, for these totals."""
        return self._lost(totals, self.rules.low, self.rules.high, prices)

    def lost_by(self, cluster: int, totals: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """What whole counts cost one cluster at its prices, for each of these totals."""
        priced = np.flatnonzero(prices)
        low, high = self.rules.low[[cluster]][:, priced], self.rules.high[[cluster]][:, priced]
        return self._lost(totals, low, high, prices[priced], priced)

    def _rounded(
        self, totals: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], of: Selected = ALL
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of some rules at these totals."""
        shift, unit, is_whole = np.outer(totals, self.share[of]), self.unit[of], self.is_whole[of]
        least, most = (low - shift) / unit, (high - shift) / unit
        raised = np.where(is_whole, np.ceil(least - _slack(least)) * unit + shift, low)
        lowered = np.where(is_whole, np.floor(most + _slack(most)) * unit + shift, high)
        return np.maximum(raised, low), np.minimum(lowered, high)

    def _lost(
        self,
        totals: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        prices: NDArray[np.float64],
        of: Selected = ALL,
    ) -> NDArray[np.float64]:
        raised, lowered = self._rounded(totals, low, high, of)
        with np.errstate(invalid="ignore"):  # bounds that do not exist, and have no price
            above = np.where(prices < 0, (low - raised) * prices, 0.0)
            below = np.where(prices > 0, (high - lowered) * prices, 0.0)
        lost: NDArray[np.float64] = (above + below).sum(axis=1)
        return lost


def _share(weights: NDArray[np.float64]) -> float:
    """Weight of the total in a rule: what all amounts it counts have in common, if some have more."""
    used = weights[weights != 0]
    return 0.0 if used.size == 0 or (used == used[0]).all() else float(used.min())


def _unit(rest: NDArray[np.float64]) -> float:
    """Return the least size of these numbers if all are whole multiples of it; 0 otherwise, or if all are zero."""
    size = np.abs(rest)
    steps = size[size > TOTAL_RELATIVE * size.max(initial=0.0)]
    if steps.size == 0:
        return 0.0
    multiples = rest / steps.min()
    return float(steps.min()) if (np.abs(multiples - np.round(multiples)) <= TOTAL_RELATIVE).all() else 0.0


def _multiple(added: NDArray[np.float64], total: NDArray[np.float64]) -> float:
    """How many times the total a rule is; 0 if it is no multiple of it."""
    times = float(added @ total / (total @ total)) if total.any() else 0.0
    return times if np.allclose(added, times * total, rtol=TOTAL_RELATIVE, atol=0.0) else 0.0


def _slack(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """What rounding may have taken a whole number away from itself."""
    return WHOLE * np.maximum(1.0, np.abs(count))
