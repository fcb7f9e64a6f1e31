"""Parts of messages to users: counted nouns, lists, names as a person types them."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from shlex import quote

# What columns of degrees are called.
LATITUDES = ("lat", "latitude", "breite", "breitengrad")
LONGITUDES = ("lon", "lng", "long", "longitude", "laenge", "länge", "längengrad")


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


def enumerated(words: Sequence[str]) -> str:
    """Return words one after the other, as one would say them.

    Examples
    --------
    >>> enumerated(["a.csv"]), enumerated(["a.csv", "b.png", "c.html"])
    ('a.csv', 'a.csv, b.png and c.html')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def as_typed(*names: str) -> str:
    """Return names as a person types them behind an option that takes several, in quotes where they need them.

    Examples
    --------
    >>> print(as_typed("Umsatz EUR"), as_typed("a", "b"), as_typed("a", "b,c"))
    'Umsatz EUR' a,b 'a,"b,c"'
    """
    needs_quotes = re.compile(r'[,"]|^\s|\s$')
    fields = ['"{}"'.format(name.replace('"', '""')) if needs_quotes.search(name) else name for name in names]
    return quote(",".join(fields))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question for a name that is not known: the one that is spelt most alike, if any is.

    Examples
    --------
    >>> did_you_mean("umsatz", ["Umsatz", "Ort"]), did_you_mean("x", ["Umsatz", "Ort"])
    ("; did you mean 'Umsatz'?", '')
    """
    spelt = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), spelt, n=1)
    return f"; did you mean {spelt[close[0]]!r}?" if close else ""


def are_degrees(first: str, second: str) -> bool:
    """Whether two columns are called latitude and longitude, in this order.

    Examples
    --------
    >>> are_degrees("Lat", "lon"), are_degrees("lon", "lat")
    (True, False)
    """
    return first.lower() in LATITUDES and second.lower() in LONGITUDES
