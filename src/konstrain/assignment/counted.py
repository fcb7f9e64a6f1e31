"""Blocks of few kinds under rules: how many of each kind go where, then which.

Whole counts that keep the rules come from a linear program (`count_program.py`) at totals for which whole numbers
cost little (`whole_totals.py`). For given counts every kind is a transportation problem of its own, solved exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import COUNTED_GAP, COUNTED_RELATIVE
from konstrain.assignment.count_program import CountProgram, Counts
from konstrain.assignment.dearest_total import CloserLook
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.resources import Resources
from konstrain.assignment.sifting import Pricing
from konstrain.assignment.transfers import Transfers
from konstrain.assignment.whole_bound import WholeBound
from konstrain.assignment.whole_rules import WholeRules
from konstrain.assignment.whole_totals import whole_counts
from konstrain.gap import relative_gap
from konstrain.stop import Deadline

# Kinds x clusters x clusters beyond which the program over counts would take longer than it is worth.
MOST_PAIRS = 5_000
# Blocks there must be for each kind: with fewer, counting them is no easier than placing them.
BLOCKS_PER_KIND = 4
# Programs from new prices on, after which these are good enough.
MOST_PROGRAMS = 3
# A closer look closes gaps up to so many times the one that is good enough; with few rows they are wider. It ends
# where so much of that one is left.
WITHIN_REACH = 4.0
ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class Counted:
    """Labels, prices, what blocks pay in their cheapest clusters at these, and what whole blocks cost beyond that.

    Where no labels that keep the rules were found they are the cheapest clusters.
    """

    labels: NDArray[np.int32]
    prices: NDArray[np.float64]
    least: float
    lost: float


def kinds_worth_counting(rules: Resources) -> Kinds | None:
    """Return the kinds of the blocks where these are few enough for a program over counts, beside many blocks."""
    kinds = Kinds.among(rules.amounts)
    if kinds is None or kinds.count * BLOCKS_PER_KIND > rules.amounts.shape[0]:
        return None
    return kinds if kinds.count * rules.n_clusters**2 <= MOST_PAIRS else None


def place_by_counts(
    costs: NDArray[np.float64], rules: Resources, kinds: Kinds, prices: NDArray[np.float64], deadline: Deadline
) -> Counted:
    """Place all blocks from these prices on; rules are taken as they stand."""
    whole = WholeRules.of(rules, kinds)
    best, program, relaxed = _relaxed(costs, whole, kinds, prices, deadline)
    bound = WholeBound(best, whole, kinds)
    lost = bound.lost
    counts = None if relaxed is None else whole_counts(program, relaxed, whole, deadline)
    gap = np.inf if counts is None else relative_gap(best.bound + lost, counts.cost)
    if counts is not None and COUNTED_GAP < gap <= WITHIN_REACH * COUNTED_GAP:
        enough = (1.0 - ENOUGH * COUNTED_GAP) * counts.cost - best.bound
        counts, lost = CloserLook(costs, whole, kinds, program, bound).run(counts, enough, deadline)
    labels = None if counts is None else _dealt_out(costs, counts, kinds, deadline)
    return Counted(best.labels if labels is None else labels, best.prices, best.least, lost)


def _relaxed(
    costs: NDArray[np.float64], whole: WholeRules, kinds: Kinds, prices: NDArray[np.float64], deadline: Deadline
) -> tuple[Pricing, CountProgram, Counts | None]:
    """Solve the linear program, anew as long as its prices get better; returns the best ones and the last program."""
    best = Pricing.at(costs, whole.rules, prices, kinds)
    for _ in range(MOST_PROGRAMS):
        program = _program(costs, best, whole, kinds)
        relaxed = program.solve(deadline)
        if relaxed is None:
            break
        found = Pricing.at(costs, whole.rules, relaxed.prices, kinds)
        before, best = best.bound, found if found.bound > best.bound else best
        if best.bound - before <= COUNTED_RELATIVE * abs(best.bound):
            break
    return best, program, relaxed


def _program(costs: NDArray[np.float64], at: Pricing, whole: WholeRules, kinds: Kinds) -> CountProgram:
    """Return the program over transfers from the clusters that are cheapest at some prices."""
    labels = at.labels
    held, cost = kinds.counts(labels, costs.shape[1]), float(costs[np.arange(labels.size), labels].sum())
    return CountProgram(held, cost, Transfers.between(costs, labels, kinds), whole, kinds)


def _dealt_out(
    costs: NDArray[np.float64], counts: Counts, kinds: Kinds, deadline: Deadline
) -> NDArray[np.int32] | None:
    """Labels of least cost that give each cluster these counts; None if time is up."""
    labels = np.empty(costs.shape[0], dtype=np.int32)
    for blocks, held, charges in zip(
        kinds.blocks, np.round(counts.held).astype(np.int64), counts.charges, strict=True
    ):
        placed, _, _, _, finished = _core.transport(
            costs[blocks], held, held, np.ascontiguousarray(charges), deadline.remaining(), True
        )
        if not finished:
            return None
        labels[blocks] = placed
    return labels
