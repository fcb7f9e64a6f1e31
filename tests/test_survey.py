"""The survey of default fits in `perf/`: a tiny form of it runs, and its check sees what labels break."""

import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

PERF = Path(__file__).resolve().parents[1] / "perf"
with pytest.MonkeyPatch.context() as patch:
    # The survey asks for one thread in the environment; other tests must not see that.
    patch.setenv("OMP_NUM_THREADS", "1")
    patch.setenv("OPENBLAS_NUM_THREADS", "1")
    patch.setenv("MKL_NUM_THREADS", "1")
    patch.syspath_prepend(PERF)
    import survey
    from survey_cases import KINDS, Case, Draw, broken_constraints


@pytest.fixture(scope="module")
def tiny():
    X, classes = load_iris(return_X_y=True)
    some = np.r_[0:12, 50:62, 100:112]
    return Draw(X[some], classes[some])


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiny_fit_of_every_kind_keeps_what_is_asked(tiny, kind):
    # One run: some kinds take long by default.
    told = survey.fitted(KINDS[kind](tiny), {"random_state": 0, "n_init": 1})
    assert (told.get("status", "ok"), told.get("message", "")) == ("ok", "")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.partition(",")[0] not in {"none", "soft links"}])
def test_one_large_cluster_breaks_every_kind(tiny, kind):
    case = KINDS[kind](tiny)
    labels = np.zeros(len(case.X), dtype=int)
    labels[: case.n_clusters] = range(case.n_clusters)
    assert broken_constraints(case, labels)


@pytest.mark.parametrize(
    ("case", "labels", "what"),
    [
        (Case(np.zeros((3, 1)), 2), [0, 0, 0], "1 empty clusters"),
        (Case(np.zeros((3, 1)), 2, asked={"must_link": np.array([[0, 2]])}), [0, 0, 1], "1 of 1 must_link"),
        (Case(np.zeros((3, 1)), 2, asked={"cannot_link": np.array([[0, 1]])}), [0, 0, 1], "1 of 1 cannot_link"),
        (Case(np.zeros((3, 1)), 2, asked={"y": np.array([5, 7, -1])}), [0, 0, 1], "partial labels"),
        (Case(np.zeros((3, 1)), 2, asked={"y": np.array([5, -1, 5])}), [0, 0, 1], "partial labels"),
        (Case(np.zeros((4, 1)), 2, {"size_max": 2}), [0, 0, 0, 1], "size_max by 0.5 of it"),
        (Case(np.zeros((4, 1)), 2, {"size_min": [1, 2]}), [0, 0, 0, 1], "size_min by 0.5 of it"),
        (
            Case(
                np.zeros((4, 1)),
                2,
                {"size_min": [[1, 5]] * 2},
                {"demand": np.array([[1, 5], [1, 5], [1, 2], [1, 2]])},
            ),
            [0, 0, 1, 1],
            "size_min by 0.2 of it",
        ),
        (
            Case(np.zeros((4, 1)), 2, {"share_tolerance": 0.1}, {"category": {"sex": np.array([0, 0, 1, 1])}}),
            [0, 0, 0, 1],
            "share of group 0 sex",
        ),
    ],
)
def test_what_labels_break_is_named(case, labels, what):
    assert what in broken_constraints(case, np.array(labels))


def test_a_fit_that_does_not_end_is_recorded_as_such():
    def spin():
        while True:
            time.process_time()

    assert survey.in_child(spin, 0.05) == {"status": "not ended", "seconds": 0.05}


def test_a_child_that_dies_is_an_error():
    told = survey.in_child(lambda: exit(3), 5.0)
    assert (told["status"], "exit code 3" in told["message"]) == ("error", True)


def test_fits_read_back_as_written(tmp_path, tiny):
    fit = survey.Fit("iris", "none", 0, 1, 60, 3, status="infeasible", seconds=0.25, message='a "b", c')
    path = tmp_path / "rows.csv"
    with survey.rows_written(path) as write:
        write(fit)
    assert repr(survey.read_fits(path)) == repr([fit])


def test_only_lower_objectives_enter_the_best_known(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "BEST", tmp_path / "best.csv")
    fit = survey.Fit("iris", "none", 0, 0, 60, 3, objective=5.0)
    worse = survey.Fit("iris", "none", 0, 1, 60, 3, objective=6.0)
    broken = survey.Fit("iris", "none", 0, 2, 60, 3, objective=4.0, status="broken")
    survey.write_best(survey.read_best(), [worse, fit, broken])
    assert survey.read_best()["iris", "none", 0] == 5.0
