"""Links that cannot all be kept: contradicting paths of must-links, and conflicts that need more clusters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from konstrain import _core
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.findings import Finding, Hop, MustLinkPath, UncolorableRows, too_few_clusters
from konstrain.constraints.inputs import Membership
from konstrain.links import LinkGraph
from konstrain.stop import Budget


def must_link_paths(
    constraints: Constraints, blocks: Blocks, broken: list[tuple[str, int, int]], budget: Budget
) -> Iterator[MustLinkPath]:
    """Yield the shortest path between the rows of each pair inside a block; after the budget only the first.

    A step through a group or a label counts as one. Where rows must be apart because their labels differ, any two
    rows with different labels will do as ends.
    """
    graphs: dict[int, _BlockGraph] = {}
    for i, (source, a, b) in enumerate(broken):
        if i and budget.expired():
            return
        block = int(blocks.block_of[a])
        if block not in graphs:
            graphs[block] = _BlockGraph(constraints, blocks.rows_of(block), blocks.block_of, block)
        graph = graphs[block]
        if source == "labels" and constraints.labels is not None:
            codes = constraints.labels.codes
            nodes = graph.shortest(graph.label_node(int(codes[a])), graph.label_node(int(codes[b])))
            nodes = _until_next_label(nodes, graph)
        else:
            nodes = graph.shortest(graph.row_node(a), graph.row_node(b))
        rows = tuple(graph.row(node) for node in nodes if graph.is_row(node))
        yield MustLinkPath((rows[0], rows[-1]), source, rows, tuple(graph.hops(nodes)))


def _until_next_label(nodes: list[int], graph: "_BlockGraph") -> list[int]:
    """Cut a path between two labels where it first meets another label, and drop the label nodes at its ends."""
    end = next(i for i in range(1, len(nodes)) if graph.is_label(nodes[i]))
    return nodes[1:end]


class _BlockGraph:
    """The must-links of one block: its rows, then one node for each group and each label among them.

    Half steps: a pair costs 2, a way into or out of a group 1, so a step through a group costs as much as a pair.
    """

    def __init__(self, constraints: Constraints, rows: NDArray[np.int32], block_of: NDArray[np.int32], block: int):
        self._constraints = constraints
        self._rows = rows
        self._groups, group_edges = _codes_here(constraints.groups, rows)
        self._labels, label_edges = _codes_here(constraints.labels, rows)
        self._first_label = rows.size + self._groups.size
        first, second = (
            [group_edges[0], label_edges[0]],
            [rows.size + group_edges[1], self._first_label + label_edges[1]],
        )
        n_half = first[0].size + first[1].size
        for source in constraints.must:
            pairs = source.pairs[block_of[source.pairs[:, 0]] == block]
            first.append(np.searchsorted(rows, pairs[:, 0]))
            second.append(np.searchsorted(rows, pairs[:, 1]))
        u, v = np.concatenate(first), np.concatenate(second)
        length = np.where(np.arange(u.size) < n_half, 1.0, 2.0)
        n_nodes = self._first_label + self._labels.size
        # Repeated pairs must not add up: keep each pair once. A pair and a group never share both ends.
        keys = np.minimum(u, v).astype(np.int64) * n_nodes + np.maximum(u, v)
        _, once = np.unique(keys, return_index=True)
        self._graph = coo_array((length[once], (u[once], v[once])), shape=(n_nodes, n_nodes)).tocsr()

    def row_node(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def label_node(self, code: int) -> int:
        return self._first_label + int(np.searchsorted(self._labels, code))

    def row(self, node: int) -> int:
        return int(self._rows[node])

    def is_row(self, node: int) -> bool:
        return node < self._rows.size

    def is_label(self, node: int) -> bool:
        return node >= self._first_label

    def shortest(self, start: int, end: int) -> list[int]:
        _, before = dijkstra(self._graph, directed=False, indices=[start], return_predecessors=True)
        nodes = [end]
        while nodes[-1] != start:
            nodes.append(int(before[0, nodes[-1]]))
        return nodes[::-1]

    def hops(self, nodes: list[int]) -> list[Hop]:
        hops = []
        for i, node in enumerate(nodes[:-1]):
            if not self.is_row(node):
                ends = (self.row(nodes[i - 1]), self.row(nodes[i + 1]))
                hops.append(Hop(ends, *self._membership(node)))
            elif self.is_row(nodes[i + 1]):
                ends = (self.row(node), self.row(nodes[i + 1]))
                hops.append(Hop(ends, self._source(*ends)))
        return hops

    def _membership(self, node: int) -> tuple[str, Any]:
        if self.is_label(node):
            assert self._constraints.labels is not None
            return "labels", self._constraints.labels.names[self._labels[node - self._first_label]]
        assert self._constraints.groups is not None
        return "groups", self._constraints.groups.names[self._groups[node - self._rows.size]]

    def _source(self, a: int, b: int) -> str:
        for source in self._constraints.must:
            u, v = source.pairs[:, 0], source.pairs[:, 1]
            if (((u == a) & (v == b)) | ((u == b) & (v == a))).any():
                return source.name
        raise AssertionError(f"no must-link between {a} and {b}")


def _codes_here(
    membership: Membership | None, rows: NDArray[np.int32]
) -> tuple[NDArray[np.int32], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Codes that occur among rows, and the edges from local rows to local codes."""
    if membership is None:
        nothing = np.zeros(0, dtype=np.intp)
        return np.zeros(0, dtype=np.int32), (nothing, nothing)
    codes = membership.codes[rows]
    local = np.flatnonzero(codes >= 0)
    present, inverse = np.unique(codes[local], return_inverse=True)
    return present, (local, inverse)


@dataclass(frozen=True)
class ColoringVerdict:
    """Components that cannot be coloured (`findings`, at most the cap of them) and how many are not known in time."""

    findings: list[Finding]
    n_uncolorable: int
    n_undecided: int


def judge_coloring(
    constraints: Constraints, blocks: Blocks, graph: LinkGraph, budget: Budget, *, cap: int
) -> ColoringVerdict:
    """Colour each connected component of the conflicts within the time that is left."""
    # More colours than blocks are never needed; the kernel counts them in 32 bits.
    k = min(constraints.n_clusters, graph.n_blocks)
    component, verdict = _core.color_components(graph.indptr, graph.indices, k, budget.remaining())
    failed = np.flatnonzero(verdict == 0)
    findings = []
    for i, part in enumerate(failed[:cap]):
        members = np.flatnonzero(component == part).astype(np.int32)
        # Each gets its share, so that one hard component does not leave the others unexplained.
        seconds = budget.remaining() / (min(failed.size, cap) - i)
        witness = _shrink(constraints, blocks, graph, members, k, seconds)
        findings.append(too_few_clusters(constraints, witness))
    return ColoringVerdict(findings, failed.size, int((verdict < 0).sum()))


def largest_clique(graph: LinkGraph, budget: Budget) -> NDArray[np.int32]:
    """Return blocks that are all in conflict with each other: as many clusters are needed at least."""
    clique: NDArray[np.int32] = _core.greedy_clique(graph.indptr, graph.indices, budget.remaining())
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
    """Return the first pair of rows behind each conflict among blocks."""
    wanted = np.zeros(blocks.n_blocks, dtype=bool)
    wanted[found] = True
    pairs: dict[tuple[int, int], tuple[int, int, str]] = {}
    for source in constraints.cannot:
        u, v = blocks.block_of[source.pairs[:, 0]], blocks.block_of[source.pairs[:, 1]]
        for i in np.flatnonzero(wanted[u] & wanted[v] & (u != v)):
            key = (int(min(u[i], v[i])), int(max(u[i], v[i])))
            pairs.setdefault(key, (int(source.pairs[i, 0]), int(source.pairs[i, 1]), source.name))
    return tuple(pairs[key] for key in sorted(pairs))
