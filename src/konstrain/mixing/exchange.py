"""Blocks change places between groups while that brings the means of the groups nearer to each other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag

from konstrain._memory import SAMPLE_ROWS
from konstrain._tolerances import GAIN_RELATIVE
from konstrain.assignment.rules import Rules
from konstrain.constraints import Problem
from konstrain.links import LinkGraph


class Exchange:
    """Groups of blocks (`labels` within the bounds, without conflicts), and what changing places would do.

    The variance between groups is the sum over groups of ``|s|^2 / n``, where s is the sum of the rows' differences
    from the mean of all, and n the number of rows.
    """

    def __init__(self, problem: Problem, labels: NDArray[np.int32]) -> None:
        self.labels = labels.copy()
        weight = problem.weight
        mean = np.asarray(problem.mean, dtype=np.float64)
        self._weight = weight
        # What each block adds to the sum of its group.
        self._parts = weight[:, None] * (mean - np.average(mean, axis=0, weights=weight))
        k, n = problem.n_clusters, problem.n_blocks
        # What each block adds to what its group holds, and the rules that what is held obeys: sizes are the first.
        self._rules = _rules_with_sizes(problem)
        self._adds = self._rules.amounts
        self._sums = np.zeros((k, mean.shape[1]))
        np.add.at(self._sums, labels, self._parts)
        self._count = np.bincount(labels, weight, k).astype(np.float64)
        self._held = np.zeros((k, self._adds.shape[1]))
        np.add.at(self._held, labels, self._adds)
        self._conflicts = LinkGraph.without_edges(n) if problem.conflicts is None else problem.conflicts
        # Conflicts that each block has, or would have, in each group.
        self._clashes = np.zeros((n, k), dtype=np.int64)
        for block in range(n):
            np.add.at(self._clashes[block], labels[self._conflicts.neighbours(block)], 1)
        self._least = GAIN_RELATIVE * float((self._parts**2 / weight[:, None]).sum())

    def between(self) -> float:
        """The variance between the groups."""
        filled = self._count > 0
        return float(((self._sums[filled] ** 2).sum(axis=1) / self._count[filled]).sum())

    def run(self, rng: np.random.Generator) -> float:
        """Let blocks change places until none gains by it; returns the variance between the groups."""
        n = self.labels.size
        n_moved = n
        while n_moved:
            # One after the other, not bool(any): every block has its turn.
            n_moved = sum([self._improve(int(block), rng) for block in rng.permutation(n)])
        return self.between()

    def _improve(self, block: int, rng: np.random.Generator) -> bool:
        """Make the best change of one block, if any gains: with a partner, or to another group alone."""
        n = self.labels.size
        partners = np.arange(n) if n <= SAMPLE_ROWS else rng.choice(n, SAMPLE_ROWS, replace=False)
        partners = partners[self.labels[partners] != self.labels[block]]
        gain, partner = self._best_partner(block, partners)
        alone, group = self._best_group(block)
        if max(gain, alone) <= self._least:
            return False
        if alone > gain:
            self._move(block, group)
        else:
            here, there = int(self.labels[block]), int(self.labels[partner])
            self._move(block, there)
            self._move(partner, here)
        return True

    def _best_partner(self, block: int, partners: NDArray[np.int64]) -> tuple[float, int]:
        here, there = self.labels[block], self.labels[partners]
        counts = self._weight[partners] - self._weight[block]
        added = self._adds[partners] - self._adds[block]
        fits = self._may_hold(here, self._held[here] + added) & self._may_hold(there, self._held[there] - added)
        # A conflict with the partner itself ends as the two change places.
        in_conflict = np.isin(partners, self._conflicts.neighbours(block))
        fits &= self._clashes[block, there] - in_conflict == 0
        fits &= self._clashes[partners, here] - in_conflict == 0
        partners, there, counts = partners[fits], there[fits], counts[fits]
        if not partners.size:
            return -np.inf, -1
        change = self._parts[partners] - self._parts[block]
        new = ((self._sums[here] + change) ** 2).sum(axis=1) / (self._count[here] + counts)
        new += ((self._sums[there] - change) ** 2).sum(axis=1) / (self._count[there] - counts)
        gains = self._share(here) + self._shares()[there] - new
        best = int(gains.argmax())
        return float(gains[best]), int(partners[best])

    def _best_group(self, block: int) -> tuple[float, int]:
        here, added, weight = int(self.labels[block]), self._adds[block], self._weight[block]
        if not self._may_hold(here, self._held[here] - added) or self._count[here] - weight <= 0:
            return -np.inf, -1
        fits = self._may_hold(slice(None), self._held + added) & (self._clashes[block] == 0)
        fits[here] = False
        if not fits.any():
            return -np.inf, -1
        left = ((self._sums[here] - self._parts[block]) ** 2).sum() / (self._count[here] - weight)
        joined = ((self._sums + self._parts[block]) ** 2).sum(axis=1) / (self._count + weight)
        gains = np.where(fits, self._share(here) + self._shares() - left - joined, -np.inf)
        return float(gains.max()), int(gains.argmax())

    def _may_hold(self, groups: Any, held: NDArray[np.float64]) -> Any:
        """Whether each of these groups would be within all its bounds."""
        values = held @ self._rules.weights.T
        return ((values >= self._rules.low[groups]) & (values <= self._rules.high[groups])).all(axis=-1)

    def _shares(self) -> NDArray[np.float64]:
        squares: NDArray[np.float64] = (self._sums**2).sum(axis=1)
        return np.divide(squares, self._count, out=np.zeros_like(squares), where=self._count > 0)

    def _share(self, group: int) -> float:
        return float((self._sums[group] ** 2).sum() / self._count[group])

    def _move(self, block: int, group: int) -> None:
        here = int(self.labels[block])
        for sums, part in (
            (self._sums, self._parts[block]),
            (self._count, self._weight[block]),
            (self._held, self._adds[block]),
        ):
            sums[here] -= part
            sums[group] += part
        others = self._conflicts.neighbours(block)
        self._clashes[others, here] -= 1
        self._clashes[others, group] += 1
        self.labels[block] = group


def _rules_with_sizes(problem: Problem) -> Rules:
    """All that bounds what groups hold as one set of rules, as sums are compared with it."""
    k = problem.n_clusters
    low = np.zeros(k) if problem.size_min is None else problem.widened_bounds[0]
    high = np.full(k, np.inf) if problem.size_max is None else problem.widened_bounds[1]
    sizes = Rules.of_amounts(problem.demand[:, None], low[:, None], high[:, None])
    if problem.resources is None:
        return sizes
    other = problem.resources.compared
    return Rules(
        np.hstack([sizes.amounts, other.amounts]),
        block_diag((sizes.weights, other.weights)).toarray(),
        np.hstack([sizes.low, other.low]),
        np.hstack([sizes.high, other.high]),
    )
