"""Files of links: CSV with a pair per line, `ML i j` / `CL i j` lines, and lists of questions with answers."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._words import counted
from konstrain.exceptions import FileError
from konstrain.files.csv_files import DELIMITERS, TO_UTF8, is_number, shown
from konstrain.files.outputs import write_whole
from konstrain.files.rows import RowNames

MUST, CANNOT = "must_link", "cannot_link"
# First words of a line that say of which kind it is.
_KINDS = {"ML": MUST, "CL": CANNOT}
# Words that answer the question whether two rows belong together; the empty ones leave it open.
_ANSWERS = {
    **dict.fromkeys(("must", "must-link", "must_link", "ml", "same", "yes", "y"), MUST),
    **dict.fromkeys(("cannot", "cannot-link", "cannot_link", "cl", "different", "no", "n"), CANNOT),
    **dict.fromkeys(("", "?", "skip", "unknown"), None),
}
_THIRD = {"confidence", "weight", "answer", "kind", "link"}
_HEADERS = {("a", "b"), ("i", "j"), ("first", "second"), ("id_a", "id_b"), ("row_a", "row_b"), ("from", "to")}


@dataclass(frozen=True, eq=False)
class FileLinks:
    """The links of a file as `fit` takes them: row numbers, and a third column when some have confidences."""

    must_link: NDArray[Any]
    cannot_link: NDArray[Any]
    n_open: int = 0


@dataclass(frozen=True)
class _Link:
    kind: str | None
    first: int
    second: int
    confidence: float | None


def read_links_file(path: str | Path, rows: RowNames, *, kind: str | None = None) -> FileLinks:
    r"""Read links from a file.

    The forms, told apart line by line:

    - ``a,b`` or ``a,b,confidence``: rows and how sure the link is, in (0, 1]; needs `kind`. Comma, semicolon or tab.
    - ``a,b,answer``: ``must``, ``cannot`` or nothing (still open), as `konstrain suggest` writes them.
    - ``ML i j`` or ``CL i j``, separated by blanks, a confidence may follow.

    Blank lines and lines that begin with ``#`` do not count; nor does a first line that is a header.

    Parameters
    ----------
    path : str or Path
        The file.
    rows : RowNames
        What rows are called; the file names them likewise.
    kind : {"must_link", "cannot_link"}, optional
        What lines without a kind of their own are; lines of the other kind are refused.

    Returns
    -------
    FileLinks

    Raises
    ------
    FileError
        When a line names a row that does not exist or is no link; names the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "links.txt"
    >>> _ = file.write_text("ML anna bert\nCL bert carl\n")
    >>> links = read_links_file(file, RowNames(3, ["anna", "bert", "carl"]))
    >>> links.must_link.tolist(), links.cannot_link.tolist()
    ([[0, 1]], [[1, 2]])
    >>> folder.cleanup()
    """
    path = Path(path)
    found = [_parse(path, line, fields, by_blanks, rows, kind) for line, fields, by_blanks in _lines(path, rows)]
    of_kind = {k: [link for link in found if link.kind == k] for k in (MUST, CANNOT)}
    n_open = sum(link.kind is None for link in found)
    return FileLinks(_array(of_kind[MUST]), _array(of_kind[CANNOT]), n_open)


def write_links_file(path: str | Path, rows: RowNames, *, must_link: Any = (), cannot_link: Any = ()) -> None:
    """Write links as ``a,b,answer``, or as ``ML`` and ``CL`` lines if `path` ends in .txt.

    Parameters
    ----------
    path : str or Path
        Where to write; the file appears whole or not at all.
    rows : RowNames
        What rows are called.
    must_link, cannot_link : sequence of pairs
        Row numbers.
    """
    path = Path(path)
    pairs = [("must", *pair) for pair in must_link] + [("cannot", *pair) for pair in cannot_link]
    if path.suffix.lower() == ".txt":
        lines = [f"{answer[0].upper()}L {rows.name_of(a)} {rows.name_of(b)}" for answer, a, b in pairs]
        write_whole(path, lambda file: file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8"))
    else:
        write_questions_file(path, rows, ((a, b, answer) for answer, a, b in pairs))


def write_questions_file(path: str | Path, rows: RowNames, questions: Iterable[tuple[int, int, str]]) -> None:
    """Write pairs with their answers, empty ones to be filled in, as ``a,b,answer``."""
    text = questions_text(rows, questions)
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


def questions_text(rows: RowNames, questions: Iterable[tuple[int, int, str]]) -> str:
    """Return pairs with their answers as lines ``a,b,answer``, quoted where ids hold commas."""
    lines = [(rows.name_of(a), rows.name_of(b), answer) for a, b, answer in questions]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("a", "b", "answer"), *lines])
    return text.getvalue()


def _lines(path: Path, rows: RowNames) -> Iterator[tuple[int, list[str], bool]]:
    """Yield number, fields and whether blanks separate them, for each line that is a link."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            is_first = True
            for number, line in enumerate(file, start=1):
                if not line.strip() or line.lstrip().startswith("#"):
                    continue
                fields, by_blanks = _fields(line)
                if not (is_first and _is_header(path, fields, rows)):
                    yield number, fields, by_blanks
                is_first = False
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text; {TO_UTF8}") from None


def _fields(line: str) -> tuple[list[str], bool]:
    delimiter = max(DELIMITERS, key=line.count)
    if delimiter not in line:
        return line.split(), True
    return [field.strip() for field in next(csv.reader([line.strip("\r\n")], delimiter=delimiter))], False


def _is_header(path: Path, fields: list[str], rows: RowNames) -> bool:
    words = [field.lower() for field in fields]
    looks_so = tuple(words[:2]) in _HEADERS or (len(words) == 3 and words[2] in _THIRD)
    if looks_so and len(words) == 2 and all(rows.number_of(field) is not None for field in fields):
        raise FileError(
            f"{path}, line 1: {','.join(fields)} may be a header or a link, since rows have these ids; "
            "put a # before a header"
        )
    return looks_so


def _parse(path: Path, line: int, fields: list[str], by_blanks: bool, rows: RowNames, kind: str | None) -> _Link:
    place = f"{path}, line {line}"
    own_kind = _KINDS.get(fields[0].upper()) if by_blanks and len(fields) > 2 else None
    if own_kind:
        fields = fields[1:]
    if len(fields) not in (2, 3):
        count = counted(len(fields), "field")
        raise FileError(f"{place} has {count}; a link is two rows and perhaps a confidence or an answer")
    numbers = []
    for name in fields[:2]:
        row = rows.number_of(name)
        if row is None:
            raise FileError(f"{place}: there is no row {shown(name)}; {rows}{_advice(line, fields[:2], rows)}")
        numbers.append(row)
    confidence, answered, own_kind = _third(place, fields[2:], own_kind)
    if not answered:
        own_kind = own_kind or kind
        if own_kind is None:
            raise FileError(
                f"{place} does not say of which kind the link is; give the file as --must-link or --cannot-link"
            )
    if kind is not None and own_kind not in (None, kind):
        raise FileError(f"{place} is no {kind.replace('_', '-')}; give a file of both kinds as --links")
    if own_kind == CANNOT and numbers[0] == numbers[1]:
        raise FileError(f"{place}: the row {shown(fields[0])} cannot be apart from itself; remove the line")
    return _Link(own_kind, numbers[0], numbers[1], confidence)


def _advice(line: int, names: list[str], rows: RowNames) -> str:
    """What names that no row has may be, unless they are numbers."""
    if any(is_number(name) for name in names):
        return ""
    unknown = all(rows.number_of(name) is None for name in names)
    header = "; if the line is a header, put a # before it" if line == 1 and unknown else ""
    return header + ("; if rows have names, --id COLUMN says where" if rows.ids is None else "")


def _third(place: str, third: list[str], kind: str | None) -> tuple[float | None, bool, str | None]:
    """Read the third field: a confidence, or an answer; returns confidence, whether answered, and kind."""
    if not third:
        return None, False, kind
    value = third[0]
    if is_number(value):
        confidence = float(value)
        if not (0 < confidence <= 1 or confidence == np.inf):
            raise FileError(f"{place}: confidence {value} does not lie in (0, 1]; inf marks a hard link")
        return confidence, False, kind
    if value.lower() not in _ANSWERS or kind is not None:
        raise FileError(f"{place}: {shown(value)} is neither a confidence in (0, 1] nor must, cannot or nothing")
    return None, True, _ANSWERS[value.lower()]


def _array(links: list[_Link]) -> NDArray[Any]:
    pairs = np.array([(link.first, link.second) for link in links], dtype=np.int64).reshape(-1, 2)
    if all(link.confidence is None for link in links):
        return pairs
    confidence = [np.inf if link.confidence is None else link.confidence for link in links]
    return np.column_stack([pairs.astype(np.float64), confidence])
