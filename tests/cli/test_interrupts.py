"""Ctrl-C, full disks, and how little the installed script loads."""

import os
import pty
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import run_script, start
from konstrain import __version__
from konstrain.cli.running import Interrupts


@pytest.fixture
def random_rows(tmp_path):
    """Return a folder with rows that no search for a proof finishes in reasonable time."""
    rows = pl.DataFrame(np.random.default_rng(0).random((90, 2)), schema=["x", "y"])
    rows.write_csv(tmp_path / "rows.csv")
    return tmp_path


def interrupt_once(folder, words, *arguments):
    """Start on a terminal, press Ctrl-C as soon as progress shows these words; returns exit code and all shown."""
    master, terminal = pty.openpty()
    process = start(*arguments, folder=folder, err=os.ttyname(terminal))
    shown = b""
    while words not in shown:
        shown += os.read(master, 4096)
    os.kill(process.pid, signal.SIGINT)
    process.join(120)
    os.write(terminal, b"the end")
    while not shown.endswith(b"the end"):
        shown += os.read(master, 4096)
    os.close(terminal)
    os.close(master)
    assert (folder / ".out").read_text() == ""
    return process.exitcode, shown.decode()


def test_interrupted_exact_tells_its_bounds_and_writes_nothing(random_rows):
    arguments = ("exact", "rows.csv", "-k", 8, "--size-min", 10, "--bound", "sdp", "--gap", 1e-9, "-o", "labels.csv")
    code, shown = interrupt_once(random_rows, b"nodes", *arguments)
    assert code == 130
    assert "konstrain: interrupted; SSE " in shown
    assert "Traceback" not in shown
    assert {path.name for path in random_rows.iterdir()} == {"rows.csv", ".out"}


def test_interrupted_fit_writes_nothing(tmp_path):
    pl.DataFrame(np.random.default_rng(0).random((20_000, 10))).write_csv(tmp_path / "rows.csv")
    code, shown = interrupt_once(tmp_path, b"constrained-kmeans", "fit", "rows.csv", "-k", 40, "-o", "labels.csv")
    assert code == 130
    assert "konstrain: interrupted; nothing was written" in shown
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", ".out"}


def test_an_interrupt_tells_the_files_that_are_there():
    interrupts = Interrupts()
    assert interrupts.message() == "nothing was written"
    interrupts.wrote(Path("labels.csv"))
    interrupts.seen = True
    with pytest.raises(KeyboardInterrupt):
        interrupts.end_here("SSE 7 found")
    assert interrupts.message() == "SSE 7 found; wrote labels.csv"


def test_a_full_disk_ends_with_2_one_line_and_no_file(tmp_path):
    pl.DataFrame(np.random.default_rng(0).random((2_000, 2))).write_csv(tmp_path / "rows.csv")

    process = start("fit", "rows.csv", "-k", 3, "-o", "labels.csv", folder=tmp_path, largest_file=10_000)
    process.join(120)
    err = (tmp_path / ".err").read_text()
    assert process.exitcode == 2
    assert err.startswith("konstrain: cannot write labels.csv: File too large")
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", ".out", ".err"}


def test_help_and_version_load_no_numpy(tmp_path):
    done = run_script("version", folder=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert f"konstrain      {__version__}" in done.out
    assert "scikit-learn" in done.out
    loaded = {line.split("|")[-1].strip() for line in done.err.splitlines()}
    assert not loaded & {"numpy", "sklearn", "polars", "matplotlib"}
    out = run_script("--help", folder=tmp_path).out
    for verb in ("fit", "exact", "demo", "check", "certify", "suggest", "plot", "bench", "methods", "version"):
        assert f" {verb} " in out
