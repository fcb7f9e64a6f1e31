"""One case with many clusters: ten iterations under sizes and without, in a process of its own.

``python perf/many_clusters_fit.py CASE [--threads N | --free ours | --free KMeans | --limit SECONDS]``: ours beside
KMeans; ours alone on so many threads; one of them without sizes; ours with a time limit.
"""

import json
import os
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from konstrain import ConstrainedKMeans
from timing import peak_megabytes

ITERATIONS = 10
N_FEATURES = 32


@dataclass(frozen=True)
class ManyClusters:
    """Overlapping blobs of unequal sizes in single precision; sizes within half and one and a half of the mean."""

    n_rows: int
    n_clusters: int

    @property
    def name(self) -> str:
        """Rows x clusters."""
        return f"{self.n_rows}x{self.n_clusters}"

    def rows(self, seed: int) -> np.ndarray:
        """Draw rows in slices, so that nothing but them takes memory."""
        rng = np.random.default_rng(seed)
        label = rng.choice(self.n_clusters, self.n_rows, p=rng.dirichlet(np.full(self.n_clusters, 2.0)))
        middles = rng.normal(size=(self.n_clusters, N_FEATURES)).astype(np.float32)
        rows = np.empty((self.n_rows, N_FEATURES), dtype=np.float32)
        for first in range(0, self.n_rows, 50_000):
            part = label[first : first + 50_000]
            rows[first : first + part.size] = middles[part]
            rows[first : first + part.size] += 0.7 * rng.standard_normal((part.size, N_FEATURES), dtype=np.float32)
        return rows

    def start(self, rows: np.ndarray, seed: int = 0) -> np.ndarray:
        """Return distinct rows as first centers."""
        return rows[np.random.default_rng(seed + 1).choice(self.n_rows, self.n_clusters, replace=False)]


CASES = {
    case.name: case
    for case in (ManyClusters(20_000, 200), ManyClusters(100_000, 1_000), ManyClusters(1_000_000, 1_000))
}


def measure(case: ManyClusters, seed: int = 0) -> dict[str, str]:
    """Seconds of both sides from the same centers, and the growth of this process' peak memory by ours."""
    rows = case.rows(seed)
    ours, theirs = _sized(case, case.start(rows, seed)), _plain(case, case.start(rows, seed))
    before = peak_megabytes()
    own = _seconds(ours.fit, rows)
    beyond = peak_megabytes() - before
    peer = _seconds(theirs.fit, rows)
    return {
        "case": case.name,
        "ours s (wall)": f"{own[0]:.2f}",
        "KMeans s (wall)": f"{peer[0]:.2f}",
        "ours / KMeans (wall)": f"{own[0] / peer[0]:.2f}",
        "ours / KMeans (CPU)": f"{own[1] / peer[1]:.2f}",
        "beyond X MB": f"{beyond:.0f}",
        "SSE": f"{ours.inertia_:.8g}",
    }


def measure_threads(case: ManyClusters, n_threads: int) -> dict[str, Any]:
    """Seconds of our fit under sizes on so many threads, and a number that says which labels came out."""
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    rows = case.rows(0)
    model = _sized(case, case.start(rows))
    wall, cpu = _seconds(model.fit, rows)
    return {"wall": wall, "cpu": cpu, "labels": zlib.crc32(model.labels_.tobytes())}


def measure_limit(case: ManyClusters, limit: float) -> dict[str, float]:
    """Seconds that our fit under sizes takes when it is given so many."""
    rows = case.rows(0)
    model = _sized(case, case.start(rows)).set_params(time_limit=limit, max_iter=1000)
    wall, cpu = _seconds(model.fit, rows)
    return {"wall": wall, "cpu": cpu, "iterations": model.n_iter_}


def measure_free(case: ManyClusters, who: str) -> dict[str, float]:
    """Seconds of one side without sizes."""
    rows = case.rows(0)
    if who == "ours":
        model = ConstrainedKMeans(case.n_clusters, init=case.start(rows), max_iter=ITERATIONS, tol=0)
    else:
        model = _plain(case, case.start(rows))
    wall, cpu = _seconds(model.fit, rows)
    return {"wall": wall, "cpu": cpu, "sse": float(model.inertia_)}


def _sized(case: ManyClusters, start: np.ndarray) -> ConstrainedKMeans:
    mean = case.n_rows / case.n_clusters
    return ConstrainedKMeans(
        case.n_clusters,
        size_min=int(0.5 * mean),
        size_max=int(1.5 * mean),
        init=start,
        max_iter=ITERATIONS,
        tol=0,
        local_search=False,
    )


def _plain(case: ManyClusters, start: np.ndarray) -> KMeans:
    return KMeans(case.n_clusters, init=start, n_init=1, max_iter=ITERATIONS, tol=0, copy_x=False)


def _main(name: str, asked: str = "", value: str = "") -> dict[str, Any]:
    if asked == "--threads":
        return measure_threads(CASES[name], int(value))
    if asked == "--limit":
        return measure_limit(CASES[name], float(value))
    return measure_free(CASES[name], value) if asked == "--free" else measure(CASES[name])


def _seconds(call: Callable[..., Any], rows: np.ndarray) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten iterations are not enough to converge, and are not meant to be
        call(rows)
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    print(json.dumps(_main(*sys.argv[1:])))
