"""The runner: every row once, kept as soon as it is finished, whatever happens to it or to us."""

import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import toy_experiments
from konstrain.comparison.measures import CLOCKED
from konstrain.experiments import run_experiment, sandbox
from konstrain.experiments.sandbox import Sandbox
from konstrain.experiments.store import open_store
from toy_experiments import incomplete, toy, troubled


def records_of(db: Path, experiment, *, clocked: bool = False) -> list[dict]:
    with open_store(db) as store:
        records = store.records(experiment.name, [row.key for row in experiment.rows()])
    return [{name: value for name, value in record.items() if clocked or name not in CLOCKED} for record in records]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    db = tmp_path_factory.mktemp("whole") / "rows.db"
    summary = run_experiment(toy(), db=db)
    return summary, records_of(db, toy()), db


def test_every_row_is_run_and_measured(uninterrupted):
    summary, records, _ = uninterrupted
    assert (summary.n_rows, summary.n_now, summary.n_failed, summary.n_left) == (24, 24, 0, 0)
    assert len({record["key"] for record in records}) == 24
    assert {record["method"] for record in records} == {"plain", "ours"}
    assert all(record["broken"] == 0 for record in records if record["method"] == "ours")
    assert all(sum(record["sizes"]) == 30 for record in records)


def test_runs_of_a_method_have_different_seeds_and_cases_different_data(uninterrupted):
    _, records, _ = uninterrupted
    assert len({(record["set"], record["random_state"]) for record in records}) == 12
    assert len({round(record["sse"], 6) for record in records if record["method"] == "ours"}) == 6


def test_finished_rows_are_not_run_again(uninterrupted):
    _, _, db = uninterrupted
    before = records_of(db, toy(), clocked=True)
    summary = run_experiment(toy(), db=db)
    assert (summary.n_before, summary.n_now) == (24, 0)
    assert records_of(db, toy(), clocked=True) == before
    with open_store(db) as store:
        assert len(store.starts("toy")) == 1  # the second run wrote no rows


def test_the_quick_form_is_a_part_of_the_whole(tmp_path, uninterrupted):
    db = tmp_path / "rows.db"
    assert run_experiment(toy(), db=db, quick=True).n_now == 4
    assert run_experiment(toy(), db=db).n_now == 20
    assert records_of(db, toy()) == uninterrupted[1]


def test_an_interrupted_and_killed_run_goes_on_and_ends_like_one_that_was_not(tmp_path, uninterrupted):
    db = tmp_path / "rows.db"
    with start(db, pause=0.2, n_jobs=1) as process:
        wait_for_rows(db, 3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b""
    n_interrupted = count_rows(db)
    assert 3 <= n_interrupted < 15
    with start(db, pause=0.2, n_jobs=2) as process:
        wait_for_rows(db, n_interrupted + 3)
        process.kill()
    survived = {record["key"]: record for record in records_of(db, toy(), clocked=True)}
    assert n_interrupted + 3 <= len(survived) < 24
    summary = run_experiment(toy(), db=db)
    assert summary.n_now == 24 - len(survived)
    assert records_of(db, toy()) == uninterrupted[1]
    after = {record["key"]: record for record in records_of(db, toy(), clocked=True)}
    assert {key: after[key] for key in survived} == survived


def start(db: Path, pause: float, n_jobs: int) -> subprocess.Popen:
    """Start a run in a process of its own."""
    code = (
        "import sys, toy_experiments\nfrom konstrain.experiments import run_experiment\n"
        f"try: run_experiment(toy_experiments.toy({pause}), db={str(db)!r}, n_jobs={n_jobs})\n"
        "except KeyboardInterrupt: sys.exit(130)\n"
    )
    folder = Path(toy_experiments.__file__).parent
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, stderr=subprocess.PIPE)


def wait_for_rows(db: Path, n_rows: int) -> None:
    for _ in range(600):
        if db.exists() and count_rows(db) >= n_rows:
            return
        time.sleep(0.1)
    raise AssertionError(f"{n_rows} rows did not appear in a minute")


def count_rows(db: Path) -> int:
    connection = sqlite3.connect(db)
    try:
        made = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'rows'").fetchone()[0]
        return connection.execute("SELECT count(*) FROM rows").fetchone()[0] if made else 0
    finally:
        connection.close()


def test_failures_are_rows_with_a_reason(tmp_path):
    db = tmp_path / "rows.db"
    summary = run_experiment(troubled(), db=db)
    assert (summary.n_rows, summary.n_failed) == (4, 3)
    assert summary.failures.startswith("3 failed, 1 of them because of ")
    before = records_of(db, troubled())
    reasons = {record["data"]: record["reason"] for record in before}
    assert reasons["fine"] is None
    assert reasons["hungry"] == "MemoryLimit: more than 300 MB"
    assert reasons["deadly"] == "ProcessEnded: SIGKILL"
    assert reasons["contradictory"].startswith("InfeasibleError: cannot_link (0, 1)")
    assert run_experiment(troubled(), db=db).n_now == 0
    assert run_experiment(troubled(), db=db, retry=True).n_now == 3
    assert records_of(db, troubled()) == before


def test_rows_without_data_are_skipped_by_name_and_run_once_the_data_are_there(tmp_path):
    db = tmp_path / "rows.db"
    summary = run_experiment(incomplete(), db=db)
    assert (summary.n_rows, summary.n_now, summary.n_failed, summary.n_skipped, summary.n_left) == (16, 8, 0, 8, 8)
    assert (summary.missing, summary.advice) == (
        ("absent",),
        "data set 'absent' cannot be had here; None has no absent.csv",
    )
    assert str(summary).split("; ")[2] == "8 skipped without the data of absent"
    # Not kept: no claim counts them, and the next run tries them again.
    assert {record["data"] for record in records_of(db, incomplete())} == {"blobs"}
    assert run_experiment(incomplete(), db=db).n_skipped == 8


def test_a_folder_that_is_none_is_refused_before_any_row(tmp_path):
    with pytest.raises(NotADirectoryError, match="which is not a folder"):
        run_experiment(toy(), db=tmp_path / "rows.db", data=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_starts_are_those_asked_for_where_a_method_has_several():
    single = replace(toy().contenders[0], label="once", n_runs=1)
    experiment = replace(toy(n_sets=1), contenders=(*toy().contenders, single)).varied(starts=5)
    assert [contender.n_runs for contender in experiment.contenders] == [5, 5, 1]
    before = {row.key for row in toy(n_sets=1).rows()}
    assert before < {row.key for row in experiment.rows()}  # runs that are there are not run again


def test_constraint_files_of_ones_own_take_the_place_of_drawn_links(tmp_path):
    (tmp_path / "blobs.csv").write_text("CL 0 1\nML 2 20\nCL 3 4\n")
    experiment = toy(n_sets=3).varied(links=tmp_path)
    (case,) = experiment.cases()
    instance = case.make(None, case.seed)
    assert {kind: pairs.tolist() for kind, pairs in instance.constraints.items()} == {
        "must_link": [[2, 20]],
        "cannot_link": [[0, 1], [3, 4]],
    }
    assert case.key == "data=blobs links_file=blobs.csv set=0"
    summary = run_experiment(toy(n_sets=3), db=tmp_path / "rows.db", links=tmp_path)
    assert (summary.n_rows, summary.n_failed) == (4, 0)
    records = records_of(tmp_path / "rows.db", experiment)
    assert {record["broken"] for record in records if record["method"] == "ours"} == {0}
    assert any(record["broken"] for record in records if record["method"] == "plain")


@pytest.mark.parametrize(
    ("name", "words"), [("iris.csv", "iris.csv is for no case"), ("notes.txt", "no file of links is there")]
)
def test_constraint_files_for_no_case_are_refused(tmp_path, name, words):
    (tmp_path / name).write_text("CL 0 1\n")
    with pytest.raises(ValueError, match=f"{words}; files are called like blobs.csv"):
        toy().varied(links=tmp_path).rows()


def test_work_over_its_wall_limit_is_ended_and_the_next_piece_gets_done():
    with Sandbox() as box:
        assert box.run(time.sleep, 600.0, wall_limit=0.5).reason == "TimeLimit: no result within 0.5 s"
        assert box.run(len, "abc", wall_limit=60.0).value == 3


def test_a_process_that_ends_before_it_is_spoken_to_is_an_answer(monkeypatch):
    start = subprocess.Popen

    def start_and_lose(command, **options):
        process = start([sys.executable, "-c", "raise SystemExit(3)"], **options)
        process.wait()
        return process

    with Sandbox() as box:
        monkeypatch.setattr(sandbox.subprocess, "Popen", start_and_lose)
        assert box.run(max, 2, 3, wall_limit=60.0).reason == "ProcessEnded: exit code 3"
        monkeypatch.undo()
        assert box.run(max, 2, 3, wall_limit=60.0).value == 3


def test_a_sandbox_ends_with_its_parent():
    code = (
        f"import os, runpy, signal\nbox = runpy.run_path({sandbox.__file__!r})['Sandbox']()\n"
        "print(box.run(os.getpid, wall_limit=60.0).value, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    child = Path(f"/proc/{int(done.stdout)}")
    for _ in range(100):
        if not child.exists():
            break
        time.sleep(0.1)
    assert not child.exists()
