"""Blocks that hold the same amounts are of one kind: under shares of few groups there are few kinds.

What a cluster has of each rule is then a matter of how many blocks of each kind it holds, whichever these are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import _core


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of each block, and a block of each kind."""

    of_block: NDArray[np.uint8]
    examples: NDArray[np.int64]

    @classmethod
    def among(cls, amounts: NDArray[np.float64]) -> "Kinds | None":
        """Return the kinds of blocks that hold these amounts; None where there are too many to tell apart.

        Examples
        --------
        >>> Kinds.among(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).of_block.tolist()
        [0, 1, 0]
        """
        of_block, examples = _core.kinds_of_rows(amounts)
        return cls(of_block, examples) if examples.size else None

    @property
    def count(self) -> int:
        """Number of kinds."""
        return int(self.examples.size)

    @cached_property
    def blocks(self) -> list[NDArray[np.intp]]:
        """The blocks of each kind, in order."""
        order = np.argsort(self.of_block, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.of_block, minlength=self.count))[:-1])

    def are_crossed(self, amounts: NDArray[np.float64]) -> bool:
        """Whether a block may hold several amounts that others lack, so that moving it for one changes the others.

        What every block holds some of, such as its number of rows, does not count.
        """
        held = amounts[self.examples] != 0
        return bool((held[:, ~held.all(axis=0)].sum(axis=1) > 1).any())

    def counts(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
        """How many blocks of each kind each cluster holds, shape (n_kinds, n_clusters)."""
        place = self.of_block.astype(np.int64) * n_clusters + labels
        held = np.bincount(place, minlength=self.count * n_clusters)
        return held.reshape(self.count, n_clusters).astype(np.float64)
