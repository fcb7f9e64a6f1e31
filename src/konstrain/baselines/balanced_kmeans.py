"""BKM (Malinen and Fränti 2014): k-means with clusters of equal size."""

from typing import Any

from konstrain.baselines._sized import BaseSizedKMeans


class BalancedKMeans(BaseSizedKMeans):
    """Balanced k-means: every step assigns all rows at least cost so that cluster sizes differ by at most one.

    The steps are assignment problems over as many places as rows: ``ceil(n / k)`` in the first ``n mod k`` clusters,
    ``floor(n / k)`` in the others. Centers move to the means, until nothing changes [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: distinct rows (the paper), k-means++, given centers, or
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
    The paper fixes which clusters are the larger ones before the first step; we let each step choose, which can only
    lower its cost. It solves each step by the Hungarian method in cubic time; the same optimum comes here from a
    transportation problem with one node per cluster. `sample_weight` weighs costs, not sizes (not in the paper).

    References
    ----------
    .. [1] Malinen, Fränti (2014), "Balanced K-Means for Clustering", S+SSPR.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.3], [9.0]]
    >>> sorted(BalancedKMeans(n_clusters=2, random_state=0).fit(X).cluster_sizes_.tolist())
    [2.0, 3.0]
    """

    def _bounds(self, n_samples: int) -> dict[str, Any]:
        return {"size_min": n_samples // self.n_clusters, "size_max": -(-n_samples // self.n_clusters)}
