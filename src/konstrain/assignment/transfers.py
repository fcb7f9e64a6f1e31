"""What it costs to bring blocks of one kind from a cluster to another, first the one that loses least by it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.kinds import Kinds


@dataclass(frozen=True, eq=False)
class Transfers:
    """So many blocks of a kind may go from a cluster to another at this cost each; one entry per transfer.

    Blocks between a cluster and another are dealt out in the order of their cost, to the first transfer one, then
    one, two, four and so on: what the first few cost is told block by block, what hundreds cost on average.
    """

    kind: NDArray[np.intp]
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    capacity: NDArray[np.float64]
    cost: NDArray[np.float64]

    @classmethod
    def between(cls, paid: NDArray[np.float64], labels: NDArray[np.int32], kinds: Kinds) -> "Transfers":
        """Return the transfers that lead away from these labels, at what blocks pay in each cluster."""
        parts = []
        for kind, blocks in enumerate(kinds.blocks):
            order = blocks[np.argsort(labels[blocks], kind="stable")]
            sources, first = np.unique(labels[order], return_index=True)
            for source, members in zip(sources, np.split(order, first[1:]), strict=True):
                parts.append(_from_cluster(kind, int(source), paid[members]))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _from_cluster(kind: int, source: int, paid: NDArray[np.float64]) -> tuple[NDArray[np.generic], ...]:
    """Transfers of the blocks of one kind that a cluster holds, to every other cluster."""
    n_blocks, n_clusters = paid.shape
    lost = np.sort(paid - paid[:, [source]], axis=0)
    doubling = 2 ** np.arange(int(n_blocks - 1).bit_length(), dtype=np.intp)
    starts = np.concatenate([[0], doubling[doubling < n_blocks]]).astype(np.intp)
    capacity = np.diff(np.concatenate([starts, [n_blocks]]))
    mean = np.add.reduceat(lost, starts, axis=0) / capacity[:, None]
    others = np.delete(np.arange(n_clusters), source)
    n = starts.size * others.size
    return (
        np.full(n, kind),
        np.full(n, source),
        np.tile(others, starts.size),
        np.repeat(capacity.astype(np.float64), others.size),
        mean[:, others].ravel(),
    )
