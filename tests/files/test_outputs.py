"""Files appear whole or not at all."""

import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from konstrain import FileError
from konstrain.files import RowNames, read_labels_file, write_labels_file, write_whole
from konstrain.files.outputs import refuse_unwritable

PEOPLE = RowNames(3, ["anna", "bert", "carl"], "name")


@contextmanager
def full_disk() -> Iterator[None]:
    """Let every file of this process end after 20 kB, as on a full disk; the system's answer is a real one.

    Not a fixture: between setup and teardown pytest writes to its own output, which may be a longer file.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "json"])
def test_labels_are_written_and_read_in_every_format(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    write_labels_file(path, PEOPLE, np.array([2, 0, 2]), np.array([0.5, 0.0, 1.5]))
    if ending == "json":
        assert pl.read_json(path)["label"].to_list() == [2, 0, 2]
    else:
        assert read_labels_file(path, PEOPLE).tolist() == [2, 0, 2]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_mask()


def test_labels_are_put_in_the_order_of_the_rows(tmp_path):
    (tmp_path / "labels.csv").write_text("name,label\ncarl,x\nanna,y\nbert,x\n")
    assert read_labels_file(tmp_path / "labels.csv", PEOPLE).tolist() == ["y", "x", "x"]


def test_ids_from_a_column_called_label_are_kept_beside_the_labels(tmp_path):
    rows = RowNames(2, ["a", "b"], "label")
    write_labels_file(tmp_path / "l.csv", rows, [1, 0])
    assert (tmp_path / "l.csv").read_text() == "id,label\na,1\nb,0\n"
    assert read_labels_file(tmp_path / "l.csv", rows).tolist() == [1, 0]


def test_a_missing_label_is_refused(tmp_path):
    (tmp_path / "l.csv").write_text("name,label\na,x\nb,\n")
    with pytest.raises(FileError, match=r"row 1, column 'label' has no label"):
        read_labels_file(tmp_path / "l.csv", RowNames(2, ["a", "b"], "name"))


def test_a_column_of_fractions_is_no_column_of_labels(tmp_path):
    (tmp_path / "l.csv").write_text("name,label,distance\nanna,1,0.0\nbert,0,0.25\ncarl,0,1.5\n")
    with pytest.raises(FileError, match=r"column 'distance' holds 0.25 in row 1; labels are whole numbers or names"):
        read_labels_file(tmp_path / "l.csv", PEOPLE, column="distance")


@pytest.mark.parametrize(
    "labels",
    [["01", "1", "1"], ["1e300", "2e300", "2e300"], ["1", "1.0", "1"], ["9007199254740993", "9007199254740992", "5"]],
)
def test_labels_that_differ_in_writing_differ(tmp_path, labels):
    (tmp_path / "l.csv").write_text(
        "name,label\n" + "".join(f"{n},{x}\n" for n, x in zip(PEOPLE.ids, labels, strict=True))
    )
    assert read_labels_file(tmp_path / "l.csv", PEOPLE).tolist() == labels


@pytest.mark.parametrize("label", ["inf", "-inf", "1e400"])
def test_infinite_labels_are_refused(tmp_path, label):
    (tmp_path / "l.csv").write_text(f"name,label\nanna,1\nbert,{label}\ncarl,0\n")
    with pytest.raises(FileError, match=f"column 'label' holds {label} in row 1; labels are whole numbers or names"):
        read_labels_file(tmp_path / "l.csv", PEOPLE)


@pytest.mark.parametrize("label", ["", '""', " ", "NA", "nan", "NULL"])
def test_labels_that_say_nothing_are_refused(tmp_path, label):
    (tmp_path / "l.csv").write_text(f"name,label\nanna,x\nbert,{label}\ncarl,y\n")
    with pytest.raises(FileError, match=r"row 1, column 'label' has no label"):
        read_labels_file(tmp_path / "l.csv", PEOPLE)


def test_labels_for_other_rows_are_refused(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("name,label\nanna,1\nbert,0\n")
    with pytest.raises(FileError, match="has 2 labels, but there are 3 rows"):
        read_labels_file(path, PEOPLE)
    path.write_text("name,label\nanna,1\nbert,0\ndora,1\n")
    with pytest.raises(FileError, match="has no label for the row 'carl'"):
        read_labels_file(path, PEOPLE)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "json"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, ending):
    rng = np.random.default_rng(0)
    with pytest.raises(FileError, match=r"cannot write .*labels.*File too large"), full_disk():
        write_labels_file(
            tmp_path / f"labels.{ending}", RowNames(50_000), rng.integers(9, size=50_000), rng.random(50_000)
        )
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(FileError, match="File too large"), full_disk():
        write_whole(path, b"x" * 50_000)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "json"])
def test_an_interrupt_at_any_moment_leaves_all_or_nothing(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    n_lines, interrupted = 0, True
    while interrupted:
        n_lines += 1
        interrupted = _interrupted_after(n_lines, lambda: write_labels_file(path, PEOPLE, [2, 0, 2]))
        assert [file.name for file in tmp_path.iterdir()] in ([], [path.name])
        if path.exists() and ending != "json":
            assert read_labels_file(path, PEOPLE).tolist() == [2, 0, 2]
            path.unlink()
    assert n_lines > 20


def _interrupted_after(n_lines: int, work: Callable[[], None]) -> bool:
    """Press Ctrl-C when so many lines of our code have run; returns whether it ended the work."""
    left = n_lines

    def count(frame, event, _):
        nonlocal left
        if "konstrain" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if event == "line" and left == 0:
            signal.raise_signal(signal.SIGINT)
        return count

    before = sys.gettrace()
    # In a callback of the garbage collector, of which Hypothesis has one, an interrupt would be swallowed.
    gc.disable()
    sys.settrace(count)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "far" / "file.txt")
    for contents in (b"first", b"second"):
        write_whole(tmp_path / "link.txt", contents)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "far" / "file.txt").read_bytes() == contents
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    with pytest.raises(FileError, match="link that leads back to itself"):
        write_whole(tmp_path / "loop.txt", b"")


def test_permissions_stay_and_a_read_only_file_is_kept(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)
    path.chmod(0o400)
    for refuse in (lambda: write_whole(path, b"newer"), lambda: refuse_unwritable(path)):
        with pytest.raises(FileError, match="it is there and read-only"):
            refuse()
    assert path.read_text() == "new"


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    with pytest.raises(FileError, match=r"cannot write /dev/null: it is there and is no regular file"):
        write_whole("/dev/null", b"")
    with pytest.raises(FileError, match="is no regular file"):
        write_whole(tmp_path, b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="Permission denied"):
        write_whole(tmp_path / "file.txt", b"")


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
