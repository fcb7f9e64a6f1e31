"""Iterations: what momentum and the brief search save and gain beside Lloyd's plain loop, from the same start."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from konstrain import ConstrainedKMeans
from report import Row

Rows = NDArray[np.float64]


def overlapping_blobs(seed: int) -> tuple[Rows, Rows]:
    """Clusters that can hardly be told apart, and a start: Lloyd's loop takes many small steps."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.normal(size=(5, 8))[rng.integers(5, size=3000)] + rng.normal(size=(3000, 8))
    return X, X[:5]


def poor_start(seed: int) -> tuple[Rows, Rows]:
    """Blobs near each other, and a start within the first: Lloyd's loop takes long to spread the centers."""
    rng = np.random.default_rng(seed)
    X = np.repeat(4.0 * rng.normal(size=(8, 4)), 200, axis=0) + rng.normal(size=(1600, 4))
    return X, X[:8]


CASES: dict[str, tuple[Callable[[int], tuple[Rows, Rows]], int, int]] = {
    "overlapping blobs, 3,000 x 8, sizes 500..700": (overlapping_blobs, 500, 700),
    "poor start, 1,600 x 4, sizes 100..400": (poor_start, 100, 400),
}


def step_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: mean iterations of both ways, their ratio, and how much lower ours ends."""
    n_seeds = 3 if quick else 100 if full else 10
    for name, (make, low, high) in CASES.items():
        fits = [_both_ways(*make(seed), low, high) for seed in range(n_seeds)]
        (plain, own), (plain_sse, own_sse) = np.mean(fits, axis=0).T
        yield {
            "case": name,
            "seeds": str(n_seeds),
            "plain loop, iterations": f"{plain:.1f}",
            "ours": f"{own:.1f}",
            "ours / plain": f"{own / plain:.2f}",
            "our SSE / its - 1": f"{own_sse / plain_sse - 1:+.1e}",
        }


def _both_ways(X: Rows, start: Rows, low: int, high: int) -> list[tuple[float, float]]:
    """Iterations and SSE of the plain loop and of ours."""
    settings = {"size_min": low, "size_max": high, "init": start, "max_iter": 1000, "random_state": 0}
    models = [ConstrainedKMeans(len(start), local_search=search, **settings).fit(X) for search in (False, "auto")]
    return [(model.n_iter_, model.inertia_) for model in models]


SECTIONS = {"steps": step_rows}
