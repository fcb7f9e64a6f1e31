"""Rows to cluster from a file: CSV, Parquet, Arrow or .npy; what is wrong is named by line and column."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_missing, name_of_number, shown
from konstrain.files.choice import Choice, Request
from konstrain.files.csv_files import CsvLayout
from konstrain.files.frame_files import POLYGON_ENDINGS, features_of, names_in, numbers_in, read_frame, read_npy
from konstrain.files.sources import STANDARD_INPUT, Source, refuse_address

# Digits of the largest number of rows there may be, and to spare.
LONGEST_NUMBER: Final = 20


@dataclass(frozen=True)
class RowNames:
    """Names of the rows of a table, from a column of it; without ids rows are called by their numbers, from 0.

    Examples
    --------
    >>> rows = RowNames(2, ["anna", "bert"], "name")
    >>> rows.number_of("bert"), rows.name_of(0), rows.number_of("carl")
    (1, 'anna', None)
    """

    n_samples: int
    ids: Sequence[str] | None = None
    column: str | None = None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids or ())}

    def number_of(self, name: str) -> int | None:
        """Return the number of the row of this name, or None when there is no such row."""
        if self.ids is not None:
            return self._numbers.get(name)
        # ASCII digits only: int() would also take signs, underscores and digits of other scripts, and it fails at
        # thousands of digits.
        row = int(name) if name.isascii() and name.isdigit() and len(name) <= LONGEST_NUMBER else -1
        return row if 0 <= row < self.n_samples else None

    def name_of(self, row: int) -> str:
        """Return what a row is called."""
        return str(row) if self.ids is None else str(self.ids[row])

    def __str__(self) -> str:
        if self.ids is None:
            return f"rows are 0 to {self.n_samples - 1}"
        if self.column is None:
            return f"rows are called by their numbers, {self.name_of(0)} to {self.name_of(-1)}, some left out"
        return f"ids are those of column {self.column!r}, such as {self.name_of(0)!r}"


@dataclass(frozen=True, eq=False)
class Table:
    """What was read from a file: the features, and the other columns asked for, as numbers or text with None.

    `texts` are columns of text to cluster by; `doubts` tell what in the file may have been meant otherwise.
    """

    X: NDArray[Any]
    features: tuple[str, ...]
    rows: RowNames
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    texts: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Cells:
    """What a reader found: features, further numbers, cells that are names; NaN and None where there is nothing."""

    choice: Choice
    X: NDArray[Any]
    numbers: Mapping[str, NDArray[Any]]
    names: Mapping[str, list[str | None]]
    doubts: tuple[str, ...] = ()


def read_table(
    path: str | Path | Source,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    numeric: Sequence[str] = (),
    other: Sequence[str] = (),
    mixed: bool = False,
    text: Sequence[str] = (),
    encoding: str | None = None,
    decimal: str | None = None,
    na: Collection[str] = (),
    usual_id: str | None = None,
) -> Table:
    r"""Read rows to cluster from a file.

    Parameters
    ----------
    path : str, Path or Source
        A file whose name ends in .csv, .tsv, .txt, .parquet, .arrow, .ipc, .feather, .npy, .json or .xlsx, perhaps
        with .gz behind it; or polygons in .geojson, .shp or .gpkg (extra ``konstrain[geo]``); ``-`` is standard
        input. CSV files may be separated by commas, semicolons or tabs; a first line of numbers is taken as data,
        not as a header.
    columns : sequence of str, optional
        The features; default: every column that is not named in the other arguments.
    id : str, optional
        The column with the names of the rows; default: rows are called by their numbers, from 0.
    ignore : sequence of str
        Columns that are not features.
    numeric, other : sequence of str
        Further columns to read that are not features: numbers such as demands, or anything such as groups.
    mixed : bool, default=False
        Take features that hold text too, as `Table.texts`, and leave NaN in `Table.X` where a number is missing.
    text : sequence of str
        Features of a mixed table to take as text, also where they hold numbers.
    encoding : str, optional
        How the text of a CSV file is written; default: UTF-8, or UTF-16 where the file says so.
    decimal : {".", ","}, optional
        The sign before decimals in a CSV file, the other one stands between thousands; default: found out where all
        numbers of the first rows fit one way only.
    na : collection of str
        Words that mean no value, in addition to empty cells and ``NA``, ``NaN``, ``null`` and the like.
    usual_id : str, optional
        The column with the names of the rows, if the table has it and `id` names no other.

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
    with _failures_named(path):
        source = as_source(path, encoding)
        request = Request(columns, id, ignore, numeric, other, mixed, text, decimal, frozenset(na), usual_id)
        cells = _READERS[source.suffix](source, request)
        return _table(source, cells, mixed)


def as_source(path: str | Path | Source, encoding: str | None = None, *, usual_encoding: str | None = None) -> Source:
    """Find the file that is meant and make it readable; refuses what is no table."""
    with _failures_named(path):
        if isinstance(path, Source):
            return path
        refuse_address(Path(path))
        _refuse_unknown_ending(Path(path))
        return Source(path, encoding, usual_encoding=usual_encoding)


def _refuse_unknown_ending(path: Path) -> None:
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    if ending.lower() not in _READERS and path != STANDARD_INPUT:
        if not path.exists():
            raise FileError(f"there is no file or folder {path}")
        raise FileError(f"{path}: cannot tell the format from the name; it should end in {', '.join(_READERS)}")


@contextmanager
def _failures_named(path: str | Path | Source) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def _read_csv(path: Source, request: Request) -> _Cells:
    layout = CsvLayout.find(path, request.decimal, request.na)
    choice = request.choose(path, layout.columns, layout.text)
    X, numbers, names = layout.read(choice, mixed=request.mixed)
    return _Cells(choice, X, numbers, names, layout.doubts)


def _read_frame(path: Source, request: Request) -> _Cells:
    choice, frame = read_frame(path, request)
    names = {name: names_in(frame[name]) for name in choice.names}
    numbers = {name: numbers_in(frame[name]) for name in choice.numeric}
    return _Cells(choice, features_of(frame, choice), numbers, names)


def _read_npy(path: Source, request: Request) -> _Cells:
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


_READERS: dict[str, Callable[[Source, Request], _Cells]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".txt": _read_csv,
    ".parquet": _read_frame,
    ".arrow": _read_frame,
    ".ipc": _read_frame,
    ".feather": _read_frame,
    ".npy": _read_npy,
    ".json": _read_frame,
    ".xlsx": _read_frame,
    **dict.fromkeys(POLYGON_ENDINGS, _read_frame),
}


def _table(path: Source, cells: _Cells, mixed: bool) -> Table:
    choice = cells.choice
    if not len(cells.X):
        raise FileError(f"{path} has no rows below its header")
    _refuse_bad_numbers(path, choice.features, cells.X, missing=not mixed)
    for name, column in cells.numbers.items():
        _refuse_bad_numbers(path, [name], column[:, None], missing=not mixed)
    doubts = list(cells.doubts)
    extra = dict(cells.numbers)
    for name in choice.other:
        extra[name] = _names_or_none(cells.names[name])
        doubts += _doubts_about_missing(path, name, cells.names[name])
    ids = None if choice.id is None else _checked_ids(path, choice.id, cells.names[choice.id])
    rows = RowNames(len(cells.X), ids, choice.id)
    texts = {name: _names_or_none(cells.names[name]) for name in choice.texts}
    return Table(cells.X, choice.features, rows, extra, tuple(doubts), texts)


def _names_or_none(cells: Sequence[str | None]) -> NDArray[Any]:
    return np.array([None if is_missing(cell) else cell for cell in cells], dtype=object)


def _refuse_bad_numbers(path: Source, names: Sequence[str], columns: NDArray[Any], *, missing: bool) -> None:
    """Raise if a number is infinite or, where that counts as bad, missing."""
    # A sum is not finite as soon as one value is not; only then search for it.
    with np.errstate(all="ignore"):
        if np.isfinite(columns.sum()):
            return
    for name, column in zip(names, columns.T, strict=True):
        bad = np.flatnonzero(~np.isfinite(column) if missing else np.isinf(column))
        if bad.size:
            words = "no value" if np.isnan(column[bad[0]]) else "an infinite value"
            raise FileError(f"{path}, row {bad[0]}, column {name!r} has {words}; fill it in or remove the row")


def _doubts_about_missing(path: Source, name: str, cells: Sequence[str | None]) -> list[str]:
    """Return notes on words that are read as no value: they may be names after all."""
    words = Counter(cell for cell in cells if cell is not None and cell.strip() and is_missing(cell))
    return [
        f"{path}, column {name!r}: {word!r} in {counted(count, 'row')} is read as no value; if it is one, rename it"
        for word, count in words.items()
    ]


def _checked_ids(path: Source, column: str, ids: Sequence[str | None]) -> list[str]:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name is None or not name.strip():
            raise FileError(f"{path}, row {row} has no id in column {column!r}")
        seen = first.setdefault(name, row)
        if seen != row:
            place = f"{path}: id {shown(name)} in column {column!r}"
            raise FileError(f"{place} occurs in rows {seen} and {row}; no two rows may share one")
    return list(first)
