"""Cluster sizes: whole fits against k-means-constrained from the same starting centers."""

import json
import subprocess
from collections.abc import Iterator

from kmeans_cases import CASES
from konstrain import ConstrainedKMeans
from report import Row
from timing import cpu_seconds, run_alone


def size_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: seconds, iterations and SSE of both."""
    for case in CASES.values():
        rows = case.rows()
        model = ConstrainedKMeans(case.n_clusters, case.size_min, case.size_max, init=case.start(rows))
        seconds, _ = cpu_seconds(lambda model=model, rows=rows: model.fit(rows))
        row = {"case": case.name, "ours s": f"{seconds:.3f}", "iterations": str(model.n_iter_)}
        if not quick:
            row |= _peer(case.name, seconds, model.inertia_)
        yield row


def _peer(name: str, seconds: float, inertia: float) -> Row:
    try:
        peer = json.loads(run_alone("peers/kmeans_constrained.py", name))
    except subprocess.CalledProcessError as error:
        return {"peer s": error.stderr.strip().splitlines()[-1]}
    return {
        "peer s": f"{peer['cpu_seconds']:.2f}",
        "its iterations": str(peer["n_iter"]),
        "ratio": f"{peer['cpu_seconds'] / seconds:.1f}",
        "our SSE / its - 1": f"{inertia / peer['sse'] - 1:+.2e}",
    }


SECTIONS = {"sizes": size_rows}
