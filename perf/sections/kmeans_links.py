"""Links: a million rows against the unconstrained run, and digits against a COP-KMeans of another package."""

import json
import subprocess
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from konstrain import ConstrainedKMeans
from linked_pairs import all_pairs_of_some, random_pairs
from report import Row
from timing import cpu_seconds, run_alone

ITERATIONS = 10


def million_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield time per iteration with 100,000 + 100,000 pairs and without any."""
    n, n_pairs = (100_000, 10_000) if quick else (1_000_000, 100_000)
    X, y = make_blobs(n, 20, centers=50, cluster_std=4.0, random_state=0)
    rng = np.random.default_rng(0)
    links = {"must_link": random_pairs(y, True, n_pairs, rng), "cannot_link": random_pairs(y, False, n_pairs, rng)}
    start = X[rng.choice(n, 50, replace=False)]
    free, linked = (ConstrainedKMeans(50, init=start, max_iter=ITERATIONS, tol=0) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten iterations are not enough to converge, and are not meant to be
        seconds, _ = cpu_seconds(lambda: linked.fit(X, **links), repeats=1)
        plain, _ = cpu_seconds(lambda: free.fit(X), repeats=1)
    yield {
        "case": f"{n:,} x 20, k=50, {n_pairs:,} + {n_pairs:,} pairs",
        "linked s / iteration": f"{seconds / linked.n_iter_:.3f}",
        "free s / iteration": f"{plain / free.n_iter_:.3f}",
        "ratio": f"{(seconds / linked.n_iter_) / (plain / free.n_iter_):.2f}",
        "violations": str(linked.n_violations_),
    }


def digits_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield digits with all pairs among some of the rows: ours, and a greedy COP-KMeans."""
    X, y = load_digits(return_X_y=True)
    for share in (0.1, 0.2):
        must, cannot = all_pairs_of_some(y, share, np.random.default_rng(0))
        model = ConstrainedKMeans(10, n_init=1, random_state=0)
        seconds, _ = cpu_seconds(lambda m=model, a=must, b=cannot: m.fit(X, must_link=a, cannot_link=b))
        row = {
            "case": f"digits, {share:.0%} of the rows",
            "ours s": f"{seconds:.3f}",
            "violations": str(model.n_violations_),
            "SSE": f"{model.inertia_:.6g}",
        }
        if not quick:
            row |= _peer(share, seconds, model.inertia_)
        yield row


def _peer(share: float, seconds: float, inertia: float) -> Row:
    try:
        peer = json.loads(run_alone("peers/cop_kmeans.py", str(share)))
    except subprocess.CalledProcessError as error:
        return {"COP-KMeans": error.stderr.strip().splitlines()[-1]}
    if peer["sse"] is None:
        return {"COP-KMeans": f"failed after {peer['cpu_seconds']:.1f} s: {peer['error']}"}
    return {
        "COP-KMeans": f"{peer['cpu_seconds']:.1f} s",
        "ratio": f"{peer['cpu_seconds'] / seconds:.0f}",
        "our SSE / its - 1": f"{inertia / peer['sse'] - 1:+.2e}",
    }


SECTIONS = {"links, a million rows": million_rows, "links, digits": digits_rows}
