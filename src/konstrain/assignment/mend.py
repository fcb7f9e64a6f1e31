"""Labels put right by moving few blocks, for unequal demand: sizes first, then what they cost."""

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.assignment.problem import AssignmentProblem

Reals = NDArray[np.float64]

# Pairs of blocks that one look at exchanges may compare; beyond, blocks are so many that single moves suffice.
MOST_PAIRS = 4_000_000
# The same where exchanges only lower the cost, of which many follow each other.
MOST_CHEAPER_PAIRS = 250_000


def mend_sizes(problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Move blocks without hard links one by one, or two in exchange, until every size keeps its bounds.

    Each move is the one that costs least per unit of demand by which sizes come closer to their bounds.

    Parameters
    ----------
    problem : AssignmentProblem
        A problem with sizes; its soft links are left aside.
    labels : ndarray of int32, shape (n_blocks,)
        Labels of which some sizes are out of bounds; not changed.

    Returns
    -------
    ndarray of int32, shape (n_blocks,), or None
        None when no single move and no exchange brings the sizes closer to their bounds.

    Examples
    --------
    >>> problem = AssignmentProblem.checked([[0.0, 5.0], [0.0, 1.0], [0.0, 9.0]], demand=[3.0, 2.0, 4.0], size_max=7)
    >>> mend_sizes(problem, np.zeros(3, dtype=np.int32))
    array([0, 1, 0], dtype=int32)
    """
    mended, is_mended = _core.mend_sizes(
        *_arrays(problem),
        labels,
        # Less than rounding of sums can fake, so that no two moves undo each other for ever.
        least=problem.demand_rounding * problem.total_demand,
        most_pairs=MOST_PAIRS,
    )
    return mended if is_mended else None


def can_exchange(problem: AssignmentProblem) -> bool:
    """Whether blocks are so few, and so free to move, that exchanges of two find nearly all there is to find."""
    return not problem.has_links and problem.n_blocks**2 <= MOST_CHEAPER_PAIRS


def exchange_blocks(problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Move blocks one by one, or two in exchange, within the size bounds until neither lowers the cost.

    Each move is the one that lowers it most.

    Parameters
    ----------
    problem : AssignmentProblem
        A problem with sizes for which `can_exchange` holds.
    labels : ndarray of int32, shape (n_blocks,)
        Labels that keep the sizes; not changed.

    Returns
    -------
    ndarray of int32, shape (n_blocks,)
        Labels that keep them too, and cost no more.

    Examples
    --------
    >>> problem = AssignmentProblem.checked([[3.0, 0.0], [0.0, 3.0]], demand=[1.0, 2.0], size_max=2)
    >>> exchange_blocks(problem, np.array([0, 1], dtype=np.int32))
    array([1, 0], dtype=int32)
    """
    found: NDArray[np.int32] = _core.exchange_blocks(
        *_arrays(problem),
        labels,
        worth=problem.rounding(problem.cost_of(labels)),
        is_nonempty=problem.nonempty,
    )
    return found


def _arrays(problem: AssignmentProblem) -> tuple[Reals, Reals, Reals, Reals, NDArray[np.int32]]:
    """Costs, demand, bounds, and the blocks that may move: no hard link holds them, and sizes feel them."""
    demand = np.ones(problem.n_blocks) if problem.demand is None else problem.demand
    movable = np.flatnonzero(~problem.graph.hard_part().is_linked & (demand > 0)).astype(np.int32)
    low, high = problem.widened_bounds
    return problem.costs, demand, low, high, movable
