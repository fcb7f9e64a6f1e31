"""What the pages of the documentation list and show is what there is."""

import re
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from matplotlib import pyplot as plt

from konstrain.assignment import ENGINES
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


def test_the_page_of_the_command_line_has_every_option_with_an_example():
    typer = pytest.importorskip("typer")
    app = pytest.importorskip("konstrain.cli.app")
    page = (DOCS / "cli.md").read_text().replace("\\\n", "")
    # Commands that are run as they stand, and code in the text.
    code = " ".join(
        [*re.findall(r"^\$ (konstrain .*)$", page, flags=re.MULTILINE), *re.findall(r"`([^`\n]+)`", page)]
    )
    shown = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", code))
    for verb, options in _options(typer.main.get_command(app.app)):
        missing = [names for names in options if not shown & names]
        assert not missing, f"{verb}: {missing}"


def _options(command, path=()):
    """Each verb with its options, each as all the names it has."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, (*path, name))
    if not hasattr(command, "commands"):
        sides = [side for option in command.params for side in (option.opts, option.secondary_opts)]
        yield " ".join(path), [set(side) for side in sides if any(name.startswith("-") for name in side)]


# The list of them, the one whose pictures are photographs of the page, and one that needs no picture.
WITHOUT_SCRIPT = {"index", "answer_on_a_page", "few_changes"}
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


def test_the_number_of_an_equation_is_on_screen_at_any_width(chromium, tmp_path):
    style = (DOCS / "_static" / "equations.css").read_text()
    wide = '<span style="display: inline-block; width: 1500px">f(a) = ...</span>'
    block = f'<div class="math-block"><div class="math">{wide}</div><span class="eqno">(1)</span></div>'
    (tmp_path / "page.html").write_text(f"<style>body {{ margin: 8px }} {style}</style>{block}")
    for width in (320, 800, 1280):
        page = chromium.new_page(viewport={"width": width, "height": 300})
        page.goto((tmp_path / "page.html").as_uri())
        box = page.locator(".eqno").bounding_box()
        assert box["x"] + box["width"] <= width
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
        page.close()


def test_the_tour_shows_every_picture_that_it_draws():
    text = (DOCS / "tour.md").read_text()
    drawn = re.findall(r"^>>> ax = plot_\w+\(", text, flags=re.MULTILINE)
    assert len(drawn) == 2
    assert re.findall(r"^!\[.+\]\(pictures/(tour_\d)\.png\)$", text, flags=re.MULTILINE) == ["tour_1", "tour_2"]


def test_every_example_has_a_picture_for_the_gallery():
    scripts = sorted((DOCS.parent / "examples").glob("[!_]*.py"))
    assert len(scripts) > 15
    assert [path.name for path in scripts if "plt.subplots(" not in path.read_text()] == []


def test_a_thumbnail_is_the_last_panel_of_a_picture(tmp_path, monkeypatch):
    pytest.importorskip("sphinx_gallery")
    monkeypatch.syspath_prepend(DOCS)
    import thumbnails

    _, (left, right) = plt.subplots(1, 2, figsize=(8, 4))
    left.set_facecolor("red")
    right.set_facecolor("blue")
    right.text(0.9, 0.5, "a text that reaches beyond the figure")
    monkeypatch.setattr(thumbnails, "matplotlib_scraper", lambda *_: "")
    thumbnails.scrape(None, {"src_file": "two.py"}, {})
    images = tmp_path / "gallery" / "images"
    (images / "thumb").mkdir(parents=True)
    plt.savefig(images / "sphx_glr_two_001.png")
    plt.close("all")
    thumbnails.crop(SimpleNamespace(srcdir=tmp_path))
    small = plt.imread(images / "thumb" / "sphx_glr_two_thumb.png")
    assert small.shape[:2] == thumbnails.SIZE[::-1]
    is_red, is_blue = ((small[:, :, :3] == color).all(axis=2).mean() for color in ([1, 0, 0], [0, 0, 1]))
    assert is_red == 0 < 0.4 < is_blue
    # Nothing from outside the figure, which would be black.
    assert small[:, -1].min() > 0.5


def test_the_page_on_performance_is_short_and_begins_with_a_chart_of_its_table(monkeypatch):
    text = (DOCS / "performance.md").read_text()
    assert len(text.splitlines()) < 50
    assert 0 < text.index("![") < text.index("| what |")
    assert "{include}" not in text
    monkeypatch.syspath_prepend(DOCS.parent / "perf")
    import summary

    assert len(summary.rows()) == len(re.findall(r"^\| .* \| .* \| .* \| .* \| .* \|$", text, flags=re.MULTILINE)) - 1
    # Every ratio is in the tables that it comes from, or is the reciprocal of one that is there.
    tables = (DOCS.parent / "perf" / "README.md").read_text().replace(",", "")
    numbers = {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", tables)}
    for what, _, *ratios in summary.rows():
        for ratio in ratios:
            near = (number for number in numbers if number and float(f"{1 / number:.2g}") == ratio)
            assert ratio in numbers or next(near, None), f"{what}: {ratio}"
