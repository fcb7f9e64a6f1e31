"""From the digits of a printed table to published numbers by line and column."""

from collections.abc import Sequence

from konstrain.comparison.records import Group
from konstrain.experiments.published import Published


def published(text: str) -> Published:
    """Read one cell: a number, its spread after "±", marks after the digits; "-" is no number.

    Examples
    --------
    >>> published("57.3804*")
    Published(value=57.3804, sd=None, mark='*')
    >>> published("1.1±0.8").sd, published("-").value
    (0.8, None)
    """
    digits = text.rstrip("*-%")
    mark = text[len(digits) :].replace("%", "")
    number, _, spread = digits.partition("±")
    return Published(float(number) if number else None, float(spread) if spread else None, mark)


def read_table(text: str, headings: Sequence[str], *, across: Sequence[object]) -> dict[Group, dict[str, Published]]:
    """Read lines of a name and, for each value in `across`, one cell per heading.

    Examples
    --------
    >>> read_table("iris 0.5 0.6", ["ours"], across=["CS10", "CS15"])[("iris", "CS15")]["ours"].value
    0.6
    """
    cells: dict[Group, dict[str, Published]] = {}
    for line in text.split("\n"):
        name, *numbers = line.split() or [""]
        if len(numbers) not in (0, len(across) * len(headings)):
            raise ValueError(f"{line!r} has {len(numbers)} numbers, not {len(across)} x {len(headings)}")
        for number, value in enumerate(across if numbers else ()):
            part = numbers[number * len(headings) : (number + 1) * len(headings)]
            cells[name, value] = {head: published(cell) for head, cell in zip(headings, part, strict=True)}
    return cells


def read_lines(text: str, headings: Sequence[str]) -> dict[Group, dict[str, Published]]:
    """Read lines of a name, a number, and one cell per heading.

    Examples
    --------
    >>> read_lines("iris 37 0.75 0.8*", ["nmi", "ours"])[("iris", 37)]["ours"].mark
    '*'
    """
    cells: dict[Group, dict[str, Published]] = {}
    for line in filter(None, text.split("\n")):
        name, number, *values = line.split()
        cells[name, int(number)] = dict(zip(headings, map(published, values), strict=True))
    return cells
