"""Time the assignment steps of BLPKMeans on Movement Libras under CS20, with and without the search by classes.

Usage: python perf/dense_conflicts.py --data FOLDER/sets [--links 2 4] [--starts 5 26]
       python perf/dense_conflicts.py --data FOLDER/sets --all [--links 0 1 2]

`--links` are seeds of the constraint sets, `--starts` seeds of the runs. One thread, processor time of each step;
raises if a step is not proved, or if its two costs differ. With --all: 30 starts for each of 11 constraint sets, with
the search by classes only, one line per constraint set.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from konstrain import BLPKMeans
from konstrain.assignment import Assignment, linked
from konstrain.datasets import Dataset, load, sample_baumann
from konstrain.estimators import blp_kmeans
from konstrain.estimators.blp_kmeans import DistanceSteps
from report import Row, table_of
from timing import cpu_seconds

Links = dict[str, np.ndarray]
# The constraint sets of the experiment, and one more; those among them with the slowest steps.
ALL_LINKS = (*range(10), 100)
SLOW_LINKS = (2, 4)
N_STARTS = 30


@dataclass(eq=False)
class TimedSteps(DistanceSteps):
    """Our steps, each timed."""

    seconds: list[float] = field(default_factory=list)

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Time the step as it is solved now."""
        seconds, answer = cpu_seconds(lambda: super(TimedSteps, self).assign(costs, warm), repeats=1)
        assert answer.proven
        self.seconds.append(seconds)
        return answer


@dataclass(eq=False)
class ComparedSteps(TimedSteps):
    """Our steps, each solved without the search by classes too; the run goes on with the labels of both."""

    seconds_before: list[float] = field(default_factory=list)

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Time both ways."""
        with patch.object(linked, "CLASS_LIMIT", 0):
            before, reference = cpu_seconds(lambda: DistanceSteps.assign(self, costs, warm), repeats=1)
        self.seconds_before.append(before)
        answer = super().assign(costs, warm)
        np.testing.assert_allclose(answer.cost, reference.cost, rtol=1e-9)
        return answer


Kind = TypeVar("Kind", bound=TimedSteps)


def steps_of(data: Dataset, links: Links, start: int, kind: type[Kind]) -> Kind:
    """Fit from one seed; returns its steps."""
    made: list[Kind] = []

    def make(*args: Any, **params: Any) -> Kind:
        made.append(kind(*args, **params))
        return made[-1]

    with patch.object(blp_kmeans, "DistanceSteps", make):
        BLPKMeans(data.n_clusters, random_state=start).fit(data.X, **links)
    (steps,) = made
    return steps


def compare(data: Dataset, links: Links, start: int) -> Row:
    """One line: one fit, with and without the search by classes."""
    steps = steps_of(data, links, start, ComparedSteps)
    return {
        "start": str(start),
        "steps": str(len(steps.seconds)),
        "longest s before": f"{max(steps.seconds_before):.2f}",
        "longest s": f"{max(steps.seconds):.2f}",
        "all s before": f"{sum(steps.seconds_before):.2f}",
        "all s": f"{sum(steps.seconds):.2f}",
    }


def count(data: Dataset, links: Links) -> Row:
    """One line: the steps of all fits under one constraint set."""
    seconds = np.concatenate([steps_of(data, links, start, TimedSteps).seconds for start in range(N_STARTS)])
    return {
        "fits": str(N_STARTS),
        "steps": str(seconds.size),
        "longest s": f"{seconds.max():.2f}",
        "above 1 s": str((seconds > 1.0).sum()),
        "above 0.5 s": str((seconds > 0.5).sum()),
        "all s": f"{seconds.sum():.1f}",
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--links", type=int, nargs="+")
    parser.add_argument("--starts", type=int, nargs="+", default=[5, 26])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    data = load("movement_libras", data=options.data)
    rows: list[Row] = []
    with threadpool_limits(1):
        for seed in options.links or (ALL_LINKS if options.all else SLOW_LINKS):
            links = sample_baumann(data.labels, 0.2, random_state=seed).links
            if options.all:
                rows.append({"links": str(seed)} | count(data, links))
            else:
                rows += [{"links": str(seed)} | compare(data, links, start) for start in options.starts]
    Console(width=140).print(table_of("Movement Libras, CS20: seconds of assignment steps", rows))


if __name__ == "__main__":
    main()
