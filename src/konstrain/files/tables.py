"""Rows to cluster from a file: CSV, Parquet, Arrow or .npy; what is wrong is named by line and column."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain.exceptions import FileError
from konstrain.files.csv_files import CsvLayout, shown
from konstrain.files.rows import RowNames

if TYPE_CHECKING:
    import polars as pl


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
        The other columns asked for, by name.
    doubt : str
        What in the file may have been meant otherwise; empty: nothing.
    """

    X: NDArray[Any]
    features: tuple[str, ...]
    rows: RowNames
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    doubt: str = ""


@dataclass(frozen=True)
class _Choice:
    """Which columns play which part."""

    features: tuple[str, ...]
    id: str | None
    numeric: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers."""
        return tuple(dict.fromkeys((*self.features, *self.numeric)))

    @property
    def all(self) -> tuple[str, ...]:
        """Every column to read."""
        names = (*self.features, *self.numeric, *self.other, *([self.id] if self.id else []))
        return tuple(dict.fromkeys(names))


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
    asked = {"columns": columns, "id": id, "ignore": ignore, "numeric": numeric, "other": other}
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise FileError(f"{path}: cannot tell the format from the name; it should end in {', '.join(_READERS)}")
    try:
        if path.is_file() and path.stat().st_size == 0:
            raise FileError(f"{path} is empty")
        return read(path, asked)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def _read_csv(path: Path, asked: Mapping[str, Any]) -> Table:
    import polars as pl

    layout = CsvLayout.look_at(path)
    choice = _choose(path, layout.columns, layout.text, asked)
    kinds = [pl.Float64 if name in choice.numbers else pl.String for name in layout.columns]
    places = sorted(layout.columns.index(name) for name in choice.all)
    try:
        frame = pl.read_csv(
            path,
            separator=layout.delimiter,
            has_header=layout.has_header,
            schema=dict(zip(layout.written, kinds, strict=True)),
            columns=places,
            # Rows of a chunk are parsed at once: smaller chunks bound what parsing needs beside the result.
            low_memory=True,
        )
    except pl.exceptions.PolarsError as error:
        raise FileError(layout.first_fault(choice.numbers) or f"{path}: {_first_line(error)}") from None
    frame.columns = [layout.columns[place] for place in places]
    if any(frame[name].null_count() for name in choice.all):
        fault = layout.first_fault(choice.numbers)
        if fault:
            raise FileError(fault)
        # No cell is empty, so the missing values are blank lines.
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return replace(_table(path, frame, choice), doubt=layout.doubt)


def _read_frame(path: Path, asked: Mapping[str, Any]) -> Table:
    import polars as pl

    is_parquet = path.suffix.lower() == ".parquet"
    try:
        schema = pl.read_parquet_schema(path) if is_parquet else pl.read_ipc_schema(path)
        text = {name for name, kind in schema.items() if not (kind.is_numeric() or kind == pl.Boolean)}
        choice = _choose(path, tuple(schema), text, asked)
        read = pl.read_parquet if is_parquet else pl.read_ipc
        frame = read(path, columns=list(choice.all))
    except pl.exceptions.PolarsError as error:
        raise FileError(f"{path}: {_first_line(error)}") from None
    return _table(path, frame, choice)


def _read_npy(path: Path, asked: Mapping[str, Any]) -> Table:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        # What numpy says here is about pickles, which are not read in any case.
        raise FileError(f"{path} is no .npy file of numbers; write it with numpy.save") from None
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise FileError(
            f"{path} must hold a two-dimensional array of numbers, got shape {values.shape} of {values.dtype}"
        )
    names = tuple(f"column_{i + 1}" for i in range(values.shape[1]))
    choice = _choose(path, names, (), asked)
    kept = np.float32 if values.dtype == np.float32 else np.float64
    column = {name: values[:, i] for i, name in enumerate(names)}
    X = values if choice.features == names else values[:, [names.index(name) for name in choice.features]]
    ids = None if choice.id is None else [f"{value:g}" for value in column[choice.id]]
    extra = {name: column[name] for name in (*choice.numeric, *choice.other)}
    table = Table(np.ascontiguousarray(X, dtype=kept), choice.features, RowNames(len(values), ids, choice.id), extra)
    return _checked(path, table, choice)


_READERS: dict[str, Callable[[Path, Mapping[str, Any]], Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".txt": _read_csv,
    ".parquet": _read_frame,
    ".arrow": _read_frame,
    ".ipc": _read_frame,
    ".feather": _read_frame,
    ".npy": _read_npy,
}


def _choose(path: Path, names: Sequence[str], text: Iterable[str], asked: Mapping[str, Any]) -> _Choice:
    parts = (*asked["ignore"], *asked["numeric"], *asked["other"], *([asked["id"]] if asked["id"] else []))
    for name in (*(asked["columns"] or ()), *parts):
        if name not in names:
            raise FileError(f"{path} has no column {name!r}; it has: {', '.join(names)}")
    twice = next((name for name in asked["columns"] or () if asked["columns"].count(name) > 1), None)
    if twice is not None:
        raise FileError(f"the column {twice!r} is asked for twice as a feature; name it once")
    if asked["columns"] is None:
        features = tuple(name for name in names if name not in parts)
    else:
        features = tuple(asked["columns"])
    if asked["columns"] is None and not features:
        raise FileError(f"{path}: no column is left to cluster by")
    choice = _Choice(features, asked["id"], tuple(asked["numeric"]), tuple(asked["other"]))
    wrong = [name for name in choice.numbers if name in text]
    if wrong:
        words = f"{'columns' if wrong[1:] else 'column'} {', '.join(map(repr, wrong))}"
        advice = ""
        if wrong[0] in features:
            as_id = "" if choice.id else f"name rows by it with --id {wrong[0]}, "
            advice = (
                f"; leave out with --ignore {','.join(wrong)}, {as_id}or write numbers instead (one column of 0 "
                "and 1 per category)"
            )
        raise FileError(f"{path}: {words} {'hold' if wrong[1:] else 'holds'} no numbers{advice}")
    return choice


def _table(path: Path, frame: "pl.DataFrame", choice: _Choice) -> Table:
    import polars as pl

    X = np.empty((frame.height, len(choice.features)))
    extra: dict[str, NDArray[Any]] = {}
    for name in (*choice.numeric, *choice.other):
        extra[name] = frame[name].to_numpy()
    ids = None if choice.id is None else frame[choice.id].cast(pl.String).to_list()
    for i, name in enumerate(choice.features):
        # Missing values become NaN, which `_checked` names.
        X[:, i] = frame[name].cast(pl.Float64).to_numpy()
        # One column less in memory with each one copied.
        frame = frame.drop(name)
    return _checked(path, Table(X, choice.features, RowNames(len(X), ids, choice.id), extra), choice)


def _checked(path: Path, table: Table, choice: _Choice) -> Table:
    if not len(table.X):
        raise FileError(f"{path} has no rows below its header")
    numbers = [*zip(table.features, table.X.T, strict=True), *((name, table.extra[name]) for name in choice.numeric)]
    for name, column in numbers:
        # A sum is not finite as soon as one value is; only then look for it.
        with np.errstate(all="ignore"):
            suspicious = not np.isfinite(column.sum())
        bad = np.flatnonzero(~np.isfinite(column)) if suspicious else np.zeros(0, dtype=np.intp)
        if bad.size:
            words = "no value" if np.isnan(column[bad[0]]) else "an infinite value"
            raise FileError(f"{path}, row {bad[0]}, column {name!r} has {words}; fill it in or remove the row")
    _refuse_bad_ids(path, table.rows)
    return table


def _refuse_bad_ids(path: Path, rows: RowNames) -> None:
    if rows.ids is None:
        return
    first: dict[str, int] = {}
    for row, name in enumerate(rows.ids):
        if name is None:
            raise FileError(f"{path}, row {row} has no id in column {rows.column!r}")
        seen = first.setdefault(name, row)
        if seen != row:
            place = f"{path}: id {shown(name)} in column {rows.column!r}"
            raise FileError(f"{place} stands in rows {seen} and {row}; no two rows may share one")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
