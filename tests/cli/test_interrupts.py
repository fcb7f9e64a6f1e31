"""Ctrl-C and full disks: the installed script, started as a shell starts it."""

import os
import pty
import resource
import signal
import subprocess

import numpy as np
import polars as pl
import pytest

from command_line import start_script
from konstrain import __version__


@pytest.fixture
def random_rows(tmp_path):
    """Return a folder with rows that no search for a proof finishes in reasonable time."""
    rows = pl.DataFrame(np.random.default_rng(0).random((90, 2)), schema=["x", "y"])
    rows.write_csv(tmp_path / "rows.csv")
    return tmp_path


def interrupt_once(folder, words, *arguments):
    """Start on a terminal, press Ctrl-C as soon as progress shows these words, and return all that was shown."""
    master, terminal = pty.openpty()
    process = start_script(*arguments, folder=folder, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    shown = b""
    while words not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    while True:
        try:
            shown += os.read(master, 4096)
        except OSError:  # the terminal is gone with the process
            break
    os.close(master)
    return process.returncode, out.decode(), shown.decode()


def test_interrupted_exact_tells_its_bounds_and_writes_nothing(random_rows):
    arguments = ("exact", "rows.csv", "-k", 8, "--size-min", 10, "--gap", 1e-9, "-o", "labels.csv")
    code, out, shown = interrupt_once(random_rows, b"nodes", *arguments)
    assert (code, out) == (130, "")
    assert "konstrain: interrupted; SSE " in shown
    assert "Traceback" not in shown
    assert [path.name for path in random_rows.iterdir()] == ["rows.csv"]


def test_interrupted_fit_writes_nothing(tmp_path):
    pl.DataFrame(np.random.default_rng(0).random((20_000, 10))).write_csv(tmp_path / "rows.csv")
    code, out, shown = interrupt_once(
        tmp_path, b"constrained-kmeans", "fit", "rows.csv", "-k", 40, "-o", "labels.csv"
    )
    assert (code, out) == (130, "")
    assert "konstrain: interrupted; nothing was written" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_full_disk_ends_with_2_one_line_and_no_file(tmp_path):
    pl.DataFrame(np.random.default_rng(0).random((2_000, 2))).write_csv(tmp_path / "rows.csv")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": limit}
    process = start_script("fit", "rows.csv", "-k", 3, "-o", "labels.csv", folder=tmp_path, **pipes)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("konstrain: cannot write labels.csv: File too large")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_help_and_version_load_no_numpy(tmp_path):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    out, err = start_script("version", folder=tmp_path, env=env, **pipes).communicate(timeout=120)
    assert f"konstrain      {__version__}" in out
    assert "scikit-learn" in out
    assert not {line.split("|")[-1].strip() for line in err.splitlines()} & {
        "numpy",
        "sklearn",
        "polars",
        "matplotlib",
    }
    out, _ = start_script("--help", folder=tmp_path, **pipes).communicate(timeout=120)
    for verb in ("fit", "exact", "demo", "check", "certify", "suggest", "plot", "bench", "methods", "version"):
        assert f" {verb} " in out
