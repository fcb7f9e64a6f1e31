"""CSV files: how one is laid out, its cells, and the first thing wrong with one, found by reading it line by line.

Python's csv module is the reference: a file means what it reads there. Polars reads large files, as long as they are
plain, which means that both read the same.
"""

import csv
import math
import mmap
import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import CELLS
from konstrain._messages import Advised, as_typed, counted
from konstrain.exceptions import FileError
from konstrain.files.cells import (
    COMMA,
    PLAIN,
    Convention,
    convention_of,
    find_convention,
    is_missing,
    is_number,
    is_number_somehow,
    shown,
)
from konstrain.files.choice import Choice
from konstrain.files.frame_files import features_of
from konstrain.files.sources import FROM_LATIN1, Source, refuse_other_than_text

DELIMITERS = ",;\t"
# Rows that tell columns of numbers from columns of text; also lines of a header in quotes.
SAMPLED_ROWS = 100
# Bytes that are no text, as Python reads them.
_NO_TEXT = re.compile("[\udc80-\udcff]")

_Read = tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]], Mapping[str, list[str | None]]]


@dataclass(frozen=True)
class CsvLayout:
    """Delimiter, names of the columns without blanks around them, and which of them hold text.

    `doubts` says in words what may have been meant otherwise, if anything: the first line, how numbers are written.
    """

    path: Source
    delimiter: str
    has_header: bool
    columns: tuple[str, ...]
    text: frozenset[str]
    doubts: tuple[str, ...] = ()
    convention: Convention = PLAIN
    na: frozenset[str] = frozenset()

    @classmethod
    def find(cls, path: Path | Source, decimal: str | None = None, na: Collection[str] = ()) -> "CsvLayout":
        """Find the layout from the first lines; `decimal` is the sign of decimals, if the caller knows it.

        Cells that hold a word of `na` hold nothing.
        """
        path = path if isinstance(path, Source) else Source(path)
        with path.open("rb") as binary:
            refuse_other_than_text(path, binary.read(4096))
        delimiter = _delimiter_of(_first_lines(path))
        rows = (fields for _, fields in _rows(path, delimiter))
        header = next(rows)
        has_header = not all(is_number_somehow(field) for field in header)
        written = header if has_header else [""] * len(header)
        if has_header and sum(not name.strip() for name in written) > 1:
            raise FileError(f"{path}, line 1: more than one column has no name; name them")
        names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(written)]
        _refuse_bad_names(path, names)
        n_sampled = min(SAMPLED_ROWS, CELLS // len(names) + 1)
        no_values = frozenset(na)
        sample = [*([] if has_header else [header]), *islice(rows, n_sampled)]
        sample = [_without(no_values, row) for row in sample]
        cells = [[row[i] for row in sample if i < len(row)] for i in range(len(names))]
        doubts = _doubts(path, header, has_header)
        if decimal is not None:
            convention = convention_of(decimal)
        else:
            convention, telling = find_convention(cells)
            doubts += _doubts_about_numbers(path, convention, telling)
        text = frozenset(name for name, column in zip(names, cells, strict=True) if _is_text(column, convention))
        return cls(path, delimiter, has_header, tuple(names), text, doubts, convention, no_values)

    def read(self, choice: Choice, *, mixed: bool = False) -> _Read:
        """Return features, further numbers by column, and cells that are names by column.

        In a `mixed` table numbers may be missing: they are NaN.
        """
        # A number that is also a name, such as an id, is needed as it is written: Polars would give one of the two.
        both = set(choice.numbers) & set(choice.names)
        is_plain = self.convention == PLAIN and _is_plain(self.path, self.delimiter)
        if not both and is_plain:
            found = self._read_by_polars(choice)
            if found is not None:
                return found
        return self._read_by_line(choice, mixed)

    def _read_by_polars(self, choice: Choice) -> _Read | None:
        """Read the file at once; None when that fails or leaves cells empty where none may be."""
        import polars as pl

        numbers = frozenset(choice.numbers)
        kinds = {name: pl.Float64 if name in numbers else pl.String for name in self.columns}
        try:
            # All columns, also those not asked for: fields too many show only so. The name is no pattern, and
            # absolute, since Polars puts the home folder in place of a ~ before it.
            frame = pl.read_csv(
                self.path.file.absolute(),
                separator=self.delimiter,
                has_header=self.has_header,
                schema=kinds,
                glob=False,
                null_values=list(self.na) or None,
                # Rows of a chunk are parsed at once: smaller chunks bound the memory of parsing.
                low_memory=True,
            )
        except pl.exceptions.PolarsError:
            return None
        # In a line with too few fields the last one is missing.
        if any(frame[name].null_count() for name in {*choice.numbers, self.columns[-1]}):
            return None
        names = {name: frame[name].to_list() for name in choice.names}
        extra = {name: frame[name].to_numpy() for name in choice.numeric}
        return features_of(frame, choice), extra, names

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row as they stand; raises at the first with too few or too many."""
        return (fields for fields, _ in replace(self, na=frozenset())._sound_rows(()))

    def _read_by_line(self, choice: Choice, mixed: bool = False) -> _Read:
        """Read the file as Python does, and refuse the first line with a fault."""
        place = {name: i for i, name in enumerate(self.columns)}
        numeric = [place[name] for name in choice.numbers]
        cells = array("d")
        names: dict[str, list[str | None]] = {name: [] for name in choice.names}
        n_rows = 0
        for fields, numbers in self._sound_rows(numeric, mixed):
            cells.extend(numbers)
            for name, values in names.items():
                values.append(fields[place[name]])
            n_rows += 1
        table = np.frombuffer(cells, dtype=np.float64) if cells else np.zeros(0)
        table = table.reshape(n_rows, len(numeric))
        extra = {name: table[:, choice.numbers.index(name)].copy() for name in choice.numeric}
        return np.ascontiguousarray(table[:, : len(choice.features)]), extra, names

    def _numbers(self, cells: Sequence[str]) -> list[float | None]:
        """Return the numbers that cells hold, None where one holds none."""
        if self.convention == PLAIN and "_" not in "".join(cells):
            try:
                # At once, for there may be very many.
                return list(map(float, cells))
            except ValueError:
                pass
        return list(map(self.convention.number, cells))

    def _sound_rows(self, numeric: Sequence[int], mixed: bool = False) -> Iterator[tuple[list[str], list[float]]]:
        """Yield the fields of each row and its `numeric` cells; raises at the first fault.

        In a `mixed` table such cells may say that they hold nothing: they are NaN.
        """
        row = -1 if self.has_header else 0
        for line, fields in _rows(self.path, self.delimiter):
            if row >= 0:
                fields = _without(self.na, fields)
                place = f"{self.path}, line {line} (row {row})"
                if len(fields) != len(self.columns):
                    n_fields = counted(len(fields), "field")
                    raise FileError(f"{place} has {n_fields}, but there are {len(self.columns)} columns")
                numbers = self._numbers([fields[i] for i in numeric])
                for i, number in zip(numeric, numbers, strict=True) if None in numbers else ():
                    if number is None and not (mixed and is_missing(fields[i])):
                        name = self.columns[i]
                        raise FileError(f"{place}, column {name!r}{_not_a_number(name, fields[i], mixed)}")
                if not _is_unicode("".join(fields)):
                    bad = next(i for i, value in enumerate(fields) if not _is_unicode(value))
                    text = f"column {self.columns[bad]!r}: {shown(fields[bad])}"
                    raise FileError(f"{place}, {text} is not UTF-8 text; {FROM_LATIN1}")
                yield fields, [math.nan if number is None else number for number in numbers]
            row += 1


def _not_a_number(name: str, value: str, mixed: bool) -> str:
    """Say what is wrong with a cell that should hold a number."""
    if not value.strip():
        return " is empty; fill the cell in or remove the row"
    advice = _advice_about_numbers(value)
    if mixed and not advice:
        column = as_typed(name)
        advice = (
            f"; if it means that none is known: --na {as_typed(value.strip())}; if it is a category: "
            f"--categorical {column}; if the column does not count: --ignore {column}"
        )
    return f": {shown(value)} is not a number{advice}"


def _without(na: frozenset[str], fields: list[str]) -> list[str]:
    """The fields of a row, empty where one holds a word for no value."""
    return ["" if field.strip() in na else field for field in fields] if na else fields


def _first_lines(path: Source) -> str:
    """Return the header, which may run over lines while a quote is open."""
    # utf-8-sig: a byte order mark is no part of the first column's name.
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        lines = [file.readline()]
        if not lines[0].strip():
            raise FileError(f"{path} begins with a blank line; remove it" if lines[0] else f"{path} is empty")
        while "".join(lines).count('"') % 2 and len(lines) < SAMPLED_ROWS and (line := file.readline()):
            lines.append(line)
    return "".join(lines)


def _delimiter_of(header: str) -> str:
    """Return the commonest delimiter outside quotes."""
    return max(DELIMITERS, key=re.sub(r'"[^"]*"', "", header).count)


def _is_plain(path: Source, delimiter: str) -> bool:
    """Whether quotes, if any, stand around whole fields within a line, and lines end as everywhere."""
    sep = re.escape(delimiter.encode())
    # A quoted field, and what is before it since the last one: nothing at the beginning of the file, else up to a
    # delimiter. All repeats are possessive: there is one way to match, found or not in one pass.
    field = rb'"[^"\r\n]*+"(?=[' + sep + rb"\r\n]|\Z)"
    before = rb"(?:(?:\A(?:\xef\xbb\xbf)?)|[^\"]++(?<=[" + sep + rb"\n]))"
    regular = re.compile(rb"(?:" + before + field + rb')*+[^"]*+')
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return re.search(rb"\r(?!\n)", data) is None and regular.fullmatch(data) is not None


def _rows(path: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each line that is not blank."""
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        # Strict: what stands behind a closing quote, or an open quote at the end of the file, is a fault.
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        begin = 1
        try:
            for fields in reader:
                if fields:
                    yield begin, fields
                begin = reader.line_num + 1
        except csv.Error as error:
            raise FileError(f"{path}, line {begin}: {_words_for(error)}") from None


def _words_for(error: csv.Error) -> str:
    """What is wrong in words of our own, where Python's are for programmers."""
    words = str(error)
    if "field larger" in words:
        return f"a cell is longer than {csv.field_size_limit():,} characters; shorten it or remove its column"
    if "unexpected end" in words:
        return 'a quote (") is opened here and never closed; close it, or double it if it is part of the text'
    if "expected after" in words:
        return 'something stands between a closing quote (") and the end of its cell; double quotes within text'
    return words


def _refuse_bad_names(path: Source, names: Sequence[str]) -> None:
    seen = set()
    for name in names:
        if not _is_unicode(name):
            raise FileError(f"{path}, line 1: the column name {shown(name)} is not UTF-8 text; {FROM_LATIN1}")
        if name in seen:
            raise FileError(f"{path}, line 1: two columns are called {name!r}; rename one of them")
        seen.add(name)


def _doubts(path: Source, header: Sequence[str], has_header: bool) -> tuple[str, ...]:
    """Say what the first line may have been meant as instead."""
    numbers = [name for name in header if is_number(name)]
    # Columns numbered from 0 or 1 are how frames without names are written.
    counted_up = any(numbers == [str(first + i) for i in range(len(numbers))] for first in (0, 1))
    if not has_header and counted_up and len(numbers) > 1:
        return (f"{path}, line 1 is read as a row, since it holds numbers only; name the columns if it is a header",)
    if has_header and numbers and not counted_up:
        return (
            f"{path}, line 1 is read as a header, though it holds {shown(numbers[0])}; add a header if it is a row",
        )
    nameless = next((i for i, name in enumerate(header) if not name.strip()), None)
    if nameless is not None:
        name = f"column_{nameless + 1}"
        text = f"{path}, line 1: a column has no name and is called {name}"
        return (Advised(text, f"if it numbers the rows: --id {name}"),)
    return ()


def _doubts_about_numbers(path: Source, convention: Convention, written: str | None) -> tuple[str, ...]:
    """Say how numbers are read that are not written as programs do."""
    if written is None or convention == PLAIN:
        return ()
    sign = "decimal commas" if convention == COMMA else "signs between thousands"
    number = convention.number(written)
    reading = f"{path}: numbers have {sign}: {shown(written)} is read as {number:.15g}"
    return (Advised(reading, "--decimal decides otherwise"),)


def _is_text(values: Sequence[str], convention: Convention) -> bool:
    """Whether most cells that hold anything hold no number: one bad cell does not make a column of text."""
    if convention == PLAIN and all(map(is_number, values)):
        return False
    filled = [value for value in values if not is_missing(value)]
    return 2 * sum(not (convention.fits(value) or _has_commas(value)) for value in filled) > len(filled)


def _has_commas(value: str) -> bool:
    """Whether a cell is a number but for its commas: 1,5 or 1,000."""
    return "," in value and is_number(value.replace(",", ""))


def _advice_about_numbers(value: str) -> str:
    """What to do about a cell that is a number in some other way of writing."""
    if not is_number_somehow(value):
        return ""
    return "; say how numbers are written: --decimal , (1.234,5) or --decimal . (1,234.5)"


def _is_unicode(value: str) -> bool:
    return value.isascii() or _NO_TEXT.search(value) is None
