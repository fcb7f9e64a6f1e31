"""The linked blocks as a smaller problem: where only links couple blocks, all others are free."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import MOST_CANCELLED
from konstrain.assignment import Assignment, AssignmentProblem
from konstrain.constraints import Problem
from konstrain.kmeans import distances
from konstrain.links import LinkGraph


@dataclass(frozen=True, eq=False)
class LinkedPart:
    """Linked blocks of a problem with their means, weights and links.

    Costs are computed for these blocks only: a million rows with a few links cost little more than without.
    """

    blocks: NDArray[np.int64]
    mean: Any
    weight: NDArray[np.float64]
    links: LinkGraph

    @classmethod
    def of(cls, problem: Problem, violation_cost: float | None) -> "LinkedPart | None":
        """Take the linked blocks out of a problem without sizes; None when no block is linked, or each of them."""
        links = problem.links_at(violation_cost)
        if links is None or links.n_edges == 0 or links.is_linked.all():
            return None
        blocks = np.flatnonzero(links.is_linked)
        weight = np.ascontiguousarray(problem.weight[blocks])
        return cls(blocks, problem.mean[blocks], weight, links.restricted_to(blocks.astype(np.int32)))

    def place(
        self,
        labels: NDArray[np.int32],
        centers: NDArray[np.float64],
        solve: Callable[[AssignmentProblem], Assignment],
        n_threads: int,
    ) -> "PlacedBlocks":
        """Replace the nearest labels of linked blocks by the best that the links allow, in place.

        `solve` solves the assignment problem of the linked blocks.
        """
        costs = distances.block_costs(self.mean, self.weight, centers, n_threads=n_threads)
        solution = solve(AssignmentProblem(costs, self.links))
        nearest = labels[self.blocks]
        before = float(costs[np.arange(nearest.size), nearest].sum())
        labels[self.blocks] = solution.labels
        return PlacedBlocks(self, nearest, solution, before)


@dataclass(frozen=True, eq=False)
class PlacedBlocks:
    """Linked blocks after `LinkedPart.place`: their nearest clusters and their assignment under the links."""

    part: LinkedPart
    nearest: NDArray[np.int32]
    solution: Assignment
    before: float  # Cost in the nearest clusters.

    @property
    def rise(self) -> float:
        """By how much the cost rose."""
        return self.solution.cost - self.before

    @property
    def proved_rise(self) -> float:
        """By how much it must rise at least."""
        return self.solution.lower_bound - self.before

    def move(self, sums: NDArray[np.float64], weights: NDArray[np.float64]) -> bool:
        """Update sums and weights of the clusters in place; return False where rounding would dominate."""
        moved = np.flatnonzero(self.nearest != self.solution.labels)
        pull, weight = self.part.mean[moved], self.part.weight[moved]
        pull = (pull.toarray() if hasattr(pull, "toarray") else pull) * weight[:, None]
        taken = np.bincount(self.nearest[moved], weight, weights.size)
        # If a cluster loses nearly all its weight, the difference is mostly rounding.
        if (taken > MOST_CANCELLED * weights).any():
            return False
        for sign, where in ((-1.0, self.nearest[moved]), (1.0, self.solution.labels[moved])):
            np.add.at(sums, where, sign * pull)
            weights += sign * np.bincount(where, weight, weights.size)
        return True
