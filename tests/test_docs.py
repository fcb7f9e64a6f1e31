"""The code on the pages of the documentation does what the pages say."""

import doctest
import re
from pathlib import Path

import matplotlib
import polars as pl
import pytest
from matplotlib import pyplot as plt

from konstrain.methods import METHODS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [path for path in sorted(DOCS.glob("**/*.md")) if ">>>" in path.read_text()]
SMALL = 80_000  # bytes of a picture: they are in the repository


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_sessions_run_as_printed(page):
    matplotlib.use("Agg")
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.MULTILINE)
    session = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    told = []
    runner.run(session, out=told.append)
    plt.close("all")
    assert not runner.failures, "".join(told)


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", DOCS / "index.md"], ids=lambda path: path.name)
def test_the_first_code_on_the_front_pages_runs_and_keeps_its_links(page):
    code = re.search(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(code[1], names)
    assert names["model"].n_violations_ == 0


def test_the_tour_is_among_the_pages_that_run():
    assert "tour" in {page.stem for page in PAGES}


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
