"""Rows to cluster from a file: CSV, Parquet, Arrow or .npy; what is wrong is named by line and column."""

import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._words import counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_missing, name_of_number, shown
from konstrain.files.choice import Choice, Request
from konstrain.files.csv_files import CsvLayout
from konstrain.files.frame_files import features_of, names_in, numbers_in, read_frame
from konstrain.files.npy_files import read_npy
from konstrain.files.rows import RowNames


@dataclass(frozen=True, eq=False)
class Table:
    """What was read from a file.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features, in double precision (an .npy file in single precision stays so).
    features : tuple of str
        Their names.
    rows : RowNames
        What the rows are called.
    extra : mapping of str to ndarray
        The other columns asked for, by name: numbers as such, all else as text, None where a value is missing.
    doubts : tuple of str
        What in the file may have been meant otherwise.
    """

    X: NDArray[Any]
    features: tuple[str, ...]
    rows: RowNames
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Cells:
    """What a reader found: features, further numbers, cells that are names; NaN and None where there is nothing."""

    choice: Choice
    X: NDArray[Any]
    numbers: Mapping[str, NDArray[Any]]
    names: Mapping[str, list[str | None]]
    doubts: tuple[str, ...] = ()


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    numeric: Sequence[str] = (),
    other: Sequence[str] = (),
) -> Table:
    r"""Read rows to cluster from a file.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in .csv, .tsv, .txt, .parquet, .arrow, .ipc, .feather or .npy. CSV files may be
        separated by commas, semicolons or tabs; a first line of numbers is taken as data, not as a header.
    columns : sequence of str, optional
        The features; default: every column that is not named in the other arguments.
    id : str, optional
        The column with the names of the rows; default: rows are called by their numbers, from 0.
    ignore : sequence of str
        Columns that are not features.
    numeric, other : sequence of str
        Further columns to read that are not features: numbers such as demands, or anything such as groups.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        When the file cannot be read, a column is missing or holds text, a cell is no finite number, a line has
        too many or too few fields, or an id stands twice; says where.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "people.csv"
    >>> _ = file.write_text("name,height,weight\nanna,1.7,60\nbert,1.8,80\n")
    >>> table = read_table(file, id="name")
    >>> table.features, table.X.tolist(), table.rows.number_of("bert")
    (('height', 'weight'), [[1.7, 60.0], [1.8, 80.0]], 1)
    >>> folder.cleanup()
    """
    path = Path(path)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise FileError(f"{path}: cannot tell the format from the name; it should end in {', '.join(_READERS)}")
    try:
        _refuse_other_than_file(path)
        return _table(path, read(path, Request(columns, id, ignore, numeric, other)))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def _refuse_other_than_file(path: Path) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        # Tables are read more than once, which a pipe does not stand.
        raise FileError(f"{path} is a pipe or a device; write the table to a file first")
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise FileError(f"{path} is empty")


def _read_csv(path: Path, request: Request) -> _Cells:
    layout = CsvLayout.look_at(path)
    choice = request.choose(path, layout.columns, layout.text)
    X, numbers, names = layout.read(choice)
    return _Cells(choice, X, numbers, names, layout.doubts)


def _read_frame(path: Path, request: Request) -> _Cells:
    choice, frame = read_frame(path, request)
    names = {name: names_in(frame[name]) for name in choice.names}
    numbers = {name: numbers_in(frame[name]) for name in choice.numeric}
    return _Cells(choice, features_of(frame, choice), numbers, names)


def _read_npy(path: Path, request: Request) -> _Cells:
    values = read_npy(path)
    columns = [f"column_{i + 1}" for i in range(values.shape[1])]
    choice = request.choose(path, columns, ())
    place = {name: i for i, name in enumerate(columns)}
    chosen = values if choice.features == tuple(columns) else values[:, [place[name] for name in choice.features]]
    X = np.array(chosen, dtype=np.float32 if values.dtype == np.float32 else np.float64, order="C")
    numbers = {name: values[:, place[name]].astype(np.float64) for name in choice.numeric}
    names = {name: _names_of_numbers(values[:, place[name]]) for name in choice.names}
    return _Cells(choice, X, numbers, names)


def _names_of_numbers(column: NDArray[Any]) -> list[str | None]:
    if column.dtype.kind == "f":
        return [name_of_number(value) for value in column.tolist()]
    return [str(int(value)) for value in column.tolist()]


_READERS: dict[str, Callable[[Path, Request], _Cells]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".txt": _read_csv,
    ".parquet": _read_frame,
    ".arrow": _read_frame,
    ".ipc": _read_frame,
    ".feather": _read_frame,
    ".npy": _read_npy,
}


def _table(path: Path, cells: _Cells) -> Table:
    choice = cells.choice
    if not len(cells.X):
        raise FileError(f"{path} has no rows below its header")
    _refuse_missing_numbers(path, choice.features, cells.X)
    for name, column in cells.numbers.items():
        _refuse_missing_numbers(path, [name], column[:, None])
    doubts = list(cells.doubts)
    extra = dict(cells.numbers)
    for name in choice.other:
        extra[name] = np.array([None if is_missing(cell) else cell for cell in cells.names[name]], dtype=object)
        doubts += _doubts_about_missing(path, name, cells.names[name])
    ids = None if choice.id is None else _checked_ids(path, choice.id, cells.names[choice.id])
    rows = RowNames(len(cells.X), ids, choice.id)
    return Table(cells.X, choice.features, rows, extra, tuple(doubts))


def _refuse_missing_numbers(path: Path, names: Sequence[str], columns: NDArray[Any]) -> None:
    # A sum is not finite as soon as one value is not; only then look for it.
    with np.errstate(all="ignore"):
        if np.isfinite(columns.sum()):
            return
    for name, column in zip(names, columns.T, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if bad.size:
            words = "no value" if np.isnan(column[bad[0]]) else "an infinite value"
            raise FileError(f"{path}, row {bad[0]}, column {name!r} has {words}; fill it in or remove the row")


def _doubts_about_missing(path: Path, name: str, cells: Sequence[str | None]) -> list[str]:
    """Tell of words that are read as no value: they may be names after all."""
    words = Counter(cell for cell in cells if cell is not None and cell.strip() and is_missing(cell))
    return [
        f"{path}, column {name!r}: {word!r} in {counted(count, 'row')} is read as no value; if it is one, rename it"
        for word, count in words.items()
    ]


def _checked_ids(path: Path, column: str, ids: Sequence[str | None]) -> list[str]:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name is None or not name.strip():
            raise FileError(f"{path}, row {row} has no id in column {column!r}")
        seen = first.setdefault(name, row)
        if seen != row:
            place = f"{path}: id {shown(name)} in column {column!r}"
            raise FileError(f"{place} stands in rows {seen} and {row}; no two rows may share one")
    return list(first)
