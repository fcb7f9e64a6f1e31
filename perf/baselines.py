"""Time COP-, PCK- and MPCK-Means against another package: ``python perf/baselines.py [--quick | --full]``.

Digits without its constant features, a tenth of the rows drawn, all pairs among them as links by true class. Each
seed is another draw; figures are medians over seeds. Both sides start alike (the same rows, or the means of
must-linked rows), and one function computes the objective from either side's labels (and metric). The peer runs in a
process of its own and learns one metric for all clusters, so ours does, too. CPU time. ``--full``: ten seeds instead
of three. A section of its own counts the fitness values that DILS computes per second.
"""

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from digits_links import N_CLUSTERS, linked_digits, starting_rows
from konstrain import count_violations
from konstrain.baselines import COPKMeans, MPCKMeans, PCKMeans
from konstrain.baselines._farthest import farthest_pair
from report import Row, main
from sections import baselines_dils
from timing import cpu_seconds, run_alone


@dataclass(frozen=True)
class Case:
    """A method, what it is given on each seed, and its own objective."""

    method: str
    price: float
    make: Callable[[np.ndarray, int], Any]
    objective: Callable[..., float]


def scatter(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Squared distances of rows to the means of their clusters, feature by feature."""
    found = np.unique(labels)
    return sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum(axis=0) for j in found)


def cop_objective(X, labels, must, cannot, price, metric) -> float:
    """Squared error."""
    return float(scatter(X, labels).sum())


def pck_objective(X, labels, must, cannot, price, metric) -> float:
    """Half the squared error, and the price of each broken link."""
    broken = count_violations(labels, must_link=must, cannot_link=cannot).total
    return 0.5 * float(scatter(X, labels).sum()) + price * broken


def mpck_objective(X, labels, must, cannot, price, metric) -> float:
    """Squared error in the metric minus its log-determinant per row, and what broken links cost in the metric."""
    apart = must[labels[must[:, 0]] != labels[must[:, 1]]]
    together = cannot[labels[cannot[:, 0]] == labels[cannot[:, 1]]]
    gap = lambda pairs: ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2) @ metric  # noqa: E731 - a formula
    i, j = farthest_pair(X * np.sqrt(metric))
    farthest = ((X[i] - X[j]) ** 2) @ metric
    penalty = gap(apart).sum() + (farthest - gap(together)).sum()
    return float(scatter(X, labels) @ metric - len(X) * np.log(metric).sum() + price * penalty)


def made(method: type, price: float, X: np.ndarray, seed: int) -> Any:
    """Make our estimator."""
    if method is COPKMeans:
        return COPKMeans(N_CLUSTERS, init=X[starting_rows(seed, len(X))], order="random", random_state=seed)
    params = {"metric": "shared"} if method is MPCKMeans else {}
    return method(N_CLUSTERS, violation_cost=price, random_state=seed, **params)


CASES = (
    Case("cop-kmeans", 1.0, partial(made, COPKMeans, 1.0), cop_objective),
    Case("pck-means", 1.0, partial(made, PCKMeans, 1.0), pck_objective),
    Case("pck-means", 100.0, partial(made, PCKMeans, 100.0), pck_objective),
    Case("mpck-means", 1.0, partial(made, MPCKMeans, 1.0), mpck_objective),
)


def measured(case: Case, seed: int, seconds: float, labels: Any, metric: Any) -> tuple[float, int, float]:
    """Return seconds, broken links and the objective of one run."""
    X, must, cannot = linked_digits(seed)
    labels = np.asarray(labels)
    broken = count_violations(labels, must_link=must, cannot_link=cannot).total
    metric = None if metric is None else np.asarray(metric)
    return seconds, broken, case.objective(X, labels, must, cannot, case.price, metric)


def ours(case: Case, seed: int) -> tuple[float, int, float]:
    """Make our run."""
    X, must, cannot = linked_digits(seed)
    model = case.make(X, seed)
    seconds, _ = cpu_seconds(lambda: model.fit(X, must_link=must, cannot_link=cannot))
    metric = model.feature_weights_[0] if case.method == "mpck-means" else None
    return measured(case, seed, seconds, model.labels_, metric)


def theirs(case: Case, seed: int) -> tuple[float, int, float] | str:
    """Make the peer's run, or say why it failed."""
    run = json.loads(run_alone("peers/semi_clustering.py", case.method, str(seed), str(case.price)))
    if run["error"]:
        return f"{run['error']} after {run['cpu_seconds']:.1f} s"
    return measured(case, seed, run["cpu_seconds"], run["labels"], run["metric"])


def columns(side: str, runs: list[tuple[float, int, float]]) -> Row:
    """Medians over seeds."""
    seconds, broken, objective = (statistics.median(values) for values in zip(*runs, strict=True))
    return {f"{side} s": f"{seconds:.4g}", f"{side} broken": f"{broken:g}", f"{side} objective": f"{objective:.7g}"}


def rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one line per method."""
    seeds = range(10 if full else 3)
    for case in CASES:
        mine = [ours(case, seed) for seed in seeds]
        row = {"method": f"{case.method}, w={case.price:g}", **columns("our", mine)}
        if not quick:
            all_runs = [theirs(case, seed) for seed in seeds]
            peer = [run for run in all_runs if not isinstance(run, str)]
            failures = [run for run in all_runs if isinstance(run, str)]
            if peer:
                ratio = statistics.median(p[0] for p in peer) / statistics.median(m[0] for m in mine)
                row |= {**columns("peer", peer), "ratio": f"{ratio:.0f}"}
            if failures:
                row |= {"peer failed": f"{len(failures)} of {len(all_runs)}: {failures[0]}"}
        yield row


if __name__ == "__main__":
    main(__doc__, {"baselines, digits": rows, **baselines_dils.SECTIONS})
