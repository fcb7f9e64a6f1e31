"""How a CSV file is laid out, and the first thing wrong with one, found by reading it line by line."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from konstrain._words import counted
from konstrain.exceptions import FileError

DELIMITERS = ",;\t"
# Rows looked at to tell columns of numbers from columns of text.
SAMPLED_ROWS = 100


@dataclass(frozen=True)
class CsvLayout:
    """Delimiter, names of the columns as written and without blanks around them, and which of them hold text.

    `doubt` says in words what the first line may have been meant as instead, if anything.
    """

    path: Path
    delimiter: str
    has_header: bool
    written: tuple[str, ...]
    columns: tuple[str, ...]
    text: frozenset[str]
    doubt: str = ""

    @classmethod
    def look_at(cls, path: Path) -> "CsvLayout":
        """Find the layout from the first lines."""
        # utf-8-sig: a byte order mark is no part of the first column's name.
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            first = file.readline()
        if not first.strip():
            raise FileError(f"{path} is empty" if not first else f"{path} begins with a blank line; remove it")
        delimiter = max(DELIMITERS, key=first.count)
        rows = (fields for _, fields in _rows(path, delimiter))
        header = next(rows)
        has_header = not all(is_number(field) for field in header)
        written = header if has_header else [f"column_{i + 1}" for i in range(len(header))]
        if sum(not name.strip() for name in written) > 1:
            raise FileError(f"{path}, line 1: more than one column has no name; name them")
        names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(written)]
        _refuse_bad_names(path, names)
        sample = [*([] if has_header else [header]), *islice(rows, SAMPLED_ROWS)]
        text = frozenset(name for i, name in enumerate(names) if _is_text([row[i] for row in sample if i < len(row)]))
        doubt = _doubt(path, header, has_header)
        return cls(path, delimiter, has_header, tuple(written), tuple(names), text, doubt)

    def first_fault(self, numeric: Sequence[str]) -> str | None:
        """Say what is wrong first, line by line; None when nothing is.

        Parameters
        ----------
        numeric : sequence of str
            The columns whose cells must be numbers.
        """
        at = [self.columns.index(name) for name in numeric]
        row = -1 if self.has_header else 0
        for line, fields in _rows(self.path, self.delimiter):
            if row >= 0:
                place = f"{self.path}, line {line} (row {row})"
                fault = self._fault_of(fields, at)
                if fault:
                    return f"{place}{fault}"
            row += 1
        return None

    def _fault_of(self, fields: list[str], numeric: list[int]) -> str | None:
        if len(fields) != len(self.columns):
            return f" has {counted(len(fields), 'field')}, but there are {len(self.columns)} columns"
        for i in numeric:
            name, value = self.columns[i], fields[i]
            if not value.strip():
                return f", column {name!r} is empty; fill the cell in or remove the row"
            if not is_number(value):
                advice = "; write a decimal point, and no commas between thousands" if _has_commas(value) else ""
                return f", column {name!r}: {shown(value)} is not a number{advice}"
        bad = next((i for i, value in enumerate(fields) if not value.isascii() and not _is_unicode(value)), None)
        if bad is not None:
            return f", column {self.columns[bad]!r}: {shown(fields[bad])} is not UTF-8 text; {TO_UTF8}"
        return None


TO_UTF8 = "save the file as UTF-8, for example with: iconv -f latin1 -t utf-8 OLD > NEW"


def is_number(value: str) -> bool:
    """Whether a cell holds a number; NaN and infinity count as such, and are refused by name later."""
    try:
        float(value)
    except ValueError:
        return False
    # Python's float() takes more than a CSV file should hold: 1_000 is no number there.
    return "_" not in value


def shown(value: str) -> str:
    """A cell for a message: cut when long, bytes that are no text as such."""
    text = value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else f"{text[:37]}...").replace("\\\\x", "\\x")


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each line that is not blank."""
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            yield from ((reader.line_num, fields) for fields in reader if fields)
        except csv.Error as error:
            raise FileError(f"{path}, line {reader.line_num}: {error}") from None


def _refuse_bad_names(path: Path, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        if not _is_unicode(name):
            raise FileError(f"{path}, line 1: the column name {shown(name)} is not UTF-8 text; {TO_UTF8}")
        if name in names[:i]:
            raise FileError(f"{path}, line 1: two columns are called {name!r}; rename one of them")


def _doubt(path: Path, header: Sequence[str], has_header: bool) -> str:
    """Say what the first line may have been meant as instead."""
    numbers = [name for name in header if is_number(name)]
    # Columns numbered from 0 or 1 are how frames without names are written.
    counted_up = any(numbers == [str(first + i) for i in range(len(numbers))] for first in (0, 1))
    if not has_header and counted_up and len(numbers) > 1:
        return f"{path}, line 1 is read as a row, since it holds numbers only; name the columns if it is a header"
    if has_header and numbers and not counted_up:
        return f"{path}, line 1 is read as a header, though it holds {shown(numbers[0])}; add a header if it is a row"
    nameless = next((i for i, name in enumerate(header) if not name.strip()), None)
    if nameless is not None:
        name = f"column_{nameless + 1}"
        return f"{path}, line 1: a column has no name and is called {name}; if it numbers the rows: --id {name}"
    return ""


def _is_text(values: Sequence[str]) -> bool:
    """Whether most cells that hold anything hold no number: one bad cell does not make a column of text."""
    filled = [value for value in values if value.strip()]
    return 2 * sum(not (is_number(value) or _has_commas(value)) for value in filled) > len(filled)


def _has_commas(value: str) -> bool:
    """Whether a cell is a number but for its commas: 1,5 or 1,000."""
    return "," in value and is_number(value.replace(",", ""))


def _is_unicode(value: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in value)
