"""A fit on plain numbers starts without what it does not use."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from konstrain.cli.startup import _StandIn

# What scikit-learn and proofs would bring: seconds of processor time.
UNUSED = ["scipy.stats", "scipy.spatial", "pandas", "sklearn.metrics", "sklearn.linear_model", "konstrain.exact"]

PROGRAM = """
import gc, sys
from konstrain.cli import main
sys.argv = ["konstrain", "fit", "data.csv", "-k", "2", "--quiet"]
try:
    main()
except SystemExit as end:
    assert not end.code
print([name for name in {unused} if name in sys.modules], gc.isenabled())
from sklearn.utils import fixes
print(fixes.pd.DataFrame.__name__, fixes._mode([1, 1, 2]).mode.tolist())
"""

# To import what all verbs share takes a thousand seconds, if the clock is to be believed.
SLOW_START = """
import sys, time
from konstrain.cli import main
now = time.perf_counter
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "konstrain.cli.app":
            time.perf_counter = lambda: now() + 1000.0
sys.meta_path.insert(0, Slow())
sys.argv = ["konstrain", "fit", "data.csv", "-k", "2", "--json"]
main()
"""


def test_a_fit_imports_only_what_it_uses_and_the_rest_when_it_is_asked_for(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n1.5,2\n9,9\n8,9\n")
    program = PROGRAM.format(unused=UNUSED)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["[] True", "DataFrame [1]"], done


def test_the_package_runs_as_a_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "konstrain", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.startswith("konstrain ")


def test_the_seconds_of_a_report_are_those_that_a_person_waited(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n1.5,2\n9,9\n8,9\n")
    done = subprocess.run([sys.executable, "-c", SLOW_START], cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(done.stdout)["seconds"] >= 1000.0, done


def test_a_module_that_stands_aside_has_its_version():
    """scikit-learn 1.6 compares the version of pandas while it is imported."""
    pandas = _StandIn("pandas")
    assert pandas.__version__ == version("pandas")
    with pytest.raises(AttributeError, match="DataFrame"):
        _ = pandas.DataFrame
