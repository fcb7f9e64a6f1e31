"""Tables as people have them: decimal commas, other encodings, packed files, spreadsheets, standard input."""

import gzip
import io
import json
import sys

import numpy as np
import polars as pl
import pytest

from konstrain import FileError
from konstrain.files import RowNames, read_labels_file, read_links_file, read_table, write_labels_file
from konstrain.files.labels import write_joined_file
from konstrain.files.sources import Source

GERMAN = "name;preis;menge\nÄnne;1.234,50;3\nBört;0,5;1.000\n"


def as_file(folder, name, data):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder / name


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows.csv", GERMAN.encode()),
        ("rows.csv", GERMAN.encode("utf-16")),
        ("rows.csv.gz", gzip.compress(GERMAN.encode(), mtime=0)),
        ("rows.csv.gz", gzip.compress(GERMAN.encode("utf-16"), mtime=0)),
    ],
)
def test_decimal_commas_marked_text_and_packed_files_are_read_and_said(tmp_path, name, data):
    table = read_table(as_file(tmp_path, name, data), id="name")
    assert table.X.tolist() == [[1234.5, 3.0], [0.5, 1000.0]]
    assert table.rows.ids == ["Änne", "Bört"]
    assert "numbers have decimal commas: '1.234,50' is read as 1234.5" in "".join(table.doubts)


@pytest.mark.parametrize("encoding", ["latin1", "cp1252", "utf-16-le"])
def test_other_encodings_are_read_when_they_are_named(tmp_path, encoding):
    file = as_file(tmp_path, "rows.csv", GERMAN.encode(encoding))
    assert read_table(file, id="name", encoding=encoding).rows.ids == ["Änne", "Bört"]
    with pytest.raises(FileError, match="--encoding"):
        read_table(file, id="name")
    links = as_file(tmp_path, "links.csv", "Änne,Bört\n".encode(encoding))
    rows = RowNames(2, ["Änne", "Bört"], "name")
    assert read_links_file(links, rows, kind="must_link", encoding=encoding).must_link.tolist() == [[0, 1]]


def test_wrong_and_unknown_encodings_are_refused_in_words(tmp_path):
    file = as_file(tmp_path, "rows.csv", "x\nä\n".encode("latin1"))
    with pytest.raises(FileError, match=r"is not ascii text|is not UTF-8 text"):
        read_table(file, encoding="ascii", mixed=True)
    with pytest.raises(FileError, match="is not utf-16 text; name its encoding"):
        read_table(as_file(tmp_path, "odd.csv", b"\xff\xfex\x00\n"), encoding="utf-16")
    with pytest.raises(FileError, match="there is no encoding 'klingon'; such as: utf-8, latin1"):
        read_table(file, encoding="klingon")


@pytest.mark.parametrize(
    ("text", "decimal", "values"),
    [
        ('x,y\n"1,234.5",1\n"2,000",2\n', None, [[1234.5, 1.0], [2000.0, 2.0]]),
        ('x,y\n"1,234",1\n"2,000",2\n', ".", [[1234.0, 1.0], [2000.0, 2.0]]),
        ('x,y\n"1,234",1\n"2,000",2\n', ",", [[1.234, 1.0], [2.0, 2.0]]),
        ("x;y\n1 234,5;1\n2'000;2\n", None, [[1234.5, 1.0], [2000.0, 2.0]]),
        ("x;y\n1,5;NA\n2,5;7\n", None, [[1.5, np.nan], [2.5, 7.0]]),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path, text, decimal, values):
    found = read_table(as_file(tmp_path, "rows.csv", text), decimal=decimal, mixed=True).X
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("text", ['x\n"1,000"\n"2,500"\n', 'x,y\n"1,5",1.5\n"2,5",2.5\n', "x;y\n1.5;1\n2,5;2\n"])
def test_numbers_that_fit_no_one_way_are_refused_and_not_guessed(tmp_path, text):
    with pytest.raises(FileError, match=r"is not a number; say how numbers are written: --decimal"):
        read_table(as_file(tmp_path, "rows.csv", text))


def test_a_comma_far_down_is_refused_and_not_guessed(tmp_path):
    text = "x;y\n" + "1.5;2\n" * 500 + "1,5;2\n"
    with pytest.raises(FileError, match=r"line 502 \(row 500\), column 'x': '1,5' is not a number; say how"):
        read_table(as_file(tmp_path, "rows.csv", text))


def test_spreadsheets_are_read_with_their_dates_and_text(tmp_path):
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    frame = pl.DataFrame({"name": ["a", "b"], "x": [1.5, None], "day": [pl.date(2024, 1, 31)] * 2}).with_columns(
        day=pl.lit("2024-01-31").str.to_date()
    )
    frame.write_excel(tmp_path / "rows.xlsx")
    table = read_table(tmp_path / "rows.xlsx", id="name", mixed=True)
    np.testing.assert_array_equal(table.X, [[1.5], [np.nan]])
    assert table.texts["day"].tolist() == ["2024-01-31"] * 2
    with pytest.raises(FileError, match=r"bad.xlsx is damaged, or is not an Excel file"):
        read_table(as_file(tmp_path, "bad.xlsx", b"PK\x03\x04 no"))


def test_labels_in_json_are_read_back(tmp_path):
    rows = RowNames(3, ["a", "b", "c"], "name")
    write_labels_file(tmp_path / "labels.json", rows, [2, 0, 1], [0.5, 0.25, 1.0])
    assert read_labels_file(tmp_path / "labels.json", rows).tolist() == [2, 0, 1]
    assert read_table(tmp_path / "labels.json", id="name").features == ("label", "distance")
    with pytest.raises(FileError, match=r"bad.json is damaged, or is not a JSON file"):
        read_table(as_file(tmp_path, "bad.json", "{"))


def test_standard_input_is_read_in_any_format(tmp_path, monkeypatch):
    frame = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    for write in (frame.write_csv, frame.write_parquet, frame.write_ipc):
        data = io.BytesIO()
        write(data)
        data.seek(0)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
        assert read_table("-").X.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(FileError, match="standard input is empty"):
        read_table("-")


@pytest.mark.parametrize("address", ["https://example.org/rows.csv", "s3://bucket/rows.parquet", "HTTP://x/rows"])
def test_addresses_are_refused_in_one_line(address):
    with pytest.raises(FileError, match="is an address; konstrain reads files of this machine: download it first"):
        read_table(address)


def test_a_packed_file_that_is_cut_is_refused(tmp_path):
    with pytest.raises(FileError, match="is damaged: it cannot be unpacked"):
        read_table(as_file(tmp_path, "rows.csv.gz", gzip.compress(GERMAN.encode() * 99)[:-9]))
    with pytest.raises(FileError, match=r"rows.gz: cannot tell the format from the name"):
        read_table(as_file(tmp_path, "rows.gz", gzip.compress(GERMAN.encode())))


def test_joined_files_hold_every_cell_as_it_stood_and_the_results_behind(tmp_path):
    file = as_file(tmp_path, "rows.csv", 'x,label,note\n01,7,"a,b"\n2.50,8,\n3,9,c\n')
    found = {"label": np.array([1, 0]), "distance": np.array([0.5, 0.25])}
    write_joined_file(tmp_path / "out.csv", Source(file), found, np.array([True, False, True]))
    assert (tmp_path / "out.csv").read_text() == (
        'x,label,note,konstrain_label,distance\n01,7,"a,b",1,0.5\n2.50,8,,,\n3,9,c,0,0.25\n'
    )
    np.save(tmp_path / "rows.npy", np.array([[1.0, 2.0], [3.0, 4.0]]))
    write_joined_file(tmp_path / "out.json", Source(tmp_path / "rows.npy"), found)
    assert json.loads((tmp_path / "out.json").read_text())[1] == {
        "column_1": 3.0,
        "column_2": 4.0,
        "label": 0,
        "distance": 0.25,
    }


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_labels_of_rows_that_were_kept_are_read_back_by_their_numbers(tmp_path, ending):
    kept = RowNames(3, ["0", "2", "5"])
    write_labels_file(tmp_path / f"labels{ending}", kept, [2, 0, 1])
    assert read_labels_file(tmp_path / f"labels{ending}", kept).tolist() == [2, 0, 1]
    other = RowNames(3, ["5", "0", "2"])
    assert read_labels_file(tmp_path / f"labels{ending}", other).tolist() == [1, 2, 0]
    with pytest.raises(FileError, match="has no label for the row '1'"):
        read_labels_file(tmp_path / f"labels{ending}", RowNames(3, ["0", "1", "2"]))
    assert str(kept) == "rows are called by their numbers, 0 to 5, some left out"
