"""Where runs over all rows begin: a sample that is searched on the client, or k-means|| for many clusters."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.problem import RemoteProblem
from konstrain.dask.sample import Sample
from konstrain.estimators import ConstrainedKMeans
from konstrain.estimators._conventions import start_of
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import Budget

# From this many clusters on the sample would be large and its search slow: k-means|| draws them from all rows.
MANY_CLUSTERS = 1_000
# Rounds of k-means||, and how many candidates a round draws for each cluster.
ROUNDS = 5
OVERSAMPLING = 2
# Share of the time limit for the search of a start.
START_SHARE = 0.3


def searched_centers(
    estimator: Any, sample: Sample, problem: RemoteProblem, seed: int, time_limit: float | None
) -> NDArray[np.float64]:
    """Return the centers of the best clustering of the sample, with the sizes that are its share."""
    local = ConstrainedKMeans(
        problem.n_clusters,
        init=estimator.init,
        n_init=estimator.n_init,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        local_search=estimator.local_search,
        time_limit=None if time_limit is None else START_SHARE * time_limit,
        n_jobs=estimator.n_jobs,
        random_state=seed,
    )
    bounds, arguments = sample.constraints_of(problem)
    with warnings.catch_warnings():
        # Of a start nobody expects a proof, or that it has converged.
        warnings.simplefilter("ignore")
        try:
            local.set_params(**bounds).fit(sample.rows.values, sample_weight=sample.rows.weight, **arguments)
        except (InfeasibleError, UndecidedError):
            # Few rows cannot always keep what all rows can: shares of small groups, large demands.
            local.set_params(**dict.fromkeys(bounds)).fit(sample.rows.values, sample_weight=sample.rows.weight)
    return np.ascontiguousarray(local.cluster_centers_, dtype=np.float64)


def scalable_centers(partitions: Partitions, problem: RemoteProblem, seed: int) -> NDArray[np.float64]:
    """Draw centers from all rows by k-means|| (Bahmani et al. 2012): few rounds, in each of which many are drawn."""
    rng = np.random.default_rng(seed)
    first = rng.integers(problem.n_samples, size=1)
    candidates = partitions.rows_at(first).values.astype(np.float64)
    for _ in range(ROUNDS):
        cost = _added_up(partitions, candidates).cost
        if not cost > 0:
            break
        draw = passes.Draw(candidates, OVERSAMPLING * problem.n_clusters / cost, int(rng.integers(2**62)))
        drawn: passes.Listed = partitions.ask(passes.draw_candidates, draw)
        candidates = np.concatenate([candidates, drawn.values])
    if len(candidates) < problem.n_clusters:
        # So many rows are alike that there were not enough to draw: the rest are any rows.
        more = np.sort(rng.choice(problem.n_samples, problem.n_clusters, replace=False, shuffle=False))
        return np.concatenate([candidates, partitions.rows_at(more).values])[: problem.n_clusters].astype(np.float64)
    local = ConstrainedKMeans(problem.n_clusters, n_init=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local.fit(candidates, sample_weight=_added_up(partitions, candidates).weights)
    return np.ascontiguousarray(local.cluster_centers_, dtype=np.float64)


def _added_up(partitions: Partitions, centers: NDArray[np.float64]) -> passes.Sums:
    """What all rows add up to, each at its nearest center."""
    found: passes.Sums = partitions.ask(passes.sum_up, passes.Question(centers, np.zeros(len(centers))))
    return found


def first_centers(
    estimator: Any, partitions: Partitions, sample: Sample, problem: RemoteProblem, seed: int, budget: Budget
) -> NDArray[np.float64]:
    """Return the centers that the run over all rows begins with."""
    start = start_of(estimator, sample.rows.values)
    if isinstance(start.rule, np.ndarray):
        return start.rule.copy()
    left = budget.remaining()
    if start.rule == "k-means||" or (start.rule == "k-means++" and problem.n_clusters >= MANY_CLUSTERS):
        return scalable_centers(partitions, problem, seed)
    return searched_centers(estimator, sample, problem, seed, left if math.isfinite(left) else None)
