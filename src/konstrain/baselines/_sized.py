"""What the k-means methods share that know cluster sizes but no links."""

from typing import Any, Self

from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


class BaseSizedKMeans(BaseConstrainedKMeans):
    """Plain Lloyd's loop with an exact assignment under sizes: no local search, no links."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.
        y : Ignored
            Present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            What each row counts in centers and costs, not in sizes; default 1.

        Returns
        -------
        self
            The fitted estimator.
        """
        super().fit(X, None, sample_weight)
        return self

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = Steps(problem, budget=budget, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), start)
