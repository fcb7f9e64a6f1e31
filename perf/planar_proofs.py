"""Proofs by column generation over boxes: planar points with many clusters, links, sizes, and census tracts.

Usage: python perf/planar_proofs.py --data FOLDER [--seconds LIMIT] [--only TEXT]

FOLDER holds `planar/` (u1060.txt, ...) and `regions/` (OK_tract_nodes.csv.gz, ...). Seconds and the limit are those
of the processor, the search for the upper bound included.
"""

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import konstrain.stop
from konstrain import ConstrainedKMeans, certify

# Name, numbers of clusters, gap to prove.
PLANAR = [
    ("u1060", (10, 20, 30, 40, 50), 5e-4),
    ("gr666", (2, 4, 6, 8, 10), 1e-4),
    ("ali535", (2, 4, 6, 8, 10), 1e-4),
    ("pr299", (2, 4, 6, 8, 10), 1e-4),
]
# State, districts, least and largest population.
TRACTS = [
    ("OK", 5, 746_519, 754_021),
    ("AR", 4, 725_335, 732_624),
    ("KS", 4, 709_714, 716_845),
    ("AZ", 9, 706_674, 713_775),
    ("MO", 8, 744_873, 752_358),
    ("NJ", 12, 728_995, 736_321),
]
# Rows drawn uniformly from a square, and number of clusters.
RANDOM = [(2000, 60), (4000, 100), (6000, 150)]


def read_planar(folder: Path, name: str) -> np.ndarray:
    """Read points; the first line has their number and the number of features."""
    with (folder / "planar" / f"{name}.txt").open() as file:
        n, d = map(int, file.readline().split())
        return np.loadtxt(file)[:n, :d]


def linked_cases(X: np.ndarray) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield links between rows that k-means puts together, and sizes, for ten clusters."""
    rng = np.random.default_rng(0)
    labels = ConstrainedKMeans(10, n_init=30, random_state=0).fit(X).labels_
    first, second = np.triu_indices(len(X), 1)
    same = np.column_stack([first, second])[labels[first] == labels[second]]
    cannot = same[rng.choice(len(same), 40, replace=False)]
    free = same[~np.isin(same, cannot).any(axis=1)]
    must = free[rng.choice(len(free), 20, replace=False)]
    yield "40 cannot-links", {"cannot_link": cannot}
    yield "size_max=23", {"size_max": 23}
    yield "40 cannot-links, 20 must-links, size_max=23", {"cannot_link": cannot, "must_link": must, "size_max": 23}
    yield "size_min=15", {"size_min": 15}


def cases(folder: Path) -> Iterator[tuple[str, np.ndarray, int, float, dict[str, Any]]]:
    """Yield name, rows, number of clusters, gap and constraints."""
    for name, numbers, gap in PLANAR:
        X = read_planar(folder, name)
        for k in numbers:
            yield f"{name} k={k}", X, k, gap, {}
    X = read_planar(folder, "gr202")
    for name, given in linked_cases(X):
        yield f"gr202 k=10, {name}", X, 10, 1e-6, given
    for state, k, low, high in TRACTS:
        path = folder / "regions" / f"{state}_tract_nodes.csv.gz"
        table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
        X = np.column_stack([table["x_km"], table["y_km"]]).astype(float)
        people = table["population"].astype(float)
        given = {"demand": people, "sample_weight": people, "size_min": low, "size_max": high}
        yield f"{state} tracts k={k}, population within 0.5%", X, k, 5e-3, given
    for n, k in RANDOM:
        yield f"random rows n={n} k={k}", np.random.default_rng(n).random((n, 2)), k, 1e-4, {}


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    # Budgets count the seconds of the processor, so that other work on the machine changes no figure.
    konstrain.stop.time = SimpleNamespace(perf_counter=time.process_time)
    print("| case | cost | lower bound | gap | nodes | processor seconds | most memory so far |")
    print("|---|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for name, X, k, gap, given in cases(options.data):
            if options.only not in name:
                continue
            began = time.process_time()
            proof = certify(X, k, bound="columns", gap=gap, time_limit=options.seconds, **given)
            seconds = time.process_time() - began
            print(
                f"| {name} | {proof.cost:.8g} | {proof.lower_bound:.8g} | {100 * proof.gap:.4f}% | {proof.n_nodes} "
                f"| {seconds:.1f} | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
