"""What a cell of a table holds: a number, a name, or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

# What programs write for a value that is missing, spelt as they spell it.
MISSING = frozenset({"NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None"})
_WHOLE = re.compile(r"-?[1-9][0-9]*|0")
# Doubles hold every whole number up to this one; beyond it digits would promise more than is there.
MOST_EXACT: Final = 2.0**53


def is_number(value: str) -> bool:
    """Whether a cell holds a number; NaN and infinity count as such, and are refused by name later."""
    try:
        float(value)
    except ValueError:
        return False
    # Python's float() takes more than a CSV file should hold: 1_000 is no number there.
    return "_" not in value


def is_whole(value: str) -> bool:
    """Whether a cell holds a whole number as people write it: no sign of plus, no zeros before it."""
    return _WHOLE.fullmatch(value) is not None


def is_missing(value: str | None) -> bool:
    """Whether a cell that should hold a name holds none: it is blank, or says so."""
    return value is None or not value.strip() or value in MISSING


def name_of_number(value: float) -> str | None:
    """Return what a number is called as an id or a group: all its digits, none after a whole one; None for NaN."""
    if value != value:
        return None
    return str(int(value)) if abs(value) <= MOST_EXACT and value == int(value) else repr(float(value))


def shown(value: str) -> str:
    """A cell for a message: cut when long, bytes that are no text as such."""
    text = value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else f"{text[:37]}...").replace("\\\\x", "\\x")


# What people put between thousands other than a point or a comma: blanks of several kinds, apostrophes.
_GAPS = " \u00a0\u202f'’"


@dataclass(frozen=True)
class Convention:
    """One way to write numbers; without a `thousands` sign they stand as programs write them."""

    decimal: str
    thousands: str = ""

    @cached_property
    def _form(self) -> re.Pattern[str]:
        gaps, decimal = re.escape(self.thousands + _GAPS), re.escape(self.decimal)
        whole = rf"[0-9]{{1,3}}(?:([{gaps}])[0-9]{{3}}(?:\1[0-9]{{3}})*)?|[0-9]+"
        return re.compile(rf"[+-]?(?:(?:{whole})(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def number(self, value: str) -> float | None:
        """Return the number that a cell holds, or None."""
        if not self.thousands:
            return float(value) if is_number(value) else None
        value = value.strip()
        if self._form.fullmatch(value) is None:
            # Infinity and the like have no digits to separate; they are refused by name later.
            return float(value) if value.isalpha() and is_number(value) else None
        bare = value.translate({ord(sign): None for sign in self.thousands + _GAPS})
        return float(bare.replace(self.decimal, "."))

    def fits(self, value: str) -> bool:
        """Whether a cell holds a number."""
        return self.number(value) is not None


PLAIN = Convention(".")
COMMA = Convention(",", ".")
POINT = Convention(".", ",")
_BY_SIGN = {",": COMMA, ".": POINT}


def convention_of(sign: str) -> Convention:
    """Return the convention of a decimal sign, ``.`` or ``,``."""
    return _BY_SIGN[sign]


def is_number_somehow(value: str) -> bool:
    """Whether a cell holds a number in some way of writing."""
    return any(convention.fits(value) for convention in (PLAIN, COMMA, POINT))


def find_convention(columns: Sequence[Sequence[str]]) -> tuple[Convention, str | None]:
    """Return the one way in which all numbers of a sample are written, and a cell that shows it is not the plain one.

    Columns that are no numbers in any way do not count. Where two ways fit, as for 1,000, the way is `PLAIN`: the
    cell that both could read is then the one returned.
    """
    # Columns are many at times, and most are plain: only the others are looked at closely.
    plain, others = list[Sequence[str]](), list[Sequence[str]]()
    for column in columns:
        (plain if all(map(is_number, column)) else others).append(column)
    filled = [[value for value in column if not is_missing(value)] for column in others]
    numeric = [column for column in filled if all(map(is_number_somehow, column))]
    telling = next((value for column in numeric for value in column if not is_number(value)), None)
    if telling is None:
        return PLAIN, None
    fitting = [way for way in (COMMA, POINT) if all(way.fits(v) for column in (*plain, *numeric) for v in column)]
    return (fitting[0] if len(fitting) == 1 else PLAIN), telling
