"""Pricing: which clusters would improve the master, found by local descent first, by branch and bound when it fails.

The reduced cost of a cluster X at duals lambda (per block) and sigma is ``cost(X) - lambda(X) + sigma``. Pricing
looks at ``g(X) = cost(X) - lambda(X)`` alone and compares with -sigma. Farkas pricing leaves the cost out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import PRICING_GUARD
from konstrain.constraints.inputs import is_sparse
from konstrain.constraints.problem import Problem
from konstrain.exact.columns.cluster_constraints import ClusterRules
from konstrain.stop import Budget

# Blocks of one cluster, ascending.
Column = tuple[int, ...]

# Columns that one round of local pricing hands over: more make the master slower than they help.
COLUMNS_PER_ROUND = 80
# Once the exact pricer has found something, the search for something better is worth only so many nodes.
NODES_AFTER_FIND = 2_000


@dataclass(frozen=True, eq=False)
class ExactPrice:
    """What the exact pricer found: columns, best last, and a proved lower bound on min(0, min g).

    Parameters
    ----------
    columns : list of tuple of int
        Clusters below the cutoff; empty when there are none or a limit came first.
    bound : float
        No cluster has a g below this; at most the cutoff.
    finished : bool
        Whether the search ended by itself: then no columns means there are none.
    n_nodes : int
        Sets looked at.
    """

    columns: list[Column]
    bound: float
    finished: bool
    n_nodes: int


class Pricer:
    """Prices clusters of a problem's blocks under its conflicts and some rules.

    Parameters
    ----------
    problem : Problem
        Blocks with means.
    rules : ClusterRules
        What clusters must obey besides the conflicts.
    """

    def __init__(self, problem: Problem, rules: ClusterRules) -> None:
        assert problem.scatter is not None
        mean = problem.mean.toarray() if is_sparse(problem.mean) else problem.mean
        self.mean = np.ascontiguousarray(mean, dtype=np.float64)
        self.weight = problem.weight
        self.scatter = problem.scatter
        self.rules = rules
        self.conflicts = problem.conflicts
        indptr = np.zeros(problem.n_blocks + 1, dtype=np.int64)
        indices = np.zeros(0, dtype=np.int32)
        if problem.conflicts is not None:
            indptr, indices = problem.conflicts.indptr, problem.conflicts.indices
        self._blocks = _core.PricingBlocks(
            self.mean,
            self.weight,
            indptr,
            indices,
            rules.amounts,
            rules.amount_limits,
            rules.counts,
            rules.count_limits,
            rules.question,
        )

    def cost(self, column: Column) -> float:
        """Squared distances of all rows of a cluster to its mean."""
        inside = np.array(column)
        weight = self.weight[inside]
        total = weight.sum()
        if total <= 0.0:
            return float(self.scatter[inside].sum())
        gap = self.mean[inside] - weight @ self.mean[inside] / total
        return float(self.scatter[inside].sum() + weight @ (gap * gap).sum(axis=1))

    def locally(
        self,
        duals: NDArray[np.float64],
        threshold: float,
        starts: Sequence[Column],
        *,
        costless: bool = False,
    ) -> list[Column]:
        """Descend from each start; locally best clusters with g below a threshold, cheapest first."""
        profit = duals if costless else duals - self.scatter
        found = self._blocks.price_locally(
            profit, [list(start) for start in starts], threshold, COLUMNS_PER_ROUND, costless
        )
        return [tuple(column) for column in found]

    def exactly(
        self,
        duals: NDArray[np.float64],
        cutoff: float,
        budget: Budget,
        node_limit: int,
        *,
        nodes_after_find: int = NODES_AFTER_FIND,
        costless: bool = False,
    ) -> ExactPrice:
        """Find clusters with g below the cutoff (not positive), or prove that there are none."""
        profit = duals if costless else duals - self.scatter
        columns, bound, finished, n_nodes = self._blocks.price_exactly(
            profit, min(0.0, cutoff), node_limit, nodes_after_find, budget.remaining(), costless
        )
        guard = PRICING_GUARD * float(np.maximum(profit, 0.0).sum())
        return ExactPrice([tuple(c) for c in columns], bound - guard, finished, n_nodes)

    def admissible_part(self, blocks: Sequence[int]) -> Column:
        """Return as many of these blocks as may form a cluster, taken in order."""
        kept: list[int] = []
        for block in blocks:
            if self._joins(kept, block):
                kept.append(block)
        return tuple(sorted(kept))

    def _joins(self, members: list[int], block: int) -> bool:
        if self.conflicts is not None:
            start, end = self.conflicts.indptr[block : block + 2]
            if np.isin(members, self.conflicts.indices[start:end]).any():
                return False
        return self.rules.allows(np.array(members, dtype=np.int32), block)
