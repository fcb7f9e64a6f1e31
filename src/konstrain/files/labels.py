"""Files of labels: the cluster of each row, with its id and its distance to the center."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_missing, is_number, is_whole, shown
from konstrain.files.csv_files import CsvLayout
from konstrain.files.frame_files import read_npy, read_whole_frame
from konstrain.files.outputs import STANDARD, Dialect, refuse_unwritable_table, write_frame
from konstrain.files.sources import TEXT, Source
from konstrain.files.table_files import RowNames, read_table

if TYPE_CHECKING:
    import polars as pl

# Longer numbers are names: the library's integers might not hold them.
MOST_DIGITS: Final = 9
LABEL, DISTANCE = "label", "distance"


def write_labels_file(
    path: str | Path, rows: RowNames, labels: Any, distances: Any = None, *, dialect: Dialect = STANDARD
) -> None:
    """Write labels, and distances to centers, to a file by its ending (``-``: standard output), whole or not at all.

    Rows are called as their id column says (`id` where its name is taken), or by their numbers in a column `row`.
    """
    import polars as pl

    refuse_unwritable_table(path)
    names: Any = np.arange(rows.n_samples) if rows.ids is None else list(rows.ids)
    columns = {_id_column(rows) or "row": names, LABEL: np.asarray(labels)}
    if distances is not None:
        columns[DISTANCE] = np.asarray(distances)
    write_frame(path, pl.DataFrame(columns), dialect)


def read_labels_file(path: str | Path, rows: RowNames, *, column: str = "label") -> NDArray[Any]:
    """Return the label of each row in a table that has the id column of `rows`, or a line per row in their order.

    Numbers where all labels are whole numbers, else text, as it is written: ``01`` and ``1`` are two labels.
    """
    table = read_table(path, columns=[], id=_id_column(rows), other=[column])
    labels = table.extra[column]
    if len(labels) != rows.n_samples:
        raise FileError(
            f"{path} has {counted(len(labels), 'label')}, but there are {counted(rows.n_samples, 'row')} to label"
        )
    missing = [row for row, label in enumerate(labels) if label is None]
    if missing:
        raise FileError(f"{path}, row {missing[0]}, column {column!r} has no label; each row needs one")
    labels = _numbers_or_names(labels.tolist(), f"{path}, column {column!r}")
    return labels if rows.ids is None else labels[_order(Path(path), rows, table.rows)]


def read_earlier_labels(path: str | Path, rows: RowNames, *, column: str = "label") -> tuple[NDArray[np.int32], int]:
    """Return the labels that rows had before, and the number of rows of the file that are no more.

    Rows that are not in the file get -1. The file has the id column of `rows`, or one line per row in their order.
    """
    table = read_table(path, columns=[], id=_id_column(rows), other=[column])
    wrong = next((row for row, label in enumerate(table.extra[column]) if not is_whole(label or "")), None)
    if wrong is not None:
        label = table.extra[column][wrong]
        words = "no label" if label is None else f"{shown(label)}, which is no number of a cluster"
        raise FileError(f"{path}, row {wrong}, column {column!r} has {words}; write labels with fit -o")
    given = table.extra[column].astype(np.int32)
    if rows.ids is None and len(given) != rows.n_samples:
        raise FileError(
            f"{path} has {counted(len(given), 'label')} and the table {counted(rows.n_samples, 'row')}: without ids "
            "nothing tells which rows came and left; name the column of ids with --id, in both files"
        )
    labels = np.full(rows.n_samples, -1, dtype=np.int32)
    places = [rows.number_of(table.rows.name_of(row)) for row in range(len(given))]
    known = [row for row, place in enumerate(places) if place is not None]
    labels[[place for place in places if place is not None]] = given[known]
    return labels, len(given) - len(known)


def _id_column(rows: RowNames) -> str | None:
    """The column of ids in a file of labels: of the same name, unless the results have it."""
    if rows.ids is not None and rows.column is None:
        return "row"  # rows called by their numbers, of which some are left out
    return "id" if rows.column in (LABEL, DISTANCE) else rows.column


def _order(path: Path, rows: RowNames, labelled: RowNames) -> list[int]:
    order = [labelled.number_of(rows.name_of(row)) for row in range(rows.n_samples)]
    if None in order:
        raise FileError(f"{path} has no label for the row {shown(rows.name_of(order.index(None)))}")
    return [place for place in order if place is not None]


def _numbers_or_names(labels: list[str], where: str) -> NDArray[Any]:
    if all(map(is_number, labels)):
        # Distances or features: as labels, nearly every row would be a cluster of its own.
        broken = next((row for row, label in enumerate(labels) if not float(label).is_integer()), None)
        if broken is not None:
            raise FileError(
                f"{where} holds {labels[broken]} in row {broken}; labels are whole numbers or names, so this "
                "seems to be another column"
            )
    # Never through floats: labels that differ in writing differ.
    if all(len(label) <= MOST_DIGITS and is_whole(label) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array(labels, dtype=str)


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
    """Write the columns of a table and those `found`; a name that the table has too gets ``konstrain_`` before it.

    Cells of a CSV file are written as they stand. `kept` marks the rows that the further columns are about; the
    others have no value there. `na` are the table's words for no value.
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
    layout = CsvLayout.find(source, decimal, na)
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
    layout = CsvLayout.find(source, decimal, na)
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
