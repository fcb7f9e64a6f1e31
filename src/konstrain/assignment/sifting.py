"""The linear program over prices of rules, solved among the choices that matter.

Near the best prices a row has few clusters that it may want at all: only these choices become part of the program
(``src/cpp/assignment/resources``). At its prices choices that were left out may be cheaper; these are added, until
none is, and the prices are the best there are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import SIFTED_RELATIVE
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.resources import Resources
from konstrain.stop import Deadline

# Choices of the first program per price.
CHOICES_PER_PRICE = 10
# Highest price that may be paid at first, in median differences between the two cheapest clusters of a block; where
# prices come nearer to the highest than this factor, they may be so many times as high.
FIRST_DEAREST = 4.0
ROOM = 2.0
DEARER = 4.0
# Programs after which the best prices so far are good enough.
MOST_PROGRAMS = 12


@dataclass(frozen=True, eq=False)
class Pricing:
    """What rows pay at some prices in every cluster and in their cheapest ones, and the bound that this proves."""

    prices: NDArray[np.float64]
    paid: NDArray[np.float64]
    least: float
    bound: float

    @classmethod
    def at(
        cls, costs: NDArray[np.float64], rules: Resources, prices: NDArray[np.float64], kinds: Kinds | None = None
    ) -> "Pricing":
        """Price all rows; those of a kind are charged the same."""
        if kinds is None:
            paid = costs + rules.charges(prices)
        else:
            of_kinds = replace(rules, amounts=rules.amounts[kinds.examples]).charges(prices)
            paid = of_kinds[kinds.of_block] + costs
        least = float(paid.min(axis=1).sum())
        return cls(prices, paid, least, least - rules.paid_by_bounds(prices))

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The cheapest cluster of each row."""
        cheapest: NDArray[np.int32] = self.paid.argmin(axis=1).astype(np.int32)
        return cheapest

    @cached_property
    def regret(self) -> NDArray[np.float64]:
        """What each choice costs above the cheapest of its row."""
        above: NDArray[np.float64] = self.paid - self.paid.min(axis=1, keepdims=True)
        return above


@dataclass(frozen=True, eq=False)
class Sifted:
    """The best prices, what all rows pay at these, and shares (n_blocks, n_clusters) that solve the program."""

    prices: NDArray[np.float64]
    least: float
    bound: float
    shares: NDArray[np.float64]


def sift(
    costs: NDArray[np.float64],
    rules: Resources,
    prices: NDArray[np.float64],
    deadline: Deadline,
    precision: float = SIFTED_RELATIVE,
) -> Sifted:
    """Solve the linear program up to this share of its value.

    The search begins at the prices given, which are kept if time is up or nothing is better.
    Rules are taken as they stand: give them with the bounds that sums are compared with, in comparable units.
    """
    best = now = Pricing.at(costs, rules, prices)
    allowed = np.zeros(costs.shape, dtype=bool)
    missing = _least_regret(now.regret, CHOICES_PER_PRICE * prices.size)
    dearest = max(ROOM * np.abs(prices).max(), FIRST_DEAREST * _median_difference(costs))
    shares = _cheapest(now)
    for _ in range(MOST_PROGRAMS):
        if deadline.expired():
            break
        allowed |= missing
        found, shares, value = _solved_among(allowed, costs, rules, best, dearest, precision, deadline)
        now = Pricing.at(costs, rules, rules.payable(found))
        if now.bound > best.bound:
            best = now
        known = np.where(allowed, now.paid, np.inf).min(axis=1)
        # The cheapest of each row: prices that are as high as allowed would bring in most others.
        missing = (now.paid < known[:, None]) & (now.regret <= 0.0)
        is_solved = value - best.bound <= precision * abs(value) or not missing.any()
        is_capped = ROOM * np.abs(found).max() > dearest
        if is_solved and not is_capped:
            break
        dearest *= DEARER if is_capped else 1.0
    return Sifted(best.prices, best.least, best.bound, shares)


def _median_difference(costs: NDArray[np.float64]) -> float:
    """How much dearer the second-cheapest cluster of a block is."""
    if costs.shape[1] < 2:
        return 1.0
    two = np.partition(costs, 1, axis=1)[:, :2]
    return float(np.median(two[:, 1] - two[:, 0])) or float(costs.max() - costs.min()) or 1.0


def _cheapest(at: Pricing) -> NDArray[np.float64]:
    """Give every row its cheapest choice."""
    shares = np.zeros(at.paid.shape)
    shares[np.arange(len(shares)), at.labels] = 1.0
    return shares


def _least_regret(regret: NDArray[np.float64], n_choices: int) -> NDArray[np.bool_]:
    """Allow the cheapest choice of every row and so many others."""
    allowed: NDArray[np.bool_] = regret <= 0.0
    if n_choices >= regret.size:
        return np.ones_like(allowed)
    others = np.where(allowed, np.inf, regret).ravel()
    allowed.ravel()[np.argpartition(others, n_choices)[:n_choices]] = True
    return allowed


def _solved_among(
    allowed: NDArray[np.bool_],
    costs: NDArray[np.float64],
    rules: Resources,
    near: Pricing,
    dearest: float,
    precision: float,
    deadline: Deadline,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return prices, shares and optimum of the program over the allowed choices.

    Rows with a single choice are part of what clusters hold already.
    """
    n_choices = allowed.sum(axis=1)
    is_open = n_choices > 1
    fixed = np.flatnonzero(~is_open)
    only = allowed[fixed].argmax(axis=1).astype(np.int32)
    held = Resources(rules.amounts[fixed], rules.rules, rules.low, rules.high).values(only)
    row, cluster = np.nonzero(allowed & is_open[:, None])
    first = np.concatenate([[0], np.cumsum(n_choices[is_open])])
    prices, taken, value = _core.solve_choices(
        first.astype(np.int32),
        cluster.astype(np.int32),
        costs[row, cluster],
        np.ascontiguousarray(rules.of_blocks[is_open]),
        rules.low - held,
        rules.high - held,
        near.prices,
        dearest,
        precision / 2 * (abs(near.bound) or 1.0),
        deadline.remaining(),
    )
    shares = allowed.astype(np.float64)
    shares[row, cluster] = taken
    return prices.reshape(near.prices.shape), shares, float(costs[fixed, only].sum()) + value
