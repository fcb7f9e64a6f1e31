"""Bound any number of rows by parts: ``python perf/certificates.py --data FOLDER [--quick] [section ...]``.

FOLDER holds `Abalone.csv.gz` and the other large sets. One table: the gap that was proved beside the one asked for,
the estimate of where it would end, processor seconds of the parts and seconds on the clock. Rows are told as they
come.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from konstrain import ConstrainedKMeans, _core, certify
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.competing import balanced_partition
from konstrain.exact.decomposition.partition import Partition
from konstrain.exact.heuristic import find_clustering
from konstrain.stop import Budget
from report import Row, table_of

LIMIT = 1800.0


def blobs(n: int, d: int, k: int, spread: float, seed: int = 0) -> np.ndarray:
    """Gaussian clusters around centers drawn from a cube of side 20."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-10, 10, (k, d))
    return centers[rng.integers(0, k, n)] + spread * rng.normal(size=(n, d))


def proof(name: str, X: np.ndarray, k: int, asked: float, arguments: argparse.Namespace, **constraints: Any) -> Row:
    """Cluster, then certify to the gap asked for."""
    sizes = {key: constraints.pop(key) for key in ("size_min", "size_max") if key in constraints}
    model = ConstrainedKMeans(k, random_state=0, **sizes).fit(X, **constraints)
    last: list[Any] = []
    began = time.perf_counter()
    proved = model.certify(
        X,
        bound="parts",
        gap=asked,
        time_limit=arguments.limit,
        n_jobs=arguments.jobs,
        resume=arguments.resume,
        part_size=arguments.part_size or "auto",
        callback=lambda point: last.__setitem__(slice(None), [point]),
    )
    return {
        "data": name,
        "rows": f"{len(X):,}",
        "k": str(k),
        "asked": f"{asked:.2%}",
        "gap": f"{proved.gap:.3%}",
        "kept": "yes" if proved.gap <= asked else "no",
        "estimate": f"{proved.projected_gap:.3%} ± {proved.projected_gap_error:.3%}",
        "parts": f"{proved.n_nodes:,} of {proved.n_parts:,}, {proved.part_size} each",
        "CPU s": f"{last[0].processor_seconds:.0f}" if last else "",
        "clock s": f"{time.perf_counter() - began:.0f}",
        "not seen": "; ".join(proved.left_out),
    }


def collection(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the instances of the collection that take a minute at most."""
    for name, k in (("Abalone", 3), ("10000_2_10", 2), ("10000_3_10", 3), ("10000_4_10", 4)):
        yield proof(name, read(name, arguments), k, 0.001, arguments)


def pulsar(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield many rows, two clusters of very unequal size."""
    yield proof("Pulsar", read("Pulsar", arguments), 2, 0.01 if arguments.quick else 0.002, arguments)


def electric(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield rows without clusters, which need large parts."""
    yield proof("Electric", read("Electric", arguments), 3, 0.1 if arguments.quick else 0.025, arguments)


def read(name: str, arguments: argparse.Namespace) -> np.ndarray:
    """Rows of a set of the collection."""
    return np.loadtxt(arguments.data / f"{name}.csv.gz", delimiter=",")


def hundred_thousand(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield clusters that are apart and clusters that overlap."""
    n = 10_000 if arguments.quick else 100_000
    for spread, asked in ((1.0, 0.005), (3.0, 0.02)):
        yield proof(f"blobs, spread {spread:g}", blobs(n, 10, 10, spread), 10, asked, arguments)


def million(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a million rows."""
    yield proof("clusters apart", a_million(arguments), 5, 0.05, arguments)


def million_links(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the same with links that the clusters keep."""
    X = a_million(arguments)
    labels = ConstrainedKMeans(5, random_state=0).fit_predict(X)
    pairs = np.random.default_rng(1).integers(0, len(X), (20_000, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    links = {"must_link": pairs[same & (pairs[:, 0] != pairs[:, 1])][:1000], "cannot_link": pairs[~same][:1000]}
    yield proof("with 1,000 + 1,000 links", X, 5, 0.05, arguments, **links)


def million_sizes(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the same with an upper bound on sizes, at the largest cluster and below it."""
    X = a_million(arguments)
    largest = int(np.bincount(ConstrainedKMeans(5, random_state=0).fit_predict(X)).max())
    yield proof("with size_max at the largest", X, 5, 0.05, arguments, size_max=largest)
    yield proof("with size_max that binds", X, 5, 0.05, arguments, size_max=int(0.999 * largest))


def a_million(arguments: argparse.Namespace) -> np.ndarray:
    """Five clusters apart, in five features."""
    return blobs(50_000 if arguments.quick else 1_000_000, 5, 5, 1.0)


def line(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield how bounds on a line compare with the optimum by dynamic programming, 50 random cases to a row."""
    begin, end = arguments.cases
    for first in range(begin, begin + 50 if arguments.quick else end, 50):
        began = time.process_time()
        ratios = np.array([ratio_on_a_line(seed) for seed in range(first, first + 50)])
        above = int(np.count_nonzero(ratios > 1 + 1e-9))
        yield {
            "data": f"a line, cases {first} to {first + 49}",
            "rows": "400 to 5,000",
            "k": "2 to 6",
            "asked": "never above",
            "gap": f"mean {1 - ratios.mean():.3%}, most {1 - ratios.min():.3%}",
            "kept": "yes" if above == 0 else f"no: {above} above the optimum",
            "CPU s": f"{time.process_time() - began:.0f}",
        }


def ratio_on_a_line(seed: int) -> float:
    """Bound over optimum of one random case: the sum over parts, before it is cut off at the cost of the labels."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(400, 5001 if seed % 10 == 0 else 1001)), int(rng.integers(2, 7))
    x = (rng.normal, rng.exponential, rng.uniform)[seed % 3](size=n) + 4.0 * rng.integers(0, k, n)
    labels = ConstrainedKMeans(k, n_init=1, random_state=seed).fit_predict(x[:, None])
    sums = []
    options = {"bound": "parts", "part_size": 30, "gap": 0.1, "random_state": seed}
    certify(x[:, None], k, labels=labels, callback=lambda point: sums.append(point.lower_bound), **options)
    return max(sums) / best_on_a_line(x, k)


def best_on_a_line(x: np.ndarray, k: int) -> float:
    """Least cost of k clusters of numbers: dynamic programming over their order, a row of costs at a time."""
    x = np.sort(x - x.mean())
    first, second = np.concatenate([[0], np.cumsum(x)]), np.concatenate([[0], np.cumsum(x * x)])
    best = np.concatenate([[0.0], np.full(x.size, np.inf)])
    for _ in range(k):
        following = np.full(x.size + 1, np.inf)
        for end in range(1, x.size + 1):
            count = end - np.arange(end)
            cost = second[end] - second[:end] - (first[end] - first[:end]) ** 2 / count
            following[end] = (best[:end] + cost).min()
        best = following
    return float(best[-1])


def dealing(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield how long it takes to make the parts."""
    n, d, k, n_parts = (100_000, 20, 10, 400) if arguments.quick else (1_000_000, 20, 10, 4000)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n).astype(np.int32)
    X = rng.normal(size=(n, d)) + 5 * rng.normal(size=(k, d))[labels]
    part = np.full(n, -1, dtype=np.int32)
    began, clock = time.process_time(), time.perf_counter()
    _core.deal_rows(X, np.ones(n), labels, k, n_parts, 2, 16, 0, part)
    seconds = time.process_time() - began
    yield {
        "data": "dealing rows to parts",
        "rows": f"{n:,}",
        "k": str(k),
        "asked": "30 s",
        "kept": "yes" if seconds < 30 else "no",
        "parts": f"{n_parts:,}",
        "CPU s": f"{seconds:.1f}",
        "clock s": f"{time.perf_counter() - clock:.1f}",
    }


def shape(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield what parts of 300 rows gain by clusters of their own: random, stratified and balanced partitions."""
    for name, k in (("10000_4_10", 4), ("Electric", 3)):
        X = np.loadtxt(arguments.data / f"{name}.csv.gz", delimiter=",")
        model = ConstrainedKMeans(k, random_state=0).fit(X)
        problem = Problem.build(X, k)
        stratified = Partition.stratified(problem, model.labels_, 300, seed=0)
        part_of = np.random.default_rng(0).permutation(stratified.part_of)
        random = Partition(problem, model.labels_, part_of, stratified.n_parts)
        balanced = balanced_partition(problem, model.labels_, 300, 0, 0.001, Budget(None))
        for how, partition in (("random", random), ("stratified", stratified), ("balanced", balanced)):
            problems = map(partition.part_problem, range(partition.n_parts))
            best = sum(least_found(part, model.cluster_centers_) for part in problems)
            row = {"data": f"{name}, {how} partition", "rows": f"{len(X):,}", "k": str(k)}
            yield row | {"gap": f"at least {1 - best / model.inertia_:.3%}"}


def least_found(part: Problem, centers: np.ndarray) -> float:
    """Cost of the best clustering of a part from the centers of the whole and from three other starts."""
    starts = ((centers, 1), (None, 3))
    found = [find_clustering(part.mean, part, Budget(None), centers=start, n_init=n) for start, n in starts]
    return min(clustering.inertia for clustering in found if clustering is not None)


SECTIONS = {
    "shape": shape,
    "dealing": dealing,
    "collection": collection,
    "pulsar": pulsar,
    "electric": electric,
    "hundred thousand": hundred_thousand,
    "million": million,
    "million links": million_links,
    "million sizes": million_sizes,
    "line": line,
}


def main() -> None:
    """Run the sections asked for and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="smaller versions of all rows")
    parser.add_argument("--jobs", type=int, default=1, help="parts bounded together")
    parser.add_argument("--resume", type=Path, help="file of finished parts, to go on later")
    parser.add_argument("--part-size", type=int, help="blocks of a part; default: as certify finds best")
    parser.add_argument("--cases", type=int, nargs=2, default=(0, 500), help="first and end of the cases on a line")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each proof")
    arguments = parser.parse_args()
    console = Console(width=170)
    rows: list[Row] = []
    for title in arguments.sections or SECTIONS:
        for row in SECTIONS[title](arguments):
            console.print(" | ".join(f"{name} {value}" for name, value in row.items()), highlight=False)
            rows.append(row)
    console.print(table_of("certificates by parts", rows))


if __name__ == "__main__":
    main()
