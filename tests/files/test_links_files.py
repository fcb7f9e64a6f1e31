"""Files of links: every form is read, what is written is read back, what is wrong names its line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstrain import FileError
from konstrain.files import RowNames, read_links_file, write_links_file

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
        ("left,right\n0,1\n", "must_link", "line 1: .*; if the line is a header, put a # before it"),
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


pairs = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=20)
ids = st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), unique=True, min_size=20)


@pytest.mark.parametrize("ending", ["csv", "txt"])
@given(must=pairs, cannot=pairs.map(lambda found: [(a, b) for a, b in found if a != b]), names=st.none() | ids)
def test_what_is_written_is_read_back(tmp_path_factory, ending, must, cannot, names):
    path = tmp_path_factory.mktemp("links") / f"links.{ending}"
    rows = RowNames(20 if names is None else len(names), names)
    write_links_file(path, rows, must_link=must, cannot_link=cannot)
    links = read_links_file(path, rows)
    assert links.must_link.tolist() == [list(pair) for pair in must]
    assert links.cannot_link.tolist() == [list(pair) for pair in cannot]
