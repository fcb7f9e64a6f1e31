"""Fit linked rows with the konstrain of the environment at hand: asked by `perf/releases.py`, line by line.

Each line on standard input is the path of an archive, a seed and a limit in CPU seconds; each answer one JSON line.
Any release of konstrain will do: nothing but `ConstrainedKMeans` is asked for. A fit beyond its limit ends the
process.
"""

import json
import signal
import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from konstrain import ConstrainedKMeans


def fit(path: str, seed: int, limit: float) -> dict[str, float]:
    """SSE, recomputed from the labels, broken links and CPU seconds of a fit with default settings."""
    given = np.load(path)
    X, must, cannot = given["X"], given["must_link"], given["cannot_link"]
    model = ConstrainedKMeans(int(given["n_clusters"]), random_state=seed)
    signal.setitimer(signal.ITIMER_PROF, limit)
    begin = time.process_time()
    model.fit(X, must_link=must if must.size else None, cannot_link=cannot if cannot.size else None)
    seconds = time.process_time() - begin
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    labels = model.labels_
    sse = sum(float(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum()) for j in np.unique(labels))
    broken = (labels[must[:, 0]] != labels[must[:, 1]]).sum() + (labels[cannot[:, 0]] == labels[cannot[:, 1]]).sum()
    return {"sse": sse, "broken": int(broken), "seconds": seconds}


def main() -> None:
    """Answer until there are no more lines."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in sys.stdin:
            path, seed, limit = line.rstrip("\n").split("\t")
            print(json.dumps(fit(path, int(seed), float(limit))), flush=True)


if __name__ == "__main__":
    main()
