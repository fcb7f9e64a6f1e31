"""The files that a fit and a proof enter: where a reader of the code finds what."""

import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import konstrain
from konstrain import ConstrainedKMeans, ExactKMeans

PACKAGE = f"{Path(konstrain.__file__).parent}/"
MUST = [(0, 5), (5, 9)]
# Files of the package that a fit with must-links and sizes enters: fewer are easier to follow.
MOST_FILES = 22

# Files under `src/konstrain/` in the order in which a call first enters them; helpers between them are left out.
A_FIT = [
    "estimators/constrained_kmeans.py",  # the parameters
    "estimators/_base.py",  # validation, then problem, search and fitted attributes
    "constraints/problem.py",  # `Problem.build`, from arguments to blocks and conflicts
    "constraints/feasibility.py",  # contradictions, before any clustering
    "kmeans/search.py",  # runs of the kernel within one budget of work
    "kmeans/start.py",  # k-means++ over blocks
    "kmeans/steps.py",  # whether exact steps may take long; at the end centers and objective
    "assignment/rules.py",  # sizes as a rule
    "metrics.py",  # broken links, counted from the labels
]
# A proof builds its problem as a fit does.
A_PROOF = [
    "exact/solve.py",  # upper bounds first, then branch and bound
    "exact/tree.py",  # open nodes, the best clustering, the bound over all open nodes
    "exact/heuristic.py",  # a good clustering, from `kmeans/`
    "exact/nodes.py",  # a node, with one of the three lower bounds
    "exact/columns/boxes.py",  # column generation over boxes, the bound for few features
    "gap.py",  # the distance between the bounds
]


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


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def test_the_trace_of_a_fit_is_the_one_it_takes(iris):
    entered = files_entered(lambda: ConstrainedKMeans(3, 45, 55, random_state=0).fit(iris, must_link=MUST))
    assert [path for path in entered if path in A_FIT] == A_FIT
    assert len(entered) <= MOST_FILES, entered


def test_the_trace_of_a_proof_is_the_one_it_takes(iris):
    entered = files_entered(lambda: ExactKMeans(3, random_state=0).fit(iris, must_link=MUST, cannot_link=[(0, 80)]))
    assert [path for path in entered if path in A_PROOF] == A_PROOF
