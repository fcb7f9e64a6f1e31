"""The table as it was, with what was found out about each row behind its columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain.files.csv_files import CsvLayout
from konstrain.files.frame_files import read_whole_frame
from konstrain.files.frame_outputs import write_frame
from konstrain.files.npy_files import read_npy
from konstrain.files.sources import TEXT, Source

if TYPE_CHECKING:
    import polars as pl

# Before the name of a column that the table has already.
_OURS = "konstrain_"


def write_joined_file(
    path: str | Path,
    source: Source,
    found: Mapping[str, NDArray[Any]],
    kept: NDArray[np.bool_] | None = None,
) -> None:
    """Write the columns of a table and further ones behind them.

    Parameters
    ----------
    path : str or Path
        Where to write; .csv, .parquet, .arrow, .json, or ``-`` for standard output.
    source : Source
        The table. Cells of a CSV file are written as they stand.
    found : mapping of str to ndarray
        Further columns; one that the table has too is called ``konstrain_`` and its name.
    kept : ndarray of bool, optional
        The rows of the table that the further columns are about; the others have no value there.
    """
    import polars as pl

    frame = _originals(source)
    columns = []
    for name, values in found.items():
        free = f"{_OURS}{name}" if name in frame.columns else name
        column = pl.Series(free, values)
        if kept is not None:
            # The place of each row of the table among those kept; none where it is not.
            places = pl.Series(np.cumsum(kept) - 1).set(pl.Series(~kept), None)
            column = column.gather(places)
        columns.append(column)
    write_frame(path, frame.with_columns(columns))


def _originals(source: Source) -> "pl.DataFrame":
    """Every column: cells of CSV files as text, all else as it is typed."""
    import polars as pl

    if source.suffix == ".npy":
        values = np.asarray(read_npy(source))
        return pl.DataFrame(values, schema=[f"column_{i + 1}" for i in range(values.shape[1])])
    if source.suffix not in TEXT:
        return read_whole_frame(source)
    layout = CsvLayout.look_at(source)
    return pl.DataFrame(list(layout.rows()), schema=dict.fromkeys(layout.columns, pl.String), orient="row")
