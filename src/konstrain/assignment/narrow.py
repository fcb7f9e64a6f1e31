"""A large coupled problem without the blocks that no price nearby could move.

At some prices most free blocks prefer their cluster by far more than prices still change. They stay where they are;
what is left is small. Afterwards the prices reached say by how much a block that was left out would have raised the
cost, had it gone elsewhere: mostly enough to prove that it was right to leave it out.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import SINGLE_GUARD
from konstrain.assignment.problem import AssignmentProblem
from konstrain.assignment.split import Split

# Problems with fewer costs, or with a smaller share of free blocks, are solved whole.
MIN_COSTS = 1_000_000
MIN_FREE = 0.5
# Share of the free blocks that is kept: those that prefer their cluster least.
NEAR = 1 / 8
# Share of what is kept that may be in a wrong place at the prices by which it is chosen.
MOST_MISPLACED = 1 / 8


@dataclass(frozen=True, eq=False)
class Narrowed:
    """What is left of a problem, and what was left out.

    Parameters
    ----------
    problem : AssignmentProblem
        The blocks that are left, with the sizes that the others leave them.
    blocks : ndarray of int64
        Which blocks these are.
    labels : ndarray of int32, shape (n_blocks of the whole,)
        Cluster of each block that was left out.
    cost : float
        What the blocks that were left out cost there.
    prices : ndarray of float64, shape (n_clusters,)
        The prices at which they prefer it.
    margin : float
        Per unit of demand, how much each of them prefers it at least.
    unit : float
        Demand of each of them.
    is_balanced : bool
        Whether so few blocks are too many or missing at these prices that those which are left can make up for it.
    """

    problem: AssignmentProblem
    blocks: NDArray[np.intp]
    labels: NDArray[np.int32]
    cost: float
    prices: NDArray[np.float64]
    margin: float
    unit: float
    is_balanced: bool

    @classmethod
    def of(cls, split: Split, prices: NDArray[np.float64]) -> Self | None:
        """Leave out what clearly prefers its cluster at these prices; None when that would not pay."""
        problem, n_free = split.problem, split.free.size
        if problem.costs.size < MIN_COSTS or n_free < MIN_FREE * problem.n_blocks:
            return None
        unit = 1.0 if problem.demand is None else float(problem.demand[split.free[0]])
        labels, gaps = _core.price_rows(problem.costs, unit * prices)
        n_near = int(NEAR * n_free)
        order = np.argpartition(gaps[split.free], n_near)
        far = split.free[order[n_near:]]
        held = unit * np.bincount(labels[far], minlength=problem.n_clusters).astype(np.float64)
        if problem.nonempty and not held.all():
            return None  # which clusters still need a block would be a constraint of another kind
        is_left = np.ones(problem.n_blocks, dtype=bool)
        is_left[far] = False
        blocks = np.flatnonzero(is_left)
        return cls(
            problem=_restricted(problem, blocks, held),
            blocks=blocks,
            labels=labels,
            cost=float(problem.costs[far, labels[far]].sum()),
            prices=prices,
            margin=float(gaps[far].min()) * (1.0 - SINGLE_GUARD) / unit,
            unit=unit,
            is_balanced=_misplaced(split, labels) <= MOST_MISPLACED * n_near * unit,
        )

    def joined(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of the whole, given those of the blocks that are left."""
        whole = self.labels.copy()
        whole[self.blocks] = labels
        return whole

    def rise(self, prices: NDArray[np.float64]) -> float:
        """By how much the bound at these prices rises when a block that was left out goes elsewhere; at least.

        Negative when one of them may prefer another cluster by now.
        """
        moved = prices - self.prices
        return self.unit * (self.margin - float(moved.max() - moved.min()))


def _misplaced(split: Split, labels: NDArray[np.int32]) -> float:
    """Demand beyond the upper sizes, or missing to the lower ones, whichever is more."""
    sizes = split.problem.sizes(labels)
    too_many, missing = np.maximum(sizes - split.high, 0.0), np.maximum(split.low - sizes, 0.0)
    return float(max(too_many.sum(), missing.sum()))


def _restricted(problem: AssignmentProblem, blocks: NDArray[np.intp], held: NDArray[np.float64]) -> AssignmentProblem:
    """Return the problem of these blocks, with what the others hold taken off the sizes."""
    low, high = problem.bounds
    return AssignmentProblem(
        costs=problem.costs[blocks],
        links=problem.graph.restricted_to(blocks.astype(np.int32)),
        demand=None if problem.demand is None else problem.demand[blocks],
        size_min=low - held,
        size_max=high - held,
    )
