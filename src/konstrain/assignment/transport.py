"""Engine for size bounds without links: cluster prices and cheapest paths between clusters.

Every cluster has a price that is added to the costs of its column; at the right prices the cheapest column of
each row gives sizes within bounds, up to ties. The kernel (``src/cpp/assignment/transport/transport.h``) starts from
any prices, takes the cheapest columns and then moves rows along cheapest paths from clusters that hold too many rows
to clusters that hold too few. The prices it ends with prove the answer: they are a feasible solution of the dual of
the transportation problem.

With many clusters each block keeps a short list of the clusters that are cheapest for it (``listed_transport.h``):
prices come from Newton steps on a smoothed dual over these lists, then paths over the lists end it. Blocks that may
prefer a cluster off their list get a new one on the way, so the answer is proved against all clusters.

Costs are used as they are, in double precision: nothing is scaled or rounded to integers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._messages import term
from konstrain._tolerances import SUM_RELATIVE
from konstrain.assignment.problem import Assignment, AssignmentProblem, start_prices
from konstrain.exceptions import InfeasibleError
from konstrain.stop import UNLIMITED, Budget

name = "transport"


@dataclass(frozen=True)
class TransportParams:
    """When blocks have short lists of clusters instead of a row of costs."""

    # Fewest clusters for lists, and for starts from a sample of the blocks; larger: the matrix serves more clusters,
    # slower starts. At 20,000 x 200 both take as long.
    many_clusters: int = 200
    list_length: int = 12  # Clusters on a list; larger: every pass takes longer, and lists are made anew less often.


PARAMS = TransportParams()

# What a kernel answers: labels, prices per block, cost, lower bound, whether it ended in time.
KernelAnswer = tuple[NDArray[np.int32], NDArray[np.float64], float, float, bool]


def uses_lists(n_clusters: int) -> bool:
    """Whether a step works on lists of clusters per block."""
    return n_clusters >= PARAMS.many_clusters


def supports(problem: AssignmentProblem) -> bool:
    """Sizes matter, nothing else couples the blocks, and every block counts the same."""
    if problem.has_links or problem.has_resources:
        return False
    return problem.has_sizes and _unit(problem) is not None


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Find labels of least cost with all sizes within bounds."""
    lower, upper = count_bounds(problem)
    start = _block_prices(problem, warm)
    answer = _run(problem, lower, upper, start, budget)
    if not answer.proven and start is not None and not budget.expired():
        # Prices of another magnitude than the costs swallow the costs' last digits: start over without them.
        answer = _run(problem, lower, upper, None, budget)
    return answer


def count_bounds(problem: AssignmentProblem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many blocks each cluster must and may hold, or say why no labels can do that."""
    unit, n_blocks = _unit(problem) or 1.0, problem.n_blocks
    low, high = problem.widened_bounds
    lower = np.maximum(np.ceil(low / unit), 1.0 if problem.nonempty else 0.0)
    # Beyond the number of blocks both bounds say the same as one more; this also makes infinities integers.
    lower = np.minimum(lower, n_blocks + 1).astype(np.int64)
    with np.errstate(over="ignore"):
        upper = np.clip(np.floor(high / unit), -1, n_blocks).astype(np.int64)
    _refuse_impossible(lower, upper, n_blocks, unit)
    return lower, upper


def least_priced_cost(problem: AssignmentProblem, answer: Assignment) -> float:
    """Return what all blocks pay, prices included, when each takes its cheapest cluster; no more than that.

    It is the bound that the prices prove, without what the size bounds contribute to it: blocks that share these
    sizes with others have a bound of their own, and this is the part of it that takes a pass over all costs.
    """
    assert answer.prices is not None
    lower, upper = count_bounds(problem)
    prices = answer.prices * (_unit(problem) or 1.0)
    return answer.lower_bound + float(np.where(prices > 0, prices * upper, prices * lower).sum())


def _refuse_impossible(lower: NDArray[np.int64], upper: NDArray[np.int64], n_blocks: int, unit: float) -> None:
    sums: dict[str, Any] = {"n_blocks": n_blocks, "sum_min": int(lower.sum()), "sum_max": int(upper.sum())}
    counted = "" if unit == 1.0 else f" (each block counts {unit:g})"
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        j = int(crossed[0])
        message = f"cluster {j} must hold at least {lower[j]} and at most {upper[j]} blocks{counted}"
        sums |= {"cluster": j, "min": int(lower[j]), "max": int(upper[j])}
    elif sums["sum_min"] > n_blocks:
        message = f"the smallest sizes add up to {sums['sum_min']} blocks, but there are only {n_blocks}{counted}"
    elif sums["sum_max"] < n_blocks:
        message = f"the largest sizes add up to {sums['sum_max']} blocks, but there are {n_blocks}{counted}"
    else:
        return
    raise InfeasibleError(f"{message}; relax {term('size_min')} or {term('size_max')}", reason="sizes", witness=sums)


def _unit(problem: AssignmentProblem) -> float | None:
    """Return what each block counts, or None when blocks differ or count nothing."""
    if problem.demand is None or problem.n_blocks == 0:
        return 1.0
    unit = float(problem.demand[0])
    return unit if unit > 0 and bool((problem.demand == unit).all()) else None


def unit_of(problem: AssignmentProblem) -> float:
    """Return what each block of a supported problem counts."""
    return _unit(problem) or 1.0


def _block_prices(problem: AssignmentProblem, warm: Assignment | None) -> NDArray[np.float64] | None:
    """Prices per block, which the kernel counts; those of an assignment are per unit of demand."""
    prices = start_prices(problem, warm)
    return None if prices is None else prices * (_unit(problem) or 1.0)


def _run(
    problem: AssignmentProblem,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    start: NDArray[np.float64] | None,
    budget: Budget,
) -> Assignment:
    """Call the kernel once and judge its proof."""
    answer = _kernel(problem, lower, upper, start, budget)
    # Prices that grew from zero are of the costs' magnitude, so their rounding is a fair measure; warm prices may
    # be of any, and then would excuse everything.
    return judged(problem, answer, float(np.abs(answer[1]) @ upper) if start is None else 0.0)


def judged(problem: AssignmentProblem, answer: KernelAnswer, price_scale: float = 0.0) -> Assignment:
    """Make an assignment of what a kernel answered, proved or not; prices of this scale may have rounded it."""
    labels, prices, cost, bound, finished = answer
    return Assignment(
        labels=labels,
        cost=cost,
        lower_bound=min(bound, cost) if np.isfinite(bound) else -np.inf,
        proven=finished and _is_proof(problem, cost, bound, price_scale),
        engine=name,
        # The kernel's prices are per block, an assignment's per unit of demand.
        prices=prices / (_unit(problem) or 1.0),
    )


def _kernel(
    problem: AssignmentProblem,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    start: NDArray[np.float64] | None,
    budget: Budget,
) -> KernelAnswer:
    """Ask the kernel that is the faster one here; the other where lists turn out to be of no use."""
    first = np.zeros(problem.n_clusters) if start is None else start
    warm = start is not None
    if uses_lists(problem.n_clusters):
        labels, prices, cost, bound, finished = _core.listed_transport(
            problem.costs,
            lower,
            upper,
            first,
            time_limit=budget.remaining(),
            is_warm=warm,
            n_threads=1,
            list_length=PARAMS.list_length,
        )
        if finished:
            return labels, prices, cost, bound, True
        if budget.expired():
            return labels, prices, problem.cost_of(labels), bound, False
    return _core.transport(problem.costs, lower, upper, first, time_limit=budget.remaining(), trust_duals=warm)


def _is_proof(problem: AssignmentProblem, cost: float, bound: float, price_scale: float) -> bool:
    """Whether cost and bound differ by rounding only, at the scale of the numbers they are sums of."""
    if cost - bound <= SUM_RELATIVE * problem.n_blocks * price_scale:
        return True
    return problem.closes_gap(cost, bound)
