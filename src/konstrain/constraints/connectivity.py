"""The graph over rows in which every cluster is to be connected: reading it, its components, its parts of blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._messages import term
from konstrain._sklearn import is_argument_of_fold
from konstrain.constraints.inputs import is_sparse, read_pairs
from konstrain.links import LinkGraph


def read_connectivity(value: Any, n_samples: int) -> LinkGraph:
    """Return which rows are neighbours, each edge in both directions and none of a row to itself.

    Nodes of a graph by name (networkx, libpysal) are row numbers, or else as many as there are rows and in their
    order.
    """
    if is_argument_of_fold(value, n_samples):
        raise ValueError(
            f"{term('connectivity')} names rows of X by number, and cross-validation fits folds in which these are "
            "other rows; fit each setting to all rows"
        )
    matrix = _as_matrix(value)
    if matrix is None:
        pairs = read_pairs("connectivity", value, n_samples)
    else:
        if matrix.shape != (n_samples, n_samples):
            raise ValueError(
                f"{term('connectivity')} has {matrix.shape[0]} nodes, but there are {n_samples} rows; give one node "
                "per row, in the order of the rows"
            )
        entries = matrix.tocoo()
        pairs = np.column_stack([entries.row, entries.col])[entries.data != 0]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return LinkGraph.from_edges(n_samples, pairs[:, 0], pairs[:, 1])


def _as_matrix(value: Any) -> Any:
    """Return the adjacency matrix of a graph in the order of its rows; None: these are pairs."""
    if is_sparse(value):
        return value
    # Duck typing: none of these libraries is imported here, and each is optional for the caller.
    if hasattr(value, "adj") and hasattr(value, "number_of_nodes"):
        return _adjacency(list(value.nodes), {node: list(value.adj[node]) for node in value.nodes})
    if hasattr(value, "neighbors") and hasattr(value, "id_order") and isinstance(value.neighbors, Mapping):
        return _adjacency(list(value.id_order), value.neighbors)
    if hasattr(value, "adjacency") and hasattr(value, "unique_ids"):
        return value.sparse
    return None


def _adjacency(nodes: list[Any], neighbours: Mapping[Any, Any]) -> csr_array:
    place = {node: at for at, node in enumerate(nodes)}
    if set(nodes) == set(range(len(nodes))):
        place = {node: int(node) for node in nodes}
    ends = [(place[a], place[b]) for a in nodes for b in neighbours[a]]
    first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return csr_array((np.ones(first.size, dtype=np.int8), (first, second)), shape=(len(nodes), len(nodes)))


def components_of(graph: LinkGraph) -> NDArray[np.int32]:
    """Return the connected component of each row; components are numbered by their first rows."""
    return graph.components()


def count_pieces(graph: LinkGraph, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int64]:
    """Return the number of connected pieces of each cluster."""
    first, second, _ = graph.edges
    inside = labels[first] == labels[second]
    piece = components_of(LinkGraph.from_edges(graph.n_blocks, first[inside], second[inside]))
    one_row_each = np.unique(piece, return_index=True)[1]
    return np.bincount(labels[one_row_each], minlength=n_clusters)


def join_components(graph: LinkGraph, X: Any) -> LinkGraph:
    """Add the shortest edges between rows of different components until there is one, by the distances in X."""
    component = components_of(graph)
    if component.max(initial=0) == 0:
        return graph
    if X is None:
        raise ValueError(f"{term('join_components')} needs the rows themselves: give X instead of their number")
    # Imported here: it takes long, and most graphs are connected.
    from scipy.spatial import cKDTree

    rows = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    first, second, _ = graph.edges
    while component.max() > 0:
        new = []
        # Boruvka's rounds: each component but the largest gets the shortest edge that leaves it.
        for own in np.delete(np.arange(component.max() + 1), np.bincount(component).argmax()):
            inside, outside = np.flatnonzero(component == own), np.flatnonzero(component != own)
            distance, nearest = cKDTree(rows[outside]).query(rows[inside])
            new.append((inside[distance.argmin()], outside[nearest[distance.argmin()]]))
        added = np.array(new, dtype=np.int32)
        first, second = np.concatenate([first, added[:, 0]]), np.concatenate([second, added[:, 1]])
        graph = LinkGraph.from_edges(graph.n_blocks, first, second)
        component = components_of(graph)
    return graph


@dataclass(frozen=True, eq=False)
class BlockParts:
    """The graph after rows of one block that are connected among themselves have become one node, a part of it.

    A cluster of blocks is connected by its rows exactly when it is connected by its parts.
    """

    graph: LinkGraph  # Over parts.
    first_part: NDArray[np.int64]  # (n_blocks + 1,): the parts of a block are consecutive.
    block_of: NDArray[np.int32]  # (n_parts,)

    @classmethod
    def of(cls, graph: LinkGraph, block_of: NDArray[np.int32], n_blocks: int) -> Self:
        """Contract the rows of blocks."""
        first, second, _ = graph.edges
        if n_blocks == block_of.size:
            part = np.arange(n_blocks)
        else:
            inside = block_of[first] == block_of[second]
            piece = components_of(LinkGraph.from_edges(block_of.size, first[inside], second[inside]))
            part = np.unique(block_of.astype(np.int64) * block_of.size + piece, return_inverse=True)[1]
        n_parts = int(part.max()) + 1
        block_of_part = np.empty(n_parts, dtype=np.int32)
        block_of_part[part] = block_of
        between = block_of[first] != block_of[second]
        return cls(
            LinkGraph.from_edges(n_parts, part[first[between]], part[second[between]]),
            np.searchsorted(block_of_part, np.arange(n_blocks + 1)).astype(np.int64),
            block_of_part,
        )
