"""Time COP-, PCK- and MPCK-Means against another package: ``python perf/baselines.py [--quick | --full]``.

Digits without its constant features, a tenth of the rows drawn, all pairs among them as links by true class. Each
seed is another draw; figures are medians over seeds, and columns count the seeds on which ours is not worse. Both
sides begin alike (random rows, or the means of must-linked rows), ours makes `n_init` runs, the peer its only one.
One function computes the objective from either side's labels (and metric). The peer runs in a process of its own and
learns one metric for all clusters, so ours does, too. CPU time. What the peer printed is kept in ``perf/.cache``, for
it takes minutes; remove the folder to measure it again. ``--full``: ten seeds instead of five (three for MPCK-Means).
A section of its own counts the fitness values that DILS computes per second.
"""

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from digits_links import N_CLUSTERS, linked_digits
from konstrain import count_violations
from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.baselines import COPKMeans, MPCKMeans, PCKMeans
from konstrain.baselines.mpck_means import farthest_pair
from report import Row, main
from sections import baselines_dils
from timing import cpu_seconds, run_alone_once


@dataclass(frozen=True)
class Case:
    """A method, how our estimator is made for a seed, its own objective, and the number of seeds."""

    method: str
    price: float
    make: Callable[[int], Any]
    objective: Callable[..., float]
    n_seeds: int = 5


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


def made(method: type, seed: int, **params: Any) -> Any:
    """Make our estimator."""
    return method(N_CLUSTERS, random_state=seed, **params)


CASES = (
    Case("cop-kmeans", 1.0, partial(made, COPKMeans, order="random", n_init=5), cop_objective),
    Case("pck-means", 1.0, partial(made, PCKMeans, violation_cost=1.0, n_init=5), pck_objective),
    Case("pck-means", 100.0, partial(made, PCKMeans, violation_cost=100.0, n_init=5), pck_objective),
    Case("mpck-means", 1.0, partial(made, MPCKMeans, metric="shared", n_init=2), mpck_objective, n_seeds=3),
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
    model = case.make(seed)
    seconds, _ = cpu_seconds(lambda: model.fit(X, must_link=must, cannot_link=cannot))
    metric = model.feature_weights_[0] if case.method == "mpck-means" else None
    return measured(case, seed, seconds, model.labels_, metric)


def theirs(case: Case, seed: int) -> tuple[float, int, float] | str:
    """Make the peer's run, or say why it failed."""
    run = json.loads(run_alone_once("peers/semi_clustering.py", case.method, str(seed), str(case.price)))
    if run["error"]:
        return f"{run['error']} after {run['cpu_seconds']:.1f} s"
    return measured(case, seed, run["cpu_seconds"], run["labels"], run["metric"])


def columns(side: str, runs: list[tuple[float, int, float]]) -> Row:
    """Medians over seeds."""
    seconds, broken, objective = (statistics.median(values) for values in zip(*runs, strict=True))
    return {f"{side} s": f"{seconds:.4g}", f"{side} broken": f"{broken:g}", f"{side} objective": f"{objective:.7g}"}


def rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one line per method."""
    for case in CASES:
        seeds = range(10 if full else case.n_seeds)
        mine = [ours(case, seed) for seed in seeds]
        name = f"{case.method}, w={case.price:g}, our n_init={case.make.keywords['n_init']}"
        yield {"method": name, **columns("our", mine), **({} if quick else beside(case, mine))}


def beside(case: Case, mine: list[tuple[float, int, float]]) -> Row:
    """Run the peer on the same seeds and compare."""
    peer = [theirs(case, seed) for seed in range(len(mine))]
    failures = [run for run in peer if isinstance(run, str)]
    both = [(m, p) for m, p in zip(mine, peer, strict=True) if not isinstance(p, str)]
    row = {"peer failed": f"{len(failures)} of {len(peer)}: {failures[0]}"} if failures else {}
    if not both:
        return row
    ratios = [p[0] / m[0] for m, p in both]
    excess = [m[2] / p[2] - 1 for m, p in both]
    return (
        columns("peer", [p for _, p in both])
        | {
            "ratio: median, least": f"{statistics.median(ratios):.0f}, {min(ratios):.0f}",
            "not more broken": f"{sum(m[1] <= p[1] for m, p in both)} of {len(both)}",
            "objective not higher": f"{sum(e <= SAME_OBJECTIVE for e in excess)} of {len(both)}",
            "objective / peer's - 1: median, worst": f"{statistics.median(excess):+.2%}, {max(excess):+.4%}",
        }
        | row
    )


if __name__ == "__main__":
    main(__doc__, {"baselines, digits": rows, **baselines_dils.SECTIONS})
