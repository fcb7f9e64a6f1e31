"""Time faiss's Kmeans on one case: ``python perf/peers/faiss_kmeans.py 100000x1000``, a name of `many_clusters_fit`.

All rows (by default it draws a sample), ten iterations from the same centers, all cores. Prints one JSON line. The
SSE is that of its last assignment step, to the centers before their last move.
"""

import json
import sys
import time
from pathlib import Path

import faiss

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from many_clusters_fit import CASES, ITERATIONS, N_FEATURES


def main(name: str) -> None:
    """Print wall and CPU seconds and the SSE."""
    case = CASES[name]
    rows = case.rows(0)
    model = faiss.Kmeans(
        N_FEATURES, case.n_clusters, niter=ITERATIONS, max_points_per_centroid=case.n_rows, min_points_per_centroid=1
    )
    wall, cpu = time.perf_counter(), time.process_time()
    model.train(rows, init_centroids=case.start(rows))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "sse": float(model.obj[-1])}))


if __name__ == "__main__":
    main(sys.argv[1])
