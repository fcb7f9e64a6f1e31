"""One case with many clusters: ten iterations under sizes and without, in a process of its own.

``python perf/many_clusters_fit.py CASE [--threads N | --free ours | --free KMeans | --limit SECONDS]``: ours beside
KMeans; ours alone on so many threads; one of them without sizes; ours with a time limit.
"""

import json
import math
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
    largest: float = 1.5  # Most rows of a cluster, in means.
    n_iterations: int = ITERATIONS

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


@dataclass(frozen=True)
class Vectors(ManyClusters):
    """Rows of length one in single precision, as embeddings are; clusters of half to 1.05 of the mean."""

    largest: float = 1.05
    n_iterations: int = 5
    n_features: int = 768
    # How many directions matter, noise aside; 0: blobs about a thousand points, few of which are a center.
    n_directions: int = 32

    @property
    def name(self) -> str:
        """Rows x features x clusters, and what the rows are like."""
        return f"{self.n_rows}x{self.n_features}x{self.n_clusters}" + (" blobs" if self.n_directions == 0 else "")

    def rows(self, seed: int) -> np.ndarray:
        """Draw rows in slices."""
        rng = np.random.default_rng(seed)
        middles = rng.standard_normal((1_000, self.n_features), dtype=np.float32)
        directions = rng.standard_normal((self.n_directions, self.n_features), dtype=np.float32)
        centers = 1.5 * rng.standard_normal((200, self.n_directions), dtype=np.float32)
        share = rng.dirichlet(np.ones(200))
        rows = np.empty((self.n_rows, self.n_features), dtype=np.float32)
        for first in range(0, self.n_rows, 5_000):
            n = min(5_000, self.n_rows - first)
            noise = rng.standard_normal((n, self.n_features), dtype=np.float32)
            if self.n_directions == 0:
                part = middles[rng.integers(1_000, size=n)] + np.float32(1.2) * noise
            else:
                scores = rng.standard_normal((n, self.n_directions), dtype=np.float32)
                scores *= np.linspace(2.0, 0.3, self.n_directions, dtype=np.float32)
                part = (scores + centers[rng.choice(200, n, p=share)]) @ directions + np.float32(3.0) * noise
            rows[first : first + n] = part / np.linalg.norm(part, axis=1, keepdims=True)
        return rows


@dataclass(frozen=True)
class Skewed(Vectors):
    """Unit rows about 300 points that are chosen very unevenly, or about none."""

    skew: float = 0.5  # Parameter of the Dirichlet distribution of their weights; 0: rows without any structure.

    @property
    def name(self) -> str:
        """Rows x features x clusters, and how uneven they are."""
        return f"{self.n_rows}x{self.n_features}x{self.n_clusters} skew {self.skew:g}"

    def rows(self, seed: int) -> np.ndarray:
        """Draw all rows at once."""
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((self.n_rows, self.n_features), dtype=np.float32)
        if self.skew > 0:
            points = rng.standard_normal((300, self.n_features), dtype=np.float32)
            share = rng.dirichlet(np.full(300, self.skew))
            rows = points[rng.choice(300, self.n_rows, p=share)] + np.float32(1.2) * rows
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


SKEWED = tuple(
    Skewed(n, k, n_features=d, skew=skew)
    for n, d, k in (
        (20_000, 8, 50),
        (20_000, 8, 200),
        (20_000, 64, 200),
        (20_000, 384, 50),
        (20_000, 384, 200),
        (20_000, 384, 500),
        (20_000, 1_536, 200),
        (20_000, 1_536, 500),
        (60_000, 8, 2_000),
        (60_000, 64, 500),
        (60_000, 64, 2_000),
        (60_000, 768, 500),
    )
    for skew in (0.5, 2.0, 0.0)
)
VECTORS = (
    Vectors(60_000, 500),
    Vectors(60_000, 500, n_directions=0),
    Vectors(200_000, 2_000),
    Vectors(1_000_000, 1_000, n_features=128),
)
CASES = {
    case.name: case
    for case in (
        ManyClusters(20_000, 200),
        ManyClusters(100_000, 1_000),
        ManyClusters(1_000_000, 1_000),
        *VECTORS,
        *SKEWED,
    )
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
        "beyond X / X": f"{beyond * 1e6 / rows.nbytes:.2f}",
        "largest / mean": f"{np.bincount(ours.labels_).max() * case.n_clusters / case.n_rows:.3f}",
        "SSE / KMeans": f"{ours.inertia_ / theirs.inertia_:.3f}",
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
        size_max=math.ceil(case.largest * mean),
        init=start,
        max_iter=case.n_iterations,
        tol=0,
        local_search=False,
    )


def _plain(case: ManyClusters, start: np.ndarray) -> KMeans:
    return KMeans(case.n_clusters, init=start, n_init=1, max_iter=case.n_iterations, tol=0, copy_x=False)


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
