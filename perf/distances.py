"""Times of the sweeps in `konstrain.kmeans.distances`, and of one k-means iteration beside scikit-learn's.

Run it as `python perf/distances.py [--quick]`. Each line is the best of several runs, taken in turns with its peer;
CPU time is given too, because wall time on a busy machine says little. scikit-learn's time is that of a whole fit
with `tol=0`, divided by its iterations.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from konstrain.kmeans import distances

Times = NDArray[np.float64]
N_ITERATIONS = 10


def measure(*calls: Callable[[], object], n_runs: int) -> list[Times]:
    """Least wall and CPU milliseconds of each call, taken in turns."""
    least = np.full((len(calls), 2), np.inf)
    for _ in range(n_runs):
        for times, call in zip(least, calls, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            now = (time.perf_counter() - wall, time.process_time() - cpu)
            np.minimum(times, np.multiply(now, 1e3), out=times)
    return list(least)


def lloyd_step(means: NDArray[np.floating], centers: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
    """One iteration: labels, then new centers; an empty cluster keeps its center."""
    _, _, sums, weight = distances.nearest_pass(means, None, centers, n_threads=n_threads)
    return np.where(weight[:, None] > 0, sums / np.maximum(weight, 1e-300)[:, None], centers)


def our_iterations(means: NDArray[np.floating], centers: NDArray[np.float64], n_threads: int) -> None:
    """As many iterations as scikit-learn is given."""
    for _ in range(N_ITERATIONS):
        centers = lloyd_step(means, centers, n_threads)


def compare_iteration(shape: tuple[int, int], n_clusters: int, dtype: type, n_threads: int, n_runs: int) -> None:
    """Print one line: an iteration of ours beside one of scikit-learn's, from the same start."""
    means = np.random.default_rng(0).normal(size=shape).astype(dtype)
    centers = means[:n_clusters].copy()
    peer = KMeans(n_clusters, init=centers, n_init=1, max_iter=N_ITERATIONS, tol=0, algorithm="lloyd", copy_x=False)
    with threadpool_limits(n_threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge in so few iterations
        start = centers.astype(np.float64)
        ours, theirs = measure(
            lambda: our_iterations(means, start, n_threads), lambda: peer.fit(means), n_runs=n_runs
        )
    ours, theirs = ours / N_ITERATIONS, theirs / peer.n_iter_
    print(
        f"{shape[0]:>9,} x {shape[1]:<4} k={n_clusters:<4} {np.dtype(dtype).name:8} {n_threads} thread(s)"
        f"  ours {ours[0]:7.1f} ({ours[1]:7.1f})  scikit-learn {theirs[0]:7.1f} ({theirs[1]:7.1f})"
        f"  ratio {ours[0] / theirs[0]:.2f} ({ours[1] / theirs[1]:.2f})",
        flush=True,
    )


def report_sweeps(name: str, means: NDArray[np.floating] | sparse.csr_array, n_clusters: int, n_runs: int) -> None:
    """Print the time of each sweep over one set of rows, with one thread and with two."""
    rng = np.random.default_rng(1)
    chosen = rng.choice(means.shape[0], n_clusters, replace=False)
    first = means[chosen]
    centers = np.ascontiguousarray(first.toarray() if sparse.issparse(first) else first, dtype=np.float64)
    labels = rng.integers(0, n_clusters, means.shape[0]).astype(np.int32)
    out = np.zeros((means.shape[0], n_clusters))
    for n in (1, 2):
        calls: dict[str, Callable[[], object]] = {
            "costs": lambda n=n: distances.block_costs(means, None, centers, n_threads=n, out=out),
            "costs, fresh": lambda n=n: distances.block_costs(means, None, centers, n_threads=n),
            "nearest": lambda n=n: distances.nearest_pass(means, None, centers, n_threads=n),
            "sums": lambda n=n: distances.center_sums(means, None, labels, n_clusters, n_threads=n),
            "5 candidates": lambda n=n: distances.candidate_distances(means, chosen[:5], n_threads=n),
        }
        results = measure(*calls.values(), n_runs=n_runs)
        cells = "  ".join(f"{call} {wall:.1f} ({cpu:.1f})" for call, (wall, cpu) in zip(calls, results, strict=True))
        print(f"{name}, {n} thread(s): {cells}", flush=True)
    (fill,) = measure(lambda: out.fill(1.0), n_runs=n_runs)
    print(f"    filling the costs with a constant: {fill[0]:.1f} ({fill[1]:.1f})", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer runs")
    quick = parser.parse_args().quick
    scale, n_runs = (10, 3) if quick else (1, 5)
    rng = np.random.default_rng(2)

    print("milliseconds per k-means iteration, wall (CPU)")
    for shape, k in [((1_000_000, 20), 50), ((1_000_000, 2), 50), ((400_000, 50), 50), ((200_000, 150), 20)]:
        for dtype in (np.float64, np.float32):
            for n_threads in (1, 2):
                compare_iteration((shape[0] // scale, shape[1]), k, dtype, n_threads, n_runs)

    print("\nmilliseconds per sweep, wall (CPU)")
    report_sweeps("1,000,000 x 20 float64, k=50", rng.normal(size=(1_000_000 // scale, 20)), 50, n_runs)
    rows = rng.standard_normal((1_000_000 // scale, 150), dtype=np.float32)
    report_sweeps("1,000,000 x 150 float32, k=20", rows, 20, n_runs)
    report_sweeps("23,000 x 50 float64, k=10", rng.normal(size=(23_000, 50)), 10, n_runs)
    entries = sparse.random_array((132_000, 17_700), density=700_000 / (132_000 * 17_700), rng=rng, format="csr")
    report_sweeps("132,000 x 17,700 CSR, 700,000 entries, k=25", entries, 25, n_runs)


if __name__ == "__main__":
    main()
