"""The walks on the page of the architecture are those that work takes."""

import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import konstrain
from konstrain import ConstrainedKMeans, ExactKMeans

PACKAGE = f"{Path(konstrain.__file__).parent}/"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
MUST = [(0, 5), (5, 9)]
MOST_FILES = 15
MOST_FILES_ENTERED = 28


def files_entered(work):
    """Files of the package in the order in which work first calls into them; what `supports` calls is left out."""
    entered: dict[str, None] = {}
    asking = 0

    def look(frame, event, _):
        nonlocal asking
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "supports":
            asking += 1 if event == "call" else -1
        if event == "call" and not asking and code.co_name != "<module>" and code.co_filename.startswith(PACKAGE):
            entered.setdefault(code.co_filename.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(entered)


def section(title):
    return re.search(rf"^### {title}\n(.*?)^##", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)[1]


def numbered(text):
    return re.findall(r"^\d+\. `([^`]+\.py)`", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def test_the_walk_of_a_fit_is_the_one_it_takes(iris):
    text = section("A fit with must-links and sizes")
    walk = numbered(text)
    beside = re.findall(r"`([^`]+\.py)`", text[text.index("Asked for a moment") :])
    entered = files_entered(lambda: ConstrainedKMeans(3, 45, 55, random_state=0).fit(iris, must_link=MUST))
    assert [path for path in entered if path not in beside] == walk
    assert set(entered) == {*walk, *beside}
    assert len(walk) <= MOST_FILES
    assert len(entered) <= MOST_FILES_ENTERED
    assert len({*walk, *beside}) == len(walk) + len(beside)


def test_the_walk_of_a_proof_is_the_one_it_takes(iris):
    walk = numbered(section("A proof"))
    entered = files_entered(lambda: ExactKMeans(3, random_state=0).fit(iris, must_link=MUST, cannot_link=[(0, 80)]))
    assert [path for path in entered if path.startswith("exact/") or path == "gap.py"] == walk
