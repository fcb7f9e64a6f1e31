"""Where a table comes from: a file as it is, one that must be unpacked or decoded first, or standard input."""

import codecs
import gzip
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from konstrain.exceptions import FileError

TO_UTF8 = "save the file as UTF-8, or say how it is written: --encoding {}"
FROM_LATIN1 = TO_UTF8.format("latin1")
# Seconds to wait for the other side of a pipe or of a connection; larger: slower ones, and later messages.
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
        # Without a mark at its beginning: every other byte of Western text is zero, by the order the first or second.
        order = "utf-16le" if beginning[1:2] == b"\0" else "utf-16be"
        raise FileError(f"{path} is UTF-16 text or no text at all; {TO_UTF8.format(order)}")


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the whole text of a file or a pipe, .gz unpacked, without a byte order mark; line ends as they are.

    Without `encoding` it is UTF-8, or UTF-16 where a mark at its beginning says so.
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
    """Return the encoding by the mark at the beginning of a file: nothing is guessed."""
    is_utf16 = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    is_utf32 = beginning.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE))
    return "utf-16" if is_utf16 and not is_utf32 else None


def refuse_unknown_encoding(encoding: str | None) -> None:
    """Raise if there is no encoding of text of this name; Python knows others, from bytes to bytes."""
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, UnicodeError, ValueError):
        raise FileError(f"there is no encoding {encoding!r}; such as: utf-8, latin1, cp1252, utf-16") from None


STANDARD_INPUT = Path("-")
# How files begin of which the name need not tell the format, and the ending that would.
_FORMATS = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\x93NUMPY", ".npy"), (b"PK\x03\x04", ".xlsx"))
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
TEXT = (".csv", ".tsv", ".txt")


class Source:
    """A table's file under the name that the person knows it by; reads like a `Path`, shows that name.

    ``-`` is standard input. Without `encoding`, text is UTF-8, or UTF-16 where a mark says so, or else in
    `usual_encoding`. `file` is where the bytes are: the path, or a temporary file that is gone with this object.
    """

    def __init__(self, path: str | Path, encoding: str | None = None, *, usual_encoding: str | None = None) -> None:
        path = Path(path)
        refuse_address(path)
        refuse_unknown_encoding(encoding)
        self.path, self._temporaries = path, list[Any]()
        self._name = "standard input" if path == STANDARD_INPUT else str(path)
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                raise FileError("cannot read standard input: it is closed; give a file instead of -")
            self.file = self._kept(sys.stdin.buffer)
        else:
            _refuse_other_than_file(path)
            self.file = path
        self._unpack()
        self.suffix = self._ending()
        self.encoding = "utf-8"
        if self.suffix in TEXT:
            is_usual = encoding is None and usual_encoding is not None and not self._is_utf8()
            self._decode(usual_encoding if is_usual else encoding)

    def __str__(self) -> str:
        return self._name

    def open(self, *args: Any, **kwargs: Any) -> IO[Any]:
        """Open the bytes, as `Path.open` does."""
        opened: IO[Any] = self.file.open(*args, **kwargs)
        return opened

    def _unpack(self) -> None:
        if self._begins()[:2] != _GZIP or self.path.suffix.lower() not in (".gz", ""):
            return
        try:
            with gzip.open(self.file, "rb") as packed:
                self.file = self._kept(packed)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise FileError(f"{self} is damaged: it cannot be unpacked; write it again") from None
        self._refuse_empty()

    def _ending(self) -> str:
        if self.path.suffix.lower() == ".gz":
            return Path(self.path.stem).suffix.lower()
        if self.path != STANDARD_INPUT:
            return self.path.suffix.lower()
        self._refuse_empty()
        beginning = self._begins()
        return next((ending for sign, ending in _FORMATS if beginning.startswith(sign)), ".csv")

    def _decode(self, encoding: str | None) -> None:
        """Make text that is not UTF-8 so."""
        encoding = encoding or marked_encoding(self._begins())
        if encoding is None or codecs.lookup(encoding).name in ("utf-8", "ascii"):
            self.encoding = "utf-8-sig" if self._begins().startswith(codecs.BOM_UTF8) else "utf-8"
            return
        self.encoding = encoding
        try:
            with self.open(encoding=encoding, newline="") as text:
                self.file = self._kept(text, lambda part: part.encode())
        except UnicodeError:
            raise FileError(f"{self} is not {encoding} text; name its encoding as --encoding") from None

    def _is_utf8(self) -> bool:
        try:
            with self.open(encoding="utf-8", newline="") as text:
                while part := text.read(1 << 20):
                    if "\0" in part:  # UTF-16 of Western text without a mark
                        return False
        except UnicodeError:
            return False
        return True

    def _kept(self, stream: Any, encode: Callable[[Any], bytes] | None = None) -> Path:
        """Copy a stream to a temporary file."""
        # Kept open by this object, and gone with it.
        copy = tempfile.NamedTemporaryFile(prefix="konstrain-")  # noqa: SIM115
        self._temporaries.append(copy)
        if encode is None:
            shutil.copyfileobj(stream, copy)
        else:
            while part := stream.read(1 << 20):
                copy.write(encode(part))
        copy.flush()
        return Path(copy.name)

    def _begins(self) -> bytes:
        with self.open("rb") as file:
            return file.read(16)  # type: ignore[no-any-return]

    def _refuse_empty(self) -> None:
        if not self.file.stat().st_size:
            raise FileError(f"{self} is empty")


def address_of(path: Path) -> str | None:
    """Return the address that was taken for a path of this machine; None if it is no address.

    Paths lose all but one of several slashes, which addresses have.
    """
    if not _ADDRESS.match(str(path)) or path.exists():
        return None
    scheme, _, rest = str(path).partition(":/")
    # Of these the path begins at the root; of the others with a host or a bucket.
    return f"{scheme}:///{rest}" if scheme in ("file", "local") else f"{scheme}://{rest}"


def refuse_address(path: Path) -> None:
    """Raise if this is an address on the network, which is no file."""
    if address_of(path) is not None:
        raise FileError(f"{path} is an address; konstrain reads files of this machine: download it first")


def _refuse_other_than_file(path: Path) -> None:
    status = path.stat()
    # Opening a pipe waits for someone to write into it, perhaps for ever.
    refuse_device(path, "the table to a file first, or give it as -")
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise FileError(f"{path} is empty")
