"""Pricing: which clusters would improve the master, found by local descent first, by branch and bound when it fails.

The reduced cost of a cluster X at duals lambda (per block) and sigma is ``cost(X) - lambda(X) + sigma``. Pricing
minimises ``g(X) = cost(X) - lambda(X)`` and compares it with -sigma. Farkas pricing leaves the cost out.
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


@dataclass(frozen=True)
class ColumnParams:
    """Tunable numbers of column generation."""

    # Weight of the old duals in the smoothed ones: dual smoothing by Neame's rule, see Pessoa, Sadykov, Uchoa,
    # Vanderbeck (2018). Without it 60 to 80 rows in 10 to 14 clusters need 1.3 to 1.6 times as many columns; 0.95
    # follows the duals too slowly.
    smoothing: float = 0.85
    # Starts of a round of local pricing, and columns taken from it; more make the master slower than they help.
    per_round: int = 100
    # Nodes of the exact pricer after which it gives up; a larger number proves more, and stalls later.
    node_limit: int = 2_000_000
    # Nodes before a cheaper method is tried: duals from the middle of the optimal face, or the semidefinite bound.
    few_nodes: int = 100_000
    # Nodes of the exact pricer after it has found a column; more find better columns, in fewer and longer rounds.
    nodes_after_find: int = 2_000
    # Most seconds of the integer master at the end of a run; more find better clusterings.
    integer_seconds: float = 10.0


PARAMS = ColumnParams()


@dataclass(frozen=True, eq=False)
class ExactPrice:
    """Result of the exact pricer: columns, best last, and a proved lower bound on min(0, min g)."""

    columns: list[Column]  # Clusters below the cutoff; empty when there are none or a limit came first.
    bound: float  # No cluster has a g below this; at most the cutoff.
    finished: bool  # Whether the search ended by itself: then no columns means there are none.
    n_nodes: int  # Number of nodes, each a set of blocks.


class Pricer:
    """Pricing problem over the blocks of a problem, under its conflicts and further rules on clusters."""

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
        # The block that each entry of the conflicts' indices belongs to.
        self._conflicting = np.repeat(np.arange(problem.n_blocks), np.diff(indptr))
        self._blocks = _core.PricingBlocks(
            self.mean,
            self.weight,
            indptr,
            indices,
            rules.amounts,
            rules.amount_limits,
            rules.counts,
            rules.count_limits,
            rules.callback,
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
        self, duals: NDArray[np.float64], threshold: float, starts: Sequence[Column], *, costless: bool = False
    ) -> list[Column]:
        """Descend from each start; locally best clusters with g below a threshold, cheapest first."""
        profit = duals if costless else duals - self.scatter
        found = self._blocks.price_locally(
            profit, [list(start) for start in starts], threshold, PARAMS.per_round, costless
        )
        return [tuple(column) for column in found]

    def exactly(
        self,
        duals: NDArray[np.float64],
        cutoff: float,
        budget: Budget,
        node_limit: int,
        *,
        nodes_after_find: int | None = None,
        costless: bool = False,
    ) -> ExactPrice:
        """Find clusters with g below the cutoff (not positive), or prove that there are none."""
        profit = duals if costless else duals - self.scatter
        after_find = PARAMS.nodes_after_find if nodes_after_find is None else nodes_after_find
        columns, bound, finished, n_nodes = self._blocks.price_exactly(
            profit, min(0.0, cutoff), node_limit, after_find, budget.remaining(), costless
        )
        guard = PRICING_GUARD * float(np.maximum(profit, 0.0).sum())
        return ExactPrice([tuple(c) for c in columns], bound - guard, finished, n_nodes)

    def admissible_part(self, blocks: Sequence[int]) -> Column:
        """Return as many of these blocks as may form a cluster, taken in order."""
        if self._may_form_a_cluster(blocks):
            return tuple(sorted(blocks))
        kept: list[int] = []
        for block in blocks:
            if self._joins(kept, block):
                kept.append(block)
        return tuple(sorted(kept))

    def _may_form_a_cluster(self, blocks: Sequence[int]) -> bool:
        """Whether all of these blocks may, as far as that is seen at once: then every part of them may, too."""
        if not blocks or self.rules.others:
            return False
        if self.conflicts is not None:
            inside = np.zeros(self.weight.size, dtype=bool)
            inside[list(blocks)] = True
            if (inside[self._conflicting] & inside[self.conflicts.indices]).any():
                return False
        return self.rules.allows(np.array(blocks[:-1], dtype=np.int32), blocks[-1])

    def _joins(self, members: list[int], block: int) -> bool:
        if self.conflicts is not None:
            start, end = self.conflicts.indptr[block : block + 2]
            if np.isin(members, self.conflicts.indices[start:end]).any():
                return False
        return self.rules.allows(np.array(members, dtype=np.int32), block)
