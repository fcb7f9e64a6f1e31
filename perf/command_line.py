"""The command line on a CSV of a million rows, sizes bounded: seconds and peak memory of the whole process.

``python perf/command_line.py`` writes the file into a temporary folder, runs ``konstrain fit`` and prints one row.
"""

import resource
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


def write_rows(path: Path) -> None:
    """Overlapping blobs of unequal sizes, six decimals."""
    rng = np.random.default_rng(0)
    label = rng.choice(N_CLUSTERS, N_ROWS, p=rng.dirichlet(np.full(N_CLUSTERS, 2.0)))
    rows = rng.normal(size=(N_ROWS, N_FEATURES)) + 2.0 * rng.normal(size=(N_CLUSTERS, N_FEATURES))[label]
    pl.DataFrame(rows, schema=[f"f{j}" for j in range(N_FEATURES)]).write_csv(path, float_precision=6)


def main() -> None:
    """Write, run, print."""
    with tempfile.TemporaryDirectory() as folder:
        data, labels = Path(folder) / "data.csv", Path(folder) / "labels.parquet"
        write_rows(data)
        konstrain = Path(sys.executable).with_name("konstrain")
        command = [konstrain, "fit", data, "-k", str(N_CLUSTERS), "--size-min", str(SIZE_MIN), "-o", labels]
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = pl.read_parquet(labels)["label"].value_counts()["count"]
        row = {
            "file": f"{N_ROWS:,} x {N_FEATURES}, {data.stat().st_size / 1e6:.0f} MB",
            "wall s": f"{wall:.1f}",
            "CPU s": f"{used.ru_utime + used.ru_stime:.1f}",
            "peak MB": f"{used.ru_maxrss / 1024:.0f}",
            "sizes": f"{counts.min()}..{counts.max()}",
        }
    Console(width=140).print(table_of("konstrain fit", [row]))


if __name__ == "__main__":
    main()
