"""Words for messages."""

from collections.abc import Sequence


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
