"""How fast column generation proves optima: the papers' data with drawn links, and planar points with many clusters.

Usage: python perf/column_generation.py [--data FOLDER] [--quick] [--seconds LIMIT] [--only TEXT]
       [--stabilization smoothing|perturbation ...]

Seconds are those of one core, the search for the upper bound included.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from konstrain import ConstrainedKMeans, Problem
from konstrain.exact import ColumnGenerationBound
from konstrain.stop import Budget

GAP = 1e-6


@dataclass(frozen=True)
class Instance:
    """Rows, number of clusters and links drawn from the true labels."""

    name: str
    X: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray


def draw_links(labels: np.ndarray, n_pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs drawn uniformly without repetition: must-links within a class, cannot-links between classes."""
    first, second = np.triu_indices(labels.size, 1)
    chosen = np.random.default_rng(seed).choice(first.size, n_pairs, replace=False)
    pairs = np.stack([first[chosen], second[chosen]], axis=1)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return pairs[same], pairs[~same]


def labelled(data: Path, name: str, n_clusters: int, n_pairs: int) -> Instance:
    """Read a labelled set and draw links."""
    table = np.loadtxt(data / "sets" / f"{name}.csv", delimiter=",", skiprows=1)
    must, cannot = draw_links(table[:, -1].astype(int), n_pairs, seed=n_pairs)
    X = np.ascontiguousarray(table[:, :-1])
    return Instance(f"{name} #c={n_pairs}", X, n_clusters, must, cannot)


def planar(data: Path, name: str, n_clusters: int) -> Instance:
    """Read planar points."""
    X = np.loadtxt(data / "planar" / f"{name}.txt", skiprows=1)
    nothing = np.zeros((0, 2), dtype=int)
    return Instance(name, np.ascontiguousarray(X), n_clusters, nothing, nothing)


def instances(data: Path, quick: bool) -> Iterator[Instance]:
    """All cases, quick ones only if asked."""
    for n_pairs in (20, 80) if quick else (0, 10, 20, 40, 60, 80):
        yield labelled(data, "soybean", 4, n_pairs)
    for name in ("iris", "wine"):
        for n_clusters in (3, 5):
            for n_pairs in (500,) if quick else (240, 500):
                yield labelled(data, name, n_clusters, n_pairs)
    for name, n_clusters in (("ruspini", 10), ("ruspini", 25), ("gr202", 30), ("gr202", 60)):
        if not quick or name == "ruspini":
            yield planar(data, name, n_clusters)
    for n_clusters in (30,) if quick else (30, 15, 10):
        yield labelled(data, "iris", n_clusters, 0)


def solve(instance: Instance, seconds: float, stabilization: str) -> str:
    """One line of the table."""
    begin = time.process_time()
    links = {"must_link": instance.must_link, "cannot_link": instance.cannot_link}
    problem = Problem.build(instance.X, instance.n_clusters, **links)
    model = ConstrainedKMeans(instance.n_clusters, random_state=0).fit(instance.X, **links)
    started = time.process_time() - begin
    bound = ColumnGenerationBound(problem, stabilization=stabilization)
    bound.add_clustering(model.labels_)
    result = bound.run(gap=GAP, budget=Budget(seconds))
    spent = time.process_time() - begin
    gap = (result.incumbent_cost - result.lower_bound) / result.incumbent_cost
    return (
        f"{instance.name:16s}{problem.n_blocks:5d}{instance.n_clusters:4d}{model.inertia_:14.4f}"
        f"{result.incumbent_cost:14.4f}{result.lower_bound:14.4f}{gap:10.1e}{result.n_columns:7d}"
        f"{result.n_iterations:6d}{result.n_pricer_nodes:9d}{started:7.2f}{spent:8.2f}  {result.status}"
        f"{'' if result.is_integral else ' fractional'}, {stabilization}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--stabilization", nargs="+", default=["smoothing"])
    arguments = parser.parse_args()
    print(
        f"{'instance':16s}{'m':>5s}{'k':>4s}{'first UB':>14s}{'UB':>14s}{'LB':>14s}{'gap':>10s}{'cols':>7s}"
        f"{'its':>6s}{'nodes':>9s}{'UB s':>7s}{'all s':>8s}  status (relative gap {GAP:g} counts as closed)"
    )
    with threadpool_limits(1):
        for instance in instances(arguments.data, arguments.quick):
            if arguments.only in instance.name:
                for stabilization in arguments.stabilization:
                    print(solve(instance, arguments.seconds, stabilization), flush=True)


if __name__ == "__main__":
    main()
