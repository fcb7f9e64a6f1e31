"""Every snippet on every page runs as printed, with nothing but the sample files beside it."""

import re

import matplotlib
import pytest
from matplotlib import pyplot as plt

from snippets import ROOT, run_page, snippets_of

WRITTEN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "perf").glob("*.md")])
PAGES = [page for page in WRITTEN if snippets_of(page)]
# Fences that hold no code: output, listings, and what Sphinx reads.
NO_CODE = re.compile(r"text|\{[\w-]+\}.*")


@pytest.mark.unchecked  # pages fit on purpose what breaks links, too
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_snippets_run_as_printed(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    # What opens a browser opens nothing.
    monkeypatch.setenv("BROWSER", "true")
    assert run_page(page, tmp_path) == snippets_of(page)
    plt.close("all")


def test_pages_that_people_meet_first_are_among_those_that_run():
    met = {"README", "index", "tour", "cli", "balanced_groups", "migrating", "problem"}
    assert met <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_snippet_is_left_out_by_its_language(page):
    fences = re.findall(r"^ *```(.+)$", page.read_text(), flags=re.MULTILINE)
    assert len([name for name in fences if not NO_CODE.fullmatch(name)]) == len(snippets_of(page))
