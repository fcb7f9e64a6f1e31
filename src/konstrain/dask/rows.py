"""From Dask collections to partitions of plain rows: what is accepted, and what to call where it is not."""

from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from konstrain.dask.passes import Rows


@dataclass(frozen=True, eq=False)
class Source:
    """Rows as they were given: one lazy partition each, not looked at yet.

    Parameters
    ----------
    pieces : list of tuples
        Of each partition the lazy block of rows, and what makes up its weights and demands.
    features : tuple of str or None
        Names of the columns, where they have names.
    n_features : int
        Number of columns.
    dtype : numpy dtype
        float32 or float64.
    """

    pieces: list[tuple[Any, Any, Any]]
    features: tuple[str, ...] | None
    n_features: int
    dtype: Any
    n_rows: tuple[float, ...]  # NaN where not known

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None, demand: Any = None) -> "Source":
        """Take up a dask array or dataframe with what its rows count; a source stays what it is."""
        if isinstance(X, cls):
            return X
        if isinstance(X, da.Array):
            # Looked at first: of what is not two-dimensional there is no second shape.
            values, features, n_features = _blocks_of_array(X), None, int(X.shape[1])
            dtypes, n_rows = [X.dtype], X.chunks[0]
        elif _is_frame(X):
            _refuse_text_columns(X)
            values, features, n_features = list(X.to_delayed()), tuple(map(str, X.columns)), len(X.columns)
            dtypes, n_rows = list(X.dtypes), (np.nan,) * X.npartitions
        else:
            raise TypeError(
                f"X must be a dask array or dataframe, got {type(X).__name__}; call dask.array.from_array(X), or use "
                "konstrain.ConstrainedKMeans for rows in memory"
            )
        dtype = np.dtype(np.float32 if all(kind == np.float32 for kind in dtypes) else np.float64)
        weights = _amounts("sample_weight", sample_weight, X, values)
        demands = _amounts("demand", demand, X, values)
        return cls(list(zip(values, weights, demands, strict=True)), features, n_features, dtype, n_rows)

    def partitions(self) -> list[Delayed]:
        """Return the partitions, each of which gives `Rows`, under names that no other call returns."""
        make = dask.delayed(make_rows, pure=False)
        return [make(*piece, self.dtype, number) for number, piece in enumerate(self.pieces)]


def make_rows(block: Any, weight: Any, demand: Any, dtype: Any, number: int) -> Rows:
    """Turn one partition into rows as the kernels take them; arrays that are so already are not copied."""
    values = np.ascontiguousarray(block, dtype=dtype)
    amounts = []
    for name, given in (("sample_weight", weight), ("demand", demand)):
        array = None if given is None else np.ascontiguousarray(given, dtype=np.float64)
        if array is not None and array.shape != (len(values),):
            raise ValueError(
                f"partition {number} of {name} has shape {array.shape}, but X has {len(values)} rows there; cut both "
                "into the same partitions"
            )
        amounts.append(array)
    return Rows(values, *amounts)


def is_collection(X: Any) -> bool:
    """Whether this is something of Dask's."""
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


def _refuse_text_columns(X: Any) -> None:
    wrong = [str(name) for name, kind in X.dtypes.items() if not _is_numeric(kind)]
    if wrong:
        raise ValueError(
            f"column {wrong[0]!r} of X holds no numbers; call X.drop(columns={wrong!r}), or "
            f"X.set_index({wrong[0]!r}) if it names the rows"
        )


def _is_numeric(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


def _amounts(name: str, given: Any, X: Any, values: list[Delayed]) -> list[Any]:
    """Weights or demands by partition; None for each where none are given."""
    if given is None:
        return [None] * len(values)
    if isinstance(given, da.Array) or hasattr(given, "to_delayed"):
        parts = list(given.to_delayed().ravel()) if isinstance(given, da.Array) else list(given.to_delayed())
        if len(parts) != len(values):
            raise ValueError(
                f"{name} has {len(parts)} partitions, but X has {len(values)}; cut both into the same partitions, "
                "with rechunk or repartition"
            )
        return parts
    array = np.asarray(given, dtype=np.float64)
    known = isinstance(X, da.Array) and not np.isnan(X.shape[0])
    if not known:
        raise ValueError(
            f"where the rows of {name} belong is not known, for the sizes of X's partitions are not; give {name} as "
            "a dask array or series cut like X"
        )
    if array.shape != (X.shape[0],):
        raise ValueError(f"{name} must have one value per row, shape ({X.shape[0]},), got {array.shape}")
    ends = np.cumsum(X.chunks[0])
    return [array[end - size : end] for end, size in zip(ends, X.chunks[0], strict=True)]


def lazy_labels(labels: list[Delayed], n_rows: Any) -> da.Array:
    """Return labels, one partition each, as one lazy array; sizes of partitions may be unknown."""
    parts = [da.from_delayed(part, (n,), dtype=np.int32) for part, n in zip(labels, n_rows, strict=True)]
    return da.concatenate(parts)
