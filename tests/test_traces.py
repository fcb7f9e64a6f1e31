"""The traces on the page of the architecture are those that calls take."""

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
# Files of the package that a fit with must-links and sizes enters: fewer are easier to follow.
MOST_FILES = 21


def files_entered(call):
    """Return the files of the package in the order in which a call first enters them, `supports` left out."""
    entered: dict[str, None] = {}
    n_supports = 0

    def trace(frame, event, _):
        nonlocal n_supports
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "supports":
            n_supports += 1 if event == "call" else -1
        if event == "call" and not n_supports and code.co_name != "<module>" and code.co_filename.startswith(PACKAGE):
            entered.setdefault(code.co_filename.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(entered)


def listed(title):
    """Return the files that the page lists under a bold title."""
    text = PAGE.read_text()
    start = text.index(f"**{title}**")
    lines = re.search(r"(?:^\d+\. .*\n)+", text[start:], flags=re.MULTILINE)
    return re.findall(r"^\d+\. `([^`]+\.py)`", lines[0], flags=re.MULTILINE)


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def test_the_trace_of_a_fit_is_the_one_it_takes(iris):
    entered = files_entered(lambda: ConstrainedKMeans(3, 45, 55, random_state=0).fit(iris, must_link=MUST))
    names = listed("A fit")
    assert len(names) > 5
    assert [path for path in entered if path in names] == names
    assert len(entered) <= MOST_FILES, entered


def test_the_trace_of_a_proof_is_the_one_it_takes(iris):
    entered = files_entered(lambda: ExactKMeans(3, random_state=0).fit(iris, must_link=MUST, cannot_link=[(0, 80)]))
    names = listed("A proof")
    assert len(names) > 4
    assert [path for path in entered if path in names] == names
