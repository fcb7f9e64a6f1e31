"""Where runs over all rows begin: a sample that is searched on the client, or k-means|| for many clusters."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.dask.cluster import Partitions
from konstrain.dask.problem import RemoteProblem
from konstrain.dask.sample import Sample
from konstrain.estimators import ConstrainedKMeans
from konstrain.estimators._conventions import start_of
from konstrain.stop import Deadline

# From this many clusters on the sample would be large and its search slow: k-means|| draws them from all rows.
MANY_CLUSTERS = 1_000
# Share of the time limit for the search of a start.
START_SHARE = 0.3


def searched_centers(
    estimator: Any, sample: Sample, problem: RemoteProblem, seed: int, time_limit: float | None
) -> NDArray[np.float64]:
    """Return the centers of the best clustering of the sample, with the sizes that are its share."""
    bounds = sample.bounds_of(problem.bounds)
    local = ConstrainedKMeans(
        problem.n_clusters,
        None if problem.size_min is None else bounds.low,
        None if problem.size_max is None else bounds.high,
        init=estimator.init,
        n_init=estimator.n_init,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        local_search=estimator.local_search,
        time_limit=None if time_limit is None else START_SHARE * time_limit,
        n_jobs=estimator.n_jobs,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Of a start nobody expects a proof, or that it has converged.
        warnings.simplefilter("ignore")
        local.fit(sample.rows.values, sample_weight=sample.rows.weight, demand=sample.rows.demand)
    return np.ascontiguousarray(local.cluster_centers_, dtype=np.float64)


def first_centers(
    estimator: Any, partitions: Partitions, sample: Sample, problem: RemoteProblem, seed: int, deadline: Deadline
) -> NDArray[np.float64]:
    """Return the centers that the run over all rows begins with."""
    start = start_of(estimator, sample.rows.values)
    if isinstance(start.rule, np.ndarray):
        return start.rule.copy()
    left = deadline.remaining()
    return searched_centers(estimator, sample, problem, seed, left if math.isfinite(left) else None)
