"""Parquet and Arrow files: typed columns, of which only those asked for are read."""

import re
import zipfile
import zlib
from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import MOST_NUMBERS
from konstrain._messages import counted
from konstrain.constraints.polygons import import_geopandas, in_kilometres, polygons_of
from konstrain.exceptions import FileError
from konstrain.files.cells import name_of_number
from konstrain.files.choice import Choice, Request
from konstrain.files.sources import Source

if TYPE_CHECKING:
    import polars as pl

_BEGINNING = b"\x93NUMPY"


def read_npy(path: Source) -> NDArray[Any]:
    """Return the array of rows, not yet read from disk."""
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            raise FileError(f"{path} is no .npy file of numbers; write it with numpy.save")
    try:
        # Mapped: a header that promises more than the file holds is noticed before memory is asked for.
        values = np.load(path.file, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception:
        # numpy evaluates the header, so nearly any error may come of a damaged one; its words are for programmers.
        raise FileError(f"{path} is damaged, or holds no numbers; write it again with numpy.save") from None
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise FileError(
            f"{path} must hold a two-dimensional array of numbers, got shape {values.shape} of {values.dtype}"
        )
    return values  # type: ignore[no-any-return]


_ARROW_FILE = b"ARROW1"
# Of a spreadsheet: the sheets in the archive, and the cells of a sheet that hold something, with column and row.
_SHEET = re.compile(r"worksheets/[^/]+\.xml$", re.IGNORECASE)
_FILLED_CELL = re.compile(rb"""<(?:\w+:)?c\s(?:[^>]*?\s)?r=["']([A-Za-z]{1,3})([0-9]{1,7})["'][^>]*(?<!/)>""")
_KINDS = {".parquet": "a Parquet", ".xlsx": "an Excel", ".json": "a JSON"}
# Files of polygons, and the columns of their middles in degrees that are added to those of the file.
POLYGON_ENDINGS = (".geojson", ".shp", ".gpkg")
CENTROID = ("centroid_lat", "centroid_lon")


def read_frame(path: Source, request: Request) -> tuple[Choice, "pl.DataFrame"]:
    """Read the columns that are asked for; `path` ends in .parquet, .xlsx, .json, or is an Arrow file or stream."""
    import polars as pl

    # From an open file: given a name, Polars would search it for patterns and for other machines. Unbuffered: Polars
    # reads on from where the system is in the file, which must be where we are.
    with path.open("rb", buffering=0) as file:
        try:
            schema, read = _reader(path, file, request.na)
            numbers = {name for name, kind in schema.items() if kind.is_numeric() or kind == pl.Boolean}
            choice = request.choose(path, tuple(schema), schema.keys() - numbers)
            _refuse_nested(path, choice, schema)
            # By place: a column called * or ^.*$ would stand for others too.
            place = {name: i for i, name in enumerate(schema)}
            # Where nothing is asked for but how many rows there are, any column will do.
            return choice, read([place[name] for name in choice.all] or list(range(len(schema)))[:1])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            # Polars speaks of its own insides here; what is to be done is the same in all cases.
            kind = _KINDS.get(path.suffix, "an Arrow")
            raise FileError(f"{path} is damaged, or is not {kind} file; write it again") from None


def read_whole_frame(path: Source) -> "pl.DataFrame":
    """Read every column as it is, in the order of the file."""
    with path.open("rb", buffering=0) as file:
        schema, read = _reader(path, file, ())
        return read(list(range(len(schema))))


def _reader(
    path: Source, file: IO[bytes], na: Collection[str]
) -> tuple[dict[str, "pl.DataType"], Callable[[list[int]], "pl.DataFrame"]]:
    """Return the columns with their types, and what reads some of them; words of `na` are no values."""
    import polars as pl

    def again() -> IO[bytes]:
        file.seek(0)
        return file

    if na:
        # What type a column has without these words is known only when it is read.
        schema, read = _reader(path, file, ())
        cleared = _without(na, read(list(range(len(schema)))))
        return dict(cleared.schema), lambda places: cleared[:, places]
    if path.suffix in (".xlsx", ".json"):
        frame = _read_excel(path) if path.suffix == ".xlsx" else pl.read_json(path.file)
        return dict(frame.schema), lambda places: frame[:, places]
    if path.suffix in POLYGON_ENDINGS:
        areas = _read_areas(path)
        return dict(areas.schema), lambda places: areas[:, places]
    if path.suffix == ".parquet":
        return dict(pl.read_parquet_schema(file)), lambda places: pl.read_parquet(again(), columns=places)
    if file.read(len(_ARROW_FILE)) == _ARROW_FILE:
        return dict(pl.read_ipc_schema(again())), lambda places: pl.read_ipc(again(), columns=places)
    # A stream has no table of contents: it is read whole.
    frame = pl.read_ipc_stream(again())
    return dict(frame.schema), lambda places: frame[:, places]


def _without(na: Collection[str], frame: "pl.DataFrame") -> "pl.DataFrame":
    """The table without words for no value; columns of text that hold only numbers then are such."""
    import polars as pl

    # All columns at once: a call for each takes a millisecond, and each `with_columns` goes through all columns.
    texts = frame.select(pl.col(pl.String))
    is_word = pl.all().str.strip_chars().is_in(list(na))
    rest = texts.select(pl.when(is_word).then(None).otherwise(pl.all()).name.keep())
    numbers = rest.select(pl.all().cast(pl.Float64, strict=False))
    cleared = [
        number if number.null_count() == text.null_count() else text
        for before, text, number in zip(texts, rest, numbers, strict=True)
        if text.null_count() > before.null_count()
    ]
    return frame.with_columns(cleared)


def read_polygons(path: Source) -> Any:
    """Return the polygons of a file with its columns: a GeoDataFrame."""
    try:
        geopandas = import_geopandas()
    except ModuleNotFoundError as error:
        raise FileError(f"{path}: {error}") from None
    try:
        areas = geopandas.read_file(path.file)
    except Exception:
        # Nearly any error of its drivers may come of a damaged file; their words are for programmers.
        raise FileError(f"{path} is damaged, or holds no polygons; write it again, as .geojson for example") from None
    if not hasattr(areas, "geometry") or not len(areas):
        raise FileError(f"{path} holds no polygons")
    if areas.crs is None:
        raise FileError(
            f"{path} names no coordinate system (a .prj file), so there are no distances; add it, for example with "
            "geopandas: frame.set_crs(4326).to_file(...)"
        )
    try:
        return areas.set_geometry(polygons_of(areas), crs=areas.crs)
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None


def _read_areas(path: Source) -> "pl.DataFrame":
    """The columns of a file of polygons, and where the middle of each polygon is."""
    import polars as pl

    areas = read_polygons(path)
    # On a plane of true areas: a middle in degrees lies too far from the equator.
    middles = in_kilometres(areas).geometry.centroid.to_crs(4326)
    columns = {str(name): areas[name] for name in areas.columns if name != areas.geometry.name}
    shown = {
        name: pl.Series(name, [None if value != value else value for value in column.to_list()], strict=False)
        for name, column in columns.items()
    }
    return pl.DataFrame({**shown, CENTROID[0]: middles.y.to_numpy(), CENTROID[1]: middles.x.to_numpy()})


def _read_excel(path: Source) -> "pl.DataFrame":
    """The first sheet of a spreadsheet."""
    import polars as pl

    if find_spec("fastexcel") is None:
        raise FileError("spreadsheets need fastexcel; install it with: pip install 'konstrain[excel]'")
    from fastexcel import FastExcelError

    try:
        _refuse_far_cells(path)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        raise OSError from None  # no archive, damaged, or packed in a way that is not known, such as with a password
    try:
        return pl.read_excel(path.file, engine="calamine")
    except FastExcelError:
        raise OSError from None  # not what its name says, or damaged
    except pl.exceptions.NoDataError:
        raise FileError(f"{path} has no rows in its first sheet") from None


def _refuse_far_cells(path: Source) -> None:
    """Raise if a sheet spans far more cells than it fills: the reader asks for the memory of all of them."""
    with zipfile.ZipFile(path.file) as archive:
        for name in filter(_SHEET.search, archive.namelist()):
            with archive.open(name) as sheet:
                n_filled, n_rows, n_columns = _extent(sheet)
            if n_rows * n_columns - n_filled > MOST_NUMBERS:
                raise FileError(
                    f"{path}: {counted(n_filled, 'cell')} of a sheet are spread over {n_rows} rows and {n_columns} "
                    "columns; delete those far from the table"
                )


def _extent(sheet: IO[bytes]) -> tuple[int, int, int]:
    """Number of filled cells of a sheet, and over how many rows and columns they are spread."""
    n_filled, rows, columns, rest = 0, set[int](), set[int](), b""
    while part := sheet.read(1 << 20):
        text, _, rest = (rest + part).rpartition(b"<")
        rest = b"<" + rest
        found = _FILLED_CELL.findall(text)
        n_filled += len(found)
        rows.update(int(row) for row in {row for _, row in found})
        columns.update(_number_of(column) for column in {column for column, _ in found})
    return (n_filled, _span(rows), _span(columns))


def _span(numbers: set[int]) -> int:
    return max(numbers) - min(numbers) + 1 if numbers else 0


def _number_of(letters: bytes) -> int:
    """The number of a column by its letters."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


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
