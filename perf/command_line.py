"""The command line: what starting takes, and a CSV of a million rows with sizes bounded.

``python perf/command_line.py [section ...]`` writes files into a temporary folder, runs ``konstrain fit`` and prints
one table per section: `start` (29 rows, in turn as it is and with all imports made at once) and `million`.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from report import table_of

N_ROWS, N_FEATURES, N_CLUSTERS, SIZE_MIN = 1_000_000, 10, 20, 30_000
N_PAIRS = 9

# What `konstrain fit` did before imports could wait, with nothing set aside.
ALL_AT_ONCE = """
import sys
import pandas, scipy.stats, sklearn.linear_model, sklearn.metrics, konstrain.exact
from konstrain.cli import main, startup
startup.start_quickly = lambda: None
sys.argv[0] = "konstrain"
main()
"""


def write_rows(path: Path) -> None:
    """Overlapping blobs of unequal sizes, six decimals."""
    rng = np.random.default_rng(0)
    label = rng.choice(N_CLUSTERS, N_ROWS, p=rng.dirichlet(np.full(N_CLUSTERS, 2.0)))
    rows = rng.normal(size=(N_ROWS, N_FEATURES)) + 2.0 * rng.normal(size=(N_CLUSTERS, N_FEATURES))[label]
    pl.DataFrame(rows, schema=[f"f{j}" for j in range(N_FEATURES)]).write_csv(path, float_precision=6)


def cpu_seconds_of(command: list[str], folder: Path) -> float:
    """Processor time of a process, from its first line to its last."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start(folder: Path) -> dict[str, str]:
    """Processor seconds of a fit of 29 rows, against the same with what it imported before imports could wait."""
    rows = np.random.default_rng(0).normal(size=(29, 4))
    pl.DataFrame(rows, schema=["a", "b", "c", "d"]).write_csv(folder / "small.csv")
    options = ["fit", "small.csv", "-k", "3", "--quiet"]
    ways = {
        "now": [sys.executable, "-m", "konstrain", *options],
        "all at once": [sys.executable, "-c", ALL_AT_ONCE, *options],
    }
    pairs = [{name: cpu_seconds_of(command, folder) for name, command in ways.items()} for _ in range(N_PAIRS)]
    medians = {name: statistics.median(pair[name] for pair in pairs) for name in ways}
    ratios = sorted(pair["now"] / pair["all at once"] for pair in pairs)
    return {
        "pairs": str(N_PAIRS),
        **{f"{name}, CPU s": f"{seconds:.2f}" for name, seconds in medians.items()},
        "ratio, median": f"{statistics.median(ratios):.3f}",
        "least, largest": f"{ratios[0]:.3f}, {ratios[-1]:.3f}",
    }


def million(folder: Path) -> dict[str, str]:
    """A million rows: seconds and peak memory of the whole process."""
    data, labels = folder / "data.csv", folder / "labels.parquet"
    write_rows(data)
    konstrain = Path(sys.executable).with_name("konstrain")
    command = [konstrain, "fit", data, "-k", str(N_CLUSTERS), "--size-min", str(SIZE_MIN), "-o", labels]
    begun = time.perf_counter()
    seconds = cpu_seconds_of(list(map(str, command)), folder)
    wall = time.perf_counter() - begun
    counts = pl.read_parquet(labels)["label"].value_counts()["count"]
    return {
        "file": f"{N_ROWS:,} x {N_FEATURES}, {data.stat().st_size / 1e6:.0f} MB",
        "wall s": f"{wall:.1f}",
        "CPU s": f"{seconds:.1f}",
        "peak MB": f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}",
        "sizes": f"{counts.min()}..{counts.max()}",
    }


SECTIONS = {"start": start, "million": million}


def main() -> None:
    """Run the sections asked for; all, if none is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    for name in parser.parse_args().sections or SECTIONS:
        with tempfile.TemporaryDirectory() as folder:
            row = SECTIONS[name](Path(folder))
        Console(width=140).print(table_of(f"konstrain fit: {name}", [row]))


if __name__ == "__main__":
    main()
