"""Time a method of active-semi-supervised-clustering: ``python perf/peers/semi_clustering.py pck-means 0 1.0``.

Prints CPU seconds, labels and, for MPCK-Means, the metric; or why it failed.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.spatial  # noqa: F401 - the package uses it without importing it
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans, MPCKMeans, PCKMeans

from digits_links import N_CLUSTERS, linked_digits


class KeptMetric(MPCKMeans):
    """The same, but the last metric can be seen."""

    def _update_metrics(self, *arguments):
        self.metric_ = super()._update_metrics(*arguments)
        return self.metric_


def main(method: str, seed: int, price: float) -> None:
    """Fit once and print what came out."""
    X, must, cannot = linked_digits(seed)
    model = {
        "cop-kmeans": lambda: COPKMeans(N_CLUSTERS),
        "pck-means": lambda: PCKMeans(N_CLUSTERS, w=price),
        "mpck-means": lambda: KeptMetric(N_CLUSTERS, w=price),
    }[method]()
    links = {"ml": [tuple(p) for p in must.tolist()], "cl": [tuple(p) for p in cannot.tolist()]}
    np.random.seed(seed)  # noqa: NPY002 - the package draws from the global generator
    error = None
    begin = time.process_time()
    with threadpool_limits(1):
        try:
            model.fit(X, **links)
        except Exception as failure:
            error = type(failure).__name__
    seconds = time.process_time() - begin
    labels = None if error else np.asarray(model.labels_).tolist()
    metric = np.diag(model.metric_).tolist() if method == "mpck-means" and not error else None
    print(json.dumps({"cpu_seconds": seconds, "labels": labels, "metric": metric, "error": error}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
