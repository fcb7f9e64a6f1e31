"""Tables into files, or to standard output as CSV."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from konstrain.exceptions import FileError
from konstrain.files.outputs import refuse_unwritable, write_whole

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".csv", ".parquet", ".arrow", ".json")
STANDARD_OUTPUT = Path("-")


def refuse_unwritable_table(path: str | Path) -> None:
    """Raise now if a table could not be written there later."""
    if Path(path) == STANDARD_OUTPUT:
        return
    if Path(path).suffix.lower() not in ENDINGS:
        raise FileError(f"cannot tell the format of {path} from its name; it should end in {', '.join(ENDINGS)}")
    refuse_unwritable(path)


def write_frame(path: str | Path, frame: "pl.DataFrame") -> None:
    """Write a table whole or not at all; the name tells the format, ``-`` is CSV on standard output."""
    path = Path(path)
    writers: dict[str, Callable[[io.BytesIO], object]] = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".json": frame.write_json,
    }
    contents = io.BytesIO()
    if path == STANDARD_OUTPUT:
        frame.write_csv(contents)
        sys.stdout.flush()
        sys.stdout.buffer.write(contents.getvalue())
        sys.stdout.buffer.flush()
        return
    writers[path.suffix.lower()](contents)
    write_whole(path, contents.getvalue())
