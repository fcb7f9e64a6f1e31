"""Totals of clusters for which whole counts cost little.

Prices tell what whole counts cost each cluster at each total (`whole_rules.py`); how much it costs to get there is
learned from the programs solved so far.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import BINARY
from konstrain.assignment.count_program import CountProgram, Counts
from konstrain.assignment.whole_rules import WholeRules
from konstrain.stop import Deadline

# How far from the linear program's totals is looked, one try after the other.
REACHES = (8,) + 6 * (32,)
# Looking at the same totals again, the way to others is taken for so much cheaper.
CHEAPER = 4.0
# Totals may be off their sum by so many reaches while they are dealt out cluster by cluster.
DRIFT = 4


def whole_counts(program: CountProgram, relaxed: Counts, whole: WholeRules, deadline: Deadline) -> Counts | None:
    """Return the cheapest whole counts found that keep all rules, from those of the linear program on."""
    if not whole.has_shares:
        program.fix_totals(whole.total @ relaxed.held)
        found = program.solve(deadline)
        return found if found is not None and found.are_whole else None
    wanted = whole.total @ relaxed.held
    near = {reach: NearTotals.of(wanted, relaxed.prices, whole, reach) for reach in set(REACHES)}
    best: Counts | None = None
    spread = 0.0
    tried: set[bytes] = set()
    for reach in REACHES:
        totals = near[reach].cheapest(spread)
        if totals is None or deadline.expired():
            break
        if totals.tobytes() in tried:
            spread /= CHEAPER
            continue
        tried.add(totals.tobytes())
        program.fix_totals(totals)
        found = program.solve(deadline)
        lost = float(whole.lost(totals, relaxed.prices).sum())
        moved = max(float(((totals - wanted) ** 2).sum()), 1.0)
        # What totals cost beside whole counts grows with the square of the way there; without any answer it is
        # taken for as much as these.
        beyond = lost if found is None else found.cost - relaxed.cost - lost
        spread = max(spread, beyond / moved)
        if found is not None and found.are_whole and (best is None or found.cost < best.cost):
            best = found
    return best


@dataclass(frozen=True, eq=False)
class NearTotals:
    """What whole counts cost each cluster at totals near the wanted ones; infinite where it may not have them."""

    wanted: NDArray[np.float64]
    totals: NDArray[np.float64]  # n_clusters x (twice the reach and one)
    lost: NDArray[np.float64]

    @classmethod
    def of(
        cls, wanted: NDArray[np.float64], prices: NDArray[np.float64], whole: WholeRules, reach: int
    ) -> "NearTotals":
        """Look at all totals within reach, at these prices."""
        totals = np.round(wanted)[:, None] + np.arange(-reach, reach + 1)
        lost = np.column_stack([whole.lost(column, prices) for column in totals.T])
        is_allowed = np.column_stack([whole.allows(column) for column in totals.T])
        return cls(wanted, totals, np.where(is_allowed & (totals >= 0), lost, np.inf))

    def cheapest(self, spread: float) -> NDArray[np.float64] | None:
        """Return totals with the same sum as the wanted ones that cost least; None where there are none.

        A total costs what whole counts do, and `spread` times the square of the way there.
        """
        reach = self.totals.shape[1] // 2
        nearest = self.totals[:, reach]
        missing = self.wanted.sum() - nearest.sum()
        if abs(missing - round(missing)) > BINARY * max(1.0, self.wanted.sum()) or abs(missing) > DRIFT * reach:
            return None
        taken = _dealt(self.lost + spread * (self.totals - self.wanted[:, None]) ** 2, reach, round(missing))
        return None if taken is None else nearest + taken


def _dealt(costs: NDArray[np.float64], reach: int, missing: int) -> NDArray[np.intp] | None:
    """Steps of least cost, one per cluster, that sum to what is missing; by dynamic programming over the clusters."""
    widest = DRIFT * reach
    least = np.full(2 * widest + 1, np.inf)
    least[widest] = 0.0
    choices = []
    for of_cluster in costs:
        # Row i, column s: what it costs to arrive at sum i by step s.
        padded = np.pad(least, reach, constant_values=np.inf)
        before = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)[:, ::-1]
        arriving = before + of_cluster
        choices.append(arriving.argmin(axis=1))
        least = arriving.min(axis=1)
    if not np.isfinite(least[widest + missing]):
        return None
    taken = np.zeros(len(costs), dtype=np.intp)
    place = widest + missing
    for j in reversed(range(len(costs))):
        taken[j] = choices[j][place] - reach
        place -= taken[j]
    return taken
