"""Text from files: UTF-8, and a word for what is not."""

import codecs
from pathlib import Path

from konstrain.exceptions import FileError

TO_UTF8 = "save the file as UTF-8, for example with: iconv -f {} -t utf-8 OLD > NEW"
FROM_LATIN1 = TO_UTF8.format("latin1")
# How files begin that are no text in UTF-8, longest first, and what to do about each.
_BEGINNINGS = (
    (codecs.BOM_UTF32_LE, f"is UTF-32 text; {TO_UTF8.format('utf-32')}"),
    (codecs.BOM_UTF32_BE, f"is UTF-32 text; {TO_UTF8.format('utf-32')}"),
    (codecs.BOM_UTF16_LE, f"is UTF-16 text; {TO_UTF8.format('utf-16')}"),
    (codecs.BOM_UTF16_BE, f"is UTF-16 text; {TO_UTF8.format('utf-16')}"),
    (b"\x1f\x8b", "is compressed; unpack it first, for example with gunzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed; unpack it first, for example with unzstd"),
    (b"BZh", "is compressed; unpack it first, for example with bunzip2"),
    (b"\xfd7zXZ", "is compressed; unpack it first, for example with unxz"),
    (b"PK\x03\x04", "is a zip archive or a spreadsheet; save its table as CSV"),
    (b"PAR1", "is a Parquet file; let its name end in .parquet"),
    (b"ARROW1", "is an Arrow file; let its name end in .arrow"),
    (b"\x93NUMPY", "is a file of numpy.save; let its name end in .npy"),
)


def refuse_other_than_text(path: Path, beginning: bytes) -> None:
    """Raise if a file that begins with these bytes is no UTF-8 text; what the bytes cannot tell passes."""
    for sign, words in _BEGINNINGS:
        if beginning.startswith(sign):
            raise FileError(f"{path} {words}")
    if b"\0" in beginning:
        # Without a mark at its beginning: every other byte of Western text is zero, and which one tells the order.
        order = "utf-16le" if beginning[1:2] == b"\0" else "utf-16be"
        raise FileError(f"{path} is UTF-16 text or no text at all; {TO_UTF8.format(order)}")


def read_text(path: Path) -> str:
    """Return the whole text of a file, without a byte order mark; line ends as they are.

    Raises
    ------
    FileError
        When it cannot be read or is no UTF-8 text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    refuse_other_than_text(path, data[:4096])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text; {FROM_LATIN1}") from None
