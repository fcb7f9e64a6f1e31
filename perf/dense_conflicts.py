"""Time the assignment steps of BLPKMeans on Movement Libras under CS20, with and without the search by classes.

Usage: python perf/dense_conflicts.py --data FOLDER/sets [--links 2 4] [--starts 5 26]

`--links` are seeds of the constraint sets, `--starts` seeds of the runs. One thread, processor time of each step;
raises if a step is not proved, or if its two costs differ.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from konstrain import BLPKMeans
from konstrain.assignment import Assignment, linked
from konstrain.datasets import load, sample_baumann
from konstrain.estimators import blp_kmeans
from konstrain.estimators.blp_kmeans import DistanceSteps
from report import Row, table_of
from timing import cpu_seconds


@dataclass(eq=False)
class TimedSteps(DistanceSteps):
    """Our steps, each solved with and without the search by classes; the run goes on with the former's labels."""

    seconds: list[float] = field(default_factory=list)
    seconds_before: list[float] = field(default_factory=list)

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Time both ways."""
        with patch.object(linked, "CLASS_LIMIT", 0):
            before, reference = cpu_seconds(lambda: super(TimedSteps, self).assign(costs, warm), repeats=1)
        seconds, answer = cpu_seconds(lambda: super(TimedSteps, self).assign(costs, warm), repeats=1)
        np.testing.assert_allclose(answer.cost, reference.cost, rtol=1e-9)
        assert answer.proven
        self.seconds.append(seconds)
        self.seconds_before.append(before)
        return answer


def time_run(X: np.ndarray, n_clusters: int, links: dict[str, np.ndarray], start: int) -> Row:
    """One fit from one seed."""
    made: list[TimedSteps] = []

    def make(*args: Any, **params: Any) -> TimedSteps:
        made.append(TimedSteps(*args, **params))
        return made[-1]

    with patch.object(blp_kmeans, "DistanceSteps", make):
        BLPKMeans(n_clusters, random_state=start).fit(X, **links)
    (steps,) = made
    return {
        "start": str(start),
        "steps": str(len(steps.seconds)),
        "longest s before": f"{max(steps.seconds_before):.2f}",
        "longest s": f"{max(steps.seconds):.2f}",
        "all s before": f"{sum(steps.seconds_before):.2f}",
        "all s": f"{sum(steps.seconds):.2f}",
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--links", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--starts", type=int, nargs="+", default=[5, 26])
    options = parser.parse_args()
    data = load("movement_libras", data=options.data)
    rows: list[Row] = []
    with threadpool_limits(1):
        for seed in options.links:
            links = sample_baumann(data.labels, 0.2, random_state=seed).links
            rows += [
                {"links": str(seed)} | time_run(data.X, data.n_clusters, links, start) for start in options.starts
            ]
    Console(width=140).print(table_of("Movement Libras, CS20: seconds of assignment steps", rows))


if __name__ == "__main__":
    main()
