"""Engine for size bounds without links: duals of the sizes, and shortest paths between clusters.

At the right duals, added to the columns of the costs, the cheapest column of each row gives sizes within bounds, up
to ties. The kernel (``src/cpp/assignment/transport/transport.h``) starts from any duals, takes the cheapest columns
and moves rows along shortest paths from clusters that hold too many rows to clusters that hold too few. Its duals
are a feasible solution of the dual of the transportation problem, which proves the labels.

With many clusters each block keeps a short list of its cheapest clusters (``listed_transport.h``): duals come from
Newton steps on a smoothed dual over these lists, then paths over the lists end the solution. A block that may prefer
a cluster off its list gets a new list, so labels are proved against all clusters.

Costs are used as they are, in double precision: nothing is scaled or rounded to integers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import SUM_RELATIVE
from konstrain.assignment.problem import Assignment, AssignmentProblem, start_duals
from konstrain.assignment.rules import refuse_bounds
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

# Result of a kernel: labels, duals per block, cost, lower bound, whether it ended in time.
KernelResult = tuple[NDArray[np.int32], NDArray[np.float64], float, float, bool]


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
    start = start_duals(problem, warm)
    start = None if start is None else start * unit_of(problem)  # The kernel counts blocks, not units of demand.
    solution = _run(problem, lower, upper, start, budget)
    if not solution.proven and start is not None and not budget.expired():
        # Duals of another magnitude than the costs swallow the costs' last digits: start over without them.
        solution = _run(problem, lower, upper, None, budget)
    return solution


def count_bounds(problem: AssignmentProblem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many blocks each cluster must and may hold; raise when no labels can keep that."""
    unit, n_blocks = unit_of(problem), problem.n_blocks
    low, high = problem.widened_bounds
    lower = np.maximum(np.ceil(low / unit), 1.0 if problem.nonempty else 0.0)
    # Any bound beyond the number of blocks means as much as one more; this also makes infinities integers.
    lower = np.minimum(lower, n_blocks + 1).astype(np.int64)
    with np.errstate(over="ignore"):
        upper = np.clip(np.floor(high / unit), -1, n_blocks).astype(np.int64)
    counted = " blocks" if unit == 1.0 else f" blocks (each counts {unit:g})"
    refuse_bounds(lower, upper, n_blocks, 0.0, counted, "sizes")
    return lower, upper


def least_reduced_cost(problem: AssignmentProblem, solution: Assignment) -> float:
    """Return the sum of the least reduced costs of all blocks at the duals of a solution, or a little less.

    That is the bound of the duals without the part of the size bounds, which blocks that share these sizes with
    others do not have for themselves; it takes no pass over all costs.
    """
    assert solution.prices is not None
    lower, upper = count_bounds(problem)
    duals = solution.prices * unit_of(problem)
    return solution.lower_bound + float(np.where(duals > 0, duals * upper, duals * lower).sum())


def _unit(problem: AssignmentProblem) -> float | None:
    """Return what each block counts, or None when blocks differ or count nothing."""
    if problem.demand is None or problem.n_blocks == 0:
        return 1.0
    unit = float(problem.demand[0])
    return unit if unit > 0 and bool((problem.demand == unit).all()) else None


def unit_of(problem: AssignmentProblem) -> float:
    """Return what each block of a supported problem counts."""
    return _unit(problem) or 1.0


def _run(problem: AssignmentProblem, lower: Any, upper: Any, start: Any, budget: Budget) -> Assignment:
    """Call the kernel once and check its proof."""
    result = _kernel(problem, lower, upper, start, budget)
    # Duals that grew from zero are of the costs' magnitude, so their rounding is a fair measure; warm duals may
    # be of any, and then would excuse everything.
    return checked(problem, result, float(np.abs(result[1]) @ upper) if start is None else 0.0)


def checked(problem: AssignmentProblem, result: KernelResult, dual_scale: float = 0.0) -> Assignment:
    """Return the result of a kernel as an assignment, proved or not; duals of this scale may have rounded it."""
    labels, duals, cost, bound, finished = result
    return Assignment(
        labels=labels,
        cost=cost,
        lower_bound=min(bound, cost) if np.isfinite(bound) else -np.inf,
        proven=finished and _is_proof(problem, cost, bound, dual_scale),
        engine=name,
        # The kernel's duals are per block, an assignment's per unit of demand.
        prices=duals / unit_of(problem),
    )


def _kernel(problem: AssignmentProblem, lower: Any, upper: Any, start: Any, budget: Budget) -> KernelResult:
    """Call the kernel that is faster here; the other one where lists do not suffice."""
    warm = start is not None
    first = start if warm else np.zeros(problem.n_clusters)
    arguments = (problem.costs, lower, upper, first)
    if uses_lists(problem.n_clusters):
        # All costs are there already: lists of twice the length take little more memory; fewer are made anew.
        labels, duals, cost, bound, finished = _core.listed_transport(
            *arguments, time_limit=budget.remaining(), is_warm=warm, n_threads=1, list_length=2 * PARAMS.list_length
        )
        if finished:
            return labels, duals, cost, bound, True
        if budget.expired():
            return labels, duals, problem.cost_of(labels), bound, False
    return _core.transport(*arguments, time_limit=budget.remaining(), trust_duals=warm)


def _is_proof(problem: AssignmentProblem, cost: float, bound: float, dual_scale: float) -> bool:
    """Whether cost and bound differ by rounding only, at the scale of the numbers they are sums of."""
    if cost - bound <= SUM_RELATIVE * problem.n_blocks * dual_scale:
        return True
    return problem.closes_gap(cost, bound)
