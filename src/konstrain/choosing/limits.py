"""The numbers of clusters that constraints allow."""

import math
from typing import Any

import numpy as np

from konstrain.constraints.check import check
from konstrain.exceptions import InfeasibleError
from konstrain.rounding import demand_rounding


def least_clusters(n_samples: int, *, time_limit: float | None = 5.0, **constraints: Any) -> int:
    """Return the least number of clusters that constraints allow.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    time_limit : float or None, default=5.0
        Seconds for each number that is tried; what is not decided by then counts as allowed.
    **constraints : optional
        `must_link`, `cannot_link`, `size_min`, `size_max` (one number for all clusters), `demand`.

    Raises
    ------
    InfeasibleError
        When no number of clusters is possible.

    Examples
    --------
    >>> least_clusters(10, size_max=4), least_clusters(10, cannot_link=[(0, 1), (1, 2), (0, 2)])
    (3, 3)
    """
    constraints = {name: value for name, value in constraints.items() if name != "sample_weight"}
    k, last = _least_by_sizes(n_samples, constraints), None
    while k <= most_clusters(n_samples, **constraints):
        last = check(n_samples, k, time_limit=time_limit, **constraints)
        if last.feasible is not False:
            return k
        if any(finding.reason == "contradiction" for finding in last.findings):
            break  # rows that must be together and apart: no number of clusters helps
        k += 1
    if last is None or not last.findings:
        raise InfeasibleError(
            f"sizes allow at least {_least_by_sizes(n_samples, constraints)} and at most "
            f"{most_clusters(n_samples, **constraints)} clusters",
            reason="sizes",
        )
    raise last.findings[0].error()


def most_clusters(n_samples: int, *, size_min: Any = None, demand: Any = None, **_: Any) -> int:
    """Return the largest number of clusters that a least size allows; as many as rows without one.

    Examples
    --------
    >>> most_clusters(10, size_min=3), most_clusters(10)
    (3, 10)
    """
    least = float(np.max(size_min)) if size_min is not None else 0.0
    if least <= 0:
        return n_samples
    total = _total(n_samples, demand)
    return max(0, min(n_samples, math.floor(total / least * (1 + _rounding(n_samples, demand)))))


def _least_by_sizes(n_samples: int, constraints: dict[str, Any]) -> int:
    largest = constraints.get("size_max")
    if largest is None:
        return 1
    largest = float(np.max(largest))
    if largest <= 0:
        raise InfeasibleError("size_max is 0: no row fits into any cluster", reason="sizes")
    demand = constraints.get("demand")
    return max(1, math.ceil(_total(n_samples, demand) / largest * (1 - _rounding(n_samples, demand))))


def _total(n_samples: int, demand: Any) -> float:
    return float(n_samples) if demand is None else float(np.sum(demand))


def _rounding(n_samples: int, demand: Any) -> float:
    return demand_rounding(None if demand is None else np.asarray(demand, dtype=np.float64), n_samples)
