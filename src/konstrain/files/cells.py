"""What a cell of a table holds: a number, a name, or nothing."""

import re

# What programs write for a value that is missing, spelt as they spell it.
MISSING = frozenset({"NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None"})
_WHOLE = re.compile(r"-?[1-9][0-9]*|0")
# Doubles hold every whole number up to this one; beyond it digits would promise more than is there.
MOST_EXACT = 2.0**53


def is_number(value: str) -> bool:
    """Whether a cell holds a number; NaN and infinity count as such, and are refused by name later."""
    try:
        float(value)
    except ValueError:
        return False
    # Python's float() takes more than a CSV file should hold: 1_000 is no number there.
    return "_" not in value


def is_whole(value: str) -> bool:
    """Whether a cell holds a whole number as people write it: no sign of plus, no zeros before it.

    Examples
    --------
    >>> [is_whole(text) for text in ("7", "-7", "0", "07", "7.0", "+7", "-0")]
    [True, True, True, False, False, False, False]
    """
    return _WHOLE.fullmatch(value) is not None


def is_missing(value: str | None) -> bool:
    """Whether a cell that should hold a name holds none: it is blank, or says so.

    Examples
    --------
    >>> [is_missing(text) for text in (None, "", " ", "NA", "Nadia", "na")]
    [True, True, True, True, False, False]
    """
    return value is None or not value.strip() or value in MISSING


def name_of_number(value: float) -> str | None:
    """Return what a number is called as an id or a group: all its digits, none after a whole one; None for NaN.

    Examples
    --------
    >>> [name_of_number(number) for number in (1000001.0, 0.1, 1e300, float("nan"))]
    ['1000001', '0.1', '1e+300', None]
    """
    if value != value:
        return None
    return str(int(value)) if abs(value) <= MOST_EXACT and value == int(value) else repr(float(value))


def shown(value: str) -> str:
    """A cell for a message: cut when long, bytes that are no text as such."""
    text = value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else f"{text[:37]}...").replace("\\\\x", "\\x")
