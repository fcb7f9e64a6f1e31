"""Time proofs of optimality: ``python perf/exact.py --data FOLDER [--quick | --full] [--rows FOLDER] [section ...]``.

FOLDER holds `pairwise/`, `planar/` and `sets/` (see the data README beside it). CPU seconds of one core, the search
for upper bounds included. Each row is proved, proved infeasible, or says the gap it was left with. With ``--rows``
each section's rows go to a file there; those of `pairwise` are kept in `perf/results`.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from konstrain import ExactKMeans, InfeasibleError
from report import Row, table_of
from timing import peak_megabytes


def read_table(path: Path) -> tuple[np.ndarray, list[int]]:
    """Read numbers below a first line of sizes."""
    first, *lines = path.read_text().split("\n")
    return np.array([line.split() for line in lines if line.strip()], dtype=float), [int(v) for v in first.split()]


def read_links(path: Path) -> dict[str, list[tuple[int, int]] | None]:
    """Read lines ``ML i j`` and ``CL i j``."""
    found: dict[str, list[tuple[int, int]]] = {"ML": [], "CL": []}
    for line in path.read_text().split("\n"):
        if line.strip():
            kind, i, j = line.split()
            found[kind].append((int(i), int(j)))
    return {"must_link": found["ML"] or None, "cannot_link": found["CL"] or None}


def read_set(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a labelled set: features, then the label in the last column."""
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return values[:, :-1], values[:, -1].astype(int)


def proof(
    name: str, X: np.ndarray, k: int, *, gap: float = 1e-4, limit: float = 600, sizes=(None, None), **links
) -> Row:
    """Fit one instance and say what was proved."""
    model = ExactKMeans(k, *sizes, gap=gap, time_limit=limit, random_state=0)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an open gap is in the table
        try:
            model.fit(X, **links)
        except InfeasibleError:
            seconds = time.process_time() - begin
            return {"instance": name, "k": str(k), "result": "infeasible, proved", "seconds": f"{seconds:.2f}"}
    return {
        "instance": name,
        "k": str(k),
        "result": "optimal" if model.is_optimal_ else "open",
        "inertia": f"{model.inertia_:.10g}",
        "lower bound": f"{model.lower_bound_:.10g}",
        "root gap": f"{model.trace_[0].gap:.1e}" if model.trace_ else "",
        "gap": f"{model.gap_:.1e}",
        "nodes": str(model.n_nodes_),
        "seconds": f"{time.process_time() - begin:.2f}",
    }


def pairwise(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield the published instances with must-links and cannot-links."""
    for folder in sorted((data / "pairwise").iterdir()):
        X, (_, _, k) = read_table(folder / "data.txt")
        for path in sorted(folder.glob("ml_*.txt"))[: 1 if quick else None]:
            yield proof(f"{folder.name} {path.stem}", X, k, limit=120, **read_links(path))


def babaki(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield the grid of Babaki et al., Tables 6 to 8: pairs drawn uniformly, labelled by the true classes."""
    grid = {
        "iris": ((3, 5), (2, 60, 100, 140, 200, 240, 300, 340, 400, 440, 500)),
        "wine": ((3, 5), (240, 300, 340, 380, 420, 460, 500)),
        "soybean": ((3, 4, 5), (2, 10, 20, 40, 60, 80)),
    }
    for name, (clusters, counts) in grid.items():
        X, y = read_set(data / "sets" / f"{name}.csv")
        for k in clusters:
            for count in counts[:: 5 if quick else 1]:
                for draw in range(3 if full else 1):
                    rng = np.random.default_rng(1000 * count + draw)
                    pairs = rng.integers(0, len(X), (2 * count + 10, 2))
                    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:count]
                    same = y[pairs[:, 0]] == y[pairs[:, 1]]
                    links = {"must_link": pairs[same], "cannot_link": pairs[~same]}
                    yield proof(f"{name}, {count} links, draw {draw}", X, k, limit=60, **links)


def many_clusters(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield problems with many clusters."""
    ruspini, gr202 = (read_table(data / "planar" / f"{name}.txt")[0] for name in ("ruspini", "gr202"))
    iris, _ = read_set(data / "sets" / "iris.csv")
    for name, X, k in (
        ("ruspini", ruspini, 25),
        ("gr202", gr202, 30),
        ("gr202", gr202, 60),
        ("iris", iris, 15),
        ("iris", iris, 30),
    ):
        yield proof(name, X, k, limit=120)


def sizes(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield balanced clusterings."""
    for name, k in (("iris", 3), ("wine", 3), ("glass", 6)):
        X, _ = read_table(data / "pairwise" / name / "data.txt")
        bounds = (len(X) // k, -(-len(X) // k))
        yield proof(f"{name}, sizes {bounds[0]}..{bounds[1]}", X, k, sizes=bounds, limit=1200)


CLASS_SIZES = {
    "iris": (50, 50, 50),
    "wine": (59, 71, 48),
    "seeds": (70, 70, 70),
    "glass": (70, 76, 17, 13, 9, 29),
    "ecoli": (143, 77, 52, 35, 20, 5, 2, 2),
}


def class_sizes(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield clusterings with the sizes of the true classes, and few rows with sizes far apart."""
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(15, 2))
        yield proof(f"15 rows, sizes 2, 5, 8, draw {seed}", X, 3, sizes=([2, 5, 8], [2, 5, 20]), limit=120)
    for name, counts in CLASS_SIZES.items():
        if quick and name in ("glass", "ecoli"):
            continue
        X, _ = read_table(data / "pairwise" / name / "data.txt")
        yield proof(f"{name}, sizes of the classes", X, len(counts), sizes=(counts, counts), limit=240)


def larger(data: Path, *, quick: bool, full: bool) -> Iterator[Row]:
    """Yield sets of more rows; the time limit of five seconds must hold too."""
    X, _ = read_set(data / "sets" / "vehicle.csv")
    begin = time.perf_counter()
    row = proof("vehicle, 5 s limit", X, 4, limit=5)
    yield row | {"wall": f"{time.perf_counter() - begin:.1f}"}
    if quick:
        return
    cancer, _ = read_set(data / "sets" / "breast_cancer.csv")
    yield proof("breast cancer", cancer, 2, limit=300)
    if full:
        yield proof("vehicle", X, 4, limit=900)


SECTIONS = {
    "babaki": babaki,
    "pairwise": pairwise,
    "many clusters": many_clusters,
    "sizes": sizes,
    "class sizes": class_sizes,
    "larger": larger,
}


def keep(rows: list[Row], path: Path) -> None:
    """Write rows to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Run the sections asked for and print one table each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a few rows of each section")
    parser.add_argument("--full", action="store_true", help="three draws of the grid, and the rows that take minutes")
    parser.add_argument("--rows", type=Path, help="folder for the rows of each section")
    arguments = parser.parse_args()
    console = Console(width=130)
    with threadpool_limits(1):
        for title in arguments.sections or SECTIONS:
            rows = list(SECTIONS[title](arguments.data, quick=arguments.quick, full=arguments.full))
            if arguments.rows is not None:
                keep(rows, arguments.rows / f"exact-{title.replace(' ', '-')}.csv")
            console.print(table_of(title, rows))
            seconds = [float(row["seconds"]) for row in rows]
            n_proved = sum(row["result"] != "open" for row in rows)
            console.print(
                f"{n_proved} of {len(rows)} proved; median {np.median(seconds):.2f} s, longest {max(seconds):.2f} s; "
                f"peak memory so far {peak_megabytes():.0f} MB\n"
            )


if __name__ == "__main__":
    main()
