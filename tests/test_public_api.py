"""What is public exists, is documented, and the scripts that show it run."""

import inspect
import runpy
import warnings
from pathlib import Path

import pytest

import konstrain
from konstrain import baselines, constraints, dask, datasets, exact, plotting

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DOCS = Path(__file__).resolve().parents[1] / "docs"
MODULES = [konstrain, baselines, constraints, dask, datasets, exact, plotting]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_are_sorted_exist_and_are_documented_with_an_example(module):
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert ">>>" in (inspect.getdoc(getattr(module, name)) or ""), name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_are_in_the_reference(module):
    listed = (DOCS / "reference" / "index.rst").read_text().split()
    assert set(module.__all__) <= set(listed)


def test_the_front_door_tells_the_arguments_of_fit():
    doc = konstrain.ConstrainedKMeans.fit.__doc__
    assert all(f"{name} : " in doc for name in ("X", "y", "sample_weight", "must_link, cannot_link", "demand"))


def test_importing_the_package_loads_no_plotting_no_table_reader_and_no_data_sets():
    import subprocess
    import sys

    code = "import sys, konstrain; print(sorted({'matplotlib', 'polars', 'konstrain.datasets'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("[!_]*.py")), ids=lambda path: path.stem)
def test_examples_run_and_draw_what_they_say(script, capsys, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr("sys.argv", [str(script), str(tmp_path)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    told = capsys.readouterr().out
    assert told
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {Path(line).name for line in told.splitlines() if line.startswith("picture: ")}
    # What the documentation shows of it is committed.
    assert drawn <= {path.name for path in (DOCS / "pictures").iterdir()}
