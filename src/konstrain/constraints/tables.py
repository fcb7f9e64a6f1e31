"""Pairs of rows in whatever form people keep them: lists, arrays, frames, sparse matrices."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

Column = NDArray[Any]


def refuse_lazy(name: str, value: Any) -> None:
    """Raise if this is a frame that holds no values yet."""
    # Duck typing: polars need not be there.
    if type(value).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a LazyFrame, which holds no rows yet; call .collect()")


def refuse_hidden(name: str, value: Any) -> None:
    """Raise if values are not to be read as they are: masked ones, or those of a frame that holds none yet."""
    refuse_lazy(name, value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        at = np.argwhere(np.ma.getmaskarray(value))[0].tolist()
        raise ValueError(f"{name}{at} is masked; fill it in, or leave its row out")


def plain(value: Any) -> Any:
    """Return a frame or a column of one as an array, and all else as it is: models keep no frames.

    Examples
    --------
    >>> import polars as pl
    >>> plain(pl.DataFrame({"a": [1.0], "b": [2.0]})).tolist(), plain([1, 2])
    ([[1.0, 2.0]], [1, 2])
    """
    columns = _frame_columns(value)
    if columns is not None:
        return np.column_stack(columns) if columns else np.zeros((0, 0))
    return np.asarray(value) if hasattr(value, "to_numpy") else value


def is_sparse(value: Any) -> bool:
    """Whether this is one of scipy's sparse matrices or arrays."""
    return bool(issparse(value))


def reusable(links: Any) -> Any:
    """Return links that can be read more than once: what can be walked through only once becomes a list."""
    return list(links) if isinstance(links, Iterator) else links


def link_columns(name: str, value: Any, n_samples: int) -> list[Column]:
    """Return the first, the second and perhaps a third column: rows, rows, confidences."""
    refuse_hidden(name, value)
    if is_sparse(value):
        return _matrix_columns(name, value, n_samples)
    columns = _frame_columns(value)
    if columns is None:
        columns = _array_columns(name, value, n_samples)
    if len(columns) not in (2, 3):
        raise ValueError(f"{name} must have two columns, or three with a confidence, got {len(columns)}")
    return columns


def _frame_columns(value: Any) -> list[Column] | None:
    """Columns of a pandas, polars or pyarrow table, by position; None when it is no frame."""
    # Duck typing: none of these libraries is imported here, and each is optional for the caller.
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return [value.iloc[:, i].to_numpy() for i in range(value.shape[1])]
    if hasattr(value, "get_columns"):
        return [column.to_numpy() for column in value.get_columns()]
    if hasattr(value, "num_columns") and hasattr(value, "column"):
        return [np.asarray(value.column(i).to_numpy(zero_copy_only=False)) for i in range(value.num_columns)]
    return None


def _array_columns(name: str, value: Any, n_samples: int) -> list[Column]:
    if isinstance(value, Iterable) and not hasattr(value, "__len__"):
        value = list(value)
    elif isinstance(value, set | frozenset):
        value = sorted(value)
    try:
        table = np.asarray(value)
    except ValueError:
        _refuse_ragged(name, value)
        raise
    if table.size == 0 and table.ndim <= 2:
        return [np.zeros(0, dtype=np.int32)] * 2
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        hint = ""
        if table.shape == (n_samples, n_samples):
            hint = "; give an adjacency matrix as scipy.sparse.csr_array(matrix)"
        raise ValueError(
            f"{name} must have shape (n_pairs, 2), or (n_pairs, 3) with a confidence, got {table.shape}{hint}"
        )
    return [table[:, i] for i in range(table.shape[1])]


def _refuse_ragged(name: str, value: Any) -> None:
    for position, link in enumerate(value):
        if not hasattr(link, "__len__") or len(link) not in (2, 3):
            raise ValueError(f"{name}[{position}] is {link!r}; each link is two row numbers and perhaps a confidence")
    position = next(i for i, link in enumerate(value) if len(link) != len(value[0]))
    raise ValueError(
        f"{name}[{position}] is {value[position]!r}, but {name}[0] is {value[0]!r}; either all links carry a "
        "confidence or none does (inf marks a hard link)"
    )


def _matrix_columns(name: str, matrix: Any, n_samples: int) -> list[Column]:
    """Each linked pair of an adjacency matrix once; whole numbers and truth values are no confidences, floats are."""
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(f"{name} as a matrix must have shape ({n_samples}, {n_samples}), got {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} as a matrix must hold numbers, got dtype {matrix.dtype}")
    entries = matrix.tocoo(copy=True)
    entries.sum_duplicates()
    row, column, values = entries.row, entries.col, entries.data
    bad = np.flatnonzero(~(values >= 0))
    if bad.size:
        i, j, v = row[bad[0]], column[bad[0]], values[bad[0]]
        raise ValueError(f"{name}[{i}, {j}] is {v}; a matrix of links holds no negative values and no NaN")
    stored = values != 0
    row, column, values = row[stored], column[stored], values[stored]
    low, high = np.minimum(row, column), np.maximum(row, column)
    # A symmetric matrix names each link twice; it is one link, with the larger of the two confidences.
    order = np.lexsort((-values.astype(np.float64), high, low))
    low, high, values = low[order], high[order], values[order]
    first = np.ones(low.size, dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    columns = [low[first], high[first], values[first]]
    return columns if values.dtype.kind == "f" else columns[:2]
