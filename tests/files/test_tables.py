"""Tables from files: the same rows from every format, and a word for everything that is wrong."""

import numpy as np
import polars as pl
import pytest

from konstrain import FileError
from konstrain.files import read_table
from konstrain.files.csv_files import CsvLayout

FRAME = pl.DataFrame({"name": ["anna", "bert", "carl"], "x": [1.0, 2.5, -3.0], "y": [4, 5, 6]})


def as_file(folder, ending, frame=FRAME):
    path = folder / f"rows{ending}"
    write = {
        ".csv": frame.write_csv,
        ".tsv": lambda file: frame.write_csv(file, separator="\t"),
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".npy": lambda file: np.save(file, frame.select(pl.exclude("name")).to_numpy()),
    }
    write[ending](path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow"])
def test_every_format_gives_the_same_rows_and_names(tmp_path, ending):
    table = read_table(as_file(tmp_path, ending), id="name")
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous
    np.testing.assert_array_equal(table.X, [[1, 4], [2.5, 5], [-3, 6]])
    assert table.features == ("x", "y")
    assert table.rows.number_of("carl") == 2


def test_npy_keeps_single_precision_and_numbers_its_columns(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
    table = read_table(tmp_path / "rows.npy", ignore=["column_2"], numeric=["column_3"])
    assert table.X.dtype == np.float32
    assert table.X.tolist() == [[1], [4]]
    assert table.extra["column_3"].tolist() == [3, 6]


def test_columns_are_chosen_by_name_in_the_order_asked_for(tmp_path):
    table = read_table(as_file(tmp_path, ".csv"), columns=["y", "x"], other=["name"])
    assert table.X.tolist() == [[4, 1], [5, 2.5], [6, -3]]
    assert table.extra["name"].tolist() == ["anna", "bert", "carl"]


def test_ids_stay_as_they_are_written(tmp_path):
    (tmp_path / "rows.csv").write_text("id,x\n007,1\n7,2\n")
    assert read_table(tmp_path / "rows.csv", id="id").rows.ids == ["007", "7"]


@pytest.mark.parametrize(
    "text",
    [
        "name;x;y\nanna;1;2\n",
        "\ufeffname,x,y\nanna,1,2\n",
        "name,x,y\r\nanna,1,2\r\n",
        'name,x,y\n"anna","1"," 2"\n',
        "name,x,y\n\nanna,1,2\n\n",
        "name, x ,y\nanna,1,2\n",
    ],
    ids=["semicolons", "byte order mark", "CRLF", "quotes", "blank lines", "blanks in names"],
)
def test_csv_comes_in_many_dialects(tmp_path, text):
    (tmp_path / "rows.csv").write_bytes(text.encode())
    table = read_table(tmp_path / "rows.csv", id="name")
    assert (table.X.tolist(), table.features, table.rows.ids) == ([[1, 2]], ("x", "y"), ["anna"])


def test_a_first_line_of_numbers_is_data(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2\n3,4\n")
    table = read_table(tmp_path / "rows.csv")
    assert (table.X.tolist(), table.features) == ([[1, 2], [3, 4]], ("column_1", "column_2"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n3,\n", r"line 3 \(row 1\), column 'y' is empty; fill the cell in"),
        ("x,y\n1,2\n3,inf\n", r"row 1, column 'y' has an infinite value"),
        ("x,y\n1,nan\n", r"row 0, column 'y' has no value"),
        ("x,x\n1,2\n", r"line 1: two columns are called 'x'"),
        ("x,y\n1,2\n3,1_000\n", r"line 3 \(row 1\), column 'y': '1_000' is not a number"),
        ("x,a,b\n1,p,q\n2,r,s\n", r"columns 'a', 'b' hold no numbers; leave out with --ignore a,b"),
        ("\nx,y\n1,2\n", r"begins with a blank line"),
        ('x,y\n1,"2\n', r"rows\.csv: CSV malformed"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_named(tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(FileError, match=words):
        read_table(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1\n1,2\n3,4\n", "line 1 is read as a row, since it holds numbers only"),
        ("anna,1.5\nbert,2.5\n", "line 1 is read as a header, though it holds '1.5'"),
        (
            ",x\n0,1\n1,2\n",
            "line 1: a column has no name and is called column_1; if it numbers",
        ),
        ("name,0,1\nanna,1,2\n", ""),
        ("3,4\n5,6\n", ""),
    ],
)
def test_a_first_line_that_may_be_meant_otherwise_is_told(tmp_path, text, words):
    file = tmp_path / "rows.csv"
    file.write_text(text)
    doubt = CsvLayout.look_at(file).doubt
    assert words in doubt
    assert bool(words) == bool(doubt)


def test_a_column_without_a_name_is_called_by_its_number(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(",x,y\n7,1,2\n8,3,4\n")
    table = read_table(file, id="column_1")
    assert (table.features, table.rows.ids, table.X.tolist()) == (("x", "y"), ["7", "8"], [[1, 2], [3, 4]])
    file.write_text(",,y\n7,1,2\n8,3,4\n")
    with pytest.raises(FileError, match="more than one column has no name"):
        read_table(file)


def test_a_bad_cell_far_down_is_found(tmp_path):
    lines = [f"{i},{i * 2}" for i in range(5000)]
    lines[4321] = "4321,oops"
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *lines]))
    with pytest.raises(FileError, match=r"line 4323 \(row 4321\), column 'y': 'oops' is not a number"):
        read_table(tmp_path / "rows.csv")


def test_missing_values_of_a_frame_are_named(tmp_path):
    with pytest.raises(FileError, match=r"row 1, column 'x' has no value"):
        read_table(as_file(tmp_path, ".parquet", pl.DataFrame({"x": [1.0, None], "y": [1, 2]})))


def test_missing_ids_and_numbers_that_are_text_are_named(tmp_path):
    frame = pl.DataFrame({"id": ["a", None], "x": [1.0, 2.0], "need": ["much", "little"]})
    with pytest.raises(FileError, match=r"row 1 has no id in column 'id'"):
        read_table(as_file(tmp_path, ".parquet", frame), id="id", ignore=["need"])
    with pytest.raises(FileError, match=r"column 'need' holds no numbers$"):
        read_table(as_file(tmp_path, ".parquet", frame), id="id", numeric=["need"])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".npy"])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(FileError, match=r"rows\."):
        read_table(path)


def test_unknown_endings_missing_files_and_folders_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"it should end in \.csv, \.tsv"):
        read_table(tmp_path / "rows.xlsx")
    with pytest.raises(FileError, match=r"cannot read .*rows\.csv: No such file"):
        read_table(tmp_path / "rows.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match=r"cannot read .*folder\.csv: Is a directory"):
        read_table(tmp_path / "folder.csv")
