"""Must-link k-means++ and matching (Jia et al. 2023): every cannot-link set is matched to distinct centers."""

from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, ClassVar

from konstrain._sklearn import Interval
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

    _: KW_ONLY
    init: Any = "k-means++"
    n_local_trials: int | None = 1

    _takes_confidences: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConstrainedKMeans._parameter_constraints,
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = Steps(problem, budget=budget, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), replace(start, n_trials=self.n_local_trials))
