"""A report as a list of blocks, written as Markdown or as one HTML page that needs no other file."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_STYLE = """
body { font-family: sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 0.9em; }
th, td { padding: 0.2em 0.7em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
code { background: #f4f4f4; padding: 0.1em 0.3em; }
"""


class Block(Protocol):
    """Anything that can write itself both ways."""

    def markdown(self) -> str:
        """Text for a .md file."""

    def html(self) -> str:
        """An element of a page."""


@dataclass(frozen=True)
class Heading:
    """A heading: level 1 is the title."""

    text: str
    level: int = 2

    def markdown(self) -> str:
        """Text for a .md file."""
        return f"{'#' * self.level} {_escaped(self.text)}"

    def html(self) -> str:
        """An element of a page."""
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Paragraph:
    """Running text; `code` shows it as something to type."""

    text: str
    code: bool = False

    def markdown(self) -> str:
        """Text for a .md file."""
        # Indented text is shown as it is, markup and all.
        return f"    {self.text}" if self.code else _escaped(self.text)

    def html(self) -> str:
        """An element of a page."""
        text = html.escape(self.text)
        return f"<p><code>{text}</code></p>" if self.code else f"<p>{text}</p>"


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

    def html(self) -> str:
        """An element of a page."""
        head = _cells("th", self.header)
        body = "\n".join(_cells("td", row) for row in self.rows)
        return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


@dataclass(frozen=True)
class Picture:
    """A PNG: beside a .md file under its name, within a page itself."""

    name: str
    title: str
    png: bytes

    def markdown(self) -> str:
        """Text for a .md file."""
        return f"![{_escaped(self.title)}]({self.name})"

    def html(self) -> str:
        """An element of a page."""
        data = base64.b64encode(self.png).decode("ascii")
        return f'<img alt="{html.escape(self.title)}" src="data:image/png;base64,{data}">'


def _escaped(text: str) -> str:
    """Text for Markdown in which nothing is taken for HTML, and no cell of a table ends early."""
    return " ".join(html.escape(text, quote=False).replace("|", "\\|").split("\n"))


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def as_markdown(blocks: Sequence[Block]) -> str:
    """Write blocks as Markdown.

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
    return "\n\n".join(block.markdown() for block in blocks) + "\n"


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """Write blocks as one HTML page that needs no other file."""
    body = "\n".join(block.html() for block in blocks)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
