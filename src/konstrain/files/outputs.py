"""Files that appear whole or not at all."""

import io
import math
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from konstrain.exceptions import FileError
from konstrain.files.cells import MOST_EXACT

if TYPE_CHECKING:
    import polars as pl


def write_whole(path: str | Path, contents: bytes) -> None:
    """Write a file so that it is there complete, or not there at all.

    Parameters
    ----------
    path : str or Path
        Where the file is to be; one that is there is replaced and keeps its permissions. If this is a symbolic link,
        what it points to is written.
    contents : bytes
        All of it. Made before: Ctrl-C ends what makes it at once, and waits while it is written.

    Raises
    ------
    FileError
        When the folder is missing or cannot be written to, the disk is full, or `path` is read-only or no regular
        file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "note.txt"
    >>> write_whole(file, b"whole")
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('whole', 1)
    >>> folder.cleanup()
    """
    with _failures_named(path):
        target = _writable(Path(path))
        with _temporary_beside(target) as temporary:
            with temporary.open("wb") as file:
                file.write(contents)
                file.flush()
                # A rename must not overtake the contents on their way to the disk.
                os.fsync(file.fileno())
            os.replace(temporary, target)


def refuse_unwritable(path: str | Path) -> None:
    """Raise now if a file could not be written later, after much work."""
    with _failures_named(path), _temporary_beside(_writable(Path(path))):
        pass


@contextmanager
def _failures_named(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def _writable(path: Path) -> Path:
    """Return where the contents go, behind all links; raises if they must not go there."""
    # A file that cannot be reached must not pass for a new one.
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise FileError(f"cannot write {path}: it is a link that leads back to itself")
    if not target.parent.exists():
        raise FileError(f"cannot write {path}: there is no folder {_parent_as_written(path, target)}")
    if target.exists():
        if not target.is_file():
            raise FileError(f"cannot write {path}: it is there and is no regular file")
        # Also for users whom the system lets write anywhere: the file is protected on purpose.
        if not os.access(target, os.W_OK) or not target.stat().st_mode & 0o222:
            raise FileError(f"cannot write {path}: it is there and read-only")
    return target


def _parent_as_written(path: Path, target: Path) -> Path:
    return target.parent if path.is_symlink() else path.parent


@contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    """Make an empty file next to `target`, with its permissions or those of a new file; it is gone in the end."""
    temporary = target.with_name(f".{target.stem[:40]}-{secrets.token_hex(4)}{target.suffix[:20]}")
    with _interrupts_held():
        try:
            temporary.touch(exist_ok=False)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block."""
    # Python calls handlers in the main thread only, and only there they can be set; in others nothing interrupts.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, Any]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held and callable(handler):
        handler(*held[0])


ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".json", ".xlsx")
STANDARD_OUTPUT = Path("-")
# What a sheet of a spreadsheet holds, its header included.
SHEET_ROWS: Final = 1_048_576
SHEET_COLUMNS: Final = 16_384
# Spreadsheets count days from 1900 on.
_FIRST_YEAR: Final = 1900
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
    """Write a table whole or not at all; the format follows from the name, ``-`` is CSV on standard output."""
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

    if frame.width > 1:
        # Empty cells as nothing at all, as they mostly come; Polars would put quotes there.
        frame = frame.with_columns(pl.col(pl.String).replace("", None))
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
    elif type(value) in formats and _has_day_number(value):
        done = sheet.write_datetime(i, j, value, formats[type(value)])
    else:
        done = sheet.write_string(i, j, str(value))
    return done


def _has_day_number(value: Any) -> bool:
    """Whether a spreadsheet has a number for a day or time: it knows no time zones, and nothing before 1900."""
    if isinstance(value, timedelta):
        return value >= timedelta(0)
    return getattr(value, "tzinfo", None) is None and getattr(value, "year", _FIRST_YEAR) >= _FIRST_YEAR
