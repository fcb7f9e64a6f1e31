"""The columns of a table to cluster by, as the file has them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.choice import listed
from konstrain.scaling import column_blocks

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of numbers and of text, one value per row each."""

    X: NDArray[Any]  # (n_rows, n_numbers): the numbers; NaN where one is missing.
    numbers: tuple[str, ...]  # The names of its columns.
    texts: Mapping[str, NDArray[Any]]  # The columns of text; None where a value is missing.

    def __len__(self) -> int:
        return len(self.X)

    def number(self, name: str) -> NDArray[Any]:
        """The values of a column of numbers."""
        values: NDArray[Any] = self.X[:, self._places[name]]
        return values

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.numbers)}

    def select(self, names: Sequence[str]) -> NDArray[Any]:
        """Some of the columns of numbers, as rows."""
        chosen: NDArray[Any] = np.ascontiguousarray(self.X[:, [self._places[name] for name in names]])
        return chosen

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Mark the rows that have no value in a column."""
        if name in self.texts:
            return np.array([value is None for value in self.texts[name]], dtype=np.bool_)
        gaps: NDArray[np.bool_] = np.isnan(self.number(name))
        return gaps

    def n_missing(self, name: str) -> int:
        """Number of rows that have no value in a column."""
        return int(self.missing(name).sum()) if name in self.texts else int(self._gaps[self._places[name]])

    @cached_property
    def _gaps(self) -> NDArray[np.intp]:
        """Number of missing values of each column of numbers: there may be many columns."""
        counts: NDArray[np.intp] = np.isnan(self.X).sum(axis=0)
        return counts

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[Sequence[str], NDArray[np.float64]]]:
        """Yield columns of numbers by name, each as a row of an array, some at a time."""
        for places, values in column_blocks(self.X, [self._places[name] for name in names]):
            yield [self.numbers[place] for place in places], values.astype(np.float64, copy=False)

    def rows(self, kept: NDArray[np.bool_]) -> "Columns":
        """Only some of the rows."""
        texts = {name: values[kept] for name, values in self.texts.items()}
        return Columns(np.ascontiguousarray(self.X[kept]), self.numbers, texts)

    def frame(self, names: Sequence[str]) -> "pl.DataFrame":
        """Some of the columns as a frame, which scikit-learn takes apart by name."""
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(name, self.texts[name].tolist(), dtype=pl.String)
                if name in self.texts
                else np.ascontiguousarray(self.number(name))
                for name in names
            }
        )


class Missing(StrEnum):
    """What to do about values that are missing."""

    ERROR = "error"
    DROP = "drop"
    MEDIAN = "median"


def complete_rows(
    source: object, columns: Columns, names: Sequence[str], further: Mapping[str, NDArray[Any]], missing: Missing
) -> NDArray[np.bool_] | None:
    """Mark the rows to keep, or None for all; raises where values are missing and none may be.

    `source` is what the table is called in messages, `names` are the columns to cluster by; for `further` numbers,
    such as demands, no median can stand.
    """
    gaps = {name: columns.missing(name) for name in names if columns.n_missing(name)}
    if gaps and missing == Missing.ERROR:
        raise FileError(_words(source, gaps, len(columns)))
    needed = {name: np.isnan(values) for name, values in further.items()}
    if missing != Missing.DROP:
        for name, rows in needed.items():
            if rows.any():
                row = int(np.flatnonzero(rows)[0])
                place = f"{source}, row {row}, column {name!r}"
                raise FileError(f"{place} has no value; fill it in, or leave such rows out with --missing drop")
        return None
    incomplete = np.zeros(len(columns), dtype=np.bool_)
    for rows in (*gaps.values(), *needed.values()):
        incomplete |= rows
    if incomplete.all():
        raise FileError(f"{source}: every row misses some value; --missing median fills them in")
    return ~incomplete if incomplete.any() else None


def filled_words(columns: Columns, names: Sequence[str]) -> str:
    """Say how many cells of which columns are filled in; nothing if none is empty."""
    counts = {name: columns.n_missing(name) for name in names}
    counted_gaps = [f"{name!r} {count}" for name, count in counts.items() if count]
    return f"missing values filled in, by median or commonest text: {listed(counted_gaps)}" if counted_gaps else ""


def _words(source: object, gaps: Mapping[str, NDArray[np.bool_]], n_rows: int) -> str:
    any_gap = np.logical_or.reduce(list(gaps.values()))
    counts = [f"{name!r} {int(rows.sum())}" for name, rows in gaps.items()]
    first = int(np.flatnonzero(any_gap)[0])
    return (
        f"{source}: values are missing in {int(any_gap.sum())} of {counted(n_rows, 'row')}, first in row {first}; "
        f"{listed(counts)}; --missing drop leaves these rows out, --missing median fills numbers in with their "
        f"median and text with its commonest value, --ignore leaves columns out"
    )
