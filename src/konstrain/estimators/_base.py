"""What all k-means estimators share: parameters, validation, restarts, fitted attributes and predict."""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from konstrain._sklearn import HasMethods, Interval, StrOptions, fit_context
from konstrain._warnings import warn_caller
from konstrain.assignment import assign_by
from konstrain.constraints import Problem
from konstrain.constraints.tables import reusable
from konstrain.estimators._conventions import (
    CentersMixin,
    partial_labels_of,
    refuse_confidences,
    refuse_too_few_rows,
    start_of,
    validated_rows,
    warn_not_converged,
    warn_of_few_distinct_rows,
    warn_of_one_start,
)
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.last_step import prove_last_step, work_limit
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.plan import deal_out_time
from konstrain.kmeans.restarts import Restarts, Run, draw_seeds
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.weightless import place_weightless
from konstrain.metrics import Violations, count_violations
from konstrain.stop import Deadline


class BaseConstrainedKMeans(CentersMixin, ClusterMixin, BaseEstimator):
    """Base of the k-means estimators; a subclass says how one run goes in `_make_run`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [HasMethods("__call__"), None],
        "random_state": ["random_state"],
    }

    # Whether links may carry a confidence, and then break at a price.
    _takes_confidences: ClassVar[bool] = True
    # Whether demand may be of several resources.
    _takes_resources: ClassVar[bool] = False

    labels_: NDArray[np.int32]
    cluster_centers_: NDArray[Any]
    inertia_: float
    n_iter_: int
    n_violations_: int
    step_gap_: float | None
    violations_: Violations

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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        demand: Any = None,
    ) -> Self:
        """Cluster the rows of X under constraints.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster: numpy (float32 stays float32), scipy CSR, pandas, polars, pyarrow.
        y : array-like of shape (n_samples,), optional
            Partial labels, -1, None or NaN for unknown: rows with the same label must share a cluster, rows with
            different labels must not. Only the links count, not the numbers. A `y` without any unknown row is
            ignored, as by every clusterer in scikit-learn: pipelines and searches hand true labels through for
            scoring.
        sample_weight : array-like of shape (n_samples,), optional
            What each row counts in centers and costs; default 1.
        must_link, cannot_link : pairs, optional
            Rows that must, or must not, share a cluster: a list, an array of shape (n_pairs, 2), a frame, or a
            sparse adjacency matrix. A third column is a confidence in (0, 1] and makes the link soft; inf: hard.
        demand : array-like of shape (n_samples,), optional
            What each row counts towards the size of its cluster; default 1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, must_link=must_link, cannot_link=cannot_link, demand=demand)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, must_link: Any, cannot_link: Any, demand: Any, **more: Any
    ) -> Self:
        """Fit under what all estimators take, and under `more` that only some do."""
        X = validated_rows(self, X)
        deadline = Deadline(self.time_limit)
        if not self._takes_resources and len(np.shape(demand)) == 2 and np.shape(demand)[1] > 1:
            raise ValueError(
                f"demand has {np.shape(demand)[1]} resources, {type(self).__name__} takes one; use ConstrainedKMeans"
            )
        links = {"must_link": reusable(must_link), "cannot_link": reusable(cannot_link)}
        if not self._takes_confidences:
            refuse_confidences(type(self).__name__, X.shape[0], **links)
        beside = {"sample_weight": sample_weight, "demand": demand, **more}
        self._learn_metric(X, {"y": y, **beside, **links}, deadline)
        rows = self._measured(X)
        problem = self._build_problem(rows, y, sample_weight, demand=demand, **links, **more)
        best = place_weightless(problem, self._search(rows, problem, deadline), deadline)
        self._keep(rows, problem, best)
        if rows is not X:
            self._keep_centers_of(X, problem)
        self._report(count_violations(self.labels_, **links))
        warn_of_few_distinct_rows(X, self.n_clusters)
        return self

    def _learn_metric(self, X: Any, constraints: dict[str, Any], deadline: Deadline) -> None:
        """Settle how distances are measured, before anything else; plainly, unless an estimator says otherwise."""

    def _keep_centers_of(self, X: Any, problem: Problem) -> None:
        """Give the centers in the features of X, where rows were clustered as a metric sees them."""
        rows, threads = (X, problem.sample_weight), default_threads()
        sums, weights = distances.center_sums(*rows, self.labels_, self.n_clusters, n_threads=threads)
        # A cluster of rows without weight has no mean; the metric has an inverse wherever features vary.
        self.cluster_centers_ = (sums / weights[:, None]).astype(X.dtype, copy=False)

    def _report(self, violations: Violations) -> None:
        self.violations_ = violations
        self.n_violations_ = violations.total

    def _build_problem(self, X: Any, y: Any, sample_weight: Any, **links: Any) -> Problem:
        refuse_too_few_rows(X, self.n_clusters)
        size_min, size_max = self._size_bounds(X.shape[0])
        problem = Problem.build(
            X,
            self.n_clusters,
            labels=partial_labels_of(y, X.shape[0]),
            sample_weight=sample_weight,
            size_min=size_min,
            size_max=size_max,
            **self._share_bounds(),
            **links,
        )
        if not problem.weight.any():
            raise ValueError("sample_weight is zero for every row; at least one row must count")
        return problem

    def _size_bounds(self, n_samples: int) -> tuple[Any, Any]:
        """Least and largest sizes of clusters, None where nothing is asked."""
        return getattr(self, "size_min", None), getattr(self, "size_max", None)

    def _share_bounds(self) -> dict[str, Any]:
        """Bounds on shares of groups, where an estimator takes them."""
        return {}

    def _search(self, X: Any, problem: Problem, deadline: Deadline) -> Clustering:
        """Run the restarts and return the best."""
        start = start_of(self, X)
        if start.is_given:
            warn_of_one_start(self)
        seeds = draw_seeds(check_random_state(self.random_state), self._n_runs(problem, start))
        run = self._make_run(X, problem, start, deadline, seeds[0])
        dealt = deal_out_time(run, len(seeds))
        restarts = Restarts(
            dealt,
            dealt.loop.steps.deadline,
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
            callback=self.callback,
        )
        return prove_last_step(run.loop, self._after_loop(run.loop, restarts.best(seeds), seeds[0]))

    def _after_loop(self, loop: Loop, best: Clustering, seed: int) -> Clustering:
        """Return what follows the best run of the loop: nothing, unless an estimator overrides this."""
        return best

    @abstractmethod
    def _make_run(self, X: Any, problem: Problem, start: Start, deadline: Deadline, first_seed: int) -> Run:
        """Say how one run goes: its loop, its steps, what follows."""

    def _n_runs(self, problem: Problem, start: Start) -> int:
        """Number of runs of the loop."""
        if self.n_init != "auto" and not start.is_given:
            return int(self.n_init)
        return 1 if start.is_given or start.rule == "k-means++" else 10

    def _keep(self, X: Any, problem: Problem, best: Clustering) -> None:
        self.labels_ = problem.expand(best.block_labels)
        centers, self.inertia_ = self._means_of_rows(X, problem, best)
        self.cluster_centers_ = centers.astype(X.dtype, copy=False)
        self.objective_ = best.objective + (self.inertia_ - best.inertia)
        self.n_iter_ = best.n_iter
        self.cluster_sizes_ = held_by(problem, best.block_labels)
        self._n_features_out = self.cluster_centers_.shape[0]
        if not best.converged and best.n_iter >= self.max_iter:
            warn_not_converged(self.max_iter)
        self.step_gap_ = 0.0 if best.proven else best.step_gap
        if best.proven is False:
            limit = "time limit" if self.time_limit is not None else "limit on work that holds without a time_limit"
            gap = "" if best.step_gap is None else f" (at most {best.step_gap:.2g} of its cost could be saved)"
            warn_caller(
                f"an assignment step was cut short by the {limit}: labels are feasible, but the step was not "
                f"proved optimal{gap}; {'raise' if self.time_limit is not None else 'give a'} time_limit",
                NotProvenWarning,
            )

    def _means_of_rows(self, X: Any, problem: Problem, best: Clustering) -> tuple[NDArray[np.float64], float]:
        """Centers and inertia of the labels, in double precision."""
        if X.dtype == np.float64 or problem.n_blocks == problem.n_samples:
            return best.centers, best.inertia
        # Means of blocks are in the precision of X, too coarse far from the origin: once more from the rows.
        rows, threads = (X, problem.sample_weight), default_threads()
        sums, weights = distances.center_sums(*rows, self.labels_, self.n_clusters, n_threads=threads)
        centers = np.divide(sums, weights[:, None], out=best.centers.copy(), where=weights[:, None] > 0)
        return centers, distances.own_costs(*rows, self.labels_, centers, n_threads=threads)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, **constraints: Any) -> NDArray[np.int32]:
        """Fit and return the label of each row; arguments as in `fit`."""
        labels: NDArray[np.int32] = self.fit(X, y, sample_weight, **constraints).labels_
        return labels

    def predict(
        self,
        X: Any,
        *,
        size_min: Any = None,
        size_max: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        demand: Any = None,
        category: Any = None,
        share_min: Any = None,
        share_max: Any = None,
        share_tolerance: float | None = None,
    ) -> NDArray[np.int32]:
        """Assign new rows to the fitted centers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        size_min, size_max, must_link, cannot_link, demand : optional
            Constraints on the new rows, as in `fit`.
        category, share_min, share_max, share_tolerance : optional
            Shares of groups among the new rows, as in `ConstrainedKMeans`. With no constraint at all each row goes to
            its nearest center; with any, the assignment of all rows together is solved exactly. Where a limit on
            time or work ends that before it is proved, a `NotProvenWarning` says so.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of each row.
        """
        X, centers = self._validate_new(X), self._measured_centers()
        shares = {
            "category": category,
            "share_min": share_min,
            "share_max": share_max,
            "share_tolerance": share_tolerance,
        }
        asked = (size_min, size_max, must_link, cannot_link, demand, *shares.values())
        if all(value is None for value in asked):
            return distances.nearest_pass(X, None, centers, n_threads=default_threads())[0]
        problem = Problem.build(
            X,
            len(centers),
            must_link=must_link,
            cannot_link=cannot_link,
            size_min=size_min,
            size_max=size_max,
            demand=demand,
            nonempty=False,
            **shares,
        )
        costs = distances.block_costs(problem.mean, problem.weight, centers, n_threads=default_threads())
        price = self._price_of_new_links(costs) if problem.has_soft_links else None
        if price is not None and problem.links is not None:
            price = problem.links.enough(price, float((costs.max(axis=1) - costs.min(axis=1)).sum()))
        deadline = work_limit(problem, price, Deadline(self.time_limit))
        answer = assign_by(problem.assignment_problem(costs, price), deadline=deadline)
        if not answer.proven:
            warn_caller(
                "the time limit ended the assignment of the new rows before it was proved optimal: labels are "
                f"feasible, and cost at most {answer.gap:.2g} of their cost too much; raise time_limit",
                NotProvenWarning,
            )
        labels: NDArray[np.int32] = problem.expand(answer.labels)
        return labels

    def _price_of_new_links(self, costs: NDArray[np.float64]) -> float:
        """What breaking a soft link of confidence 1 costs in `predict`: the mean of all costs."""
        return float(costs.mean())


def held_by(problem: Problem, block_labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Rows or demand in each cluster; of several resources, a column for each."""
    if problem.amounts is None:
        return np.bincount(block_labels, problem.demand, problem.n_clusters).astype(np.float64, copy=False)
    labels = problem.expand(block_labels)
    columns = (np.bincount(labels, column, problem.n_clusters) for column in problem.amounts.values.T)
    return np.column_stack(list(columns))
