"""Text from files: UTF-8, and a word for what is not."""

import codecs
import gzip
import os
import select
import stat
import zlib
from pathlib import Path

from konstrain.exceptions import FileError

TO_UTF8 = "save the file as UTF-8, or say how it is written: --encoding {}"
FROM_LATIN1 = TO_UTF8.format("latin1")
# Seconds in which someone must begin to write into a pipe that is read.
WAIT = 5.0
# How files begin that are no text in UTF-8, longest first, and what to do about each.
_BEGINNINGS = (
    (codecs.BOM_UTF32_LE, f"is UTF-32 text; {TO_UTF8.format('utf-32')}"),
    (codecs.BOM_UTF32_BE, f"is UTF-32 text; {TO_UTF8.format('utf-32')}"),
    (b"\x1f\x8b", "is compressed; unpack it first, for example with gunzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed; unpack it first, for example with unzstd"),
    (b"BZh", "is compressed; unpack it first, for example with bunzip2"),
    (b"\xfd7zXZ", "is compressed; unpack it first, for example with unxz"),
    (b"PK\x03\x04", "is a zip archive or a spreadsheet; save its table as CSV"),
    (b"PAR1", "is a Parquet file; let its name end in .parquet"),
    (b"ARROW1", "is an Arrow file; let its name end in .arrow"),
    (b"\x93NUMPY", "is a file of numpy.save; let its name end in .npy"),
)


def refuse_other_than_text(path: object, beginning: bytes) -> None:
    """Raise if a file that begins with these bytes is no UTF-8 text; what the bytes cannot tell passes."""
    for sign, words in _BEGINNINGS:
        if beginning.startswith(sign):
            raise FileError(f"{path} {words}")
    if b"\0" in beginning:
        # Without a mark at its beginning: every other byte of Western text is zero, and which one tells the order.
        order = "utf-16le" if beginning[1:2] == b"\0" else "utf-16be"
        raise FileError(f"{path} is UTF-16 text or no text at all; {TO_UTF8.format(order)}")


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the whole text of a file, without a byte order mark; line ends as they are.

    Parameters
    ----------
    path : Path
        The file, or a pipe that someone writes into; a name that ends in .gz is unpacked.
    encoding : str, optional
        How the text is written; default: UTF-8, or UTF-16 where a mark at its beginning says so.

    Raises
    ------
    FileError
        When it cannot be read or is no such text.
    """
    refuse_unknown_encoding(encoding)
    try:
        data = _read_pipe(path) if path.is_fifo() else _read_file(path)
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
    except (EOFError, zlib.error):
        raise FileError(f"{path} is damaged: it cannot be unpacked; write it again") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    encoding = encoding or marked_encoding(data)
    if encoding is None:
        refuse_other_than_text(path, data[:4096])
    try:
        return data.decode(encoding or "utf-8-sig")
    except UnicodeError:
        if encoding is None:
            raise FileError(f"{path} is not UTF-8 text; {FROM_LATIN1}") from None
        raise FileError(f"{path} is not {encoding} text; name its encoding as --encoding") from None


def _read_file(path: Path) -> bytes:
    refuse_device(path)
    return path.read_bytes()


def _read_pipe(path: Path) -> bytes:
    """Return all that is written into a pipe; raises if nobody opens it for that within `WAIT` seconds."""
    # Opened without waiting: otherwise the system would wait for a writer, perhaps for ever.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        is_ready = poll.poll(1000 * WAIT)
        # Where nothing is there to be read: None if a writer has yet to begin, no bytes if there is no writer.
        begin = pipe.read(1)
        if begin == b"" and not is_ready:
            raise FileError(f"{path} is a pipe that nobody writes into; write the text to a file first")
        os.set_blocking(pipe.fileno(), True)
        return (begin or b"") + pipe.read()


def refuse_device(path: Path, instead: str = "what it gives to a file first") -> None:
    """Raise if this is a pipe or a device, which may never end; `instead` says what to write."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FileError(f"{path} is a pipe or a device; write {instead}")


def marked_encoding(beginning: bytes) -> str | None:
    """Return the encoding that a mark at the beginning of a file tells: nothing is guessed."""
    is_utf16 = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    is_utf32 = beginning.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE))
    return "utf-16" if is_utf16 and not is_utf32 else None


def refuse_unknown_encoding(encoding: str | None) -> None:
    """Raise if there is no encoding of text of this name; Python knows others, from bytes to bytes."""
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, UnicodeError, ValueError):
        raise FileError(f"there is no encoding {encoding!r}; such as: utf-8, latin1, cp1252, utf-16") from None
