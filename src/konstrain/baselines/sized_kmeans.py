"""K-means under sizes alone: equal ones (Malinen and Fränti 2014), least ones (Bradley, Bennett, Demiriz 2000)."""

from numbers import Real
from typing import Any, ClassVar, Self

from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


@estimator
class BaseSizedKMeans(BaseConstrainedKMeans):
    """Plain Lloyd's loop with an exact assignment under sizes: no local search, no links.

    Attributes
    ----------
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster.
    n_violations_, violations_
        0: the method takes no links.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        y : Ignored
            Present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            What each row counts in centers and costs, not in sizes; default 1.
        """
        super().fit(X, None, sample_weight)
        return self

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = Steps(problem, budget=budget, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), start)


@estimator
class BalancedKMeans(BaseSizedKMeans):
    """Balanced k-means: every step assigns all rows at least cost so that cluster sizes differ by at most one.

    The steps are assignment problems over as many places as rows: ``ceil(n / k)`` in the first ``n mod k`` clusters,
    ``floor(n / k)`` in the others. Centers move to the means, until nothing changes [1]_.

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


@estimator
class MinSizeKMeans(BaseSizedKMeans):
    """K-means with minimum cluster sizes, each assignment a minimum-cost flow.

    The steps assign all rows at least total squared distance so that every cluster keeps its minimum size; centers
    move to the means, until nothing changes [1]_.

    Parameters
    ----------
    size_min : float or array-like of shape (n_clusters,), default=1
        Rows that a cluster holds at least.

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

    size_min: Any = 1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "size_min": [Real, "array-like"],
    }
