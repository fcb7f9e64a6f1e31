"""Clique cuts of the bound with a matrix for each size: of many rows, few are alone in few clusters.

Let y_i say whether row i is in one of the n_s clusters of size s, and x_ij whether rows i and j share one. Then

    sum of y_i over i in Q - sum of x_ij over pairs in Q <= n_s

for any rows Q, since a cluster with t of them adds t - t (t - 1) / 2 <= 1. In the matrix of this size, y_i is
s Y_ii / w_i and x_ij is s Y_ij / sqrt(w_i w_j).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.sdp.model import SdpModel, symmetric
from konstrain.exact.sdp.size_cuts import PartRows, rows_of_products

# Blocks of a clique at most.
MOST_MEMBERS = 12
# Violations below this, in clusters, are not worth a row; nor do members that gain less than this join.
LEAST_CLIQUE_VIOLATION = 5e-3
LEAST_GAIN = 1e-3


@dataclass(frozen=True, eq=False)
class Cliques:
    """Clique cuts, in the place that `Parts` have among the cuts of one matrix for all clusters.

    Parameters
    ----------
    size : float
        Size of the clusters.
    count : int
        How many there are.
    is_in : ndarray of bool, shape (n_cuts, n_blocks)
        Blocks of each clique.
    """

    size: float
    count: int
    is_in: NDArray[np.bool_]

    @classmethod
    def none(cls, model: SdpModel, size: float, count: int) -> "Cliques":
        """No cuts."""
        return cls(size, count, np.zeros((0, model.n_blocks), dtype=bool))

    def __len__(self) -> int:
        return len(self.is_in)

    @property
    def limit(self) -> NDArray[np.float64]:
        """Right-hand side of each cut."""
        return np.full(len(self), float(self.count))

    def chosen(self, kept: NDArray[Any]) -> "Cliques":
        """Return some of the cuts."""
        return Cliques(self.size, self.count, self.is_in[kept])

    def joined(self, other: "Cliques") -> "Cliques":
        """Return these and others."""
        return Cliques(self.size, self.count, np.concatenate([self.is_in, other.is_in]))

    def merged(self, weight: NDArray[np.float64], place: NDArray[np.int32]) -> "Cliques":
        """Return the cuts when block b becomes part of block place[b]: members that merge count once."""
        is_in = np.zeros((len(self), int(place.max()) + 1), dtype=bool)
        np.logical_or.at(is_in.T, place, self.is_in.T)
        return Cliques(self.size, self.count, is_in)

    def rows(self, model: SdpModel) -> PartRows:
        """Return the cuts as rows over Y, without conflicts."""
        root = np.sqrt(model.weight)
        members = (np.flatnonzero(is_in) for is_in in self.is_in)
        return rows_of_products(
            model, ((named, self.size / model.weight[named], 1 / root[named]) for named in members), -self.size
        )

    def violated(self, model: SdpModel, Y: NDArray[np.float64]) -> "Cliques":
        """Return cuts that Y violates and that are not among these: from each block on, the best members in turn."""
        root = np.sqrt(model.weight)
        shared = self.size * np.maximum(symmetric(Y), 0.0) / np.outer(root, root)
        is_in = np.eye(model.n_blocks, dtype=bool)
        sums = shared.diagonal().copy()
        gain = np.where(is_in, -np.inf, shared.diagonal() - shared)
        every = np.arange(model.n_blocks)
        for _ in range(MOST_MEMBERS - 1):
            added = gain.argmax(axis=1)
            more = gain[every, added]
            joins = np.flatnonzero(more > LEAST_GAIN)
            sums[joins] += more[joins]
            is_in[joins, added[joins]] = True
            gain[joins] -= shared[added[joins]]
            gain[joins, added[joins]] = -np.inf
        # Not from blocks that are hardly in these clusters: others find the same without them.
        is_violated = (sums > self.count + LEAST_CLIQUE_VIOLATION) & (shared.diagonal() > LEAST_GAIN)
        found = is_in[is_violated]
        known = {clique.tobytes() for clique in self.is_in}
        new = [n for n, clique in enumerate(found) if clique.tobytes() not in known]
        return Cliques(self.size, self.count, np.unique(found[new], axis=0))
