"""The link graph over blocks: which of them may not, should not, or should share a cluster."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from konstrain import _core
from konstrain._tolerances import UNIT_ROUNDING

# First end, second end and weight of each link.
Edges: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]

# Confidences have few digits, decimal or binary: of what they may be multiples.
FINEST_UNITS = (1e-6, 2.0**-20)


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """A symmetric graph over blocks in compressed rows; each edge carries the cost of one kind of togetherness."""

    indptr: NDArray[np.int64]  # (n_blocks + 1,): where each block's neighbours start in `indices`.
    indices: NDArray[np.int32]  # Neighbours, sorted within a block; each edge is in both of its ends' rows.
    # Positive: what it costs when both ends share a cluster (infinite: never, a hard cannot-link). Negative: minus
    # what it costs when they do not share one (a soft must-link). None: all edges are hard cannot-links.
    weights: NDArray[np.float64] | None = None

    @classmethod
    def from_edges(cls, n_blocks: int, first: Any, second: Any, weights: Any = None) -> Self:
        """Make a graph from edge lists; weights of repeated edges (in either order) add up."""
        u = np.ascontiguousarray(first, dtype=np.int32)
        v = np.ascontiguousarray(second, dtype=np.int32)
        w = np.ones(u.size) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        # Kernels trust their indices; edges may come from outside.
        if not u.shape == v.shape == w.shape:
            lengths = [u.size, v.size] if weights is None else [u.size, v.size, w.size]
            raise ValueError(f"edge lists differ in length: {lengths}")
        if u.size and not (min(u.min(), v.min()) >= 0 and max(u.max(), v.max()) < n_blocks):
            raise ValueError(f"edges must name blocks 0 to {n_blocks - 1}")
        # An infinite weight absorbs finite ones (inf - 1 = inf), so hard links win over soft ones on the same pair.
        once = coo_array((w, (np.minimum(u, v), np.maximum(u, v))), shape=(n_blocks, n_blocks)).tocsr()
        once.eliminate_zeros()
        both = (once + once.T).tocsr()
        both.sort_indices()
        indices = both.indices.astype(np.int32, copy=False)
        return cls(both.indptr.astype(np.int64), indices, None if weights is None else both.data)

    @classmethod
    def without_edges(cls, n_blocks: int) -> Self:
        """Make a graph in which no two blocks are linked."""
        return cls(np.zeros(n_blocks + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))

    @property
    def n_blocks(self) -> int:
        """Number of blocks, linked or not."""
        return self.indptr.size - 1

    @property
    def n_edges(self) -> int:
        """Number of linked pairs of blocks."""
        return self.indices.size // 2

    def neighbours(self, block: int) -> NDArray[np.int32]:
        """Return the blocks that a block is linked to, ascending."""
        return self.indices[self.indptr[block] : self.indptr[block + 1]]

    @cached_property
    def is_hard(self) -> bool:
        """Whether every edge is a hard cannot-link."""
        return self.weights is None or bool(np.isposinf(self.weights).all())

    @property
    def penalties(self) -> NDArray[np.float64]:
        """Weight of each entry of `indices`, infinite for hard links."""
        return np.full(self.indices.size, np.inf) if self.weights is None else self.weights

    @cached_property
    def edges(self) -> Edges:
        """Each edge once: smaller end, larger end, weight (infinite when hard)."""
        rows = np.repeat(np.arange(self.n_blocks, dtype=np.int32), np.diff(self.indptr))
        once = rows < self.indices
        return rows[once], self.indices[once], self.penalties[once]

    @cached_property
    def is_disjoint_cliques(self) -> bool:
        """Whether blocks that are linked at all fall into groups in which everyone is linked with everyone."""
        return _core.is_disjoint_cliques(self.indptr, self.indices)

    @cached_property
    def is_linked(self) -> NDArray[np.bool_]:
        """Whether each block has any link."""
        return np.diff(self.indptr) > 0

    @property
    def adjacency(self) -> csr_array:
        """The graph as a sparse matrix of ones."""
        ones = np.ones(self.indices.size, dtype=np.int8)
        return csr_array((ones, self.indices, self.indptr), shape=(self.n_blocks, self.n_blocks))

    def components(self) -> NDArray[np.int32]:
        """Return the connected component of each block; components are numbered by their first blocks."""
        found: NDArray[np.int32] = connected_components(self.adjacency, directed=False)[1]
        return found

    def hard_part(self) -> "LinkGraph":
        """Return the graph of the hard cannot-links alone."""
        if self.is_hard:
            return LinkGraph(self.indptr, self.indices)
        u, v, w = self.edges
        hard = np.isposinf(w)
        return LinkGraph.from_edges(self.n_blocks, u[hard], v[hard])

    def restricted_to(self, blocks: NDArray[np.int32]) -> "LinkGraph":
        """Return the graph among these blocks (ascending), renumbered in their order; edges keep their weights."""
        local = np.full(self.n_blocks, -1, dtype=np.int32)
        local[blocks] = np.arange(blocks.size, dtype=np.int32)
        u, v, w = self.edges
        inside = (local[u] >= 0) & (local[v] >= 0)
        weights = None if self.weights is None else w[inside]
        return LinkGraph.from_edges(blocks.size, local[u[inside]], local[v[inside]], weights)

    def penalty(self, labels: NDArray[np.int32]) -> float:
        """Sum of what the labels pay: infinite when a hard link is broken."""
        u, v, w = self.edges
        return paid(w, labels[u] == labels[v])

    def enough(self, price: float, spread: float) -> float:
        """Return the price of a link of weight 1, or a lower one at which the same labels are best.

        Labels that break less are better at any price above the spread (by how much costs without links can differ)
        over the least difference between what two labellings break. A higher price only hides the costs themselves in
        rounding.
        """
        unit = None if self.weights is None else _common_unit(np.abs(self.weights[np.isfinite(self.weights)]))
        # Twice: one unit more or less may not be a tie.
        return price if unit is None else min(price, 2.0 * spread / unit)


def _common_unit(weights: NDArray[np.float64]) -> float | None:
    """Return the largest number of which all weights are multiples, if they are written with few digits."""
    for unit in FINEST_UNITS:
        multiples = np.round(weights / unit)
        if multiples.any() and np.abs(weights / unit - multiples).max() <= UNIT_ROUNDING:
            return unit * float(np.gcd.reduce(multiples.astype(np.int64)))
    return None


def paid(weights: NDArray[np.float64], together: NDArray[np.bool_]) -> float:
    """Sum of what links of these weights pay, given which of them join two blocks of one cluster."""
    return float(weights[together & (weights > 0)].sum() - weights[~together & (weights < 0)].sum())
