"""Tables into files, or to standard output as CSV."""

import io
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from konstrain.exceptions import FileError
from konstrain.files.cells import MOST_EXACT
from konstrain.files.outputs import refuse_unwritable, write_whole

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".json", ".xlsx")
STANDARD_OUTPUT = Path("-")
# What a sheet of a spreadsheet holds, its header included.
SHEET_ROWS, SHEET_COLUMNS = 1_048_576, 16_384
# Spreadsheets count days from 1900 on.
_FIRST_YEAR = 1900
_DAY_FORMATS = {
    datetime: "yyyy-mm-dd hh:mm:ss",
    date: "yyyy-mm-dd",
    time: "hh:mm:ss",
    timedelta: "[h]:mm:ss",
}


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text: the delimiter, the sign before decimals, the encoding, the ends of lines."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"


STANDARD = Dialect()


def refuse_unwritable_table(path: str | Path) -> None:
    """Raise now if a table could not be written there later."""
    ending = Path(path).suffix.lower()
    if Path(path) == STANDARD_OUTPUT:
        return
    if ending not in ENDINGS:
        raise FileError(f"cannot tell the format of {path} from its name; it should end in {', '.join(ENDINGS)}")
    if ending == ".xlsx" and find_spec("xlsxwriter") is None:
        raise FileError(f"writing {path} needs xlsxwriter; install it with: pip install 'konstrain[excel]'")
    refuse_unwritable(path)


def write_frame(path: str | Path, frame: "pl.DataFrame", dialect: Dialect = STANDARD) -> None:
    """Write a table whole or not at all; the name tells the format, ``-`` is CSV on standard output.

    Parameters
    ----------
    path : str or Path
        Where to write.
    frame : DataFrame
        The table.
    dialect : Dialect, optional
        How CSV is written; default: commas between cells, points before decimals, UTF-8.
    """
    path = Path(path)
    if path == STANDARD_OUTPUT:
        _print(_as_text(frame, dialect))
        return
    writers: dict[str, Callable[[io.BytesIO], object]] = {
        ".csv": lambda file: file.write(_as_text(frame, dialect)),
        ".tsv": lambda file: file.write(_as_text(frame, dialect, delimiter="\t")),
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".json": frame.write_json,
        ".xlsx": lambda file: _write_sheet(path, file, frame),
    }
    contents = io.BytesIO()
    writers[path.suffix.lower()](contents)
    write_whole(path, contents.getvalue())


def _print(contents: bytes) -> None:
    if sys.stdout is None:
        raise FileError("cannot write to standard output: it is closed; write to a file with -o")
    sys.stdout.flush()
    sys.stdout.buffer.write(contents)
    sys.stdout.buffer.flush()


def _as_text(frame: "pl.DataFrame", dialect: Dialect, delimiter: str | None = None) -> bytes:
    import polars as pl

    if dialect.decimal != STANDARD.decimal:
        floats = pl.col(pl.Float32, pl.Float64).cast(pl.String)
        frame = frame.with_columns(floats.str.replace(".", dialect.decimal, literal=True))
    text = frame.write_csv(separator=delimiter or dialect.delimiter, line_terminator=dialect.line_end)
    return text.encode(dialect.encoding)


def _write_sheet(path: Path, file: io.BytesIO, frame: "pl.DataFrame") -> None:
    """Write a spreadsheet of one sheet: text is text, also where it begins as formulas do."""
    from xlsxwriter import Workbook

    if frame.height + 1 > SHEET_ROWS or frame.width > SHEET_COLUMNS:
        raise FileError(
            f"cannot write {path}: a sheet holds {SHEET_ROWS:,} rows and {SHEET_COLUMNS:,} columns, and there are "
            f"{frame.height + 1:,} and {frame.width:,}; write .csv or .parquet"
        )
    with Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        formats = {kind: book.add_format({"num_format": written}) for kind, written in _DAY_FORMATS.items()}
        for j, column in enumerate(frame.get_columns()):
            for i, value in enumerate((column.name, *column.to_list())):
                if _write_cell(sheet, i, j, value, formats):
                    raise FileError(
                        f"cannot write {path}: the cell in row {i - 1}, column {column.name!r} is longer than a "
                        "spreadsheet allows (32,767 characters); write .csv or .parquet"
                    )


def _write_cell(sheet: Any, i: int, j: int, value: Any, formats: dict[type, Any]) -> int:
    """Write one cell; what a spreadsheet would change is written as text. Returns 0 unless the cell is too long."""
    done: int
    if value is None:
        return 0
    if isinstance(value, bool):
        done = sheet.write_boolean(i, j, value)
    elif (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and abs(value) <= MOST_EXACT):
        done = sheet.write_number(i, j, value)
    elif type(value) in formats and _is_told_by_days(value):
        done = sheet.write_datetime(i, j, value, formats[type(value)])
    else:
        done = sheet.write_string(i, j, str(value))
    return done


def _is_told_by_days(value: Any) -> bool:
    """Whether a spreadsheet has a number for a day or time: it knows no time zones, and nothing before 1900."""
    if isinstance(value, timedelta):
        return value >= timedelta(0)
    return getattr(value, "tzinfo", None) is None and getattr(value, "year", _FIRST_YEAR) >= _FIRST_YEAR
