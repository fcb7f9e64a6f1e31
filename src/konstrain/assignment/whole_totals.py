"""Totals of clusters for which whole counts cost little.

Prices tell what whole counts cost each cluster at each total (`whole_rules.py`); how much it costs to get there is
learned from the programs solved so far.
"""

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
    best: Counts | None = None
    spread = 0.0
    tried: set[bytes] = set()
    for reach in REACHES:
        totals = cheapest_totals(wanted, relaxed.prices, whole, reach, spread)
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


def cheapest_totals(
    wanted: NDArray[np.float64], prices: NDArray[np.float64], whole: WholeRules, reach: int, spread: float
) -> NDArray[np.float64] | None:
    """Return whole totals near the wanted ones, with the same sum, that cost least; None where there are none.

    A total costs what whole counts cost at the prices, and `spread` times the square of the way there.
    """
    nearest = np.round(wanted)
    steps = np.arange(-reach, reach + 1)
    costs = np.column_stack(
        [whole.lost(nearest + step, prices) + spread * (nearest + step - wanted) ** 2 for step in steps]
    )
    is_allowed = np.column_stack([whole.allows(nearest + step) for step in steps])
    costs[(nearest[:, None] + steps < 0) | ~is_allowed] = np.inf
    missing = wanted.sum() - nearest.sum()
    if abs(missing - round(missing)) > BINARY * max(1.0, wanted.sum()) or abs(missing) > DRIFT * reach:
        return None
    taken = _dealt(costs, reach, round(missing))
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
