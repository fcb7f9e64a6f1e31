"""matplotlib is needed to draw, and for nothing else."""

import subprocess
import sys

CODE = """
import sys
sys.modules["matplotlib"] = None  # as if it were not installed
import konstrain.plotting
try:
    konstrain.plotting.plot_sizes([1, 2])
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_matplotlib_plots_import_and_the_first_one_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "plots need matplotlib; run: pip install 'konstrain[plot]'"
