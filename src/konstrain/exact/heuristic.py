"""Good clusterings for proofs: what bounds are measured against."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.problem import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.restarts import Restarts, auto_runs, draw_seeds, plan_run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.search import Search, n_seeds, suits
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


def find_clustering(
    X: Any,
    problem: Problem,
    budget: Budget,
    *,
    seed: int = 0,
    centers: NDArray[np.float64] | None = None,
    n_init: int | None = None,
    violation_cost: float | None = None,
) -> Clustering | None:
    """Cluster a problem heuristically from `centers` (default: k-means++); None when no labels are found in time.

    `n_init` defaults to the number of restarts of `ConstrainedKMeans`; soft links need `violation_cost`.
    """
    start = Start(X, "k-means++" if centers is None else centers)
    steps = Steps(problem, budget=budget, n_threads=default_threads())
    n_runs = auto_runs(problem, start) if n_init is None else n_init
    seeds = draw_seeds(np.random.RandomState(seed), max(n_runs, n_seeds(n_init)))
    try:
        run = plan_run(steps, start, seeds[0], violation_cost=0.0 if violation_cost is None else violation_cost)
        if suits(problem, start, "auto"):
            return Search(run.loop.steps, start, n_runs=1 if start.is_given else n_init).best(seeds)
        return Restarts(run, budget).best(seeds[:n_runs])
    except UndecidedError:
        return None
