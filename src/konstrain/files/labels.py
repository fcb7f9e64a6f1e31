"""Files of labels: the cluster of each row, with its id and its distance to the center."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_number, is_whole, shown
from konstrain.files.frame_outputs import STANDARD, Dialect, refuse_unwritable_table, write_frame
from konstrain.files.rows import RowNames
from konstrain.files.table_files import read_table

# Longer numbers are names: the library's integers might not hold them.
MOST_DIGITS = 9
LABEL, DISTANCE = "label", "distance"


def write_labels_file(
    path: str | Path, rows: RowNames, labels: Any, distances: Any = None, *, dialect: Dialect = STANDARD
) -> None:
    """Write the label of each row; the file appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        Where to write; .csv, .tsv, .parquet, .arrow, .json or .xlsx, or ``-`` for standard output.
    rows : RowNames
        What rows are called: the id column (as `id` where its name is taken), or a column `row`.
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    distances : array-like of shape (n_samples,), optional
        Distance of each row to the center of its cluster.
    dialect : Dialect, optional
        How CSV is written.
    """
    import polars as pl

    refuse_unwritable_table(path)
    names: Any = np.arange(rows.n_samples) if rows.ids is None else list(rows.ids)
    columns = {_id_column(rows) or "row": names, LABEL: np.asarray(labels)}
    if distances is not None:
        columns[DISTANCE] = np.asarray(distances)
    write_frame(path, pl.DataFrame(columns), dialect)


def read_labels_file(path: str | Path, rows: RowNames, *, column: str = "label") -> NDArray[Any]:
    """Read the label of each row, in the order of the rows.

    Parameters
    ----------
    path : str or Path
        A table with the column, and with the id column of `rows`, or one line per row in their order.
    rows : RowNames
        What rows are called.
    column : str, default="label"
        The column with the labels.

    Returns
    -------
    ndarray of shape (n_samples,)
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
                f"{where} holds {labels[broken]} in row {broken}; labels are whole numbers or names, so this looks "
                "like another column"
            )
    # Never through floats: labels that differ in writing differ.
    if all(len(label) <= MOST_DIGITS and is_whole(label) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array(labels, dtype=str)
