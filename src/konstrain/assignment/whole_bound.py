"""What whole numbers cost beyond the linear program: a part of the lower bound.

Labels with a given total of a cluster lose what rounding takes off its bounds (`whole_rules.py`). Totals that lose
little may be far away: then blocks have left the clusters that are cheapest for them at the prices, and paid for it.
Every block that moved entered one cluster and left another, so either cluster counts half of what it paid.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.sifting import Pricing
from konstrain.assignment.whole_rules import WholeRules

# Blocks that enter or leave a cluster, beyond which what they paid is enough of a bound.
MOST_MOVED = 4_000


def lost_to_whole_numbers(pricing: Pricing, whole: WholeRules, total: NDArray[np.float64]) -> float:
    """Return by how much all labels that keep the rules exceed the bound of the prices; `total` is per block."""
    if not whole.has_shares or not (total == np.round(total)).all():
        return 0.0
    n_blocks, n_clusters = pricing.paid.shape
    labels = pricing.paid.argmin(axis=1)
    regret = pricing.regret.copy()
    regret[np.arange(n_blocks), labels] = np.inf
    leaving = regret.min(axis=1)
    held = np.bincount(labels, total, n_clusters)
    largest = max(float(total.max(initial=0.0)), 1.0)
    return sum(
        _least_lost(
            j,
            held[j],
            _sums_of_least(regret[labels != j, j], largest),
            _sums_of_least(leaving[labels == j], largest),
            pricing.prices,
            whole,
        )
        for j in range(n_clusters)
    )


def _sums_of_least(paid: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """What a total that is 0, 1, 2, ... away has cost at least, where no block counts more than the largest."""
    n = min(paid.size, MOST_MOVED)
    least = np.sort(np.partition(paid, n - 1)[:n]) if n else paid
    sums = np.concatenate([[0.0], np.cumsum(least)])
    away = np.arange(int(n * largest) + 1)
    return sums[np.ceil(away / largest).astype(np.intp)]


def _least_lost(
    cluster: int,
    held: float,
    entering: NDArray[np.float64],
    leaving: NDArray[np.float64],
    prices: NDArray[np.float64],
    whole: WholeRules,
) -> float:
    """Least that a cluster loses at any total: to whole numbers, and half of what moved blocks paid."""
    lower = np.arange(leaving.size - 1, 0, -1)
    totals = np.concatenate([held - lower, held + np.arange(entering.size)])
    paid = np.concatenate([leaving[lower], entering])
    lost = whole.lost_by(cluster, totals, prices[cluster]) + 0.5 * paid
    # Totals further away have cost at least what the furthest ones here have.
    beyond = 0.5 * min(leaving[-1] if held > leaving.size - 1 else np.inf, entering[-1])
    return float(min(lost.min(), beyond))
