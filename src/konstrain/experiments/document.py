"""A report as a list of elements, written as Markdown."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Element(Protocol):
    """Anything that can write itself."""

    def markdown(self) -> str:
        """Text for a .md file."""


@dataclass(frozen=True)
class Heading:
    """A heading: level 1 is the title."""

    text: str
    level: int = 2

    def markdown(self) -> str:
        """Text for a .md file."""
        return f"{'#' * self.level} {_escaped(self.text)}"


@dataclass(frozen=True)
class Paragraph:
    """Running text; `code` shows it as something to type."""

    text: str
    code: bool = False

    def markdown(self) -> str:
        """Text for a .md file."""
        # Indented text is shown as it is, markup and all.
        return f"    {self.text}" if self.code else _escaped(self.text)


@dataclass(frozen=True)
class Grid:
    """A table of text; the first column is to the left, the others to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Text for a .md file."""
        rules = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [[_escaped(cell) for cell in line] for line in [self.header, *self.rows]]
        return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rules, *lines[1:]])


@dataclass(frozen=True)
class Picture:
    """A PNG that lies beside the .md file under its name."""

    name: str
    title: str
    png: bytes

    def markdown(self) -> str:
        """Text for a .md file."""
        return f"![{_escaped(self.title)}]({self.name})"


def _escaped(text: str) -> str:
    """Text for Markdown in which nothing is taken for HTML, and no cell of a table ends early."""
    return " ".join(html.escape(text, quote=False).replace("|", "\\|").split("\n"))


def as_markdown(elements: Sequence[Element]) -> str:
    """Write elements as Markdown.

    Examples
    --------
    >>> print(as_markdown([Heading("Sizes", 1), Grid(["cluster", "rows"], [["0", "50"]])]))
    # Sizes
    <BLANKLINE>
    | cluster | rows |
    | --- | ---: |
    | 0 | 50 |
    <BLANKLINE>
    """
    return "\n\n".join(element.markdown() for element in elements) + "\n"
