"""BLPKMeans on the 25 data sets of Baumann (2020), against the same steps as whole binary programs in HiGHS."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from konstrain import Problem
from konstrain.assignment import Assignment, milp
from konstrain.datasets import load, sample_baumann
from konstrain.estimators.blp_kmeans import DistanceSteps, distinct_rows, while_distance_falls
from konstrain.exceptions import UndecidedError
from konstrain.experiments.papers.baumann2020 import DATA, SHARES
from konstrain.kmeans.loop import Loop
from konstrain.stop import Budget
from report import Row
from timing import cpu_seconds

QUICK = ("ecoli", "iris", "led7digit", "vehicle")
# Not one of the experiment's ten constraint sets.
SEED = 100


@dataclass(eq=False)
class RefereedSteps(DistanceSteps):
    """Our run, each step of which HiGHS solves too until it runs out of time once."""

    time_limit: float = 60.0
    own_seconds: float = 0.0
    highs_seconds: float = 0.0
    ran_out: bool = False

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Time both; raises if their costs differ. The run goes on with our labels: ties would part the runs."""
        seconds, answer = cpu_seconds(lambda: super(RefereedSteps, self).assign(costs, warm), repeats=1)
        if self.ran_out:
            return answer
        self.own_seconds += seconds
        begun = time.process_time()
        try:
            referee = milp.solve(self.problem.assignment_problem(costs), budget=Budget(self.time_limit))
            self.ran_out = not referee.proven
        except UndecidedError:
            self.ran_out = True
        self.highs_seconds += time.process_time() - begun
        if not self.ran_out:
            np.testing.assert_allclose(answer.cost, referee.cost, rtol=1e-7)
        assert answer.proven
        return answer


def set_rows(*, folder: Path | None, time_limit: float, quick: bool) -> Iterator[Row]:
    """Yield one row per data set: CPU seconds of a run per size of constraint set, and what HiGHS needs instead."""
    totals = dict.fromkeys(SHARES, 0.0)
    for name in QUICK if quick else DATA:
        try:
            data = load(name, data=folder)
        except FileNotFoundError:
            yield {"data": f"{name} (not here)"}
            continue
        row = {"data": name}
        for share in SHARES:
            links = sample_baumann(data.labels, share / 100, random_state=SEED).links
            problem = Problem.build(data.X, data.n_clusters, **links)
            seconds, ratio = _time_run(data.X, problem, time_limit)
            totals[share] += seconds
            row |= {f"CS{share} ms": f"{1e3 * seconds:.1f}", f"HiGHS / ours, CS{share}": ratio}
        yield row
    yield {"data": "sum"} | {f"CS{share} ms": f"{1e3 * total:.1f}" for share, total in totals.items()}


def _time_run(X: np.ndarray, problem: Problem, time_limit: float) -> tuple[float, str]:
    """CPU seconds of one run, and how many times as long it takes with HiGHS in every step."""
    centers = distinct_rows(X, problem.n_clusters, random_state=np.random.RandomState(SEED))
    seconds, _ = cpu_seconds(lambda: Loop(while_distance_falls, DistanceSteps(problem, rows=X)).run(centers))
    refereed = RefereedSteps(problem, rows=X, time_limit=time_limit)
    Loop(while_distance_falls, refereed).run(centers)
    ratio = (seconds - refereed.own_seconds + refereed.highs_seconds) / seconds
    return seconds, f"{'>= ' if refereed.ran_out else ''}{ratio:.0f}"
