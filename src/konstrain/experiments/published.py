"""What a paper published: numbers as printed, tables, figures and claims over records, one per finished run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from konstrain.comparison.records import Group, Record


@dataclass(frozen=True)
class Published:
    """A number as a paper prints it, with its spread and marks such as "*" for proved."""

    value: float | None
    sd: float | None = None
    mark: str = ""


def read_number(text: str) -> Published:
    """Read one cell: a number, its spread after "±", marks after the digits; "-" is no number.

    Examples
    --------
    >>> read_number("57.3804*")
    Published(value=57.3804, sd=None, mark='*')
    >>> read_number("1.1±0.8").sd, read_number("-").value
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
            cells[name, value] = {head: read_number(cell) for head, cell in zip(headings, part, strict=True)}
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
        cells[name, int(number)] = dict(zip(headings, map(read_number, values), strict=True))
    return cells


@dataclass(frozen=True)
class Column:
    """One column: a measure of one contender, summed up over its runs.

    With `relative_to`, by how many percent it is below the same of another contender.
    """

    heading: str
    method: str
    measure: str
    statistic: str = "mean"
    digits: int | None = None
    relative_to: str | None = None


@dataclass(frozen=True)
class PaperTable:
    """A published table and how ours is made."""

    title: str  # The paper's number and what it shows.
    by: tuple[str, ...]  # Fields of cases; each combination is one line.
    # Columns with published numbers become three: published, ours, and ours less published.
    columns: tuple[Column, ...]
    # ``(values of by) -> heading -> Published``.
    published: Mapping[Group, Mapping[str, Published]] = field(default_factory=dict)
    # A last line for each combination of the fields but the first: over all lines that have our number.
    total: str | None = None
    # The paper's own last line, ``(values of by but the first) -> heading -> Published``, shown where ours is over
    # all published lines. Where it is not given, the published numbers are summed up as ours are.
    printed_totals: Mapping[Group, Mapping[str, Published]] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)  # Which cases it is about; all by default.
    lists_published: bool = False  # Whether published lines of which nothing is run here are shown, too.


@dataclass(frozen=True)
class Figure:
    """Curves of one measure over a field: a panel per value of another field, a line per contender.

    `published` holds the points that the paper's text gives: ``panel -> label -> (x, y) pairs``;
    `where` is as in `PaperTable`.
    """

    name: str
    title: str
    x: str
    measure: str
    panels: str
    methods: tuple[str, ...]
    published: Mapping[Any, Mapping[str, Sequence[tuple[float, float]]]] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Distribution:
    """Sizes of clusters, largest first: a panel per value of a field, a line per contender, over its runs.

    `where` is as in `PaperTable`.
    """

    name: str
    title: str
    panels: str
    methods: tuple[str, ...]
    where: Mapping[str, Any] = field(default_factory=dict)
    measure: str = "sizes"


@dataclass(frozen=True)
class ClaimVerdict:
    """What was found about a claim; `holds` is None where there are no rows to judge by."""

    found: str
    holds: bool | None


@dataclass(frozen=True)
class Claim:
    """A sentence that rows can bear out or refute."""

    text: str
    judge: Callable[[Sequence[Record]], ClaimVerdict]

    def from_draw(self, first: int) -> "Claim":
        """Make the same claim about the draws from this one on: those that no setting was chosen on."""
        return Claim(
            f"{self.text} (draws from {first} on)",
            lambda records: self.judge([record for record in records if record["set"] >= first]),
        )


def judge_points(points: Mapping[str, bool], what: str = "points") -> ClaimVerdict:
    """Judge a claim that is about each of several points, and name those where it does not hold.

    Examples
    --------
    >>> judge_points({"iris 10": True, "wine 10": False}).found
    '1 of 2 points, not at wine 10'
    """
    missed = [name for name, holds in points.items() if not holds]
    found = f"{len(points) - len(missed)} of {len(points)} {what}" + (
        f", not at {', '.join(missed)}" if missed else ""
    )
    return ClaimVerdict(found, not missed) if points else ClaimVerdict("no rows", None)
