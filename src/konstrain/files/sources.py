"""Where a table comes from: a file as it is, one that must be unpacked or decoded first, or standard input."""

import codecs
import gzip
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from konstrain.exceptions import FileError
from konstrain.files.text_files import marked_encoding, refuse_device, refuse_unknown_encoding

STANDARD_INPUT = Path("-")
# How files begin of which the name need not tell the format, and the ending that would.
_FORMATS = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\x93NUMPY", ".npy"), (b"PK\x03\x04", ".xlsx"))
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
TEXT = (".csv", ".tsv", ".txt")


class Source:
    """A table's file under the name that the person knows it by; reads like a `Path`, shows that name.

    Parameters
    ----------
    path : str or Path
        The file; ``-`` is standard input, a name that ends in .gz is unpacked.
    encoding : str, optional
        How the text of a CSV file is written; default: UTF-8, or UTF-16 where a mark at its beginning says so.
    usual_encoding : str, optional
        How it is written if it is not UTF-8 and `encoding` is not given.

    Attributes
    ----------
    file : Path
        Where the bytes are: `path`, or a temporary file that is gone with this object.
    suffix : str
        The ending that tells the format.
    encoding : str
        How the text of a CSV file is written, a mark at its beginning included.
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
