"""What the constraints imply: blocks of rows that stay together, conflicts and soft links between blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from konstrain.constraints.arguments import Constraints
from konstrain.links import LinkGraph


@dataclass(frozen=True, eq=False)
class Blocks:
    """The connected components of the must-links, numbered in the order of their first rows."""

    block_of: NDArray[np.int32]
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]

    @classmethod
    def merge(cls, constraints: Constraints) -> Self:
        """Merge rows by hard must-links, groups and labels."""
        pairs = [source.pairs for source in constraints.must]
        codes = [given.codes for given in (constraints.groups, constraints.labels) if given is not None]
        return cls.of_pairs(constraints.n_samples, pairs, codes)

    @classmethod
    def of_pairs(cls, n_samples: int, pairs: Sequence[NDArray[Any]], codes: Sequence[NDArray[np.int32]] = ()) -> Self:
        """Merge rows by pairs, and by codes per row of which -1 means none."""
        first, second = [part[:, 0] for part in pairs], [part[:, 1] for part in pairs]
        n_nodes = n_samples
        for code in codes:
            # One node per group instead of all its pairs.
            rows = np.flatnonzero(code >= 0)
            first.append(rows)
            second.append(n_nodes + code[rows])
            n_nodes += int(code.max(initial=-1)) + 1
        nothing = np.zeros(0, dtype=np.int32)
        u, v = np.concatenate([nothing, *first]), np.concatenate([nothing, *second])
        graph = csr_array((np.ones(u.size), (u, v)), shape=(n_nodes, n_nodes))
        n_found, component = connected_components(graph, directed=False)
        component = component[:n_samples]
        # In the order of first rows; the last write to a place counts, so rows are written from the last on.
        first_row = np.full(n_found, n_nodes)
        first_row[component[::-1]] = np.arange(n_samples)[::-1]
        number = np.empty(n_found, dtype=np.int32)
        number[np.argsort(first_row, kind="stable")] = np.arange(n_found)
        block_of = number[component]
        ones = np.ones(n_samples, dtype=np.int8)
        n_blocks = int(block_of.max()) + 1
        listed = csr_array((ones, block_of, np.arange(n_samples + 1)), shape=(n_samples, n_blocks)).tocsc()
        return cls(block_of, listed.indptr.astype(np.int64), listed.indices.astype(np.int32, copy=False))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.indptr.size - 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows in each block."""
        return np.diff(self.indptr)

    @cached_property
    def first_rows(self) -> NDArray[np.int32]:
        """The first row of each block."""
        return self.rows[self.indptr[:-1]]

    def rows_of(self, block: int) -> NDArray[np.int32]:
        """Rows of one block, ascending."""
        return self.rows[self.indptr[block] : self.indptr[block + 1]]

    def total(self, amounts: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Sum of one amount per row in each block; None: 1 each."""
        if amounts is None:
            return self.sizes.astype(np.float64)
        return np.bincount(self.block_of, weights=amounts, minlength=self.n_blocks).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Conflicts:
    """The hard cannot-links over blocks, and those that fall inside a block and can never hold."""

    graph: LinkGraph
    broken: list[tuple[str, int, int]]
    n_broken: int

    @classmethod
    def find(cls, constraints: Constraints, blocks: Blocks, *, cap: int) -> Self:
        """Map the cannot-links to blocks; list at most `cap` broken ones."""
        first, second = [], []
        broken: list[tuple[str, int, int]] = []
        n_broken = 0
        for source in constraints.cannot:
            u, v = blocks.block_of[source.pairs[:, 0]], blocks.block_of[source.pairs[:, 1]]
            inside = np.flatnonzero(u == v)
            if inside.size:
                n_broken += inside.size
                broken += [(source.name, int(a), int(b)) for a, b in source.pairs[inside[: cap - len(broken)]]]
                u, v = np.delete(u, inside), np.delete(v, inside)
            first.append(u)
            second.append(v)
        nothing = np.zeros(0, dtype=np.int32)
        graph = LinkGraph.from_edges(
            blocks.n_blocks, np.concatenate([nothing, *first]), np.concatenate([nothing, *second])
        )
        return cls(graph, broken, n_broken)


@dataclass(frozen=True, eq=False)
class SoftLinks:
    """Soft links mapped to blocks, at one unit of cost per unit of confidence.

    For any labels that keep the hard links, the confidences of the broken soft links add up to
    ``graph.penalty(labels) + constant_penalty``.
    """

    graph: LinkGraph
    constant_penalty: float
    n_must: int
    n_cannot: int
    n_kept: int
    n_broken: int

    @classmethod
    def find(cls, constraints: Constraints, blocks: Blocks, conflicts: LinkGraph) -> Self:
        """Map soft links to blocks, net opposite ones out, and count those that hard links keep or break."""
        (must, must_price), (cannot, cannot_price) = constraints.soft_must, constraints.soft_cannot
        u, v = (blocks.block_of[np.concatenate([must[:, side], cannot[:, side]])] for side in (0, 1))
        price = np.concatenate([must_price, cannot_price])
        is_must = np.arange(price.size) < must_price.size
        inside = u == v
        forbidden = ~inside & _has_edge(conflicts, u, v)
        always_kept = (inside & is_must) | (forbidden & ~is_must)
        always_broken = (inside & ~is_must) | (forbidden & is_must)
        open_ = ~(inside | forbidden)
        constant = float(price[always_broken].sum())
        u, v, signed = u[open_], v[open_], np.where(is_must, -price, price)[open_]
        both_ways = LinkGraph.from_edges(blocks.n_blocks, u, v, np.abs(signed)).edges[2].sum()
        hard_u, hard_v, _ = conflicts.edges
        graph = LinkGraph.from_edges(
            blocks.n_blocks,
            np.concatenate([hard_u, u]),
            np.concatenate([hard_v, v]),
            np.concatenate([np.full(hard_u.size, np.inf), signed]),
        )
        net = graph.edges[2]
        # Of two opposite links on one pair the weaker is paid in any case: (sum - |net|) / 2.
        constant += max(0.0, float(both_ways - np.abs(net[np.isfinite(net)]).sum()) / 2)
        return cls(
            graph, constant, must_price.size, cannot_price.size, int(always_kept.sum()), int(always_broken.sum())
        )


def _has_edge(graph: LinkGraph, u: NDArray[np.int32], v: NDArray[np.int32]) -> NDArray[np.bool_]:
    first, second, _ = graph.edges
    n = graph.n_blocks
    # Edges come sorted by their ends, so the keys are sorted too.
    keys = first.astype(np.int64) * n + second
    wanted = np.minimum(u, v).astype(np.int64) * n + np.maximum(u, v)
    at = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    return keys[at] == wanted if keys.size else np.zeros(u.size, dtype=bool)
