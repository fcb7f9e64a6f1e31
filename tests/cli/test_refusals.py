"""What is wrong with input gives one line, the right exit code and no file."""

import socket

import pytest

from command_line import konstrain
from konstrain import FileError
from konstrain.cli import pictures

ROWS = "name,x,y\nanna,1,2\nbert,1.5,2\ncarl,9,9\ndora,8,9\n"
OUTPUT = ("-o", "labels.csv", "--id", "name")


def refused(folder, data, *options, code=2):
    """Run `fit` on this text and return its only line."""
    (folder / "data.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    before = sorted(path.name for path in folder.iterdir())
    done = konstrain("fit", "data.csv", "-k", 2, *options, folder=folder)
    assert (done.code, done.out) == (code, "")
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before
    return done.err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (ROWS.replace("name", "first"), "data.csv has no column 'name'; it has: first, x, y"),
        (ROWS.replace("name", "size_min"), "data.csv has no column 'name'; it has: size_min, x, y"),
        (ROWS + "emma\n", "data.csv, line 6 (row 4) has 1 field, but there are 3 columns"),
        (ROWS + "emma,1,2,3\n", "data.csv, line 6 (row 4) has 4 fields, but there are 3 columns"),
        (ROWS + "emma,one,2\n", "data.csv, line 6 (row 4), column 'x': 'one' is not a number"),
        (ROWS + "anna,1,2\n", "id 'anna' in column 'name' occurs in rows 0 and 4"),
        ('name,x\na,"1,000"\nb,"3,500"\n', "'1,000' is not a number; say how numbers are written: --decimal"),
        ("", "data.csv is empty"),
        ("name,x,y\n", "data.csv has no rows below its header"),
        (
            ROWS.encode() + "émile,1,2\n".encode("latin-1"),
            r"column 'name': '\xe9mile' is not UTF-8 text; save the file",
        ),
    ],
    ids=[
        "missing column",
        "odd name",
        "short",
        "long",
        "no number",
        "same id",
        "comma",
        "empty",
        "no rows",
        "latin-1",
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, data, words):
    assert words in refused(tmp_path, data, *OUTPUT)


def test_columns_of_text_are_refused_with_the_way_out(tmp_path):
    line = refused(tmp_path, ROWS, "-o", "l.csv", "--prepare", "none")
    assert "column 'name' holds no numbers; leave out with --ignore name" in line


def test_a_column_of_text_is_not_offered_as_ids_beside_others(tmp_path):
    data = "name,city,x\nanna,rome,1\nbert,oslo,2\ncarl,rome,9\n"
    line = refused(tmp_path, data, *OUTPUT, "--prepare=none")
    assert "'city'" in line
    assert "--id" not in line


def test_questions_go_to_no_file_of_another_format(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)
    done = konstrain("suggest", "data.csv", "-k", 2, "--id", "name", "-o", "ask.parquet", folder=tmp_path)
    assert done.code == 2
    assert "its name should end in .csv, .txt" in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "note: links.csv holds no links\n"),
        ("a,b,answer\nanna,bert,\n", "note: links.csv: 1 question still open\n"),
    ],
)
def test_files_of_links_without_any_are_noted(tmp_path, text, words):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "links.csv").write_text(text)
    done = konstrain("check", "data.csv", "-k", 2, "--id", "name", "--links", "links.csv", folder=tmp_path)
    assert (done.code, done.err) == (0, words)


@pytest.mark.parametrize(
    ("verb", "option", "value", "words"),
    [
        ("exact", "--gap", "-1", "-1 does not lie between 0 and 1"),
        ("exact", "--bound", "magic", "'magic' is not one of"),
        ("suggest", "--strategy", "magic", "'magic' is not one of"),
    ],
)
def test_values_that_options_do_not_take_are_refused(tmp_path, verb, option, value, words):
    done = konstrain(verb, "data.csv", "-k", 2, option, value, folder=tmp_path)
    assert done.code == 2
    assert words in done.err


def test_an_unknown_id_in_a_file_of_links_names_the_line(tmp_path):
    (tmp_path / "ml.csv").write_text("a,b\nanna,bert\nanna,zoe\n")
    words = "ml.csv, line 3: there is no row 'zoe'; ids are those of column 'name', such as 'anna'"
    assert words in refused(tmp_path, ROWS, *OUTPUT, "--must-link", "ml.csv")


def test_a_row_apart_from_itself_names_the_line(tmp_path):
    (tmp_path / "cl.csv").write_text("anna,bert\ncarl,carl\n")
    words = "cl.csv, line 2: the row 'carl' cannot be apart from itself"
    assert words in refused(tmp_path, ROWS, *OUTPUT, "--cannot-link", "cl.csv")


def test_no_file_that_is_read_is_overwritten(tmp_path):
    assert "data.csv is read from; write to another file" in refused(tmp_path, ROWS, "--id", "name", "-o", "data.csv")
    assert (tmp_path / "data.csv").read_text() == ROWS


def test_values_of_demand_are_refused_by_row_and_column(tmp_path):
    words = "data.csv, row 1, column 'd' has no value"
    assert words in refused(tmp_path, "x,d\n1,2\n3,nan\n4,5\n", "--demand", "d", "--size-max", 6)


@pytest.mark.parametrize("option", ["--demand", "--weight"])
def test_negative_amounts_are_refused_by_row_and_column(tmp_path, option):
    words = "data.csv, row 1, column 'd' is -2; it must not be negative"
    assert words in refused(tmp_path, "x,d\n1,2\n3,-2\n4,5\n", option, "d")


def test_what_the_library_says_is_said_in_options(tmp_path):
    (tmp_path / "cl.csv").write_text("anna,bert\nbert,carl\nanna,carl\n")
    line = refused(tmp_path, ROWS, *OUTPUT, "--cannot-link", "cl.csv", code=3)
    assert "must all be in different clusters, but -k 2 (cannot-link (anna, bert)" in line
    assert "raise -k to at least 3" in line


def test_contradictory_links_show_the_path_by_id(tmp_path):
    (tmp_path / "links.txt").write_text("ML anna bert\nML bert carl\nCL anna carl\n")
    line = refused(tmp_path, ROWS, *OUTPUT, "--links", "links.txt", code=3)
    assert "cannot-link (anna, carl) contradicts must-link path anna-bert-carl" in line
    assert "(rows 0, 1, 2)" in line


def test_sizes_that_cannot_add_up_end_with_3(tmp_path):
    line = refused(tmp_path, ROWS, *OUTPUT, "--size-min", 3, code=3)
    assert "infeasible (sizes): --size-min adds up to 6 over 2 clusters, but there are 4 rows" in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "magic"), "there is no method 'magic'"),
        (("--columns", "x,x"), "the column 'x' is asked for twice as a feature"),
        (("--size-max", "3,3,3"), "--size-max has 3 sizes for -k 2; give one number, or one per cluster"),
        (("--size-min", "-1"), "--size-min -1: a size is a number and not negative"),
        (("--size-min", "nan"), "--size-min nan: a size is a number and not negative"),
        (("--size-min", "3", "--size-max", "2"), "--size-min 3 is larger than --size-max 2"),
        (("-k", "5"), "data.csv has 4 rows, too few for -k 5; ask for fewer clusters"),
        (("-o", "labels.doc"), "cannot tell the format of labels.doc from its name"),
        (("-o", "missing/labels.csv"), "cannot write missing/labels.csv: there is no folder missing"),
        (("-o", "file/labels.csv"), "cannot write file/labels.csv: Not a directory"),
        (("--plot", "p.bmp"), "cannot tell the format of p.bmp"),
    ],
)
def test_impossible_options_are_refused_before_any_work(tmp_path, options, words):
    (tmp_path / "file").touch()
    assert words in refused(tmp_path, ROWS, "--id", "name", *options)


def test_soft_links_without_a_price_cannot_be_certified_and_that_is_said_before_any_work(tmp_path):
    (tmp_path / "soft.csv").write_text("anna,bert,0.5\n")
    options = ("--must-link", "soft.csv", "--certify", 1, "--method", "pck-means")
    assert "pck-means puts no price on soft links" in refused(tmp_path, ROWS, *OUTPUT, *options)


def test_check_says_all_that_clashes_and_ends_with_3(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "links.txt").write_text("ML 0 1\nCL 0 1\n")
    options = ("--links", "links.txt", "--ignore", "name", "--size-max", 1, "--plot", "clash.png")
    done = konstrain("check", "data.csv", "-k", 2, *options, folder=tmp_path)
    assert done.code == 3
    assert "- contradiction: cannot-link (0, 1)" in done.out
    assert "- sizes:" in done.out
    assert (tmp_path / "clash.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_usage_ends_with_2(tmp_path):
    done = konstrain("fit", "data.csv", "-k", 0, folder=tmp_path)
    assert done.code == 2
    assert "greater than or equal" in done.err


def test_pictures_without_matplotlib_name_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    with pytest.raises(
        FileError, match=r"pictures need matplotlib; install it with: pip install 'konstrain\[plot\]'"
    ):
        pictures.refuse_undrawable(tmp_path / "p.png")


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_answers_are_not_replaced_by_new_questions(tmp_path, delimiter):
    (tmp_path / "data.csv").write_text(ROWS)
    ask = ("suggest", "data.csv", "--id", "name", "-k", 2, "--ask", 1, "-o", "ask.csv")
    text = "a,b,answer\nanna,bert,\nanna,carl,{}\n".replace(",", delimiter)
    (tmp_path / "ask.csv").write_text(text.format("must"))
    done = konstrain(*ask, folder=tmp_path)
    assert done.code == 2
    assert "ask.csv holds answers; add to it with --append, or write to another file" in done.err
    assert (tmp_path / "ask.csv").read_text() == text.format("must")
    (tmp_path / "ask.csv").write_text(text.format(""))
    assert konstrain(*ask, folder=tmp_path).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "data.csv", "--model", "m.joblib", "--must-link", "ml.csv", "-o", "ml.csv"),
        ("fit", "data.csv", "-k", 2, "--certify", 1, "--resume", "ml.csv", "-o", "ml.csv"),
        ("certify", "data.csv", "labels.csv", "--resume", "ml.csv", "--better", "ml.csv"),
    ],
    ids=["links of new rows", "finished parts", "finished parts of a proof"],
)
def test_no_result_replaces_a_file_that_the_command_reads(tmp_path, arguments):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "ml.csv").write_text("anna,bert\n")
    done = konstrain(*arguments, "--id", "name", folder=tmp_path)
    assert done.code == 2
    assert "ml.csv is read from; write to another file" in done.err
    assert (tmp_path / "ml.csv").read_text() == "anna,bert\n"


def test_no_session_is_begun_when_the_port_is_taken(tmp_path):
    pytest.importorskip("panel")
    (tmp_path / "data.csv").write_text(ROWS)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = konstrain("studio", "data.csv", "--id", "name", "--port", port, "--no-browser", folder=tmp_path)
    assert done.code == 2
    assert f"cannot serve on port {port}: Address already in use" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_method_spelt_nearly_so_is_suggested(tmp_path):
    line = refused(tmp_path, ROWS, *OUTPUT, "--method", "constrained_kmeans")
    assert "there is no method 'constrained_kmeans'; " in line
    assert "did you mean 'constrained-kmeans'?" in line
