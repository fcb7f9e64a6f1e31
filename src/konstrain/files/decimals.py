"""How numbers are written in a CSV file: 1234.5, 1.234,5 or 1,234.5, and how that is found out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from konstrain.files.cells import is_missing, is_number

# What people put between thousands beside a point or a comma: blanks of several kinds, apostrophes.
_GAPS = " \u00a0\u202f'’"


@dataclass(frozen=True)
class Convention:
    """One way to write numbers; without a `thousands` sign they stand as programs write them.

    Examples
    --------
    >>> [COMMA.number(text) for text in ("3,5", "1.234,5", "1.234", "1 234", "7")]
    [3.5, 1234.5, 1234.0, 1234.0, 7.0]
    >>> COMMA.number("1.5") is None, POINT.number("1,234.5"), PLAIN.number("1,5") is None
    (True, 1234.5, True)
    """

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


def looks_like_a_number(value: str) -> bool:
    """Whether a cell holds a number in some way of writing."""
    return any(convention.fits(value) for convention in (PLAIN, COMMA, POINT))


def find_convention(columns: Sequence[Sequence[str]]) -> tuple[Convention, str | None]:
    """Return the one way in which all numbers of a sample are written, and a cell that shows it is not the plain one.

    Columns that are no numbers in any way do not count. Where two ways fit, as for 1,000, the way is `PLAIN`: the
    cell that both could read is then the one returned.
    """
    filled = [[value for value in column if not is_missing(value)] for column in columns]
    numeric = [column for column in filled if column and all(map(looks_like_a_number, column))]
    telling = next((value for column in numeric for value in column if not PLAIN.fits(value)), None)
    if telling is None:
        return PLAIN, None
    fitting = [way for way in (COMMA, POINT) if all(way.fits(value) for column in numeric for value in column)]
    if len(fitting) == 1:
        shown = next(value for column in numeric for value in column if not PLAIN.fits(value))
        return fitting[0], shown
    return PLAIN, telling
