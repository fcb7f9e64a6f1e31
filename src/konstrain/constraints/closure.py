"""What the constraints imply: blocks of rows that stay together, and the conflicts between blocks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.constraints.arguments import Constraints
from konstrain.links import LinkGraph

_NO_CODES = np.zeros(0, dtype=np.int32)


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
        joined = pairs[0] if len(pairs) == 1 else np.concatenate([np.zeros((0, 2), dtype=np.int32), *pairs])
        block_of, n_blocks = _core.merge_blocks(
            constraints.n_samples,
            joined,
            _NO_CODES if constraints.groups is None else constraints.groups.codes,
            _NO_CODES if constraints.labels is None else constraints.labels.codes,
        )
        return cls(block_of, *_core.list_rows(block_of, n_blocks))

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
        """The row that stands for each block."""
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
