"""Parquet and Arrow files: typed columns, of which only those asked for are read."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from konstrain.exceptions import FileError
from konstrain.files.cells import name_of_number
from konstrain.files.choice import Choice, Request
from konstrain.files.sources import Source

if TYPE_CHECKING:
    import polars as pl

_ARROW_FILE = b"ARROW1"
_KINDS = {".parquet": "a Parquet", ".xlsx": "an Excel", ".json": "a JSON"}


def read_frame(path: Source, request: Request) -> tuple[Choice, "pl.DataFrame"]:
    """Read the columns that are asked for; `path` ends in .parquet, .xlsx, .json, or is an Arrow file or stream."""
    import polars as pl

    # From an open file: given a name, Polars would look for patterns and other machines in it. Unbuffered: Polars
    # reads on from where the system is in the file, which must be where we are.
    with path.open("rb", buffering=0) as file:
        try:
            schema, read = _reader(path, file)
            numbers = {name for name, kind in schema.items() if kind.is_numeric() or kind == pl.Boolean}
            choice = request.choose(path, tuple(schema), schema.keys() - numbers)
            _refuse_nested(path, choice, schema)
            # By place: a column called * or ^.*$ would stand for others too.
            place = {name: i for i, name in enumerate(schema)}
            # Where nothing is asked for but how many rows there are, any column tells that.
            return choice, read([place[name] for name in choice.all] or list(range(len(schema)))[:1])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            # Polars speaks of its own insides here; what is to be done is the same in all cases.
            kind = _KINDS.get(path.suffix, "an Arrow")
            raise FileError(f"{path} is damaged, or is not {kind} file; write it again") from None


def read_whole_frame(path: Source) -> "pl.DataFrame":
    """Read every column as it is."""
    everything = Request(None, None, (), (), (), mixed=True)
    return read_frame(path, everything)[1]


def _reader(path: Source, file: IO[bytes]) -> tuple[dict[str, "pl.DataType"], Callable[[list[int]], "pl.DataFrame"]]:
    """Return the columns with their types, and what reads some of them."""
    import polars as pl

    def again() -> IO[bytes]:
        file.seek(0)
        return file

    if path.suffix in (".xlsx", ".json"):
        frame = _read_excel(path) if path.suffix == ".xlsx" else pl.read_json(path.file)
        return dict(frame.schema), lambda places: frame[:, places]
    if path.suffix == ".parquet":
        return dict(pl.read_parquet_schema(file)), lambda places: pl.read_parquet(again(), columns=places)
    if file.read(len(_ARROW_FILE)) == _ARROW_FILE:
        return dict(pl.read_ipc_schema(again())), lambda places: pl.read_ipc(again(), columns=places)
    # A stream has no table of contents: it is read whole.
    frame = pl.read_ipc_stream(again())
    return dict(frame.schema), lambda places: frame[:, places]


def _read_excel(path: Source) -> "pl.DataFrame":
    """The first sheet of a spreadsheet."""
    import polars as pl

    if find_spec("fastexcel") is None:
        raise FileError("spreadsheets need fastexcel; install it with: pip install 'konstrain[excel]'")
    from fastexcel import FastExcelError

    try:
        return pl.read_excel(path.file, engine="calamine")
    except FastExcelError:
        raise OSError from None  # not what its name says, or damaged
    except pl.exceptions.NoDataError:
        raise FileError(f"{path} has no rows in its first sheet") from None


def _refuse_nested(path: Source, choice: Choice, schema: "dict[str, pl.DataType]") -> None:
    import polars as pl

    for name in choice.names:
        kind = schema[name]
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            words = "bytes" if kind == pl.Binary else "lists or records"
            raise FileError(f"{path}, column {name!r} holds {words}; names of rows and groups are text or numbers")


def features_of(frame: "pl.DataFrame", choice: Choice) -> NDArray[np.float64]:
    """Return the features as rows of numbers; missing ones are NaN."""
    X = np.empty((frame.height, len(choice.features)))
    columns = [frame[name] for name in choice.features]
    for i, column in enumerate(columns):
        X[:, i] = numbers_in(column)
    return X


def numbers_in(column: "pl.Series") -> NDArray[np.float64]:
    """Return the numbers of a column; missing ones are NaN."""
    import polars as pl

    values: NDArray[np.float64] = column.cast(pl.Float64).to_numpy()
    return values


def names_in(column: "pl.Series") -> list[str | None]:
    """Return what the cells of a column are called; missing ones are None."""
    import polars as pl

    if column.dtype.is_float():
        return [None if value is None else name_of_number(value) for value in column.to_list()]
    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) or column.dtype.is_integer():
        return column.cast(pl.String).to_list()
    # Dates, durations and decimals as Python writes them.
    return [None if value is None else str(value) for value in column.to_list()]
