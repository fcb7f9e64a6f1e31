"""Must-link k-means++ and matching (Jia et al. 2023): every cannot-link set is matched to distinct centers."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

from konstrain._sklearn import Interval
from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


class MatchingKMeans(BaseConstrainedKMeans):
    """K-means with must-links and disjoint cannot-link sets, assigned by matching.

    Blocks of must-linked rows move as one weighted point, in seeding (k-means++ with the blocks' scatter in the
    draws, Algorithm 1) and in the steps. Free blocks go to the nearest center; each cannot-link set is matched to
    distinct centers at least total cost (Algorithm 2). Links hold in every iteration and the cost never rises
    (Algorithm 3) [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters. A cannot-link set larger than this is refused.
    init : {"k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, default="k-means++"
        Where runs start: must-link k-means++ (the paper), random blocks, given centers, or
        ``callable(X, n_clusters, random_state=...)``.
    n_local_trials : int or None, default=1
        Draws per step of k-means++, of which the best is kept. 1: the paper's, with its guarantee of
        ``8 (ln k + 2)`` times the optimum in expectation; None: ``2 + log(n_clusters)``, as in scikit-learn.
    n_init : int or "auto", default=1
        Number of runs from different seeds; the best is kept. "auto": 1 for "k-means++" and given centers, else 10.
    max_iter : int, default=300
        Most iterations of one run.
    time_limit : float or None, default=None
        Seconds after which the best clustering so far is returned.
    n_jobs : int or None, default=None
        Workers for restarts, in joblib's sense. The answer does not depend on it.
    verbose : int, default=0
        1: progress on standard error.
    callback : callable or None, default=None
        Called after each restart; ends the search by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row. Always the labels that `inertia_` and `cluster_centers_` belong to.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters.
    inertia_, objective_ : float
        Weighted squared distances of rows to their centers.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links: none.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows, or demand, in each cluster.

    Notes
    -----
    The paper wants cannot-link sets that do not overlap. Sets that do go to the general engine, which assigns each
    component of the conflict graph at least cost: the cost still never rises, but a step is NP-hard in general.
    The paper does not say what becomes of an empty cluster; we ask for the cheapest assignment without one, which is
    a question of its own only in the rare step that would leave one. "Until the cost stops decreasing" is read as
    until the labels repeat: the cost of a step is lower than the last one's as long as centers move.

    References
    ----------
    .. [1] Jia, Guo, Liao, Lu (2023), "Efficient Algorithm for the k-Means Problem with Must-Link and Cannot-Link
       Constraints", Algorithms 1-3.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = MatchingKMeans(n_clusters=2, random_state=0).fit(X, cannot_link=[(0, 1)])
    >>> bool(model.labels_[0] != model.labels_[1]), model.n_violations_
    (True, 0)
    """

    _takes_confidences: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConstrainedKMeans._parameter_constraints,
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_local_trials: int | None = 1,
        n_init: Any = 1,
        max_iter: int = 300,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Any], Any] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            time_limit=time_limit,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            random_state=random_state,
        )
        self.n_local_trials = n_local_trials

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = Steps(problem, budget=budget, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), replace(start, n_trials=self.n_local_trials))
