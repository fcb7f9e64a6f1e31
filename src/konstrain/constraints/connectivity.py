"""The graph over rows in which every cluster is to be connected: reading it, its components, its parts of blocks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._messages import counted, listed, term
from konstrain._sklearn import is_argument_of_fold
from konstrain.constraints.inputs import is_sparse, read_pairs
from konstrain.links import LinkGraph


def read_connectivity(value: Any, n_samples: int) -> LinkGraph:
    """Return which rows are neighbours, each edge in both directions and none of a row to itself."""
    if is_argument_of_fold(value, n_samples):
        raise ValueError(
            f"{term('connectivity')} names rows of X by number, and cross-validation fits folds in which these are "
            "other rows; fit each setting to all rows"
        )
    value = by_row_number(value, None)
    names = _names(value)
    matrix = value if names is None else _matrix(value, names, {name: int(name) for name in names})
    if not is_sparse(matrix):
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


def by_row_number(value: Any, X: Any) -> Any:
    """Return a graph whose nodes are row numbers. Those that are named otherwise are looked up in the index of X."""
    names = _names(value)
    if names is None:
        return _pairs_by_row_number(value, X)
    if set(names) == set(range(len(names))):
        return value
    place = _places(X, names)
    if absent := set(place) - set(names):
        raise ValueError(
            f"{term('connectivity')} has no node for {counted(len(absent), 'row')} of X: {_shown(absent)}; add a "
            "node for each row, also for those without neighbours"
        )
    return _matrix(value, names, place)


def _names(value: Any) -> list[Any] | None:
    """Return the names of the nodes of a graph of networkx or libpysal; None: it is a matrix, or pairs."""
    # Duck typing: none of these libraries is imported here, and each is optional for the caller.
    if hasattr(value, "adj") and hasattr(value, "number_of_nodes"):
        return list(value.nodes)
    if hasattr(value, "neighbors") and hasattr(value, "id_order") and isinstance(value.neighbors, Mapping):
        return list(value.id_order)
    return list(value.unique_ids) if hasattr(value, "adjacency") and hasattr(value, "unique_ids") else None


def _matrix(value: Any, names: list[Any], place: Mapping[Any, int]) -> csr_array:
    """Return the adjacency matrix of a graph in the order of the rows; `place` has the row of each name."""
    if hasattr(value, "unique_ids"):
        entries, rows = value.sparse.tocoo(), np.array([place[name] for name in names])
        first, second = rows[entries.row[entries.data != 0]], rows[entries.col[entries.data != 0]]
    else:
        neighbours = value.adj if hasattr(value, "adj") else value.neighbors
        ends = [(place[a], place[b]) for a in names for b in neighbours[a]]
        first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return csr_array((np.ones(first.size, dtype=np.int8), (first, second)), shape=(len(names), len(names)))


def _pairs_by_row_number(value: Any, X: Any) -> Any:
    """Return pairs of names as pairs of row numbers; anything else as it is."""
    if is_sparse(value) or getattr(getattr(value, "dtype", None), "kind", "O") not in "OUST":
        return value
    table = np.asarray(value, dtype=object)
    if (
        table.ndim != 2
        or table.shape[1] not in (2, 3)
        or not all(isinstance(name, str) for name in table[:1, :2].flat)
    ):
        return value
    place = _places(X, table[:, :2].ravel().tolist())
    return np.array([[place[first], place[second]] for first, second in table[:, :2]], dtype=np.int64).reshape(-1, 2)


def _places(X: Any, names: list[Any]) -> dict[Any, int]:
    """Return the row of each name in the index of X; raise where there is none."""
    if not hasattr(X, "iloc"):
        raise ValueError(
            f"the nodes of {term('connectivity')} have names ({_shown(names)}), and X has none; give X as a "
            "DataFrame whose index has these names, or name the nodes by row number, from 0"
        )
    place = {name: row for row, name in enumerate(X.index)}
    if len(place) < len(X.index):
        raise ValueError(f"the index of X has {X.index[X.index.duplicated()][0]!r} twice; give each row a name")
    if unknown := set(names) - set(place):
        raise ValueError(
            f"{term('connectivity')} has {counted(len(unknown), 'node')} that the index of X has not: "
            f"{_shown(unknown)}; remove them, or give the rows the names of the nodes"
        )
    return place


def _shown(names: Iterable[Any]) -> str:
    return listed(map(repr, sorted(set(names), key=str)), ", ")


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
