"""Pages are easy to read: short lines, short paragraphs, the words of the glossary."""

import re
from pathlib import Path

import pytest

import structure

ROOT = Path(__file__).resolve().parents[1]
LONGEST_LINE = 100
LONGEST_PARAGRAPH = 5
# Reports of experiments are generated.
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name not in {"results", "gallery", "generated"}),
    *(ROOT / "perf").rglob("*.md"),
]
# References of the literature, lists, headings, tables, pictures and what Sphinx reads are no paragraphs.
NO_TEXT = re.compile(r"\s*(?:#|\||!\[|<!--|\*\*References?\.\*\*|\$\$| {4})")


def paragraphs(text):
    """Yield the first line number and the lines of each paragraph and each entry of a list."""
    text = re.sub(
        r"^(```|\$\$).*?^\1.*?$", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE
    )
    start, lines = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_entry = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if lines and (not line.strip() or is_entry):
            yield start, lines
            lines = []
        if line.strip():
            start = start if lines else number
            lines.append(line)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_are_short_except_in_tables(page):
    lines = enumerate(page.read_text().splitlines(), 1)
    assert [number for number, line in lines if len(line) > LONGEST_LINE and not line.startswith("|")] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_paragraphs_are_short(page):
    found = paragraphs(page.read_text())
    long = [start for start, lines in found if len(lines) > LONGEST_PARAGRAPH and not NO_TEXT.match(lines[0])]
    assert long == []


def test_pages_use_the_words_of_the_glossary():
    words = structure.home_made_words()
    assert {name: lines for name, lines in words.items() if name.endswith(".md")} == {}


def test_paragraphs_and_entries_of_lists_are_told_apart():
    text = "a\nb\n\n```text\nc\nd\n```\n- e\n  f\n- g\n"
    assert [len(lines) for _, lines in paragraphs(text)] == [2, 2, 1]
