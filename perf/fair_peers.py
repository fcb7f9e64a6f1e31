"""Set fair clusters of ours beside the package fair-kmeans: ``python perf/fair_peers.py PYTHON``.

PYTHON runs an environment with ``pip install fair-kmeans`` (it wants numpy 1, which ours does not). Two groups,
equally many of each, half of each cluster from each group: all that the package knows. The groups lie where the
features differ, so that fairness costs. Printed per way: the sum of squares, the least share of a group, CPU seconds
of ten starts.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from konstrain import ConstrainedKMeans
from timing import HERE

N_CLUSTERS, N_INIT = 8, 10
SIZES = (250, 500)


def make(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in blobs of two groups that are unevenly spread over them."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], n // 2).astype(np.int32)
    blob = (rng.integers(0, N_CLUSTERS, n) + 3 * group * (rng.random(n) < 0.5)) % N_CLUSTERS
    return rng.normal(size=(n, 5)) + 3.0 * rng.normal(size=(N_CLUSTERS, 5))[blob], group


def line(way: str, rows: np.ndarray, group: np.ndarray, labels: np.ndarray, seconds: float) -> str:
    """One row of the table."""
    used = [labels == j for j in np.unique(labels)]
    sse = sum(((rows[mine] - rows[mine].mean(axis=0)) ** 2).sum() for mine in used)
    share = min(min(group[mine].mean(), 1 - group[mine].mean()) for mine in used)
    return f"| {len(rows):,} | {way} | {sse:,.1f} | {share:.3f} | {seconds:.2f} |"


def theirs(python: str, rows: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, float]:
    """Labels and seconds of the package, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "rows.npz"
        np.savez(given, rows=rows, group=group)
        command = [python, str(HERE / "peers" / "fair_kmeans_pairs.py"), str(given), str(N_CLUSTERS), str(N_INIT)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1])
    return np.array(told["labels"]), told["cpu_seconds"]


def ours(rows: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, float]:
    """Labels and seconds of our fit with half of each cluster from each group."""
    begin = time.process_time()
    model = ConstrainedKMeans(N_CLUSTERS, share_min=0.5, n_init=N_INIT, random_state=0).fit(rows, category=group)
    return model.labels_, time.process_time() - begin


def main() -> None:
    """Print one table."""
    print("| rows | way | sum of squares | least share | CPU s |\n|---|---|---|---|---|")
    for n in SIZES:
        rows, group = make(n)
        print(line("fair-kmeans", rows, group, *theirs(sys.argv[1], rows, group)), flush=True)
        print(line("konstrain", rows, group, *ours(rows, group)), flush=True)


if __name__ == "__main__":
    main()
