"""An earlier clustering of the rows: which cluster each was in, and what it costs to take it to another."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._messages import term
from konstrain.constraints.inputs import is_missing, membership_values, refuse_lazy


def read_previous(value: Any, n_samples: int, n_clusters: int) -> NDArray[np.int32]:
    """Return the earlier cluster of each row, -1 for rows that are new."""
    refuse_lazy("previous", value)
    values = membership_values(value)
    if values.shape != (n_samples,):
        raise ValueError(f"{term('previous')} must have one label per row, shape ({n_samples},), got {values.shape}")
    known = np.flatnonzero(~is_missing(values))
    if not known.size:
        raise ValueError(f"{term('previous')} has no label of any row; leave it out")
    given = np.array(values[known].tolist())
    is_number = given.dtype.kind in "iuf"
    wrong = np.flatnonzero(~np.isin(given, np.arange(n_clusters))) if is_number else np.zeros(1, dtype=np.int64)
    if wrong.size:
        raise ValueError(
            f"{term('previous')}[{known[wrong[0]]}] is {given[wrong[0]].item()!r}; clusters are 0 to "
            f"{n_clusters - 1}, and -1 is a new row"
        )
    labels = np.full(n_samples, -1, dtype=np.int32)
    labels[known] = given
    return labels


@dataclass(frozen=True, eq=False)
class Homes:
    """The clusters that rows of each block were in."""

    rows_there: csr_array  # (n_blocks, n_clusters): how many rows of a block were in a cluster.
    cost: float = 0.0  # What each row that moves costs.
    most: float = math.inf  # How many rows may move.

    @classmethod
    def of(cls, previous: NDArray[np.int32], block_of: NDArray[np.int32], n_blocks: int, n_clusters: int) -> Self:
        """Count the rows of blocks by their earlier clusters."""
        known = np.flatnonzero(previous >= 0)
        places = block_of[known], previous[known]
        return cls(csr_array((np.ones(known.size), places), shape=(n_blocks, n_clusters)))

    @cached_property
    def n_known(self) -> NDArray[np.float64]:
        """Rows of each block that are not new."""
        return np.asarray(self.rows_there.sum(axis=1)).ravel()

    @cached_property
    def moved(self) -> NDArray[np.float64]:
        """Rows of each block that move if it is in each cluster, shape (n_blocks, n_clusters)."""
        moved: NDArray[np.float64] = self.n_known[:, None] - self.rows_there.toarray()
        return moved

    @property
    def usual(self) -> NDArray[np.int32]:
        """Where most rows of each block were, 0 for new blocks."""
        there = self.rows_there.tocoo()
        order = np.lexsort((-there.col, there.data))  # of several entries of a block the last one stays
        labels = np.zeros(there.shape[0], dtype=np.int32)
        labels[there.row[order]] = there.col[order]
        return labels

    def add_costs(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return costs of blocks in clusters with what rows that move cost."""
        there = self.rows_there.tocoo()
        found = costs + self.cost * self.n_known[:, None]
        found[there.row, there.col] = costs[there.row, there.col] + self.cost * (self.n_known[there.row] - there.data)
        return found

    def n_moved(self, block_labels: NDArray[Any]) -> int:
        """Return the number of rows that are in other clusters than before."""
        there = self.rows_there.tocoo()
        return int(self.n_known.sum() - there.data[block_labels[there.row] == there.col].sum())

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return what it costs to take blocks from their clusters as compressed rows, for the kernels."""
        there = self.rows_there
        return there.indptr.astype(np.int64), there.indices.astype(np.int32), there.data * self.cost
