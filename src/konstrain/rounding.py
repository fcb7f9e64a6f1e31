"""What rounding may do to sums: how far a size may miss its bound, and how far two sums of the same costs differ."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import DEMAND_RELATIVE, DEMAND_TERMS

# Up to this, whole numbers and their sums are exact in double precision.
LARGEST_EXACT: Final = 2.0**53
# Between these, demands can be squared and divide costs.
USUAL_DEMAND = (1e-100, 1e100)


def demand_rounding(demand: NDArray[np.float64] | None, n_terms: int) -> float:
    """Return by what share of a bound a sum of `n_terms` demands may miss it; sums of whole numbers are exact."""
    is_whole = demand is None or (bool((demand == np.floor(demand)).all()) and float(demand.sum()) <= LARGEST_EXACT)
    return DEMAND_RELATIVE * (DEMAND_TERMS if is_whole else max(DEMAND_TERMS, n_terms))


def widened(
    low: NDArray[np.float64], high: NDArray[np.float64], rounding: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper sizes, each moved outwards by this share of itself."""
    return low * (1.0 - rounding), high * (1.0 + rounding)


def unit_exponent(demand: NDArray[np.float64]) -> int:
    """Return the power of two that demands are divided by where duals per unit of them would overflow; else 0."""
    largest = float(demand.max(initial=0.0))
    is_extreme = largest > 0 and not USUAL_DEMAND[0] <= largest <= USUAL_DEMAND[1]
    return int(np.frexp(largest)[1]) if is_extreme else 0
