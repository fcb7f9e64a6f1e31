"""Files of links: CSV with a pair per line, `ML i j` / `CL i j` lines, and lists of questions with answers."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_number, shown
from konstrain.files.csv_files import DELIMITERS
from konstrain.files.outputs import write_whole
from konstrain.files.sources import read_text
from konstrain.files.table_files import RowNames

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
BLANK = " "
# How a list of questions begins.
_QUESTION = ["a", "b", "answer"]
_HEADERS = {("a", "b"), ("i", "j"), ("first", "second"), ("id_a", "id_b"), ("row_a", "row_b"), ("from", "to")}


@dataclass(frozen=True, eq=False)
class FileLinks:
    """The links of a file as `fit` takes them: row numbers, and a third column when some have confidences."""

    must_link: NDArray[Any]
    cannot_link: NDArray[Any]
    n_open: int = 0
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Reading:
    """One way to read what begins at a line: its fields, their delimiter, and over how many lines it runs.

    `kind` is what the first word says, as in ``ML i j``; `ends` are the names of the two rows, fewer where the line
    is no link, and `rows` their numbers, None where there is no such row; `rest` is what follows the two.
    """

    fields: list[str]
    delimiter: str
    n_lines: int
    kind: str | None
    ends: list[str]
    rest: list[str]
    rows: list[int | None]

    @classmethod
    def of(cls, fields: list[str], delimiter: str, n_lines: int, rows: RowNames) -> "_Reading":
        """Find rows and kind in the fields."""
        kind = _KINDS.get(fields[0].upper()) if delimiter == BLANK and len(fields) > 2 else None
        begin = 1 if kind else 0
        ends = fields[begin : begin + 2]
        numbers = [_number_of(name, rows) for name in ends]
        return cls(fields, delimiter, n_lines, kind, ends, fields[begin + 2 :], numbers)

    @property
    def is_link(self) -> bool:
        """Whether this is two rows that are there, and perhaps one field more."""
        return len(self.rows) == 2 and None not in self.rows and len(self.rest) <= 1


@dataclass(frozen=True)
class _Link:
    kind: str | None
    first: int
    second: int
    confidence: float | None


def read_links_file(
    path: str | Path, rows: RowNames, *, kind: str | None = None, encoding: str | None = None
) -> FileLinks:
    r"""Read links from a file.

    Each line has one of these forms:

    - ``a,b`` or ``a,b,confidence``: rows and how sure the link is, in (0, 1]; needs `kind`. Comma, semicolon or tab.
    - ``a,b,answer``: ``must``, ``cannot`` or nothing (still open), as `konstrain suggest` writes them.
    - ``ML i j`` or ``CL i j``, separated by blanks, a confidence may follow.

    Names with delimiters, quotes or line breaks in them are quoted. Where a line can be split in several ways,
    it is read in the one that names rows. Blank lines and lines that begin with ``#`` do not count, unless that is
    how a row is called; nor does a first line that is a header.

    Lines without a kind of their own are of `kind`, and those of the other kind are then refused. Text is UTF-8, or
    UTF-16 where the file says so, unless `encoding` names another one.

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
    doubts: list[str] = []
    found = list(_links(Path(path), rows, kind, encoding, doubts))
    of_kind = {k: [link for link in found if link.kind == k] for k in (MUST, CANNOT)}
    n_open = sum(link.kind is None for link in found)
    return FileLinks(_array(of_kind[MUST]), _array(of_kind[CANNOT]), n_open, tuple(doubts))


def write_links_file(path: str | Path, rows: RowNames, *, must_link: Any = (), cannot_link: Any = ()) -> None:
    """Write pairs of row numbers as ``a,b,answer``, or as ``ML`` and ``CL`` lines if `path` ends in .txt.

    The file appears whole or not at all.
    """
    path = Path(path)
    pairs = [("must", *pair) for pair in must_link] + [("cannot", *pair) for pair in cannot_link]
    if path.suffix.lower() == ".txt":
        lines = [
            f"{answer[0].upper()}L {_quoted(rows.name_of(a), BLANK)} {_quoted(rows.name_of(b), BLANK)}"
            for answer, a, b in pairs
        ]
        write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    else:
        write_questions_file(path, rows, ((a, b, answer) for answer, a, b in pairs))


def write_questions_file(
    path: str | Path, rows: RowNames, questions: Iterable[tuple[int, int, str]], *, below: Path | None = None
) -> None:
    """Write pairs with their answers, empty ones to be filled in, as ``a,b,answer``; `below` what a file holds."""
    text = questions_text(rows, questions)
    if below is not None:
        earlier = read_text(below)
        text = f"{earlier}{'' if earlier.endswith(chr(10)) else chr(10)}{text.split(chr(10), 1)[1]}"
    write_whole(path, text.encode())


def still_open(path: Path, rows: RowNames, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs that a file of questions has asked about and that nobody has answered there."""
    open_lines = {line.strip() for line in read_text(path).splitlines()}
    asked = ((pair, questions_text(rows, [(*pair, "")]).split("\n", 1)[1].strip()) for pair in pairs)
    return [pair for pair, line in asked if line in open_lines]


def holds_answers(path: Path) -> bool:
    """Whether this is a list of questions, as `questions_text` makes it, some of which somebody has answered."""
    # Spreadsheets write it with other delimiters and letters; neither matters here.
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline().strip()
        delimiter = next((mark for mark in DELIMITERS if header.split(mark) == _QUESTION), None)
        return delimiter is not None and any(line.rpartition(delimiter)[2].strip('" \n') for line in file)


def questions_text(rows: RowNames, questions: Iterable[tuple[int, int, str]]) -> str:
    """Return pairs with their answers as lines ``a,b,answer``, names in quotes where they need them."""
    lines = [",".join((_quoted(rows.name_of(a)), _quoted(rows.name_of(b)), answer)) for a, b, answer in questions]
    return "".join(f"{line}\n" for line in (",".join(_QUESTION), *lines))


def _quoted(name: str, delimiters: str = "") -> str:
    """A name as a field that is read back as it is: in quotes if it could be taken for anything else."""
    plain = (
        not name.startswith("#") and name.strip() == name and not re.search(rf'["\r\n{DELIMITERS}{delimiters}]', name)
    )
    return name if plain else '"{}"'.format(name.replace('"', '""'))


def _links(path: Path, rows: RowNames, kind: str | None, encoding: str | None, doubts: list[str]) -> Iterator[_Link]:
    """Yield the links of a file; raises at the first line that is none, and adds to `doubts` what may be one."""
    # Not splitlines: names may hold line ends of other scripts.
    lines = list(io.StringIO(read_text(path, encoding), newline=""))
    hashes = frozenset(name[:2] for name in rows.ids or () if name.startswith("#"))
    file, at, is_first = str(path), 0, True
    while at < len(lines):
        place = f"{file}, line {at + 1}"
        if not lines[at].strip() or _is_comment(place, lines[at], rows, hashes):
            at += 1
            continue
        reading = _reading(place, lines, at, rows)
        following = at + reading.n_lines
        # The rest of the file is looked through once, for its first line only.
        if is_first and _is_unknown_header(reading, rows) and any(line.strip() for line in lines[following:]):
            doubts.append(f"{place} is read as a header, since it names no rows: {_shown(reading)}")
        elif not (is_first and _is_header(path, reading, rows)):
            yield _link(place, at + 1, reading, rows, kind)
        is_first = False
        at = following


def _is_comment(place: str, line: str, rows: RowNames, hashes: frozenset[str]) -> bool:
    """Whether a line is a comment; `hashes` are the beginnings of names that begin like one."""
    line = line.lstrip()
    if not line.startswith("#"):
        return False
    if not hashes:
        return True
    if any(reading.is_link for reading in _readings(place, [line], 0, rows)):
        return False
    if line.strip() == "#" or (line[:2] in ("##", "# ") and line[:2] not in hashes):
        return True
    # Neither dropped nor taken for a link: both may be wrong.
    raise FileError(
        f"{place} begins as names of rows do, but links no rows that are there; a comment begins with '##' or '# ', "
        "unless a name does"
    )


def _readings(place: str, lines: Sequence[str], at: int, rows: RowNames) -> list[_Reading]:
    """All ways to read what begins at a line, by delimiter."""
    found = list[_Reading]()
    line = lines[at].strip(BLANK)
    # A quote that is open at the end of the line hides what separates fields behind it.
    goes_on, is_quoted = line.count('"') % 2 == 1, '"' in line
    for delimiter in (*DELIMITERS, BLANK):
        if delimiter not in line and not goes_on and (delimiter != BLANK or (found and not is_quoted)):
            continue
        if not is_quoted and len(line) <= csv.field_size_limit():
            # The csv module splits such a line alike, and takes longer.
            fields = [field for field in lines[at].rstrip("\r\n").split(delimiter) if field or delimiter != BLANK]
            found.append(_Reading.of(fields, delimiter, 1, rows))
            continue
        # Blanks may be many in a row, and the line may begin with some.
        text = (lines[i].lstrip(BLANK) if delimiter == BLANK and i == at else lines[i] for i in range(at, len(lines)))
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == BLANK)
        try:
            fields = [field for field in next(reader) if field or delimiter != BLANK]
        except csv.Error:
            raise FileError(f"{place} has a field of more than {csv.field_size_limit():,} characters") from None
        found.append(_Reading.of(fields, delimiter, reader.line_num, rows))
    return found


def _reading(place: str, lines: Sequence[str], at: int, rows: RowNames) -> _Reading:
    """The one way to read what begins at a line; the likeliest when none is a link."""
    ways = _readings(place, lines, at, rows)
    links = [way for way in ways if way.is_link]
    if any((way.rows, way.kind, way.rest) != (links[0].rows, links[0].kind, links[0].rest) for way in links[1:]):
        raise FileError(
            f"{place} can be read in several ways, since names of rows hold delimiters; put names into quotes"
        )
    if links:
        return links[0]
    outside = re.sub(r'"[^"]*"', "", lines[at])
    return max(ways, key=lambda way: outside.count(way.delimiter) if way.delimiter != BLANK else 0.5)


def _number_of(name: str, rows: RowNames) -> int | None:
    """The row of a name, as it is written, else without the blanks around it."""
    row = rows.number_of(name)
    return rows.number_of(name.strip()) if row is None else row


def _is_header(path: Path, reading: _Reading, rows: RowNames) -> bool:
    words = [field.strip().lower() for field in reading.fields]
    is_known = tuple(words[:2]) in _HEADERS
    if len(words) == 3:
        # The third word alone makes a header, unless the first two are rows and not the usual words for them.
        return words[2] in _THIRD and (is_known or not reading.is_link)
    is_header = is_known and len(words) == 2
    if is_header and {*words} & {name.lower() for name in rows.ids or ()}:
        raise FileError(
            f"{path}, line 1: {','.join(reading.fields)} may be a header or a link, since rows have such ids; "
            "put a # before a header, or a header a,b,confidence before a link"
        )
    return is_header


def _is_unknown_header(reading: _Reading, rows: RowNames) -> bool:
    """Whether a first line is names of columns: none of them is a row, or a number that might be meant for one."""
    words = [field.strip() for field in reading.fields]
    if reading.delimiter == BLANK or len(words) not in (2, 3) or tuple(map(str.lower, words[:2])) in _HEADERS:
        return False
    third_is_value = len(words) == 3 and (is_number(words[2]) or words[2].lower() in _ANSWERS)
    are_names = all(word and not is_number(word) for word in words[:2])
    if not are_names or third_is_value or set(reading.rows) != {None}:
        return False
    # A name that is a row's but for capitals is a slip, not a title.
    return not {word.lower() for word in words[:2]} & {name.lower() for name in rows.ids or ()}


def _shown(reading: _Reading) -> str:
    return shown(reading.delimiter.join(reading.fields))


def _link(place: str, line: int, reading: _Reading, rows: RowNames, kind: str | None) -> _Link:
    if len(reading.ends) < 2 or len(reading.rest) > 1:
        count = counted(len(reading.fields), "field")
        raise FileError(f"{place} has {count}; a link is two rows and perhaps a confidence or an answer")
    numbers = []
    for name, row in zip(reading.ends, reading.rows, strict=True):
        if row is None:
            raise FileError(f"{place}: there is no row {shown(name)}; {rows}{_advice(line, reading.ends, rows)}")
        numbers.append(row)
    confidence, answered, own_kind = _third(place, reading.rest, reading.kind)
    if not answered:
        own_kind = own_kind or kind
        if own_kind is None:
            raise FileError(
                f"{place} does not say of which kind the link is; give the file as --must-link or --cannot-link"
            )
    if kind is not None and own_kind not in (None, kind):
        raise FileError(f"{place} is no {kind.replace('_', '-')}; give a file of both kinds as --links")
    if own_kind == CANNOT and numbers[0] == numbers[1]:
        raise FileError(f"{place}: the row {shown(reading.ends[0])} cannot be apart from itself; remove the line")
    return _Link(own_kind, numbers[0], numbers[1], confidence)


def _advice(line: int, names: Sequence[str], rows: RowNames) -> str:
    """What names that no row has may be, unless they are numbers."""
    if any(is_number(name) for name in names):
        return ""
    unknown = all(rows.number_of(name) is None for name in names)
    header = "; if the line is a header, put a # before it" if line == 1 and unknown else ""
    return header + ("; if rows have names, --id COLUMN says where" if rows.ids is None else "")


def _third(place: str, third: Sequence[str], kind: str | None) -> tuple[float | None, bool, str | None]:
    """Read the third field: a confidence, or an answer; returns confidence, whether answered, and kind."""
    if not third:
        return None, False, kind
    value = third[0].strip()
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
