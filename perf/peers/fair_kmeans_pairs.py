"""Time FairKMeans of the package fair-kmeans on rows that `perf/fair_peers.py` wrote; prints one JSON line.

The package wants numpy 1, so that it lives in an environment of its own: this script imports nothing of ours.
"""

import json
import sys
import time

import numpy as np
from fair_kmeans import FairKMeans


def main() -> None:
    """Print the labels and CPU seconds."""
    given = np.load(sys.argv[1])
    begin = time.process_time()
    model = FairKMeans(n_clusters=int(sys.argv[2]), n_init=int(sys.argv[3]), random_state=0)
    model.fit(given["rows"], color=given["group"])
    seconds = time.process_time() - begin
    print(json.dumps({"labels": [int(label) for label in model.labels_], "cpu_seconds": seconds}))


if __name__ == "__main__":
    main()
