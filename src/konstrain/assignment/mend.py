"""Labels put right by moving few blocks, for unequal demand: sizes first, then what they cost."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.problem import AssignmentProblem

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
    mending = _Mending(problem, labels.copy())
    # Every move lowers what is missing; the number of moves is bounded only against rounding.
    for _ in range(2 * labels.size):
        if not mending.missing().any():
            return mending.labels
        if not (mending.move_one() or mending.exchange_two()):
            return None
    return None


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
    exchanging = _Mending(problem, labels.copy())
    worth = problem.rounding(problem.cost_of(labels))
    while exchanging.make_cheaper(worth):
        # Anew, as they will be judged: moves would add up what rounding did to each.
        exchanging.sizes = problem.sizes(exchanging.labels)
    return exchanging.labels


class _Mending:
    """Labels on their way to sizes within bounds."""

    def __init__(self, problem: AssignmentProblem, labels: NDArray[np.int32]) -> None:
        self.labels = labels
        self.low, self.high = problem.widened_bounds
        self.demand = np.ones(labels.size) if problem.demand is None else problem.demand
        self.costs = problem.costs
        self.movable = np.flatnonzero(~problem.graph.hard_part().is_linked & (self.demand > 0))
        self.sizes = problem.sizes(labels)
        # Less than rounding of sums can fake, so that no two moves undo each other for ever.
        self.least = problem.demand_rounding * problem.total_demand
        self.is_nonempty = problem.nonempty

    def missing(
        self, at: NDArray[np.integer[Any]] | slice = slice(None), more: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        """By how much clusters are out of bounds, with so much more demand in them."""
        sizes = self.sizes[at] + more
        missing: NDArray[np.float64] = np.maximum(np.maximum(sizes - self.high[at], self.low[at] - sizes), 0.0)
        return missing

    def move_one(self) -> bool:
        """Move the block that mends most for its cost; False when none mends anything."""
        blocks, demand = self.movable, self.demand[self.movable]
        home = self.labels[blocks]
        leaving = self.missing(home, -demand) - self.missing(home)
        entering = self.missing(slice(None), demand[:, None]) - self.missing()
        mended = -(leaving[:, None] + entering)
        rise = self.costs[blocks] - self.costs[blocks, home][:, None]
        mended[np.arange(blocks.size), home] = 0.0
        chosen = self._cheapest(mended, rise)
        if chosen is None:
            return False
        self._move(blocks[chosen[0]], chosen[1])
        return True

    def exchange_two(self) -> bool:
        """Exchange the two blocks that mend most for their cost; False when no exchange mends anything."""
        is_wrong = self.missing() > 0
        first, second = self.movable[is_wrong[self.labels[self.movable]]], self.movable
        if not 0 < first.size * second.size <= MOST_PAIRS:
            return False
        here, there = self.labels[first][:, None], self.labels[second][None, :]
        more = self.demand[second][None, :] - self.demand[first][:, None]
        before = self.missing(here) + self.missing(there)
        mended = np.where(here == there, 0.0, before - self.missing(here, more) - self.missing(there, -more))
        rise = (
            self.costs[first][:, self.labels[second]]
            + self.costs[second][:, self.labels[first]].T
            - self.costs[first, self.labels[first]][:, None]
            - self.costs[second, self.labels[second]][None, :]
        )
        chosen = self._cheapest(mended, rise)
        if chosen is None:
            return False
        one, other = first[chosen[0]], second[chosen[1]]
        target = self.labels[one]
        self._move(one, self.labels[other])
        self._move(other, target)
        return True

    def make_cheaper(self, worth: float) -> bool:
        """Make the move or the exchange that lowers the cost most, sizes kept; False when none does by more."""
        blocks, demand, labels = self.movable, self.demand[self.movable], self.labels[self.movable]
        if not blocks.size:
            return False
        rise = self.costs[blocks] - self.costs[blocks, labels][:, None]
        can_leave = self.missing(labels, -demand) == 0.0
        if self.is_nonempty:
            can_leave &= np.bincount(self.labels)[labels] > 1
        can_enter = self.missing(slice(None), demand[:, None]) == 0.0
        alone = np.where(can_leave[:, None] & can_enter, rise, np.inf)
        alone[np.arange(blocks.size), labels] = np.inf
        into_others = rise[:, labels]
        more = demand[None, :] - demand[:, None]
        fits = self.missing(np.broadcast_to(labels[:, None], more.shape), more) == 0.0
        together = np.where(fits & fits.T & (labels[:, None] != labels), into_others + into_others.T, np.inf)
        block, cluster = np.unravel_index(int(alone.argmin()), alone.shape)
        one, other = np.unravel_index(int(together.argmin()), together.shape)
        if min(alone[block, cluster], together[one, other]) >= -worth:
            return False
        if alone[block, cluster] <= together[one, other]:
            self._move(blocks[block], int(cluster))
        else:
            self._move(blocks[one], labels[other])
            self._move(blocks[other], labels[one])
        return True

    def _cheapest(self, mended: NDArray[np.float64], rise: NDArray[np.float64]) -> tuple[int, int] | None:
        """Return where the cost per unit mended is least, of all that mend something."""
        helps = mended > self.least
        if not helps.any():
            return None
        price = np.divide(rise, mended, out=np.full(mended.shape, np.inf), where=helps)
        row, column = np.unravel_index(int(price.argmin()), price.shape)
        return int(row), int(column)

    def _move(self, block: np.intp, cluster: np.int32 | int) -> None:
        self.sizes[self.labels[block]] -= self.demand[block]
        self.sizes[cluster] += self.demand[block]
        self.labels[block] = cluster
