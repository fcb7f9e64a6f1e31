"""The table as it was, with what was found out about each row behind its columns."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain.files.cells import is_missing
from konstrain.files.csv_files import CsvLayout
from konstrain.files.frame_files import read_whole_frame
from konstrain.files.frame_outputs import STANDARD, Dialect, write_frame
from konstrain.files.npy_files import read_npy
from konstrain.files.sources import TEXT, Source

if TYPE_CHECKING:
    import polars as pl

# Before the name of a column that the table has already.
_OURS = "konstrain_"
# Digits that are a name rather than a number: a zero or a plus before them, or more than a spreadsheet keeps.
_WRITTEN = re.compile(r"[+]|-?0[0-9]|-?[0-9]{16}")


def write_joined_file(
    path: str | Path,
    source: Source,
    found: Mapping[str, NDArray[Any]],
    kept: NDArray[np.bool_] | None = None,
    *,
    decimal: str | None = None,
    na: Collection[str] = (),
    dialect: Dialect = STANDARD,
) -> None:
    """Write the columns of a table and further ones behind them.

    Parameters
    ----------
    path : str or Path
        Where to write; .csv, .tsv, .parquet, .arrow, .json, .xlsx, or ``-`` for standard output.
    source : Source
        The table. Cells of a CSV file are written as they stand.
    found : mapping of str to ndarray
        Further columns; one that the table has too is called ``konstrain_`` and its name.
    kept : ndarray of bool, optional
        The rows of the table that the further columns are about; the others have no value there.
    decimal : {".", ","}, optional
        The sign before decimals in the table; default: found out.
    na : collection of str
        Words that stand for no value in the table.
    dialect : Dialect, optional
        How CSV is written; `dialect_of` tells how the table is.
    """
    import polars as pl

    frame = read_cells(source, decimal, na, as_numbers=Path(path).suffix.lower() == ".xlsx")
    columns = []
    for name, values in found.items():
        free = f"{_OURS}{name}" if name in frame.columns else name
        column = pl.Series(free, values)
        if kept is not None:
            # The place of each row of the table among those kept; none where it is not.
            places = pl.Series(np.cumsum(kept) - 1).set(pl.Series(~kept), None)
            column = column.gather(places)
        columns.append(column)
    write_frame(path, frame.with_columns(columns), dialect)


def dialect_of(source: Source, decimal: str | None = None, na: Collection[str] = ()) -> Dialect:
    """Return how a table is written as text; that of files of other formats is the standard one."""
    if source.suffix not in TEXT:
        return STANDARD
    layout = CsvLayout.look_at(source, decimal, na)
    with source.open("rb") as file:
        line_end = "\r\n" if file.readline().endswith(b"\r\n") else "\n"
    return Dialect(layout.delimiter, layout.convention.decimal, source.encoding, line_end)


def read_cells(
    source: Source, decimal: str | None = None, na: Collection[str] = (), *, as_numbers: bool = False
) -> "pl.DataFrame":
    """Return every column: cells of CSV files as text, or `as_numbers` where that loses nothing; others as typed."""
    import polars as pl

    if source.suffix == ".npy":
        values = np.asarray(read_npy(source))
        return pl.DataFrame(values, schema=[f"column_{i + 1}" for i in range(values.shape[1])])
    if source.suffix not in TEXT:
        return read_whole_frame(source)
    layout = CsvLayout.look_at(source, decimal, na)
    frame = pl.DataFrame(list(layout.rows()), schema=dict.fromkeys(layout.columns, pl.String), orient="row")
    if as_numbers:
        for column in frame.get_columns():
            numbers = _numbers_in(column.to_list(), layout)
            if numbers is not None:
                frame = frame.with_columns(pl.Series(column.name, numbers, dtype=pl.Object))
    return frame


def _numbers_in(cells: Sequence[str], layout: CsvLayout) -> list[float | str] | None:
    """The numbers of a column, words for no value as they stand; None if some cell would not be the same again."""
    values: list[float | str] = []
    for cell in cells:
        if is_missing(cell) or cell.strip() in layout.na:
            values.append(cell)
            continue
        number = None if _WRITTEN.match(cell.strip()) else layout.convention.number(cell)
        if number is None:
            return None
        values.append(number)
    return values
