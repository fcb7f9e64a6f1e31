"""Whether the conflicts leave room for n_clusters clusters; if not, which rows show it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.explain import too_few_clusters
from konstrain.constraints.witness import Finding, UncolorableRows
from konstrain.links import LinkGraph
from konstrain.stop import Deadline


@dataclass(frozen=True)
class ColoringVerdict:
    """Components that cannot be coloured (`findings`, at most the cap of them) and how many were not decided."""

    findings: list[Finding]
    n_uncolorable: int
    n_undecided: int


def judge_coloring(
    constraints: Constraints, blocks: Blocks, graph: LinkGraph, deadline: Deadline, *, cap: int
) -> ColoringVerdict:
    """Decide each connected component of the conflicts within the time that is left."""
    if graph.n_edges == 0 or cap <= 0:
        return ColoringVerdict([], 0, 0)
    # More colours than blocks are never needed; the kernel counts them in 32 bits.
    k = min(constraints.n_clusters, graph.n_blocks)
    component, verdict = _core.color_components(graph.indptr, graph.indices, k, deadline.remaining())
    failed = np.flatnonzero(verdict == 0)
    findings = []
    for i, part in enumerate(failed[:cap]):
        members = np.flatnonzero(component == part).astype(np.int32)
        # Each gets its share, so that one hard component does not leave the others unexplained.
        seconds = deadline.remaining() / (min(failed.size, cap) - i)
        witness = _shrink(constraints, blocks, graph, members, k, seconds)
        findings.append(too_few_clusters(constraints, witness))
    return ColoringVerdict(findings, failed.size, int((verdict < 0).sum()))


def largest_clique(graph: LinkGraph, deadline: Deadline) -> NDArray[np.int32]:
    """Return blocks that are all in conflict with each other: as many clusters are needed at least."""
    clique: NDArray[np.int32] = _core.greedy_clique(graph.indptr, graph.indices, deadline.remaining())
    return clique


def _shrink(
    constraints: Constraints, blocks: Blocks, graph: LinkGraph, members: NDArray[np.int32], k: int, seconds: float
) -> UncolorableRows:
    """Find the smallest evidence we can: a clique of k + 1 blocks, else an irreducible set."""
    inside = graph.restricted_to(members)
    clique = _core.greedy_clique(inside.indptr, inside.indices, seconds)
    if clique.size > k:
        found, irreducible = members[clique[: k + 1]], True
    else:
        found, irreducible = _core.shrink_uncolorable(graph.indptr, graph.indices, members, k, seconds)
    pairs = _pairs_behind(constraints, blocks, found)
    is_clique = len(pairs) == found.size * (found.size - 1) // 2
    rows = tuple(blocks.first_rows[found].tolist())
    ends = blocks.first_rows[blocks.block_of[np.array([pair[:2] for pair in pairs])]]
    conflicts = tuple((a, b) for a, b in ends.tolist())
    return UncolorableRows(rows, pairs, constraints.n_clusters, is_clique, bool(irreducible), conflicts)


def _pairs_behind(
    constraints: Constraints, blocks: Blocks, found: NDArray[np.int32]
) -> tuple[tuple[int, int, str], ...]:
    """For each conflict among blocks the first pair of rows that asks for it."""
    wanted = np.zeros(blocks.n_blocks, dtype=bool)
    wanted[found] = True
    pairs: dict[tuple[int, int], tuple[int, int, str]] = {}
    for source in constraints.cannot:
        u, v = blocks.block_of[source.pairs[:, 0]], blocks.block_of[source.pairs[:, 1]]
        for i in np.flatnonzero(wanted[u] & wanted[v] & (u != v)):
            key = (int(min(u[i], v[i])), int(max(u[i], v[i])))
            pairs.setdefault(key, (int(source.pairs[i, 0]), int(source.pairs[i, 1]), source.name))
    return tuple(pairs[key] for key in sorted(pairs))
