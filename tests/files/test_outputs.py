"""Files appear whole or not at all."""

import gc
import os
import resource
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from konstrain import FileError
from konstrain.files import RowNames, outputs, read_labels_file, write_labels_file, write_whole
from konstrain.files.labels import dialect_of, write_joined_file
from konstrain.files.outputs import refuse_unwritable
from konstrain.files.sources import Source

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


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "json", "xlsx"])
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


FORMULAS = ["=1+1", "+49 30 1234", "-x", "@SUM(A1)", "{=A1}", "http://example.org", "007", "x" * 300]


def test_ids_that_begin_as_formulas_do_are_text_cells_of_a_spreadsheet(tmp_path):
    rows = RowNames(len(FORMULAS), FORMULAS, "=id")
    write_labels_file(tmp_path / "l.xlsx", rows, np.arange(len(FORMULAS)), np.full(len(FORMULAS), 0.5))
    with zipfile.ZipFile(tmp_path / "l.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        assert "<f>" not in sheet
        assert "hyperlink" not in sheet
        assert "=1+1" in archive.read("xl/sharedStrings.xml").decode()
    assert read_labels_file(tmp_path / "l.xlsx", rows).tolist() == list(range(len(FORMULAS)))
    assert pl.read_excel(tmp_path / "l.xlsx")["distance"].to_list() == [0.5] * len(FORMULAS)


def test_a_table_too_large_for_a_sheet_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "SHEET_ROWS", 3)
    with pytest.raises(FileError, match=r"a sheet holds 3 rows .* there are 4 and 2; write .csv or .parquet"):
        write_labels_file(tmp_path / "l.xlsx", PEOPLE, [0, 0, 1])
    with pytest.raises(FileError, match=r"row 0, column 'name' is longer than a spreadsheet allows"):
        write_labels_file(tmp_path / "l.xlsx", RowNames(1, ["x" * 40_000], "name"), [0])
    assert list(tmp_path.iterdir()) == []


def test_without_a_writer_of_spreadsheets_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "find_spec", lambda name: None)
    with pytest.raises(FileError, match=r"needs xlsxwriter; install it with: pip install 'konstrain\[excel\]'"):
        write_labels_file(tmp_path / "l.xlsx", PEOPLE, [0, 0, 1])


GERMAN = "Name;Umsatz;PLZ\r\nMüller;1.234,5;01067\r\n=Köln;k.A.;50667\r\nÖz;7;99999\r\n"


@pytest.mark.parametrize("encoding", ["latin1", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_comes_back_in_the_dialect_in_which_it_came(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(GERMAN.encode(encoding))
    source = Source(tmp_path / "t.csv", None if encoding.startswith("utf") else encoding)
    found = {"label": np.array([1, 0, 1]), "distance": np.array([0.5, 1e-7, 1200.25])}
    write_joined_file(tmp_path / "out.csv", source, found, dialect=dialect_of(source, na=["k.A."]))
    lines = (tmp_path / "out.csv").read_bytes().decode(encoding).split("\r\n")
    assert lines == [
        "Name;Umsatz;PLZ;label;distance",
        "Müller;1.234,5;01067;1;0,5",
        "=Köln;k.A.;50667;0;1e-7",
        "Öz;7;99999;1;1200,25",
        "",
    ]
    assert (tmp_path / "out.csv").read_bytes()[:4] == lines_begin(encoding)


def lines_begin(encoding):
    return "Name".encode(encoding)[:4]


def test_numbers_of_a_text_table_are_numbers_in_a_spreadsheet_unless_digits_would_be_lost(tmp_path):
    (tmp_path / "t.csv").write_text(GERMAN)
    found = {"label": np.array([1, 0, 1])}
    write_joined_file(tmp_path / "out.xlsx", Source(tmp_path / "t.csv"), found, na=["k.A."])
    sheet = pl.read_excel(tmp_path / "out.xlsx", infer_schema_length=None)
    assert sheet["PLZ"].to_list() == ["01067", "50667", "99999"]
    with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
        assert "<v>1234.5</v>" in archive.read("xl/worksheets/sheet1.xml").decode()
    assert sheet["label"].to_list() == [1, 0, 1]


def test_days_and_long_whole_numbers_survive_a_spreadsheet(tmp_path):
    moment, zone = datetime(2024, 5, 6, 7, 8, 9), datetime(2024, 5, 6, tzinfo=UTC)
    frame = pl.DataFrame(
        {
            "day": [date(2024, 1, 31), date(1800, 1, 1)],
            "moment": [moment, moment],
            "zone": [zone, zone],
            "big": [2**60, 5],
            "yes": [True, None],
            "x": [float("inf"), 1e300],
        }
    )
    outputs.write_frame(tmp_path / "t.xlsx", frame)
    sheet = pl.read_excel(tmp_path / "t.xlsx", infer_schema_length=None)
    assert sheet["moment"].to_list() == [moment, moment]
    assert sheet["big"].to_list() == [str(2**60), "5"]
    assert sheet["day"].cast(pl.String).to_list()[1] == "1800-01-01"
    assert sheet["yes"].to_list() == [True, None]


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "json"])
def test_columns_of_a_joined_table_stay_in_their_order(tmp_path, ending):
    frame = pl.DataFrame({"x": [1.0, 2.0], "name": ["a", "b"], "y": [3, 4], "plan": ["p", "q"]})
    {"parquet": frame.write_parquet, "xlsx": frame.write_excel, "json": frame.write_json}[ending](
        tmp_path / f"t.{ending}"
    )
    write_joined_file(tmp_path / "out.csv", Source(tmp_path / f"t.{ending}"), {"label": np.array([1, 0])})
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "x,name,y,plan,label"
