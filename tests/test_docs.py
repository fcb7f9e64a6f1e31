"""What the pages of the documentation list and show is what there is."""

import re
from pathlib import Path

import polars as pl
import pytest

from konstrain.assignment.engines import ENGINES
from konstrain.methods import METHODS

DOCS = Path(__file__).resolve().parents[1] / "docs"
SMALL = 80_000  # bytes of a picture: they are in the repository


def test_pictures_are_small_and_shown():
    pages = "".join(page.read_text() for page in DOCS.glob("**/*.md"))
    pictures = list((DOCS / "pictures").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < SMALL, picture.name
        assert f"pictures/{picture.name}" in pages, picture.name


def test_reports_of_experiments_lie_beside_their_raw_rows_and_nothing_is_there_twice():
    reports = sorted((DOCS / "results").glob("*.md"))
    assert reports
    for report in reports:
        done = re.search(r"(\d+) of \d+ rows are done", report.read_text())
        assert pl.read_parquet(report.with_suffix(".parquet")).height == int(done[1])
    assert {path.suffix for path in (DOCS / "results").iterdir()} == {".md", ".parquet", ".png"}


def test_the_table_of_methods_has_a_row_for_each_with_what_it_takes(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import methods_table

    page = [(DOCS / "methods.md").read_text()]
    methods_table.fill_in(None, "methods", page)
    table = [[cell.strip() for cell in line.split("|")] for line in page[0].splitlines() if line.startswith("| `")]
    rows = {cells[1]: cells for cells in table}
    for name, method in METHODS.items():
        cells = rows[f"`{name}`"]
        assert (cells[4] == "yes") == ("must_link" in method.takes)
        assert (cells[5] == "yes") == ("size_max" in method.takes)


def test_the_page_of_the_command_line_has_every_verb():
    typer = pytest.importorskip("typer")
    app = pytest.importorskip("konstrain.cli.app")
    page = (DOCS / "cli.md").read_text()
    told = set(re.findall(r"^\| `konstrain ([a-z]+)`", page, flags=re.MULTILINE))
    assert told == set(typer.main.get_command(app.app).commands)


# The list of them, and the one whose pictures are photographs of the page.
WITHOUT_SCRIPT = {"index", "answer_on_a_page"}
HOW_TOS = [page for page in sorted((DOCS / "howto").glob("*.md")) if page.stem not in WITHOUT_SCRIPT]


@pytest.mark.parametrize("page", HOW_TOS, ids=lambda path: path.stem)
def test_how_to_pages_link_their_script_and_its_page_in_the_gallery(page):
    linked = re.search(r"\]\(\.\./\.\./examples/(\w+)\.py\)", page.read_text())
    assert linked
    assert f"](../gallery/{linked[1]}.rst)" in page.read_text()


def test_the_guide_has_a_page_per_estimator_and_a_row_per_engine():
    headings = {page.read_text().splitlines()[0] for page in (DOCS / "guide").glob("*.md")}
    estimators = {
        method.path.partition(":")[2] for method in METHODS.values() if method.path.startswith("konstrain:")
    }
    assert len(estimators) > 5
    assert {f"# {name}" for name in (*estimators, "LinkMetric")} <= headings
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "guide" / "assignment.md").read_text(), flags=re.MULTILINE)
    assert rows == [engine.name for engine in ENGINES]


def test_equations_have_their_fonts_beside_them():
    folder = DOCS / "_static" / "katex"
    fonts = set(re.findall(r"url\((fonts/[\w-]+\.woff2)\)", (folder / "katex.min.css").read_text()))
    assert fonts
    assert {font for font in fonts if not (folder / font).is_file()} == set()


@pytest.mark.parametrize(
    ("html", "needs_network"),
    [
        ('<script defer src="https://cdn.example.org/katex.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css" />', True),
        ('<img alt="a badge" src="http://example.org/badge.svg">', True),
        ('<script src="../_static/katex/katex.min.js"></script><a href="https://example.org">there</a>', False),
    ],
)
def test_pages_that_fetch_something_from_elsewhere_are_found(html, needs_network, monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS)
    import offline_math

    assert bool(offline_math.FETCHED.search(html)) == needs_network
