"""The numbers of clusters that constraints allow."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.check import check
from konstrain.exceptions import InfeasibleError
from konstrain.rounding import demand_rounding

# Seconds for each number of clusters, as documented; what is undecided then counts as allowed.
TIME_LIMIT: Final = 5.0
# Constraints that may need more clusters, and never fewer.
FROM_BELOW = ("size_max", "cannot_link")


def least_clusters(n_samples: int, *, time_limit: float | None = TIME_LIMIT, **constraints: Any) -> int:
    """Return the least number of clusters that constraints allow; raises `InfeasibleError` if none does.

    What is undecided after `time_limit` seconds for a number counts as allowed. Sizes are one number for all
    clusters, or one for each column of `demand`.
    """
    constraints = {name: value for name, value in constraints.items() if name != "sample_weight"}
    k, last = _least_by_sizes(n_samples, constraints), None
    most = most_clusters(n_samples, time_limit=time_limit, **constraints)
    while k <= most:
        last = check(n_samples, k, time_limit=time_limit, **for_number(k, constraints))
        if last.feasible is not False:
            return k
        if any(finding.reason == "contradiction" for finding in last.findings):
            break  # rows that must be together and apart: no number of clusters helps
        k += 1
    if last is None or not last.findings:
        raise InfeasibleError(
            f"sizes allow at least {_least_by_sizes(n_samples, constraints)} and at most {most} clusters",
            reason="sizes",
        )
    raise last.findings[0].error()


def most_clusters(n_samples: int, *, time_limit: float | None = TIME_LIMIT, **constraints: Any) -> int:
    """Return the largest number of clusters that least sizes and shares of groups allow; else as many as rows.

    `time_limit` as in `least_clusters`; upper sizes and cannot-links do not bound the number from above.
    """
    most = _most_by_sizes(n_samples, constraints.get("size_min"), constraints.get("demand"))
    if constraints.get("category") is None or most < 1:
        return most
    bounds = {name: value for name, value in constraints.items() if name not in (*FROM_BELOW, "sample_weight")}
    # Two clusters that keep their shares and least sizes keep them as one: what `k` clusters can do, fewer can too.
    least = 1
    while least < most:
        k = (least + most + 1) // 2
        if check(n_samples, k, time_limit=time_limit, **for_number(k, bounds)).feasible is False:
            most = k - 1
        else:
            least = k
    return least


def _most_by_sizes(n_samples: int, size_min: Any, demand: Any) -> int:
    if size_min is None:
        return n_samples
    total, least = np.broadcast_arrays(_total(n_samples, demand), np.asarray(size_min, dtype=np.float64))
    if not (least > 0).any():
        return n_samples
    numbers = total[least > 0] / least[least > 0] * (1 + _rounding(n_samples, demand))
    return max(0, min(n_samples, math.floor(float(numbers.min()))))


def shares_allow(n_samples: int, k: int, constraints: Mapping[str, Any]) -> bool:
    """Whether shares of groups, if there are any, can be kept in `k` clusters: more or fewer may both be too many."""
    if constraints.get("category") is None:
        return True
    constraints = {name: value for name, value in constraints.items() if name != "sample_weight"}
    return check(n_samples, k, time_limit=TIME_LIMIT, **for_number(k, constraints)).feasible is not False


def with_numbers(n_samples: int, constraints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constraints that are given, percentages of sizes as numbers."""
    given = {name: value for name, value in constraints.items() if value is not None}
    sizes = {name: given[name] for name in ("size_min", "size_max", "demand") if name in given}
    read = ConstraintArguments(**sizes).with_numbers(n_samples)
    return {**given, **{name: getattr(read, name) for name in sizes}}


def refuse_sizes_per_cluster(constraints: Mapping[str, Any]) -> None:
    """Raise if there is a size for each cluster: how many there will be is not known."""
    n_demands = np.shape(constraints.get("demand", ()))[1:]
    for name in ("size_min", "size_max"):
        if np.shape(constraints.get(name, 0)) not in {(), n_demands}:
            each = f", or {n_demands[0]}, one for each demand" if n_demands else ""
            raise ValueError(f"{name} is one number for all clusters here{each}: their number is what is asked for")


def for_number(k: int, constraints: Mapping[str, Any]) -> dict[str, Any]:
    """Return constraints for `k` clusters: sizes of several demands as a row for each cluster.

    With as many clusters as demands, one row alone could be either.
    """
    found = dict(constraints)
    n_demands = np.shape(constraints.get("demand", ()))[1:]
    for name in ("size_min", "size_max"):
        if n_demands and name in constraints:
            found[name] = np.broadcast_to(constraints[name], (k, *n_demands))
    return found


def _least_by_sizes(n_samples: int, constraints: dict[str, Any]) -> int:
    if constraints.get("size_max") is None:
        return 1
    largest = np.asarray(constraints["size_max"], dtype=np.float64)
    if largest.min() <= 0:
        raise InfeasibleError(f"{term('size_max')} is 0: no row fits into any cluster", reason="sizes")
    demand = constraints.get("demand")
    numbers = _total(n_samples, demand) / largest * (1 - _rounding(n_samples, demand))
    return max(1, math.ceil(float(numbers.max())))


def _total(n_samples: int, demand: Any) -> NDArray[np.float64]:
    """What all rows count together, of each demand."""
    counts = np.ones(n_samples) if demand is None else np.asarray(demand, dtype=np.float64)
    total: NDArray[np.float64] = np.asarray(counts.sum(axis=0))
    return total


def _rounding(n_samples: int, demand: Any) -> float:
    return demand_rounding(None if demand is None else np.asarray(demand, dtype=np.float64), n_samples)
