"""Time the COP-KMeans of active-semi-supervised-clustering on digits: ``python perf/peers/cop_kmeans.py 0.1``."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans

from linked_pairs import all_pairs_of_some


def main(share: float) -> None:
    """Print CPU seconds and the SSE, or why it failed."""
    X, y = load_digits(return_X_y=True)
    must, cannot = all_pairs_of_some(y, share, np.random.default_rng(0))
    np.random.seed(0)  # noqa: NPY002 - the package draws from the global generator
    model, error = COPKMeans(n_clusters=10), None
    begin = time.process_time()
    with threadpool_limits(1):
        try:
            model.fit(X, ml=[tuple(p) for p in must.tolist()], cl=[tuple(p) for p in cannot.tolist()])
        except Exception as failure:
            error = type(failure).__name__
    seconds = time.process_time() - begin
    sse = None
    if error is None:
        labels = model.labels_
        sse = sum(float(((X[labels == j] - X[labels == j].mean(0)) ** 2).sum()) for j in np.unique(labels))
    print(json.dumps({"cpu_seconds": seconds, "sse": sse, "error": error}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
