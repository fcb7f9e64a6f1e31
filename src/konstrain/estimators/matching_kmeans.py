"""Must-link k-means++ and matching (Jia et al. 2023): every cannot-link set is matched to distinct centers."""

from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from konstrain._sklearn import Interval
from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.estimators._conventions import ACCEPTED, estimator, refuse_too_few_rows
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start, plus_plus, rows_of_means
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


@estimator
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

    Attributes
    ----------
    n_violations_ : int
        Broken links: none.

    Notes
    -----
    The paper wants cannot-link sets that do not overlap. Sets that do go to the general engine, which assigns each
    component of the conflict graph at least cost: the cost still never rises, but a step is NP-hard in general.
    The paper leaves open what becomes of an empty cluster; here the assignment is the cheapest one without any, which
    is another problem only in the rare step that would leave one. "Until the cost stops decreasing" is read as
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

    _: KW_ONLY
    init: Any = "k-means++"
    n_local_trials: int | None = 1

    _takes_confidences: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = Steps(problem, budget=budget, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), replace(start, n_trials=self.n_local_trials))


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    must_link: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Draw first centers by k-means++ over sets of must-linked rows (Jia et al. 2023, Algorithm 1).

    Rows are drawn by their squared distance to the nearest center, must-linked ones by that of their mean plus their
    own to the mean; the mean becomes the center. Without must-links this is scikit-learn's `kmeans_plusplus`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    n_clusters : int
        Number of centers.
    sample_weight : array-like of shape (n_samples,), optional
        What each row counts; default 1.
    must_link : pairs, optional
        Rows that share a cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_local_trials : int or None, default=None
        Draws per center, of which the best is kept. 1: the paper's, at most ``8 (ln k + 2)`` times the optimum under
        the must-links in expectation; None: ``2 + log(n_clusters)``, as in scikit-learn.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The centers.
    indices : ndarray of shape (n_clusters,)
        Of each center the row that it is, or the first of the must-linked rows whose mean it is.

    Examples
    --------
    >>> centers, indices = kmeans_plusplus([[0.0], [2.0], [9.0]], 2, must_link=[(0, 1)], random_state=0)
    >>> sorted(zip(centers.ravel().tolist(), indices.tolist()))
    [(1.0, 0), (9.0, 2)]
    """
    rows = check_array(X, **ACCEPTED, input_name="X")
    refuse_too_few_rows(rows, n_clusters)
    if n_local_trials is not None and n_local_trials < 1:
        raise ValueError(f"n_local_trials is {n_local_trials}; give at least one draw per center, or None")
    problem = Problem.build(rows, n_clusters, must_link=must_link, sample_weight=sample_weight, nonempty=False)
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    blocks = plus_plus(problem, rng, n_trials=n_local_trials)
    return rows_of_means(problem, blocks), problem.first_rows[blocks]
