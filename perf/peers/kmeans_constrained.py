"""Time k-means-constrained on one case: ``python perf/peers/kmeans_constrained.py NAME``, a name of `kmeans_cases`.

A process of its own: its solver, ortools, and highspy do not load in one. Prints one JSON line; `fit` is timed whole.
The SSE is recomputed from its labels with their own means, which is the kindest reading of its answer.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from k_means_constrained import KMeansConstrained
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kmeans_cases import CASES


def main(name: str) -> None:
    """Print CPU seconds, iterations and the SSE of the labels."""
    case = CASES[name]
    with threadpool_limits(1):
        rows = case.rows()
        model = KMeansConstrained(
            case.n_clusters,
            size_min=case.size_min,
            size_max=case.size_max,
            init=case.start(rows),
            n_init=1,
            max_iter=300,
            tol=1e-4,
            random_state=0,
        )
        begin = time.process_time()
        model.fit(rows)
        seconds = time.process_time() - begin
    labels = model.labels_
    means = np.stack([rows[labels == j].mean(axis=0) for j in range(case.n_clusters)])
    sse = float(((rows - means[labels]) ** 2).sum())
    print(json.dumps({"cpu_seconds": seconds, "n_iter": int(model.n_iter_), "sse": sse}))


if __name__ == "__main__":
    main(sys.argv[1])
