"""Standard streams that are closed or full: one line where anyone can read it, and the right exit code."""

import os
import subprocess

import pytest

from command_line import SCRIPT

ROWS = "x\n1\n2\n9\n10\n"


def shell(folder, command):
    """Run a command of the shell, in which `konstrain` is the installed script."""
    (folder / "d.csv").write_text(ROWS)
    words = command.replace("konstrain", f"'{SCRIPT}'", 1)
    return subprocess.run(["sh", "-c", words], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
@pytest.mark.parametrize("verb", ["--help", "--version", "fit --help", "fit d.csv -k 2 -q", "fit d.csv -k 2 -q -o -"])
def test_a_full_standard_output_is_said_in_one_line(tmp_path, verb):
    done = shell(tmp_path, f"konstrain {verb} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "konstrain: cannot write to standard output: No space left on device"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_full_standard_error_loses_notes_and_nothing_else(tmp_path):
    (tmp_path / "links.csv").write_text("")  # which is noted
    done = shell(tmp_path, "konstrain fit d.csv -k 2 -o out.csv --links links.csv 2> /dev/full")
    assert done.returncode == 0
    assert "4 rows in 2 clusters" in done.stdout
    assert (tmp_path / "out.csv").exists()
    assert shell(tmp_path, "konstrain fit none.csv -k 2 2> /dev/full").returncode == 2


def test_labels_to_a_closed_standard_output_are_refused(tmp_path):
    done = shell(tmp_path, "konstrain fit d.csv -k 2 -q -o - >&-")
    assert done.returncode == 2
    assert done.stderr == "konstrain: cannot write to standard output: it is closed; write to a file with -o\n"


def test_a_closed_standard_input_is_refused_as_a_table(tmp_path):
    done = shell(tmp_path, "konstrain fit - -k 2 -q <&-")
    assert done.returncode == 2
    assert done.stderr == "konstrain: cannot read standard input: it is closed; give a file instead of -\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_files_are_written_whatever_stream_is_closed(tmp_path, closed):
    done = shell(tmp_path, f"konstrain fit d.csv -k 2 -o out.csv {closed}")
    assert done.returncode == 0, done
    assert (tmp_path / "out.csv").read_text().count("\n") == 5
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["--help", "fit --help", "--version", "methods", "version"])
def test_help_to_a_closed_standard_output_is_no_failure(tmp_path, verb):
    done = shell(tmp_path, f"konstrain {verb} >&-")
    assert (done.returncode, done.stderr) == (0, "")
