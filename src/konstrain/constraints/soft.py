"""Soft links over blocks: what each clustering pays for breaking them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.links import LinkGraph


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
        """Map soft links to blocks, net opposite ones out, and set apart what hard links have decided."""
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
