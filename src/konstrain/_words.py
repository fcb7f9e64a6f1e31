"""Words for messages."""


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"
