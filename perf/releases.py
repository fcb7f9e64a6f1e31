"""Set default fits under published links beside those of another release.

Usage: python perf/releases.py PYTHON --data FOLDER [--sets 3] [--seeds 0 1]

PYTHON runs an environment with the other release. The 25 data sets of Baumann (2020) under CS10, CS15 and CS20, and
the 108 published instances of `pairwise`, `ConstrainedKMeans(k, random_state=seed)`, one thread. Both releases fit
the same rows under the same links, one right after the other, each in a process of its own; CPU seconds. Rows go to
--rows as they come, and what is there is not run again.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from rich.console import Console

from exact import read_links, read_table
from konstrain.datasets import load, sample_baumann
from konstrain.experiments.papers.baumann2020 import DATA, SHARES
from report import Row, table_of
from timing import HERE

# Sums of the same squares in another order differ by less, relatively.
SAME = 1e-9


@dataclass(frozen=True)
class Instance:
    """Rows, a number of clusters and links; instances of one group make one line of the table."""

    group: str
    name: str
    X: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray


@dataclass(frozen=True)
class Pair:
    """One fit by both releases; an SSE is infinite where the limit was reached."""

    group: str
    name: str
    seed: int
    sse_then: float
    sse_now: float
    broken_then: int
    broken_now: int
    seconds_then: float
    seconds_now: float

    @property
    def rise(self) -> float:
        """How much higher the SSE is now, relatively."""
        if self.sse_now == self.sse_then:
            return 0.0
        return self.sse_now / self.sse_then - 1.0


class Release:
    """A process that fits with the konstrain of an environment; made anew after a fit that reached the limit."""

    def __init__(self, python: str, limit: float) -> None:
        self.limit = limit
        self._command = [python, str(HERE / "peers" / "default_fits.py")]
        self._process: subprocess.Popen[str] | None = None

    def fit(self, path: Path, seed: int) -> tuple[float, int, float]:
        """SSE, broken links and CPU seconds."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\t{seed}\t{self.limit}\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        if not told:
            self._process.wait()
            return np.inf, 0, self.limit
        answer = json.loads(told)
        return answer["sse"], answer["broken"], answer["seconds"]

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.communicate()


def pairs_of(links: object) -> np.ndarray:
    """Links as an array of two columns, also when there are none."""
    return np.asarray([] if links is None else links, dtype=np.int64).reshape(-1, 2)


def instances(data: Path, n_sets: int) -> Iterator[Instance]:
    """Yield the published instances, then the data sets of the paper under `n_sets` draws of each constraint set."""
    for folder in sorted((data / "pairwise").iterdir()):
        X, (_, _, k) = read_table(folder / "data.txt")
        for path in sorted(folder.glob("ml_*.txt")):
            links = {kind: pairs_of(pairs) for kind, pairs in read_links(path).items()}
            yield Instance("published instances", f"{folder.name} {path.stem}", X, k, **links)
    for share in SHARES:
        for name in DATA:
            rows = load(name, data=data / "sets")
            for draw in range(n_sets):
                links = sample_baumann(rows.labels, share / 100, random_state=draw).links
                links = {kind: pairs_of(pairs) for kind, pairs in links.items()}
                yield Instance(f"25 data sets, CS{share}", f"{name} {draw}", rows.X, rows.n_clusters, **links)


def run(options: argparse.Namespace, kept: list[Pair]) -> None:
    """Fit what is not kept yet, writing each pair down as it comes."""
    done = {(pair.group, pair.name, pair.seed) for pair in kept}
    releases = [Release(python, options.limit) for python in (options.python, sys.executable)]
    with options.rows.open("a", newline="") as file, tempfile.TemporaryDirectory() as folder:
        written = csv.writer(file)
        for instance in instances(options.data, options.sets):
            seeds = [seed for seed in options.seeds if (instance.group, instance.name, seed) not in done]
            given = Path(folder) / "instance.npz"
            np.savez(given, **{key: value for key, value in vars(instance).items() if key not in ("group", "name")})
            for seed in seeds:
                then, now = (release.fit(given, seed) for release in releases)
                both = [value for one, other in zip(then, now, strict=True) for value in (one, other)]
                written.writerow([instance.group, instance.name, seed, *both])
                file.flush()
    for release in releases:
        release.close()


def read(path: Path) -> list[Pair]:
    """All pairs written down so far."""
    if not path.exists():
        return []
    kinds = [field.type for field in fields(Pair)]
    with path.open(newline="") as file:
        return [Pair(*(kind(cell) for kind, cell in zip(kinds, line, strict=True))) for line in csv.reader(file)]


def summary(group: str, pairs: list[Pair]) -> Row:
    """One line: how SSE and seconds compare."""
    rises = np.array([pair.rise for pair in pairs])
    then, now = (np.array([getattr(pair, f"seconds_{side}") for pair in pairs]) for side in ("then", "now"))
    ended = [pair for pair in pairs if np.isfinite(pair.sse_then) and np.isfinite(pair.sse_now)]
    by_instance: dict[str, list[float]] = {}
    for pair in ended:
        by_instance.setdefault(pair.name, []).append(pair.rise)
    means = np.array([np.mean(values) for values in by_instance.values()])
    return {
        "links": group,
        "fits": str(len(pairs)),
        "SSE lower": str((rises < -SAME).sum()),
        "same": str((abs(rises) <= SAME).sum()),
        "higher": str((rises > SAME).sum()),
        "mean rise": f"{np.mean([pair.rise for pair in ended]):+.1e}",
        "worst rise": f"{max(pair.rise for pair in ended):+.1e}",
        "instances higher on average": f"{(means > SAME).sum()} of {means.size}",
        "not ended then": str(sum(np.isinf(pair.sse_then) for pair in pairs)),
        "not ended now": str(sum(np.isinf(pair.sse_now) for pair in pairs)),
        "broken links now": str(sum(pair.broken_now for pair in pairs)),
        "s then": f"{then.sum():.1f}",
        "s now": f"{now.sum():.1f}",
        "now / then, median": f"{np.median(now / then):.2f}",
        "longest s then": f"{then.max():.2f}",
        "longest s now": f"{now.max():.2f}",
    }


def main() -> None:
    """Run what is missing and print two tables: all groups, and the fits whose SSE rose most."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=Path, default=Path("releases.csv"))
    parser.add_argument("--sets", type=int, default=3, help="draws of each constraint set")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds of one fit")
    options = parser.parse_args()
    run(options, read(options.rows))
    pairs = read(options.rows)
    groups = list(dict.fromkeys(pair.group for pair in pairs))
    console = Console(width=160)
    rows = [summary(group, [pair for pair in pairs if pair.group == group]) for group in groups]
    console.print(table_of("Default fits under links, then and now", rows))
    worst = sorted((pair for pair in pairs if pair.rise > SAME), key=lambda pair: -pair.rise)[:10]
    console.print(
        table_of(
            "Highest rises",
            [{"links": p.group, "instance": p.name, "seed": str(p.seed), "rise": f"{p.rise:+.2e}"} for p in worst],
        )
    )


if __name__ == "__main__":
    main()
