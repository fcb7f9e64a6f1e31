"""Shares of groups and several resources: ``python perf/shares.py --data FOLDER [--starts 20] [section ...]``.

FOLDER holds the sets of the fair clustering comparison (`adult.csv.gz` and others, groups in the last column),
`published.csv` and `measured.csv`. Sections: `fair` (the published table beside ours), `attributes` (two attributes
at once), `territories` (three resources), `census` (two million rows). Rows are told as they come.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from konstrain import ConstrainedKMeans
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans.steps import Steps
from report import Row, table_of

SETS = ("creditcard", "adult", "bank_40k")
SEEDS = (1, 2, 3)


def fair_set(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the group of each."""
    rows = np.loadtxt(folder / f"{name}.csv.gz", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(int)


def least_share(groups: np.ndarray, k: int, tolerance: float) -> tuple[float, float]:
    """Least share of either of two groups that the balance of the comparison asks for, and that balance."""
    fewest, most = np.sort(np.bincount(groups))
    balance = (1.0 - tolerance) * (fewest // k) / -(-most // k)
    return balance / (1.0 + balance), balance


def balance_of(groups: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Smallest group over largest group, of the worst cluster."""
    counts = np.array([np.bincount(groups[labels == j], minlength=groups.max() + 1) for j in range(k)])
    return float((counts.min(axis=1) / counts.max(axis=1)).min())


def fair(arguments: argparse.Namespace) -> Iterator[Row]:
    """Best of so many starts beside the published best of 100; processor seconds of a start beside MS-FlowFC's."""
    with (arguments.data / "published.csv").open() as lines:
        published = {
            (line["dataset"], int(line["k"]), float(line["tolerance"]), line["algorithm"]): float(line["cost"])
            for line in csv.DictReader(lines)
            if line["tolerance"] and line["cost"]
        }
    with (arguments.data / "measured.csv").open() as lines:
        measured = [line for line in csv.DictReader(lines) if line["algorithm"] == "msflowfc"]
    for name in arguments.sets:
        X, groups = fair_set(arguments.data, name)
        for k in (5, 10):
            for tolerance in (0.1, 0.01):
                share, balance = least_share(groups, k, tolerance)
                costs, seconds, balances = [], [], []
                for seed in SEEDS[: arguments.seeds]:
                    model = ConstrainedKMeans(k, share_min=share, n_init=arguments.starts, random_state=seed)
                    began = time.process_time()
                    model.fit(X, category=groups)
                    seconds.append((time.process_time() - began) / arguments.starts)
                    costs.append(model.inertia_)
                    balances.append(balance_of(groups, model.labels_, k))
                theirs = [
                    float(line["cpu_seconds"])
                    for line in measured
                    if (line["dataset"], int(line["k"]), float(line["tolerance"])) == (name, k, tolerance)
                ]
                flow, mpfc = (published[name, k, tolerance, peer] for peer in ("MS-FlowFC", "MPFC"))
                yield {
                    "data": name,
                    "k": str(k),
                    "tolerance": f"{tolerance:g}",
                    "cost": " ".join(f"{cost:.2f}" for cost in costs),
                    "MS-FlowFC": f"{flow:g}",
                    "MPFC": f"{mpfc:g}",
                    "kept": f"{min(balances):.5f} of {balance:.5f} {'yes' if min(balances) >= balance else 'NO'}",
                    "CPU s": " ".join(f"{spent:.3f}" for spent in seconds),
                    "MS-FlowFC CPU s": " ".join(f"{spent:.2f}" for spent in theirs),
                    "times faster": f"{np.mean(theirs) / np.mean(seconds):.1f}",
                }


def gaps_of(model: ConstrainedKMeans, X: np.ndarray, **asked: object) -> list[float]:
    """Fit, and return the relative gap of every step on the way."""
    gaps: list[float] = []
    solve = Steps.solve

    def watched(self: Steps, *arguments: object, **options: object) -> object:
        answer = solve(self, *arguments, **options)  # type: ignore[arg-type]
        gaps.append(answer.gap)
        return answer

    Steps.solve = watched  # type: ignore[method-assign,assignment]
    try:
        model.fit(X, **asked)
    finally:
        Steps.solve = solve  # type: ignore[method-assign]
    return gaps


def attributes(arguments: argparse.Namespace) -> Iterator[Row]:
    """Two attributes with 2 and 5 values on adult, k=10, tolerance 0.2."""
    X, groups = fair_set(arguments.data, "adult")
    # Bands of age, the first feature, and what they have to do with the clusters: much.
    band = np.searchsorted(np.quantile(X[:, 0], [0.2, 0.4, 0.6, 0.8]), X[:, 0], side="right")
    began = time.process_time()
    model = ConstrainedKMeans(10, share_tolerance=0.2, n_init=1, random_state=0)
    gaps = gaps_of(model, X, category={"sex": groups, "band": band})
    spent = time.process_time() - began
    for name, values in (("sex", groups), ("band", band)):
        for value, shares in model.cluster_shares_[name].items():
            r = float((values == value).mean())
            yield {
                "what": f"{name}={value}",
                "shares": f"{shares.min():.4f} to {shares.max():.4f}",
                "allowed": f"{0.8 * r:.4f} to {r / 0.8:.4f}",
                "kept": "yes" if 0.8 * r <= shares.min() + 1e-12 and shares.max() - 1e-12 <= r / 0.8 else "NO",
                "median gap": f"{np.median(gaps):.1e}",
                "largest gap": f"{max(gaps):.1e}",
                "above 1e-4": f"{int((np.array(gaps) > 1e-4).sum())} of {len(gaps)} steps",
                "cost": f"{model.inertia_:.2f}",
                "CPU s": f"{spent:.1f}",
            }


def territories(arguments: argparse.Namespace) -> Iterator[Row]:
    """2,000 rows, three resources within 10% of equal, k=20: sets and starts of several seeds, one start each."""
    for seed in range(arguments.territories):
        rng = np.random.default_rng(seed)
        X = np.vstack([rng.normal(rng.uniform(0, 10, 2), 1.0, (200, 2)) for _ in range(10)])
        held = np.column_stack(
            [rng.lognormal(0.0, 0.7, 2000), rng.poisson(3.0, 2000) + 1.0, rng.gamma(2.0, 1.0, 2000)]
        )
        mean = held.sum(axis=0) / 20
        began, clock = time.process_time(), time.perf_counter()
        model = ConstrainedKMeans(20, size_min=0.9 * mean, size_max=1.1 * mean, n_init=1, random_state=seed)
        gaps = gaps_of(model, X, demand=held)
        sizes = model.cluster_sizes_
        kept = bool((sizes >= 0.9 * mean * (1 - 1e-9)).all() and (sizes <= 1.1 * mean * (1 + 1e-9)).all())
        yield {
            "seed": str(seed),
            "within": f"{(sizes / mean).min():.4f} to {(sizes / mean).max():.4f} of equal",
            "kept": "yes" if kept else "NO",
            "median gap": f"{np.median(gaps):.2%}",
            "largest gap": f"{max(gaps):.2%}",
            "above 1%": f"{int((np.array(gaps) > 0.01).sum())} of {len(gaps)} steps",
            "cost": f"{model.inertia_:.2f}",
            "CPU s": f"{time.process_time() - began:.1f}",
            "clock s": f"{time.perf_counter() - clock:.1f}",
        }


def census(arguments: argparse.Namespace) -> Iterator[Row]:
    """2,000,000 x 25 rows, two groups, k=10, tolerance 0.1."""
    rng = np.random.default_rng(0)
    n, d, k = arguments.rows, 25, 10
    centers = rng.uniform(-2, 2, (k, d))
    source = rng.integers(0, k, n)
    X = centers[source].astype(np.float32) + rng.standard_normal((n, d), dtype=np.float32)
    groups = (rng.random(n) < np.linspace(0.25, 0.65, k)[source]).astype(int)
    began, clock = time.process_time(), time.perf_counter()
    model = ConstrainedKMeans(k, share_tolerance=0.1, random_state=0).fit(X, category=groups)
    r = groups.mean()
    shares = model.cluster_shares_[1]
    yield {
        "rows": f"{n:,}",
        "shares": f"{shares.min():.5f} to {shares.max():.5f}",
        "allowed": f"{0.9 * r:.5f} to {1 - 0.9 * (1 - r):.5f} and {r / 0.9:.5f}",
        "kept": "yes" if shares.min() >= 0.9 * r and (1 - shares).min() >= 0.9 * (1 - r) else "NO",
        "iterations": str(model.n_iter_),
        "CPU s": f"{time.process_time() - began:.0f}",
        "clock s": f"{time.perf_counter() - clock:.0f}",
    }


SECTIONS = {"fair": fair, "attributes": attributes, "territories": territories, "census": census}


def main() -> None:
    """Run the sections asked for and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--territories", type=int, default=12, help="seeds of territories")
    parser.add_argument("--rows", type=int, default=2_000_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotProvenWarning)
    console = Console()
    for name in arguments.sections or SECTIONS:
        rows = []
        for row in SECTIONS[name](arguments):
            console.print(" | ".join(f"{key} {value}" for key, value in row.items()), highlight=False)
            rows.append(row)
        console.print(table_of(name, rows))


if __name__ == "__main__":
    main()
