"""Parts of messages to users: arguments and rows by the names of the user, counted nouns, lists.

Messages call arguments and rows as Python does: `size_min`, row 3. The command line has options and ids instead: it
sets its `Terms`, and messages made meanwhile use them.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from difflib import get_close_matches
from shlex import quote
from typing import Any, Final

# What columns of degrees are called.
LATITUDES = ("lat", "latitude", "breite", "breitengrad")
LONGITUDES = ("lon", "lng", "long", "longitude", "laenge", "länge", "längengrad")


@dataclass(frozen=True)
class Terms:
    """Names in messages: options in place of arguments (None: Python's names), and the name of each row."""

    options: Mapping[str, str] | None = None
    name_of: Callable[[int], str] = str


_PYTHON = Terms()
_terms = ContextVar("terms", default=_PYTHON)


@contextmanager
def using_terms(**changes: Any) -> Iterator[None]:
    """Let messages that are made in this block use other terms."""
    token = _terms.set(replace(_terms.get(), **changes))
    try:
        yield
    finally:
        _terms.reset(token)


def term(argument: str, value: object = None) -> str:
    """Return what a message calls an argument, set to a value if one is given."""
    options = _terms.get().options
    if options is None:
        return argument if value is None else f"{argument}={value}"
    name = options.get(argument, argument if value is None else "")
    # An option that is True is a flag, which takes no value.
    return name if value is None or value is True else f"{name} {value}".lstrip()


def has_term(argument: str) -> bool:
    """Return whether the user can set an argument: the command line has no option for some."""
    options = _terms.get().options
    return options is None or argument in options


def row_term(row: int) -> str:
    """Return what a message calls a row."""
    return _terms.get().name_of(int(row))


class Advised(str):
    """A message that ends with advice; `text` is the message without it, for readers who can set nothing."""

    text: str

    def __new__(cls, text: str, advice: str) -> "Advised":
        """Join text and advice."""
        self = super().__new__(cls, f"{text}; {advice}" if advice else text)
        self.text = text
        return self


def counted(number: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{number} {word}{'' if number == 1 else 's'}"


# Longer lists are cut in the middle of a sentence; the witness always has all of it.
_SHOWN: Final = 12


def listed(items: Iterable[Any], separator: str) -> str:
    """Join items for a message, cut when there are many."""
    parts = [str(item) for item in items]
    if len(parts) <= _SHOWN:
        return separator.join(parts)
    head, tail = parts[: _SHOWN - 3], parts[-2:]
    return separator.join([*head, f"... ({len(parts) - _SHOWN + 1} more) ...", *tail])


def enumerated(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def as_typed(*names: str) -> str:
    """Return names as a person types them behind an option that takes several, in quotes where they need them."""
    needs_quotes = re.compile(r'[,"]|^\s|\s$')
    fields = ['"{}"'.format(name.replace('"', '""')) if needs_quotes.search(name) else name for name in names]
    return quote(",".join(fields))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name that proposes the name spelt most alike, if any is."""
    spelt = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), spelt, n=1)
    return f"; did you mean {spelt[close[0]]!r}?" if close else ""


def are_degrees(first: str, second: str) -> bool:
    """Return whether two columns are called latitude and longitude, in this order."""
    return first.lower() in LATITUDES and second.lower() in LONGITUDES


def share_of_text(name: str, text: str) -> float:
    """Return what "12%" is as a share."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / 100.0
    except ValueError:
        share = math.nan
    if not percent or rest or not 0.0 <= share < math.inf:
        raise ValueError(f"{term(name)} {text!r} is neither a number nor a percentage such as '12%'")
    return share
