"""What is public exists, is documented, and the scripts that show it run."""

import inspect
import runpy
import warnings
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import konstrain
from konstrain import baselines, exact

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("module", [konstrain, exact, baselines], ids=lambda module: module.__name__)
def test_public_names_are_sorted_exist_and_are_documented(module):
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and issubclass(value, BaseEstimator):
            assert "Examples" in value.__doc__, name


def test_importing_the_package_loads_no_plotting_and_no_table_reader():
    import subprocess
    import sys

    code = "import sys, konstrain; print(sorted({'matplotlib', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(script, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
