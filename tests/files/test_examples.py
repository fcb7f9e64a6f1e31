"""What functions of `konstrain.files` return for small inputs."""

from konstrain.files.cells import COMMA, PLAIN, POINT, is_missing, is_whole, name_of_number
from konstrain.files.choice import listed
from konstrain.files.frame_files import _number_of


def test_example_of_is_whole():
    assert [is_whole(text) for text in ("7", "-7", "0", "07", "7.0", "+7", "-0")] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_example_of_is_missing():
    assert [is_missing(text) for text in (None, "", " ", "NA", "Nadia", "na")] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_example_of_name_of_number():
    assert [name_of_number(number) for number in (1000001.0, 0.1, 1e300, float("nan"))] == [
        "1000001",
        "0.1",
        "1e+300",
        None,
    ]


def test_example_of_convention():
    assert [COMMA.number(text) for text in ("3,5", "1.234,5", "1.234", "1 234", "7")] == [
        3.5,
        1234.5,
        1234.0,
        1234.0,
        7.0,
    ]
    assert (COMMA.number("1.5") is None, POINT.number("1,234.5"), PLAIN.number("1,5") is None) == (True, 1234.5, True)


def test_example_of_listed():
    assert (listed(["a", "b"]), listed([str(i) for i in range(99)])[-20:]) == ("a, b", " 19, ... 79 more ...")


def test_example_of_number_of():
    assert (_number_of(b"A"), _number_of(b"XFD")) == (1, 16384)
