"""Files of links: every form is read, what is written is read back, what is wrong names its line."""

import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstrain import FileError
from konstrain.files import RowNames, read_links_file, sources, write_links_file

FOUR = RowNames(4)
PEOPLE = RowNames(3, ["anna", "bert", "carl lee"], "name")


def read(folder, text, rows=FOUR, kind=None):
    path = folder / "links"
    path.write_text(text)
    return read_links_file(path, rows, kind=kind)


@pytest.mark.parametrize(
    "text",
    ["0,1\n2,3\n", "a,b\n0,1\n2,3\n", "first;second\n0;1\n2;3\n", "0\t1\n\n# so far\n2\t3\n", "0 1\r\n2 3\r\n"],
)
def test_pairs_come_with_and_without_a_header(tmp_path, text):
    links = read(tmp_path, text, kind="must_link")
    assert links.must_link.tolist() == [[0, 1], [2, 3]]
    assert links.cannot_link.size == 0


def test_confidences_make_links_soft_and_their_absence_hard(tmp_path):
    links = read(tmp_path, "a,b,confidence\n0,1,0.5\n2,3\n", kind="cannot_link")
    assert links.cannot_link.tolist() == [[0, 1, 0.5], [2, 3, np.inf]]


def test_lines_may_say_their_kind(tmp_path):
    links = read(tmp_path, "ML 0 1\nCL 1 2\ncl 2 3 0.25\n")
    assert links.must_link.tolist() == [[0, 1]]
    assert links.cannot_link.tolist() == [[1, 2, np.inf], [2, 3, 0.25]]


def test_answers_are_links_and_open_questions_are_counted(tmp_path):
    links = read(tmp_path, "a,b,answer\n0,1,must\n1,2,Cannot\n2,3,\n0,3,?\n")
    assert (links.must_link.tolist(), links.cannot_link.tolist(), links.n_open) == ([[0, 1]], [[1, 2]], 2)


def test_ids_may_hold_blanks_and_be_quoted(tmp_path):
    links = read(tmp_path, '"anna","carl lee"\n', PEOPLE, kind="must_link")
    assert links.must_link.tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("0,1\n0,4\n", "must_link", "line 2: there is no row '4'; rows are 0 to 3"),
        ("0,-1\n", "must_link", "line 1: there is no row '-1'"),
        ("0,1\n0\n", "must_link", "line 2 has 1 field; a link is two rows"),
        ("0,1\nanna,bert\n", "must_link", "rows are 0 to 3; if rows have names, --id COLUMN says where$"),
        ("left,right\n", "must_link", "line 1: .*; if the line is a header, put a # before it"),
        ("left,right,0.5\n0,1\n", "must_link", "line 1: there is no row 'left'"),
        ("left right\n0,1\n", "must_link", "line 1: there is no row 'left'"),
        ("0,1,2,3\n", "must_link", "line 1 has 4 fields"),
        ("0,1,1.5\n", "must_link", r"line 1: confidence 1.5 does not lie in \(0, 1\]"),
        ("0,1,maybe\n", None, "line 1: 'maybe' is neither a confidence"),
        ("0,1\n", None, "line 1 does not say of which kind the link is"),
        ("ML 0 1\nCL 0 2\n", "must_link", "line 2 is no must-link; give a file of both kinds as --links"),
    ],
)
def test_what_is_wrong_names_its_line(tmp_path, text, kind, words):
    with pytest.raises(FileError, match=words):
        read(tmp_path, text, kind=kind)


def test_a_header_that_could_be_a_link_is_not_guessed(tmp_path):
    with pytest.raises(FileError, match="may be a header or a link"):
        read(tmp_path, "a,b\nb,c\n", RowNames(3, ["a", "b", "c"], "id"), kind="must_link")


def test_files_that_are_missing_or_no_text_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*: No such file"):
        read_links_file(tmp_path / "none", FOUR)
    (tmp_path / "latin").write_bytes("é,1\n".encode("latin-1"))
    with pytest.raises(FileError, match="is not UTF-8 text; save the file"):
        read_links_file(tmp_path / "latin", FOUR)


HASHES = RowNames(4, ["#1", "#2", "b", "# c"], "id")


@pytest.mark.parametrize("text", ["#1,#2\n", '"#1","#2"\n', "#1;b\n", "b,#1\n", "ML #1 b\n", "#1 #2\n", " #1,b\n"])
def test_ids_that_begin_like_comments_are_ids(tmp_path, text):
    links = read(tmp_path, text, HASHES, kind="must_link")
    names = text.replace('"', "").replace("ML", "").replace(",", " ").replace(";", " ").split()
    assert links.must_link.tolist() == [[HASHES.number_of(name) for name in names]]


def test_comments_beside_ids_that_begin_like_them(tmp_path):
    text = "## all of one kind\n#1,#2\n##\n#\n# c,b\n"
    assert read(tmp_path, text, HASHES, kind="must_link").must_link.tolist() == [[0, 1], [3, 2]]
    for line in ("#9,b", "# 1,b", "#1,c", "# so far"):
        with pytest.raises(FileError, match="line 2 begins as names of rows do" if line != "#1,c" else "line 2"):
            read(tmp_path, f"#1,#2\n{line}\n", HASHES, kind="must_link")


def test_without_such_ids_every_line_that_begins_so_is_a_comment(tmp_path):
    assert read(tmp_path, "#0,1\n# 1,2\n2,3\n", kind="must_link").must_link.tolist() == [[2, 3]]


@pytest.mark.parametrize("line", ["a,b", "A,B", "b,a", "from,to", "first;second"])
@pytest.mark.parametrize("ids", [["a", "c"], ["c", "b"], ["A", "z"], ["to", "x"], ["first", "y"]])
def test_a_first_link_is_not_dropped_as_a_header_when_one_of_its_ids_is_there(tmp_path, line, ids):
    rows = RowNames(2, ids, "id")
    text = f"{line}\n{ids[0]},{ids[1]}\n"
    if {name.lower() for name in ids} & set(line.lower().replace(";", ",").split(",")):
        with pytest.raises(FileError, match=r"may be a header or a link|there is no row"):
            read(tmp_path, text, rows, kind="must_link")
    else:
        assert read(tmp_path, text, rows, kind="must_link").must_link.tolist() == [[0, 1]]


@pytest.mark.parametrize("line", ["a,b,0.5", "a,b,must", "a;b;", "from,to,no"])
def test_a_first_link_with_a_third_field_is_no_header(tmp_path, line):
    with pytest.raises(FileError, match=r"line 1: there is no row '(a|from)'"):
        read(tmp_path, f"{line}\n0,1\n", kind="must_link")
    rows = RowNames(4, ["a", "b", "from", "to"], "id")
    links = read(tmp_path, line, rows) if line != "a,b,0.5" else read(tmp_path, line, rows, kind="must_link")
    assert len(links.must_link) + len(links.cannot_link) + links.n_open == 1


@pytest.mark.parametrize("line", ["a,b,answer", "left,right,confidence", "x;y;weight"])
def test_a_third_word_makes_a_header_unless_rows_are_called_like_the_others(tmp_path, line):
    assert read(tmp_path, f"{line}\n0,1\n", kind="must_link").must_link.tolist() == [[0, 1]]
    rows = RowNames(6, ["a", "b", "left", "right", "x", "y"], "id")
    if line == "a,b,answer":
        assert read(tmp_path, f"{line}\na,b,must\n", rows).must_link.tolist() == [[0, 1]]
    else:
        with pytest.raises(FileError, match=r"line 1: '(confidence|weight)' is neither a confidence"):
            read(tmp_path, f"{line}\na,b\n", rows, kind="must_link")


MEIERS = RowNames(4, ["Meier, A", "Meier, B", "x y", "new\nline"], "name")


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ('"Meier, A";"Meier, B"\n', [0, 1]),
        ('"Meier, A","Meier, B"\n', [0, 1]),
        ("Meier, A;Meier, B\n", [0, 1]),
        ("Meier, A\tx y\n", [0, 2]),
        ('ML "Meier, A" "x y"\n', [0, 2]),
        ('"x y"  "Meier, B"\n', [2, 1]),
        ('"new\nline","x y"\n', [3, 2]),
        ('"x y";"new\nline";must\n', [2, 3]),
        ('x y,"Meier, B" \n', [2, 1]),
    ],
)
def test_a_line_is_split_where_that_names_rows(tmp_path, text, pair):
    assert read(tmp_path, text, MEIERS, kind="must_link").must_link.tolist() == [pair]


def test_lines_after_an_id_with_a_line_break_keep_their_numbers(tmp_path):
    with pytest.raises(FileError, match="line 4: there is no row 'zoe'"):
        read(tmp_path, 'a,b\n"new\nline","x y"\nx y,zoe\n', MEIERS, kind="must_link")


def test_a_line_that_links_other_rows_by_another_delimiter_is_not_guessed(tmp_path):
    rows = RowNames(4, ["a", "b;c", "a,b", "c"], "id")
    with pytest.raises(FileError, match=r"line 1 can be read in several ways, .* put names into quotes"):
        read(tmp_path, "a,b;c\n", rows, kind="must_link")
    assert read(tmp_path, 'a,"b;c"\n"a,b";c\n', rows, kind="must_link").must_link.tolist() == [[0, 1], [2, 3]]


def test_ids_with_blanks_around_them_are_told_apart(tmp_path):
    rows = RowNames(3, [" a", "a", "b "], "id")
    assert read(tmp_path, '" a","a"\n a,b \n', rows, kind="must_link").must_link.tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    "text",
    [f"0,{'9' * 200_000}\n", f"0,{'9' * 5000}\n", f'"{"z" * 200_000}",1\n', '"0,1\n1,2\n', "0,1,0.5,\n", "\0,1\n"],
)
def test_odd_fields_are_refused_in_words(tmp_path, text):
    with pytest.raises(FileError, match=r"links(, line 1| is UTF-16 text or no text)"):
        read(tmp_path, text, kind="must_link")


def test_links_come_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("0,1\n",))
    writer.start()
    assert read_links_file(tmp_path / "pipe", FOUR, kind="must_link").must_link.tolist() == [[0, 1]]
    writer.join()


def test_a_pipe_that_nobody_writes_into_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "WAIT", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe is a pipe that nobody writes into"):
        read_links_file(tmp_path / "pipe", FOUR, kind="must_link")


def test_a_writer_that_begins_late_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "WAIT", 0.01)
    os.mkfifo(tmp_path / "pipe")
    # Opened for both, so that opening waits for nobody; what opens it is a writer all the time.
    with open(os.open(tmp_path / "pipe", os.O_RDWR), "wb", buffering=0) as pipe:
        writer = threading.Timer(0.1, lambda: (pipe.write(b"0,1\n"), pipe.close()))
        writer.start()
        assert read_links_file(tmp_path / "pipe", FOUR, kind="must_link").must_link.tolist() == [[0, 1]]
        writer.join()


def test_a_device_without_end_is_refused(tmp_path):
    (tmp_path / "links.csv").symlink_to("/dev/zero")
    with pytest.raises(FileError, match=r"links.csv is a pipe or a device; write what it gives to a file first"):
        read_links_file(tmp_path / "links.csv", FOUR, kind="must_link")


def test_four_times_the_lines_take_about_four_times_as_long(tmp_path):
    def seconds(n_lines):
        """Return the least of three times: what else the processor does only adds to it."""
        (tmp_path / "links").write_text("0,1\n" * n_lines)
        times = []
        for _ in range(3):
            begin = time.process_time()
            assert len(read_links_file(tmp_path / "links", FOUR, kind="must_link").must_link) == n_lines
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(16_000) < 9 * seconds(4_000)


pairs = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=20)
# Anything that a table may hold as an id: not blank, no control characters but those that end lines.
letters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("#,;\t\n\r\"' ab01ML")
ids = st.lists(st.text(letters, min_size=1).filter(str.strip), unique=True, min_size=20)


@pytest.mark.parametrize("ending", ["csv", "txt"])
@given(must=pairs, cannot=pairs.map(lambda found: [(a, b) for a, b in found if a != b]), names=st.none() | ids)
def test_what_is_written_is_read_back(tmp_path_factory, ending, must, cannot, names):
    path = tmp_path_factory.mktemp("links") / f"links.{ending}"
    rows = RowNames(20 if names is None else len(names), names)
    write_links_file(path, rows, must_link=must, cannot_link=cannot)
    links = read_links_file(path, rows)
    assert links.must_link.tolist() == [list(pair) for pair in must]
    assert links.cannot_link.tolist() == [list(pair) for pair in cannot]


@pytest.mark.parametrize("line", ["name1,name2", "left;right", "who,whom,how sure"])
def test_a_first_line_that_names_no_rows_is_a_header_and_that_is_said(tmp_path, line):
    found = read(tmp_path, f"{line}\n0,1\n", kind="must_link")
    assert found.must_link.tolist() == [[0, 1]]
    assert "links, line 1 is read as a header, since it names no rows" in found.doubts[0]
    assert read(tmp_path, "a,b\n0,1\n", kind="must_link").doubts == ()
