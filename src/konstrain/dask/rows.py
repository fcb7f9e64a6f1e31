"""From Dask collections to partitions of plain rows; messages name the call that makes others acceptable."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from konstrain.dask.passes import PartitionRows, Place, refuse_other_shape

if TYPE_CHECKING:
    from konstrain.dask.membership import Group


@dataclass(frozen=True, eq=False)
class RowSource:
    """Rows as given: lazy partitions, not read yet."""

    # Of each partition the lazy block of rows, and what makes up its weights and demands.
    pieces: list[tuple[Any, Any, Any]]
    features: tuple[str, ...] | None  # Names of the columns, where they have names.
    n_features: int  # Number of columns.
    dtype: Any  # float32 or float64.
    n_rows: tuple[float, ...]  # Rows of each partition, NaN where not known.
    labels: list[Any] | None = None  # Of each partition what makes up its partial labels; None: no row has one.
    resources: tuple[str, ...] = ()  # Names of the resources, where demand is of several.
    # Of each partition what makes up the groups of its rows; None: shares are of no concern.
    category: list[Any] | None = None
    groups: "tuple[Group, ...]" = ()  # Which groups there are, once that was determined.

    @classmethod
    def of(
        cls, X: Any, sample_weight: Any = None, demand: Any = None, labels: Any = None, category: Any = None
    ) -> "RowSource":
        """Take up a dask array or dataframe with what is known of its rows; a source stays what it is."""
        if isinstance(X, cls):
            return X
        if isinstance(X, da.Array):
            # First: what is not two-dimensional has no second shape.
            values, features, n_features = _blocks_of_array(X), None, int(X.shape[1])
            dtypes, n_rows = [X.dtype], X.chunks[0]
        elif _is_frame(X):
            _refuse_text_columns(X)
            values, features, n_features = _parts_of_frame("X", X), tuple(map(str, X.columns)), len(X.columns)
            dtypes, n_rows = list(X.dtypes), (np.nan,) * X.npartitions
        else:
            raise TypeError(
                f"X must be a dask array or dataframe, got {type(X).__name__}; call dask.array.from_array(X), or use "
                "konstrain.ConstrainedKMeans for rows in memory"
            )
        dtype = np.dtype(np.float32 if all(kind == np.float32 for kind in dtypes) else np.float64)
        amounts = {"sample_weight": _as_numbers(sample_weight), "demand": _as_numbers(demand)}
        parts = [_cut_like(X, len(values), name, given) or [None] * len(values) for name, given in amounts.items()]
        known = _cut_like(X, len(values), "y", labels)
        return cls(
            list(zip(values, *parts, strict=True)),
            features,
            n_features,
            dtype,
            n_rows,
            known,
            _resources_of(demand),
            _cut_groups(X, len(values), category),
        )

    def partitions(self) -> list[Delayed]:
        """Return the partitions, each of which gives `PartitionRows`, under names that no other call returns."""
        make = dask.delayed(make_rows, pure=False)
        category = [None] * len(self.pieces) if self.category is None else self.category
        return [
            make(*piece, groups, self.groups, self.dtype, number)
            for number, (piece, groups) in enumerate(zip(self.pieces, category, strict=True))
        ]


def make_rows(
    block: Any, weight: Any, demand: Any, category: Any, groups: "tuple[Group, ...]", dtype: Any, number: int
) -> PartitionRows:
    """Turn one partition into rows as the kernels take them; arrays that are so already are not copied."""
    values = np.ascontiguousarray(block, dtype=dtype)
    place = Place(number, 0, len(values))
    amounts: list[Any] = []
    for name, given in (("sample_weight", weight), ("demand", demand)):
        array = None if given is None else np.ascontiguousarray(given, dtype=np.float64)
        if array is not None:
            # One resource in a table of one column is the same as in a list.
            array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
            refuse_other_shape(name, array if array.ndim == 1 else array[:, 0], place)
        amounts.append(array)
    held = []
    if amounts[1] is not None and amounts[1].ndim == 2:
        held.append(amounts[1])
        amounts[1] = None
    if groups:
        from konstrain.dask.membership import mark_groups

        held.append(mark_groups(category, groups, len(values), number))
    return PartitionRows(values, amounts[0], amounts[1], np.hstack(held) if held else None)


def is_collection(X: Any) -> bool:
    """Whether this is a Dask array or dataframe."""
    return isinstance(X, da.Array) or _is_frame(X)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "columns") and hasattr(X, "npartitions")


def _blocks_of_array(X: da.Array) -> list[Delayed]:
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix, but has {X.ndim} dimension(s); call X.reshape(-1, 1)")
    if np.isnan(X.shape[1]):
        raise ValueError("the number of columns of X is not known; call X.compute_chunk_sizes()")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype}, not numbers; call X.astype('float64')")
    if len(X.chunks[1]) > 1:
        if np.isnan(X.shape[0]):
            raise ValueError("X is cut between columns, and how is not known; call X.compute_chunk_sizes()")
        X = X.rechunk({1: -1})
    return [block for row in X.to_delayed() for block in row]


def _parts_of_frame(name: str, given: Any) -> list[Delayed]:
    """Return the partitions of a dataframe, all with its columns in its order, or of what has no columns."""
    parts = _under_own_names(list(given.to_delayed()))
    if getattr(given, "ndim", 1) == 1:
        return parts
    in_order = dask.delayed(columns_in_order, pure=False)
    columns = list(given.columns)
    return [in_order(part, columns, name, number) for number, part in enumerate(parts)]


def _under_own_names(parts: list[Delayed]) -> list[Delayed]:
    """Return the same parts of a graph of which every entry has its own name."""
    # With `from_delayed(verify_meta=False)` Dask's entries have the names of their targets, under which its
    # optimisation of arrays does not find them.
    graph = dict(parts[0].dask)
    strange = {key: node for key, node in graph.items() if hasattr(node, "target") and node.key != key}
    if not strange:
        return parts
    graph |= {key: type(node)(key, node.target) for key, node in strange.items()}
    return [Delayed(part.key, graph) for part in parts]


def columns_in_order(part: Any, columns: list[Any], name: str, number: int) -> Any:
    """Return a partition with its columns in the order that all have; raises if it has others."""
    own = list(part.columns)
    if own == columns:
        return part
    if len(own) != len(columns) or set(own) != set(columns):
        raise ValueError(
            f"partition {number} of {name} has the columns {', '.join(map(str, own))}, but {name} has "
            f"{', '.join(map(str, columns))}; give every partition the same columns"
        )
    return part[columns]


def _refuse_text_columns(X: Any) -> None:
    wrong = [str(name) for name, kind in X.dtypes.items() if not _is_numeric(kind)]
    if wrong:
        raise ValueError(
            f"column {wrong[0]!r} of X holds no numbers; call X.drop(columns={wrong!r}), or "
            f"X.set_index({wrong[0]!r}) if it names the rows"
        )


def _is_numeric(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


def is_lazy(given: Any) -> bool:
    """Whether this is one of Dask's collections."""
    return hasattr(given, "to_delayed")


def _as_numbers(given: Any) -> Any:
    return given if given is None or is_lazy(given) else np.asarray(given, dtype=np.float64)


def _cut_like(X: Any, n_parts: int, name: str, given: Any) -> list[Any] | None:
    """Cut what is given for each row, a collection or an array in memory, into the partitions of X."""
    if given is None:
        return None
    most = 2 if name in ("demand", "category") else 1
    if getattr(given, "ndim", 1) > most:
        raise ValueError(f"{name} has {given.ndim} dimensions; it has one value per row")
    if is_lazy(given):
        if isinstance(given, da.Array) and given.ndim == 2 and len(given.chunks[1]) > 1:
            given = given.rechunk({1: -1})
        parts = list(given.to_delayed().ravel()) if isinstance(given, da.Array) else _parts_of_frame(name, given)
        if len(parts) != n_parts:
            raise ValueError(
                f"{name} has {len(parts)} partitions, but X has {n_parts}; cut both into the same partitions, "
                "with rechunk or repartition"
            )
        return parts
    known = isinstance(X, da.Array) and not np.isnan(X.shape[0])
    if not known:
        raise ValueError(
            f"where the rows of {name} belong is not known, for the sizes of X's partitions are not; give {name} as "
            "a dask array or series cut like X"
        )
    if given.shape[0] != X.shape[0] or (given.ndim > 1 and most == 1):
        raise ValueError(f"{name} must have one value per row, shape ({X.shape[0]},), got {given.shape}")
    ends = np.cumsum(X.chunks[0])
    return [given[end - size : end] for end, size in zip(ends, X.chunks[0], strict=True)]


def _resources_of(demand: Any) -> tuple[str, ...]:
    """Names of the resources that demand is of; none where it is of one."""
    # Late, here and below: workers import this module, and what reads constraints takes 100 MB of their memory.
    from konstrain.constraints.inputs import resource_names

    shape = demand.shape if is_lazy(demand) else np.shape(demand)
    n_resources = int(shape[1]) if len(shape) == 2 else 1
    return resource_names(demand, n_resources) if n_resources > 1 else ()


def _cut_groups(X: Any, n_parts: int, category: Any) -> list[Any] | None:
    """Cut the groups of rows into the partitions of X: a collection, or a table of columns of any kind."""
    if category is None or is_lazy(category):
        return _cut_like(X, n_parts, "category", category)
    from konstrain.constraints.inputs import membership_values
    from konstrain.constraints.shares import columns_of

    columns = {
        name: _cut_like(X, n_parts, name, column if is_lazy(column) else membership_values(column))
        for name, column in columns_of(category)
    }
    return [dict(zip(columns, parts, strict=True)) for parts in zip(*columns.values(), strict=True)]


def lazy_labels(labels: list[Delayed], n_rows: Any) -> da.Array:
    """Return labels, one partition each, as one lazy array; sizes of partitions may be unknown."""
    parts = [da.from_delayed(part, (n,), dtype=np.int32) for part, n in zip(labels, n_rows, strict=True)]
    return da.concatenate(parts)
