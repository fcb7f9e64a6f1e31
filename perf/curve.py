"""Draw seconds per iteration under sizes against rows, clusters and features: ``python perf/curve.py [--quick]``.

Blobs as in `many_clusters_fit`, sizes within half and one and a half of the mean, a few iterations of Lloyd's loop
from random rows. Prints one table and writes ``perf/pictures/seconds_per_iteration.png``.
"""

import argparse
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

from konstrain import ConstrainedKMeans
from report import Row, table_of

PICTURE = Path(__file__).resolve().parent / "pictures" / "seconds_per_iteration.png"
ITERATIONS = 4
# What is the same on a curve that does not vary it.
ROWS, CLUSTERS, FEATURES = 100_000, 100, 32
CURVES = {
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000],
    "clusters": [10, 30, 100, 199, 200, 500, 1_000, 2_000],
    "features": [2, 8, 32, 128],
}


def seconds_per_iteration(rows: int = ROWS, clusters: int = CLUSTERS, features: int = FEATURES) -> float:
    """Mean over the iterations of one fit, wall time."""
    rng = np.random.default_rng(0)
    label = rng.choice(clusters, rows, p=rng.dirichlet(np.full(clusters, 2.0)))
    X = rng.standard_normal((clusters, features), dtype=np.float32)[label]
    X += 0.7 * rng.standard_normal((rows, features), dtype=np.float32)
    model = ConstrainedKMeans(
        clusters,
        size_min=int(0.5 * rows / clusters),
        size_max=int(1.5 * rows / clusters),
        init=X[rng.choice(rows, clusters, replace=False)],
        max_iter=ITERATIONS,
        tol=0,
        local_search=False,
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are not enough to converge, and are not meant to be
        model.fit(X)
    return (time.perf_counter() - begin) / model.n_iter_


def draw(measured: dict[str, dict[int, float]]) -> None:
    """One panel per curve, both axes logarithmic."""
    figure, panels = plt.subplots(1, len(measured), figsize=(12, 3.6), sharey=True, layout="constrained")
    fixed = {"rows": f"{ROWS:,} rows", "clusters": f"{CLUSTERS} clusters", "features": f"{FEATURES} features"}
    for panel, (varied, points) in zip(panels, measured.items(), strict=True):
        panel.loglog(list(points), list(points.values()), "o-", color="tab:blue")
        panel.set_xlabel(varied)
        panel.set_title(", ".join(text for name, text in fixed.items() if name != varied), fontsize=10)
        panel.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("seconds per iteration")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Measure all curves, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the first points of each curve")
    quick = parser.parse_args().quick
    measured = {
        varied: {value: seconds_per_iteration(**{varied: value}) for value in (values[:3] if quick else values)}
        for varied, values in CURVES.items()
    }
    rows: list[Row] = [
        {"varied": varied, "value": f"{value:,}", "s per iteration": f"{seconds:.3g}"}
        for varied, points in measured.items()
        for value, seconds in points.items()
    ]
    Console(width=100).print(table_of("seconds per iteration under sizes", rows))
    draw(measured)


if __name__ == "__main__":
    main()
