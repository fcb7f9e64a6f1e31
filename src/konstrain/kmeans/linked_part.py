"""The blocks that have links, as a problem of their own: where only links couple blocks, all others are free."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import Assignment, AssignmentProblem
from konstrain.constraints import Problem
from konstrain.kmeans import distances
from konstrain.links import LinkGraph

# Below this many costs, or above this share of linked blocks, one matrix for all blocks is as fast.
MIN_COSTS = 100_000
MAX_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class LinkedPart:
    """Linked blocks of a large problem with their means, weights and links.

    Costs are computed for these blocks only: a million rows with a few links cost little more than without.
    """

    blocks: NDArray[np.int64]
    mean: Any
    weight: NDArray[np.float64]
    links: LinkGraph

    @classmethod
    def of(cls, problem: Problem, violation_cost: float | None) -> "LinkedPart | None":
        """Take the linked blocks out of a problem without sizes; None when that would not pay."""
        links = problem.links_at(violation_cost)
        if links is None or links.n_edges == 0 or problem.n_blocks * problem.n_clusters < MIN_COSTS:
            return None
        blocks = np.flatnonzero(links.is_linked)
        if blocks.size > MAX_SHARE * problem.n_blocks:
            return None
        weight = np.ascontiguousarray(problem.weight[blocks])
        return cls(blocks, problem.mean[blocks], weight, links.restricted_to(blocks.astype(np.int32)))

    def settle(
        self,
        labels: NDArray[np.int32],
        sums: NDArray[np.float64],
        weights: NDArray[np.float64],
        centers: NDArray[np.float64],
        solve: Callable[[AssignmentProblem], Assignment],
        n_threads: int,
    ) -> tuple[float, float]:
        """Replace the nearest labels of linked blocks by the best that keep the links; sums follow, in place.

        `solve` answers the question of assignment. Returns by how much the cost and its lower bound rose.
        """
        costs = distances.block_costs(self.mean, self.weight, centers, n_threads=n_threads)
        answer = solve(AssignmentProblem(costs, self.links))
        nearest = labels[self.blocks]
        before = float(costs[np.arange(nearest.size), nearest].sum())
        moved = np.flatnonzero(nearest != answer.labels)
        pull = self.mean[moved]
        pull = (pull.toarray() if hasattr(pull, "toarray") else pull) * self.weight[moved, None]
        for sign, where in ((-1.0, nearest[moved]), (1.0, answer.labels[moved])):
            np.add.at(sums, where, sign * pull)
            weights += sign * np.bincount(where, self.weight[moved], weights.size)
        labels[self.blocks] = answer.labels
        return answer.cost - before, answer.lower_bound - before
