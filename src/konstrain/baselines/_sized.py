"""What the k-means methods share that know cluster sizes but no links."""

from collections.abc import Callable
from typing import Any, Self

from konstrain.constraints import Problem
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.lloyd import lloyd
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Deadline


class BaseSizedKMeans(BaseConstrainedKMeans):
    """Plain Lloyd's loop with an exact assignment under sizes: no local search, no links."""

    def __init__(
        self,
        n_clusters: int = 8,
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
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

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

    def _make_run(self, X: Any, problem: Problem, start: Start, deadline: Deadline, first_seed: int) -> Run:
        steps = Steps(problem, deadline=deadline, n_threads=default_threads())
        return Run(Loop(lloyd, steps, self.max_iter), start)
