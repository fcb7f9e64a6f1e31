"""What functions of `konstrain.cli` return for small inputs."""

from pathlib import Path

from konstrain.cli.choose import as_arguments
from konstrain.cli.options import DataOptions
from konstrain.cli.running import one_line


def test_example_of_as_arguments():
    assert as_arguments(DataOptions(Path("rows.csv"), id="name", standardize=False)) == [
        "rows.csv",
        "--id",
        "name",
        "--no-standardize",
    ]


def test_example_of_one_line():
    printed = one_line("there is no row new\nline")
    assert str(printed) == "there is no row new\\nline"
