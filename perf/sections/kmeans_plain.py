"""No constraints: whole runs against scikit-learn's KMeans(algorithm="lloyd") from the same starting centers."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from konstrain import ConstrainedKMeans
from report import Row

ITERATIONS = 10


def plain_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per precision and number of threads: wall seconds of ten iterations on a million rows."""
    n = 100_000 if quick else 1_000_000
    X = np.random.default_rng(0).normal(size=(n, 20))
    start = X[:50].copy()
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        for threads in (1, 2):
            ours, theirs = _both(rows, start, threads)
            yield {
                "case": f"{n:,} x 20, k=50, {np.dtype(dtype)}, {threads} thread{'s' if threads > 1 else ''}",
                "ours s (wall)": f"{ours:.3f}",
                "KMeans s (wall)": f"{theirs:.3f}",
                "ours / KMeans": f"{ours / theirs:.2f}",
            }


def _both(rows: np.ndarray, start: np.ndarray, threads: int) -> tuple[float, float]:
    ours = ConstrainedKMeans(50, init=start, max_iter=ITERATIONS, tol=0)
    theirs = KMeans(50, init=start.astype(rows.dtype), n_init=1, max_iter=ITERATIONS, tol=0, copy_x=False)
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        with threadpool_limits(threads):
            # Alternating, best of three: whatever else the machine does hits both.
            pairs = [(_wall(ours.fit, rows), _wall(theirs.fit, rows)) for _ in range(3)]
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before
    return min(own for own, _ in pairs), min(peer for _, peer in pairs)


def _wall(call: Callable[..., Any], rows: np.ndarray) -> float:
    import warnings

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten iterations are not enough to converge, and are not meant to be
        call(rows)
    return time.perf_counter() - begin


SECTIONS = {"no constraints": plain_rows}
