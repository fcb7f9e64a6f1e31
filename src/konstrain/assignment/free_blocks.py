"""Blocks without links under several sums per cluster: prices, and labels that keep all bounds.

The kernel (``src/cpp/assignment/resources``) takes Newton steps for the prices, then repairs what few rows stand
wrong. Where that leaves a gap, and at once where most blocks hold amounts of their own, the linear program gives the
best prices (`sifting.py`), and walks among the choices of least regret look for better labels.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import COUNTED_GAP, FINE_GAP, POOR_GAP
from konstrain.assignment.counted import kinds_worth_counting, place_by_counts
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.resources import Resources
from konstrain.assignment.sifting import sift
from konstrain.gap import relative_gap
from konstrain.stop import Deadline

# Blocks x clusters beyond which Newton steps end at the best prices anyway, so many rows there are for each of them:
# the linear program, which would take seconds, is left out.
MOST_SIFTED = 100_000
# Kinds of blocks, by what they hold, beyond which single moves rarely make all sums fit: repair is left out.
FEW_KINDS = 32


@dataclass(frozen=True)
class Walk:
    """How far a walk leaves the labels it begins with (1: without a trace), choices per price, steps per choice."""

    warmth: float
    per_price: int
    steps: int


# Walks until one ends near enough, and others, among more and more choices, where these found no labels of their own.
WALKS = (Walk(0.1, 10, 200), Walk(1.0, 10, 800))
WIDE_WALKS = (Walk(1.0, 30, 1_000), Walk(1.0, 100, 1_000))


@dataclass(frozen=True, eq=False)
class Placed:
    """Labels of the free blocks, prices, and what the blocks pay in their cheapest clusters at these.

    `cost` is that of the labels, infinite where they break a bound; `bound` is what the prices prove, and `lost` what
    whole blocks cost beyond that.
    """

    labels: NDArray[np.int32]
    prices: NDArray[np.float64]
    least: float
    cost: float
    bound: float
    lost: float = 0.0

    @property
    def gap(self) -> float:
        """What is left open of the cost."""
        return relative_gap(self.bound + self.lost, self.cost)

    @property
    def is_kept(self) -> bool:
        """Whether the labels keep all bounds."""
        return bool(np.isfinite(self.cost))


@dataclass(frozen=True, eq=False)
class FreeBlocks:
    """Costs of blocks without links, and rules in comparable units."""

    costs: NDArray[np.float64]
    rules: Resources
    deadline: Deadline

    def placed(self, prices: NDArray[np.float64], is_warm: bool, known: NDArray[np.int32] | None) -> Placed:
        """Place all blocks, from prices and perhaps labels of a similar problem with the same bounds."""
        if has_own_amounts(self.costs, self.rules):
            return self._better(self._measured(self._cheapest_at(prices), False, prices, 0.0), known)
        kinds = kinds_worth_counting(self.rules)
        if kinds is None:
            found = self._by_newton_steps(prices, is_warm)
        else:
            found = self._by_kinds(kinds, prices, is_warm)
        return found if found.gap <= POOR_GAP else self._better(found, known)

    def _cheapest_at(self, prices: NDArray[np.float64]) -> NDArray[np.int32]:
        labels: NDArray[np.int32] = (self.costs + self.rules.charges(prices)).argmin(axis=1).astype(np.int32)
        return labels

    def _by_kinds(self, kinds: Kinds, prices: NDArray[np.float64], is_warm: bool) -> Placed:
        """Place blocks of few kinds: by counts where repair leaves a gap, or would hardly end."""
        if not kinds.are_crossed(self.rules.amounts):
            found = self._by_newton_steps(prices, is_warm)
            return found if found.gap <= FINE_GAP else _best_of(found, self._counted(found.prices, kinds))
        # Repair moves blocks for one sum at a time; here every move changes several.
        first = self._counted(prices, kinds) if is_warm else None
        if first is not None and first.gap <= COUNTED_GAP:
            return first
        priced = self._by_newton_steps(prices if first is None else first.prices, is_warm, with_repair=False)
        found = self._counted(priced.prices, kinds)
        return found if first is None else _best_of(first, found)

    def _counted(self, prices: NDArray[np.float64], kinds: Kinds) -> Placed:
        """Place all blocks by counts of their kinds."""
        counted = place_by_counts(self.costs, self.rules, kinds, prices, self.deadline)
        is_kept = self.rules.are_kept_by(counted.labels)
        return replace(self._measured(counted.labels, is_kept, counted.prices, counted.least), lost=counted.lost)

    def _by_newton_steps(self, prices: NDArray[np.float64], is_warm: bool, *, with_repair: bool = True) -> Placed:
        labels, found, least, is_kept = _core.place_by_resources(
            self.costs, *self._arrays, np.ascontiguousarray(prices), is_warm, with_repair, self.deadline.remaining()
        )
        return self._measured(labels, is_kept, found.reshape(prices.shape), least)

    def _better(self, placed: Placed, known: NDArray[np.int32] | None) -> Placed:
        """Go on where Newton steps and repair leave a wide gap: by the best prices there are, and by walks."""
        target, prices, least = FINE_GAP, placed.prices, placed.least
        if self.costs.size <= MOST_SIFTED:
            target = POOR_GAP
            sifted = sift(self.costs, self.rules, prices, self.deadline)
            prices, least = sifted.prices, sifted.least
        best = self._measured(placed.labels, placed.is_kept, prices, least)
        if not best.is_kept:
            cheapest = self._cheapest_at(prices)
            best = self._measured(cheapest, self.rules.are_kept_by(cheapest), prices, least)
        has_own = best.is_kept
        if known is not None:
            best = _cheaper(best, self._measured(known, self.rules.are_kept_by(known), prices, least))
        for seed, walk in enumerate(WALKS + WIDE_WALKS):
            # Labels of the step before may be good enough, but repeating them would end the loop.
            is_enough = seed > 0 and has_own and (best.gap <= target or seed >= len(WALKS))
            if is_enough or self.deadline.expired():
                return best
            found = self._walked(best, walk, seed)
            has_own |= found.is_kept
            best = _cheaper(best, found)
        return best

    def _walked(self, at: Placed, walk: Walk, seed: int) -> Placed:
        """Look for labels by annealing."""
        # No more than there are: small problems have few rows and many prices.
        n_choices = min(walk.per_price * at.prices.size, self.costs.size - self.costs.shape[0])
        warmth, start = walk.warmth, at.labels
        if not at.is_kept:
            warmth, start = 1.0, self._cheapest_at(at.prices)
        labels, is_kept = _core.walk_by_resources(
            self.costs,
            *self._arrays,
            np.ascontiguousarray(at.prices),
            start,
            warmth,
            n_choices,
            walk.steps * n_choices,
            seed,
            self.deadline.remaining(),
        )
        return self._measured(labels, is_kept, at.prices, at.least)

    def _measured(
        self, labels: NDArray[np.int32], is_kept: bool, prices: NDArray[np.float64], least: float
    ) -> Placed:
        cost = float(self.costs[np.arange(labels.size), labels].sum()) if is_kept else np.inf
        return Placed(labels, prices, least, cost, least - self.rules.paid_by_bounds(prices))

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """What kernels take of the rules."""
        rows, low, high = (np.ascontiguousarray(part) for part in (self.rules.rules, self.rules.low, self.rules.high))
        return self.rules.amounts, rows, low, high


def has_own_amounts(costs: NDArray[np.float64], rules: Resources) -> bool:
    """Whether most blocks hold amounts of their own, and are few enough for the linear program."""
    return costs.size <= MOST_SIFTED and rules.n_kinds > FEW_KINDS


def _best_of(one: Placed, other: Placed) -> Placed:
    """The cheaper labels, and the better proof."""
    proof = max(one, other, key=lambda placed: placed.bound + placed.lost)
    cheaper = _cheaper(one, other)
    return replace(proof, labels=cheaper.labels, cost=cheaper.cost)


def _cheaper(one: Placed, other: Placed) -> Placed:
    return other if other.cost < one.cost else one
