"""Tables from files: the same rows from every format, and a word for everything that is wrong."""

import gzip
import os
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
import xlsxwriter

from effort import examples
from konstrain import FileError
from konstrain.files import RowNames, read_links_file, read_table
from konstrain.files.cells import is_missing
from konstrain.files.choice import Request
from konstrain.files.csv_files import CsvLayout, _is_plain

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
        ('x,y\n1,"2\n', r'line 2: a quote \("\) is opened here and never closed'),
        ('x,y\n1,"2"3\n', r"line 2: something stands between a closing quote"),
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
    doubts = CsvLayout.find(file).doubts
    assert len(doubts) == bool(words)
    assert words in "".join(doubts)


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
    with pytest.raises(FileError, match=r"there is no file or folder .*rows\.docx"):
        read_table(tmp_path / "rows.docx")
    (tmp_path / "rows.docx").touch()
    with pytest.raises(FileError, match=r"it should end in \.csv, \.tsv"):
        read_table(tmp_path / "rows.docx")
    with pytest.raises(FileError, match=r"cannot read .*rows\.csv: No such file"):
        read_table(tmp_path / "rows.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match=r"cannot read .*folder\.csv: Is a directory"):
        read_table(tmp_path / "folder.csv")


# Names that mean something to a shell, a pattern, a home folder or another machine; here they are names of files.
HOSTILE_NAMES = [
    "data[1]",
    "star*",
    "who?",
    "{a,b}",
    "~",
    "-k",
    "a b",
    "ü",
    "$HOME",
    "x=1",
    "s3:",
    "%41",
    "#1",
    "a\nb",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".npy"])
def test_the_file_of_the_name_is_read_and_no_other(tmp_path, monkeypatch, ending, name):
    for decoy in ("data1", "star1", "star2", "whom", "a", "b", "A", HOSTILE_NAMES[0]):
        as_file(tmp_path, ending, FRAME.with_columns(x=pl.lit(99.0))).rename(tmp_path / f"{decoy}{ending}")
    as_file(tmp_path, ending).rename(tmp_path / f"{name}{ending}")
    monkeypatch.chdir(tmp_path)
    table = read_table(f"{name}{ending}", **({} if ending == ".npy" else {"id": "name"}))
    assert table.X.tolist() == [[1, 4], [2.5, 5], [-3, 6]]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".npy"])
def test_a_folder_called_like_home_is_that_folder(tmp_path, monkeypatch, ending):
    (tmp_path / "~").mkdir()
    as_file(tmp_path / "~", ending)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert len(read_table(f"~/rows{ending}", **({} if ending == ".npy" else {"id": "name"})).X) == 3


@pytest.mark.parametrize("name", ["*", "^.*$", "^x$", "a|b", "$a$", "col('x')", "ü", "1", "a,b", 'q"', "a\nb"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", "stream"])
def test_names_of_columns_mean_themselves(tmp_path, ending, name):
    frame = FRAME.rename({"y": name}).with_columns(z=pl.lit(7))
    path = tmp_path / "rows.arrow"
    if ending == "stream":
        frame.write_ipc_stream(path)
    else:
        path = as_file(tmp_path, ending, frame)
    table = read_table(path, columns=[name], id="name", numeric=["x"], other=[name])
    assert (table.features, table.X.tolist()) == ((name,), [[4], [5], [6]])
    assert (table.extra["x"].tolist(), table.extra[name].tolist()) == ([1, 2.5, -3], ["4", "5", "6"])


TYPED = {
    "text": ["a", "b", "b"],
    "category": pl.Series(["a", "b", "b"], dtype=pl.Categorical),
    "whole": [1, 2, 2],
    "byte": pl.Series([1, 2, 2], dtype=pl.UInt8),
    "float": [1.0, 2.5, 2.5],
    "decimal": pl.Series([Decimal("1.5"), Decimal("2.5"), Decimal("2.5")]),
    "truth": [True, False, False],
    "date": [date(2020, 1, 1), date(2021, 1, 1), date(2021, 1, 1)],
    "time": [datetime(2020, 1, 1), datetime(2021, 1, 1), datetime(2021, 1, 1)],
    "duration": [timedelta(1), timedelta(2), timedelta(2)],
    "list": [[1], [2], [2]],
    "array": pl.Series([[1], [2], [2]], dtype=pl.Array(pl.Int64, 1)),
    "record": [{"a": 1}, {"a": 2}, {"a": 2}],
    "bytes": [b"a", b"b", b"b"],
    "nothing": pl.Series([None, None, None]),
}
NUMBERS = {"whole", "byte", "float", "decimal", "truth"}
NESTED = {"list", "array", "record", "bytes"}


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("part", ["columns", "numeric", "id", "other"])
def test_every_type_of_column_plays_its_part_or_is_refused_by_name(tmp_path, ending, has_nulls, kind, part):
    column = pl.Series(TYPED[kind])
    if has_nulls:
        first = pl.Series([True, False, False])
        column = pl.select(pl.when(first).then(None).otherwise(column)).to_series()
    if part == "id":
        column = column.head(2)
    path = as_file(tmp_path, ending, pl.DataFrame({"x": [1.0, 2.0, 3.0][: len(column)], "c": column}))
    asked = {"columns": ["c"]} if part == "columns" else {part: "c" if part == "id" else ["c"]}
    refused = kind not in NUMBERS if part in ("columns", "numeric") else kind in NESTED
    refused |= (has_nulls or kind == "nothing") and part != "other"
    if refused:
        with pytest.raises(FileError, match=r"column 'c'|c = "):
            read_table(path, **asked)
        return
    table = read_table(path, **asked)
    if part == "columns":
        assert table.X[:, 0].tolist() == [float(value) for value in TYPED[kind]]
    elif part == "numeric":
        assert table.extra["c"].tolist() == [float(value) for value in TYPED[kind]]
    elif part == "id":
        assert len(set(table.rows.ids)) == 2
    else:
        missing = [kind == "nothing" or (has_nulls and row == 0) for row in range(3)]
        assert [value is None for value in table.extra["c"]] == missing
        assert kind == "nothing" or table.extra["c"][1] == table.extra["c"][2] != table.extra["c"][0]


@pytest.mark.parametrize("blank", ["", '""', " ", '" "'])
def test_a_blank_cell_is_no_name_quoted_or_not(tmp_path, blank):
    (tmp_path / "rows.csv").write_text(f"x,team\n1,red\n2,{blank}\n3,{blank}\n4,red\n")
    assert read_table(tmp_path / "rows.csv", other=["team"]).extra["team"].tolist() == ["red", None, None, "red"]
    with pytest.raises(FileError, match=r"row 1 has no id in column 'team'"):
        read_table(tmp_path / "rows.csv", id="team")


def test_what_programs_write_for_nothing_is_nothing_and_that_is_told(tmp_path):
    (tmp_path / "rows.csv").write_text('x,team\n1,NA\n2,NA\n3,"NA"\n4,red\n5,nan\n')
    table = read_table(tmp_path / "rows.csv", other=["team"])
    assert table.extra["team"].tolist() == [None, None, None, "red", None]
    assert "column 'team': 'NA' in 3 rows is read as no value" in table.doubts[0]
    as_file(tmp_path, ".parquet", pl.DataFrame({"x": [1.0, 2.0], "team": ["NA", "a"]}))
    assert read_table(tmp_path / "rows.parquet", other=["team"]).extra["team"].tolist() == [None, "a"]


@pytest.mark.parametrize("chosen", [{}, {"columns": ["a"]}, {"columns": ["a", "b"]}, {"ignore": ["note"]}])
@pytest.mark.parametrize("line", ["r1,1,5,7,hello", "r1,1,5", "r1,1,5,7,", "r1"])
def test_lines_of_other_lengths_are_refused_whatever_is_chosen(tmp_path, chosen, line):
    (tmp_path / "rows.csv").write_text(f"id,a,b,note\nr0,1,2,3\n{line}\nr2,1,2,3\n")
    with pytest.raises(FileError, match=rf"line 3 \(row 1\) has {line.count(',') + 1} fields?, but there are 4"):
        read_table(tmp_path / "rows.csv", id="id", **chosen)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('name,x\n5" pipe,1 \n6" pipe, 2\n', ['5" pipe', '6" pipe']),
        ('name,x\n5",1\n6",2\n', ['5"', '6"']),
        ('name,x\n"5"" pipe",1\n"6, b",2\n', ['5" pipe', "6, b"]),
        ("name,x\ra,1\rb,2\r", ["a", "b"]),
        ('name,x\n"a\nb",1\nc,2\n', ["a\nb", "c"]),
        ('"na\nme";x\na;1\nb;2\n', ["a", "b"]),
        ('"name, first";"x, y"\n"Meier, A";1\n"Meier, B";2\n', ["Meier, A", "Meier, B"]),
        ("name,x\n#a,1\n#b,2\n", ["#a", "#b"]),
        ("name,x\n a,1\nb ,+2\n", [" a", "b "]),
    ],
    ids=["inches", "quotes at ends", "doubled", "CR only", "line break", "in header", "commas", "hashes", "blanks"],
)
def test_csv_means_what_python_reads(tmp_path, text, ids):
    (tmp_path / "rows.csv").write_bytes(text.encode())
    first = next(name for name in CsvLayout.find(tmp_path / "rows.csv").columns)
    table = read_table(tmp_path / "rows.csv", id=first)
    assert (table.rows.ids, table.X.tolist()) == (ids, [[1], [2]])


@pytest.mark.parametrize(
    ("data", "is_plain"),
    [
        (b"a,b\n1,2\n", True),
        (b'"a","b"\n"1",2', True),
        (b'\xef\xbb\xbf"a",b\n1,"2"', True),
        (b'"a,b",c\r\n"",""\r\n\r\n', True),
        (b'5" pipe,1\n6" pipe,2\n', False),
        (b'5",1\n6",2\n', False),
        (b'"a""b",1\n', False),
        (b'"a\nb",1\n', False),
        (b'"a"x,1\n', False),
        (b'x"a",1\n', False),
        (b'a,"b', False),
        (b"a,b\r1,2\r", False),
    ],
)
def test_only_plain_files_are_read_at_once(tmp_path, data, is_plain):
    (tmp_path / "rows.csv").write_bytes(data)
    assert _is_plain(tmp_path / "rows.csv", ",") is is_plain


def _drawn_csv(path, rng, cells, names):
    """Write a random file of two names and two numbers a line; returns its layout and all columns chosen."""
    lines = [",".join([rng.choice(names), *rng.choice(cells, 2), rng.choice(names[1:])]) for _ in range(8)]
    end = rng.choice(["\n", "\r\n"])
    path.write_bytes((end.join(["n,x,y,m", *lines]) + end).encode())
    layout = CsvLayout.find(path)
    return layout, Request(("x", "y"), None, (), (), ("n", "m")).choose(path, layout.columns, layout.text)


PLAIN_CELLS = ["1", "-2.5", "1e3", "+6", ".5", "7.", '"8"', "1E-2", "0010", "1e400", "nan", "123456789012345678901"]
PLAIN_NAMES = ["", "a", '"a"', '"a,b"', '""', "é", " a", "#", "NA", "\\N", "a'b", "null"]


@pytest.mark.parametrize("seed", range(examples(30)))
def test_both_readers_agree_on_plain_files(tmp_path, seed):
    rng = np.random.default_rng(seed)
    layout, choice = _drawn_csv(tmp_path / "rows.csv", rng, PLAIN_CELLS, PLAIN_NAMES)
    found, slowly = layout._read_by_polars(choice), layout._read_by_line(choice)
    assert found is not None
    np.testing.assert_array_equal(found[0], slowly[0])
    assert {name: [value or "" for value in values] for name, values in found[2].items()} == slowly[2]


@pytest.mark.parametrize("seed", range(examples(30)))
def test_other_files_are_read_line_by_line(tmp_path, seed):
    rng = np.random.default_rng(seed)
    odd_names = ['a"b', '"a""b"', '"a\nb"', "a\u2028b", *PLAIN_NAMES]
    layout, choice = _drawn_csv(tmp_path / "rows.csv", rng, [" 4", "5 ", '" 9"', "1"], odd_names)
    X, _, found = layout._read_by_line(choice)
    table = read_table(tmp_path / "rows.csv", columns=["x", "y"], other=["n", "m"])
    assert table.X.tolist() == X.tolist()
    for name, values in found.items():
        assert table.extra[name].tolist() == [None if is_missing(value) else value for value in values]


def test_ids_of_npy_files_keep_all_digits(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[1000001.0, 1], [1000002.0, 2], [0.1, 3], [2.0**60, 4]]))
    table = read_table(tmp_path / "rows.npy", id="column_1")
    assert table.rows.ids == ["1000001", "1000002", "0.1", "1.152921504606847e+18"]
    np.save(tmp_path / "rows.npy", np.array([[2**60 + 1, 1], [2**60, 2]]))
    assert read_table(tmp_path / "rows.npy", id="column_1").rows.ids == [str(2**60 + 1), str(2**60)]


def _damaged_npy(folder):
    np.save(folder / "good.npy", np.ones((3, 2)))
    good = (folder / "good.npy").read_bytes()
    np.savez(folder / "some.npz", x=np.ones((3, 2)))
    yield (folder / "some.npz").read_bytes()
    yield b"PK\x03\x04broken"
    yield good[:-8]
    yield good.replace(b"(3, 2)", b"(3, 2(")
    yield good.replace(b"'descr'", b"'d\xffscr'")
    yield good.replace(b"'<f8'", b"'<q8'")
    yield good.replace(b"(3, 2)", b"(9999999999999, 2)"[:6])
    yield good.replace(b"(3, 2), ", b"(3,9**9,)")
    yield good[:6] + b"\x09\x09" + good[8:]
    yield good[:20]
    yield good[:8] + b"\xff\xff" + good[10:]


def test_damaged_arrays_are_refused_in_words(tmp_path):
    path = tmp_path / "rows.npy"
    for data in _damaged_npy(tmp_path):
        path.write_bytes(data)
        with pytest.raises(FileError, match=r"rows\.npy (is|must hold)"):
            read_table(path)


def test_an_arrow_stream_is_read_like_a_file(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "rows.arrow")
    assert read_table(tmp_path / "rows.arrow", id="name").X.tolist() == [[1, 4], [2.5, 5], [-3, 6]]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("seed", range(5))
def test_damaged_frames_are_refused_in_words_of_ours(tmp_path, ending, seed):
    good = as_file(tmp_path, ".parquet" if ending == ".parquet" else ".arrow").read_bytes()
    rng = np.random.default_rng(seed)
    cut = good[: rng.integers(1, len(good) - 1)]
    path = tmp_path / f"bad{ending}"
    path.write_bytes(cut if seed else b"FEA1" + cut)
    with pytest.raises(FileError, match=r"bad\.\w+ is damaged, or is not an? (Parquet|Arrow) file; write it again"):
        read_table(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("x,y\n1,2\n".encode("utf-16-le"), "is UTF-16 text or no text at all; save .*--encoding utf-16le"),
        ("x,y\n1,2\n".encode("utf-16-be"), "--encoding utf-16be"),
        ("x,y\n1,2\n".encode("utf-32"), "is UTF-32 text; save .*--encoding utf-32"),
        (gzip.compress(b"x,y\n1,2\n", mtime=0), "is compressed; unpack it first"),
        (b"PK\x03\x04...", "is a zip archive or a spreadsheet; save its table as CSV"),
        (b"PAR1....", r"is a Parquet file; let its name end in \.parquet"),
    ],
)
def test_what_is_no_text_is_named(tmp_path, data, words):
    (tmp_path / "rows.csv").write_bytes(data)
    with pytest.raises(FileError, match=words):
        read_table(tmp_path / "rows.csv")
    with pytest.raises(FileError, match=words):
        read_links_file(tmp_path / "rows.csv", RowNames(3))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path, ending):
    os.mkfifo(tmp_path / f"pipe{ending}")
    with pytest.raises(FileError, match="is a pipe or a device; write the table to a file first"):
        read_table(tmp_path / f"pipe{ending}")


def test_a_cell_too_long_for_python_is_refused_in_words(tmp_path):
    (tmp_path / "rows.csv").write_text(f'x,note\n1,"{"z" * 200_000}"\n')
    with pytest.raises(FileError, match="line 2: a cell is longer than 131,072 characters"):
        read_table(tmp_path / "rows.csv", ignore=["note"])


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".npy"])
def test_work_grows_with_the_number_of_columns_and_not_with_its_square(tmp_path, ending):
    values = np.random.default_rng(0).random((3, 4_000))
    if ending == ".npy":
        np.save(tmp_path / "rows.npy", values)
    else:
        as_file(
            tmp_path, ending, pl.DataFrame(values, schema=[f"c{i}" for i in range(values.shape[1])], orient="row")
        )
    table, n_lines = _lines_run(lambda: read_table(tmp_path / f"rows{ending}"))
    assert table.X.tolist() == values.tolist()
    # Lines of Python per column; before, some were run for each two columns.
    assert n_lines < 200 * values.shape[1]


def _lines_run(work):
    """Result of some work, and how many lines of the readers ran."""
    n_lines = 0

    def count(frame, event, _):
        nonlocal n_lines
        if "konstrain" not in frame.f_code.co_filename:
            return None
        n_lines += event == "line"
        return count

    sys.settrace(count)
    try:
        return work(), n_lines
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("encoding", ["rot13", "zlib", "hex", "undefined", "a\0b", "no such"])
def test_what_is_no_encoding_of_text_is_refused(tmp_path, encoding):
    (tmp_path / "rows.csv").write_text("x\n1\n")
    for read in (
        lambda: read_table(tmp_path / "rows.csv", encoding=encoding),
        lambda: read_links_file(tmp_path / "rows.csv", RowNames(3), encoding=encoding),
    ):
        with pytest.raises(FileError, match=r"there is no encoding .*such as: utf-8"):
            read()


def test_a_column_spelt_nearly_so_is_suggested(tmp_path):
    path = as_file(tmp_path, ".csv", pl.DataFrame({"Umsatz EUR": [1.0], "Ort": [2.0]}))
    with pytest.raises(
        FileError, match=r"has no column 'umsatz_eur'; it has: Umsatz EUR, Ort; did you mean 'Umsatz EUR'\?"
    ):
        read_table(path, columns=["umsatz_eur"])
    with pytest.raises(FileError, match=r"has no column 'zzz'; it has: Umsatz EUR, Ort$"):
        read_table(path, columns=["zzz"])


def test_hints_can_be_typed(tmp_path):
    (tmp_path / "rows.csv").write_text('"Umsatz, EUR",Ort am See\n1,a\nk.A.,b\n3,c\n')
    words = (
        r"""if it means that none is known: --na k.A.; .*--categorical '"Umsatz, EUR"'.*--ignore '"Umsatz, EUR"'"""
    )
    with pytest.raises(FileError, match=words):
        read_table(tmp_path / "rows.csv", mixed=True)
    with pytest.raises(
        FileError, match=r"leave out with --ignore 'Ort am See', name rows by it with --id 'Ort am See'"
    ):
        read_table(tmp_path / "rows.csv", na=["k.A."])


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".json"])
def test_words_for_no_value_leave_numbers(tmp_path, ending):
    frame = pl.DataFrame({"x": ["1.5", "k.A.", "3", "4"], "plan": ["a", "?", "b", " k.A. "], "y": [1, 2, 3, 4]})
    write = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".xlsx": frame.write_excel,
        ".json": frame.write_json,
    }
    write[ending](tmp_path / f"rows{ending}")
    table = read_table(tmp_path / f"rows{ending}", mixed=True, na=["k.A.", "?"])
    assert set(table.features) == {"x", "y"}
    np.testing.assert_array_equal(table.X[:, table.features.index("x")], [1.5, np.nan, 3, 4])
    assert table.texts["plan"].tolist() == ["a", None, "b", None]


def test_words_for_no_value_take_one_pass_however_many_columns_there_are(tmp_path, monkeypatch):
    passes = []
    plain = pl.DataFrame.with_columns
    monkeypatch.setattr(pl.DataFrame, "with_columns", lambda *a, **named: passes.append(1) or plain(*a, **named))
    n_passes = []
    for n_columns in (2, 40):
        # Patterns as names stand for themselves.
        names = ["*", "^.*$", *(f"c{j}" for j in range(n_columns))]
        pl.DataFrame({name: ["1", "k.A.", "2"] for name in names}).write_parquet(tmp_path / "rows.parquet")
        passes.clear()
        table = read_table(tmp_path / "rows.parquet", mixed=True, na=["k.A."])
        n_passes.append(len(passes))
        assert table.features == tuple(names)
        np.testing.assert_array_equal(table.X, np.repeat([[1], [np.nan], [2]], len(names), axis=1))
    assert n_passes[0] == n_passes[1]


def test_a_cell_in_the_last_corner_of_a_sheet_is_refused_before_memory_is_asked_for(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "corner.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "y"])
        sheet.write_row(1, 0, [1, 2])
        sheet.write(1_048_575, 16_383, 7)
    words = "corner.xlsx: 5 cells of a sheet are spread over 1048576 rows and 16384 columns; delete those far from"
    with pytest.raises(FileError, match=words):
        read_table(tmp_path / "corner.xlsx")


def test_a_sheet_whose_empty_cells_have_a_format_is_read(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "rows.xlsx") as book:
        sheet, bold = book.add_worksheet(), book.add_format({"bold": True})
        sheet.write_row(0, 0, ["x", "y"])
        sheet.write_row(1, 0, [1, 2])
        sheet.write_blank(1_048_575, 16_383, None, bold)
    assert read_table(tmp_path / "rows.xlsx").X.tolist() == [[1, 2]]
