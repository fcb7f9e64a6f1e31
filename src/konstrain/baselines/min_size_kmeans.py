"""Constrained k-means (Bradley, Bennett and Demiriz 2000): no cluster holds fewer rows than asked for."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

from konstrain.baselines._sized import BaseSizedKMeans


class MinSizeKMeans(BaseSizedKMeans):
    """K-means with minimum cluster sizes, each assignment a minimum-cost flow.

    The steps assign all rows at least total squared distance so that every cluster keeps its minimum size; centers
    move to the means, until nothing changes [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    size_min : float or array-like of shape (n_clusters,), default=1
        Rows that a cluster holds at least.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: distinct rows, k-means++, given centers, or
        ``callable(X, n_clusters, random_state=...)``.
    n_init : int or "auto", default=1
        Number of runs from different seeds; the best is kept. "auto": 10 for "random" and callables, else 1.
    max_iter : int, default=300
        Most iterations of one run.
    time_limit : float or None, default=None
        Seconds after which the best clustering so far is returned.
    n_jobs : int or None, default=None
        Workers for restarts, in joblib's sense. The answer does not depend on it.
    verbose : int, default=0
        1: progress on standard error.
    callback : callable or None, default=None
        Told after each restart; ends the search by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row. Always the labels that `inertia_` and `cluster_centers_` belong to.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    inertia_, objective_ : float
        Squared distances of rows to their centers.
    n_iter_ : int
        Iterations of the best run.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster.
    n_violations_, violations_
        0: the method knows no links.

    Notes
    -----
    What the paper leaves open. Where to start: distinct rows drawn at random, as k-means of its time. It keeps the
    center of a cluster without rows; with a minimum of 1 there is none. Its network flow is our transportation
    problem. `sample_weight` weighs costs, not sizes (not in the paper).

    References
    ----------
    .. [1] Bradley, Bennett, Demiriz (2000), "Constrained K-Means Clustering", Microsoft Research MSR-TR-2000-65.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.3], [9.0]]
    >>> sorted(MinSizeKMeans(n_clusters=2, size_min=2, random_state=0).fit(X).cluster_sizes_.tolist())
    [2.0, 3.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSizedKMeans._parameter_constraints,
        "size_min": [Real, "array-like"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        size_min: Any = 1,
        *,
        init: Any = "random",
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
        self.size_min = size_min
