"""BLPKM-CC (Baumann 2020): k-means on plain distances, each assignment step a binary linear program."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from konstrain.assignment import Assignment
from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Iterations, Loop
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


@estimator
class BLPKMeans(BaseConstrainedKMeans):
    """BLPKM-CC: must-links and cannot-links kept by a binary program that minimises plain distances.

    Centers start at distinct rows drawn at random. Every step assigns all rows at least total Euclidean distance (not
    squared), links kept and no cluster empty, and moves the centers to the means of their clusters. A run ends as
    soon as the total distance to the moved centers no longer decreases; the best labels seen are kept [1]_.

    Parameters
    ----------
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: distinct rows, each as likely (the paper), block-aware k-means++, given centers, or
        ``callable(X, n_clusters, random_state=...)``.
    n_init : int or "auto", default=1
        Number of runs from different seeds; the one of least total distance is kept. "auto": 10 for "random" and
        callables, else 1.

    Attributes
    ----------
    objective_ : float
        Weighted Euclidean distances of rows to their centers: what the method minimises.
    n_iter_ : int
        Assignment steps of the best run, the last one without success included.
    n_violations_ : int
        Broken links: none.

    Notes
    -----
    The paper hands the whole program to a solver. We merge must-linked rows to blocks whose costs are sums over their
    rows, let the conflicts fall apart into components, and couple them only when a cluster would stay empty: the same
    optimum, faster. The means minimise squared, not plain distances, so the total may rise; that is the paper's
    stopping rule. Of assignments that cost the same the paper names none; ours depends on the rows' order only.
    A row's `sample_weight` multiplies its distance and its pull on the mean (not in the paper).

    References
    ----------
    .. [1] Baumann (2020), "A Binary Linear Programming-Based K-Means Algorithm For Clustering with Must-Link and
       Cannot-Link Constraints", IEEM.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = BLPKMeans(n_clusters=2, random_state=0).fit(X, cannot_link=[(0, 1)], must_link=[(1, 3)])
    >>> bool(model.labels_[0] != model.labels_[1]), model.n_violations_
    (True, 0)
    """

    _takes_confidences: ClassVar[bool] = False

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = DistanceSteps(problem, budget=budget, n_threads=default_threads(), rows=_canonical(X))
        if isinstance(start.rule, str) and start.rule == "random":
            start = replace(start, rule=distinct_rows)
        return Run(Loop(while_distance_falls, steps, self.max_iter), start)


def while_distance_falls(
    steps: "DistanceSteps", centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None = None
) -> Clustering:
    """Steps (2) and (3) of the paper, as long as the total distance decreases."""
    best: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None
    least, converged = np.inf, False
    costs = steps.costs(centers)
    for _ in iterations:
        solution = iterations.attempt(steps.assign, costs, warm)
        if solution is None:
            break
        warm = solution
        centers = steps.centers_of(solution.labels, centers)
        costs = steps.costs(centers)  # of this step's success, and for the next step
        total = steps.total_of(costs, solution.labels)
        converged = best is not None and not total < least
        if converged:
            break
        best, least = (solution.labels, centers), total
    assert best is not None
    found = steps.clustering(*best, iterations.n_iter, converged=converged, proven=iterations.proven)
    return replace(found, objective=least)


@dataclass(eq=False)
class DistanceSteps(Steps):
    """Steps on plain distances."""

    rows: Any = None  # (n_samples, n_features): the rows themselves: for plain distances a block is not one point.
    _buffer: NDArray[np.float64] | None = field(default=None, init=False, repr=False)

    def costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each block in each cluster: the distances of its rows, summed up."""
        costs = distances.block_costs(self.rows, None, centers, n_threads=self.n_threads, out=self._buffer)
        self._buffer = costs
        if issparse(self.rows):
            # Rounding may leave a squared distance of sparse rows just below zero.
            np.maximum(costs, 0.0, out=costs)
        np.sqrt(costs, out=costs)
        if self.problem.sample_weight is not None:
            costs *= self.problem.sample_weight[:, None]
        if self.problem.n_blocks == self.problem.n_samples:
            return costs
        return np.add.reduceat(costs[self.problem.block_rows], self.problem.block_indptr[:-1], axis=0)

    def total_of(self, costs: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
        """Sum of what all blocks cost in their own clusters."""
        return float(costs[np.arange(labels.size), labels].sum())


def distinct_rows(X: Any, n_clusters: int, *, random_state: np.random.RandomState) -> NDArray[np.float64]:
    """Draw distinct rows, each as likely."""
    rows = X[np.sort(random_state.choice(X.shape[0], n_clusters, replace=False))]
    return np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)


def _canonical(X: Any) -> Any:
    """Return rows as the distance kernels take them: sparse ones sorted, without repeated columns."""
    if not issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X
