"""Files and folders that pages, docstrings and comments name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "docs", "perf", "examples", ".ci")
MADE_HERE = re.compile(r"__pycache__|\.egg-info|docs/reference/generated|docs/gallery")
FILES = [
    *(path for path in ROOT.iterdir() if path.is_file() or path.name in FOLDERS),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if not MADE_HERE.search(path.as_posix())),
]
PLACES = [f"/{path.relative_to(ROOT).as_posix()}" for path in FILES]
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "results"),
    *(ROOT / "perf").glob("*.md"),
    *(ROOT / "src").rglob("*.md"),
]
SOURCES = [path for path in FILES if path.suffix in {".py", ".h", ".cpp"} and path != Path(__file__).resolve()]

# A name in backticks that ends like a file of ours, or in a slash; arguments may follow.
NAMED = re.compile(r"`([\w./*{},-]*(?:\w\.(?:py|h|cpp|md|toml)|\w/))(?: [^`\n]*)?`")
# A path from the root, wherever it stands in a source file.
FROM_ROOT = re.compile(r"(?<![\w/.-])((?:src|tests|docs|perf|examples|\.ci)/[\w./*{},-]*\w/?)")
# What users or other collections have, and what is made on the way.
ELSEWHERE = {".venv/", "pairwise/", "planar/", "sets/", "perf/.cache"}


def is_there(name: str) -> bool:
    """Whether some file or folder ends in this path; braces list several, NAME and stars stand for any text."""
    listed = re.search(r"\{(.*?)\}", name)
    if listed:
        return all(is_there(name.replace(listed[0], one)) for one in listed[1].split(","))
    pattern = re.escape(name.rstrip("/")).replace("NAME", r"\w+").replace(r"\*", r"[^/]*")
    return any(re.search(rf"/{pattern}$", place) for place in PLACES)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_name_files_and_folders_that_exist(page):
    names = set(NAMED.findall(page.read_text())) - ELSEWHERE
    assert [name for name in sorted(names) if not is_there(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([\w./-]+\.(?:md|png|py))(?:#[\w-]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_sources_name_files_and_folders_that_exist():
    stale = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in FROM_ROOT.findall(path.read_text())
        if name not in ELSEWHERE and not is_there(name)
    ]
    assert stale == []


def test_the_page_of_the_architecture_has_each_package_with_files_that_it_holds():
    page = (ROOT / "docs" / "architecture.md").read_text()
    text = re.search(r"^## Packages\n(.*?)^## ", page, flags=re.DOTALL | re.MULTILINE)[1]
    # A sentence begins with the package that it is about; a paragraph is one line here.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip())
    about = re.findall(r"(?:^|\. )`(\w+)/` (.*?)(?=\. `\w+/` |$)", text, flags=re.MULTILINE)
    package = ROOT / "src" / "konstrain"
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert packages <= {name for name, _ in about}
    stale = [
        f"{name}: {file}"
        for name, sentence in about
        if name in packages
        for file in re.findall(r"`(\w+\.py)`", sentence)
        if not (package / name / file).is_file() and not (package / file).is_file()
    ]
    assert stale == []


def test_the_page_of_the_compiled_core_names_kernels_that_exist():
    text = (ROOT / "src" / "cpp" / "README.md").read_text()
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", text, flags=re.MULTILINE)
    stems = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert len(stems) > 20
    there = {path.stem for path in (ROOT / "src" / "cpp").rglob("*")}
    assert sorted(stems - there) == []
