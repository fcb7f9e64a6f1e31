"""Base of the k-means estimators: parameters, validation, restarts, fitted attributes and predict."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from konstrain._memory import chunks
from konstrain._messages import term
from konstrain._sklearn import HasMethods, Interval, StrOptions, fit_context
from konstrain.assignment import assign_by
from konstrain.constraints import Problem
from konstrain.constraints.arguments import CONNECTIVITY, ConstraintArguments, ConstraintKeywords, takes_constraints
from konstrain.estimators._conventions import (
    BaseClusterer,
    CentersMixin,
    estimator,
    partial_labels_of,
    refuse_confidences,
    refuse_too_few_rows,
    start_of,
    validated_rows,
    warn_not_proved,
    warn_of_few_distinct_rows,
    warn_of_limits,
    warn_of_one_start,
)
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.last_step import proof_budget, prove_last_step
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import Restarts, Run, draw_seeds
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import centers_from
from konstrain.kmeans.weightless import place_weightless
from konstrain.metrics import Violations, count_violations
from konstrain.stop import Budget

# Parameters of estimators that bound what clusters hold.
BOUNDS = ("size_min", "size_max", "size_tolerance", "share_min", "share_max", "share_tolerance")
# What those about sizes may be, for scikit-learn's validation; `konstrain.constraints` reads them.
SIZE_PARAMETERS: dict[str, list[Any]] = {
    "size_min": [Real, str, dict, "array-like", None],
    "size_max": [Real, str, dict, "array-like", None],
    "size_tolerance": [Real, str, None],
}


class FittedKMeans(CentersMixin, BaseClusterer):
    """Attributes of every fitted k-means estimator.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row. Always the labels that `inertia_` and `cluster_centers_` belong to.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters.
    inertia_, objective_ : float
        Weighted squared distances of rows to their centers.
    step_gap_ : float or None
        By how much, relative to its cost, the last assignment may be above the best one at its centers: 0 where it is
        proved optimal, otherwise from the bound that the duals of the rules give. None: time ended before any bound.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows, or demand, in each cluster.
    """

    step_gap_: float | None
    cluster_sizes_: NDArray[np.float64]


@estimator
class BaseConstrainedKMeans(FittedKMeans):
    """Base of the k-means estimators; a subclass makes a run in `_make_run`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: block-aware k-means++, random blocks, given centers, or
        ``callable(X, n_clusters, random_state=...)``.
    n_init : int or "auto", default=1
        Number of runs from different seeds; the best is kept. "auto": 1 for "k-means++" and given centers, else 10.
    max_iter : int, default=300
        Most iterations of one run.
    time_limit : float or None, default=None
        Seconds after which the best clustering so far is returned.
    n_jobs : int or None, default=None
        Workers for restarts, in joblib's sense. The result does not depend on it.
    verbose : int, default=0
        1: progress on standard error.
    callback : callable or None, default=None
        Called after each restart; ends the search by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "random"
    n_init: Any = 1
    max_iter: int = 300
    time_limit: float | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Any], Any] | None = None
    random_state: Any = None

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

    # Whether links may carry a confidence, and then break at a cost.
    _takes_confidences: ClassVar[bool] = True
    # Whether demand may be of several resources.
    _takes_resources: ClassVar[bool] = False

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
            sparse adjacency matrix.
        demand : array-like of shape (n_samples,), optional
            What each row counts towards the size of its cluster; default 1.

        Returns
        -------
        self
            The fitted estimator.
        """
        arguments = ConstraintArguments(
            labels=y, sample_weight=sample_weight, must_link=must_link, cannot_link=cannot_link, demand=demand
        )
        self._fit(X, arguments)
        return self

    def _fit(self, X: Any, arguments: ConstraintArguments) -> ConstraintArguments:
        """Fit under the arguments of `fit` and the bounds among the parameters; return both together."""
        X = validated_rows(self, X)
        budget = Budget(self.time_limit)
        self._refuse_untaken(arguments, X.shape[0])
        arguments = replace(
            arguments, labels=partial_labels_of(arguments.labels, X.shape[0]), **self._bounds(X.shape[0])
        )
        self._learn_metric(X, arguments, budget)
        rows = self._measured(X)
        problem = self._build_problem(rows, arguments)
        best = self._search(rows, problem, budget)
        # Contiguous clusters may need rows without weight where they are.
        if problem.connectivity is None:
            best = place_weightless(problem, best, budget)
        self._keep(rows, problem, best)
        if rows is not X:
            self._keep_centers_of(X, problem)
        self._report(count_violations(self.labels_, **arguments.links))
        warn_of_few_distinct_rows(rows, self.n_clusters)
        return arguments

    def _refuse_untaken(self, arguments: ConstraintArguments, n_samples: int) -> None:
        """Raise for confidences or several resources where the method takes none."""
        shape = np.shape(arguments.demand)
        if not self._takes_resources and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"demand has {shape[1]} resources, {type(self).__name__} takes one; use ConstrainedKMeans"
            )
        if not self._takes_confidences:
            refuse_confidences(type(self).__name__, n_samples, **arguments.links)

    def _learn_metric(self, X: Any, arguments: ConstraintArguments, budget: Budget) -> None:
        """Learn how distances are measured; Euclidean ones unless an estimator overrides this."""

    def _keep_centers_of(self, X: Any, problem: Problem) -> None:
        """Give the centers in the features of X, where rows were clustered as a metric sees them."""
        rows, threads = (X, problem.sample_weight), default_threads()
        sums, weights = distances.center_sums(*rows, self.labels_, self.n_clusters, n_threads=threads)
        # A cluster of rows without weight has no mean; the metric has an inverse wherever features vary.
        self.cluster_centers_ = (sums / weights[:, None]).astype(X.dtype, copy=False)

    def _report(self, violations: Violations) -> None:
        self.violations_ = violations
        self.n_violations_ = violations.total

    def _build_problem(self, X: Any, arguments: ConstraintArguments) -> Problem:
        refuse_too_few_rows(X, self.n_clusters)
        problem = Problem.of(X, self.n_clusters, arguments)
        if not problem.weight.any():
            raise ValueError(f"{term('sample_weight')} is zero for every row; at least one row must count")
        return problem

    def _bounds(self, n_samples: int) -> dict[str, Any]:
        """Return the bounds on sizes and shares among the parameters, by name."""
        return {name: getattr(self, name) for name in BOUNDS if hasattr(self, name)}

    def _search(self, X: Any, problem: Problem, budget: Budget) -> Clustering:
        """Run the restarts and return the best."""
        start = start_of(self, X)
        if start.is_given:
            warn_of_one_start(self)
        seeds = draw_seeds(check_random_state(self.random_state), self._n_runs(problem, start))
        run = self._make_run(X, problem, start, budget, seeds[0])
        restarts = Restarts(run, budget, n_jobs=self.n_jobs, verbose=int(self.verbose), callback=self.callback)
        return prove_last_step(run.loop, self._after_loop(run.loop, restarts.best(seeds), seeds[0]))

    def _after_loop(self, loop: Loop, best: Clustering, seed: int) -> Clustering:
        """Return what follows the best run of the loop: nothing, unless an estimator overrides this."""
        return best

    @abstractmethod
    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        """Return a run: its loop, its steps, and where it starts."""

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
        self.step_gap_ = 0.0 if best.proven else None if best.step_gap == np.inf else best.step_gap
        warn_of_limits(self, best)

    def _means_of_rows(self, X: Any, problem: Problem, best: Clustering) -> tuple[NDArray[np.float64], float]:
        """Centers and inertia of the labels, in double precision."""
        if X.dtype == np.float64 or problem.n_blocks == problem.n_samples:
            return best.centers, best.inertia
        # Means of blocks are in the precision of X, too coarse far from the origin: once more from the rows.
        rows, threads = (X, problem.sample_weight), default_threads()
        sums, weights = distances.center_sums(*rows, self.labels_, self.n_clusters, n_threads=threads)
        centers = centers_from(sums, weights, best.centers, unit=problem.unit_centers)
        return centers, distances.own_costs(*rows, self.labels_, centers, n_threads=threads)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, **constraints: Any) -> NDArray[np.int32]:
        """Fit and return the label of each row; arguments as in `fit`."""
        labels: NDArray[np.int32] = self.fit(X, y, sample_weight, **constraints).labels_
        return labels

    @takes_constraints("groups", "sample_weight", "diameter_max", "separation_min", *CONNECTIVITY)
    def predict(
        self, X: Any, *, add_duals: bool = False, **arguments: Unpack[ConstraintKeywords]
    ) -> NDArray[np.int32]:
        """Assign new rows to the fitted centers.

        With no constraint on the new rows each goes to its nearest center; with any, the assignment of all rows
        together is solved exactly, with a `NotProvenWarning` where a limit on time or work ends that before it is
        proved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        add_duals : bool, default=False
            Whether `duals_` of a fit under sizes alone are added to the squared distances, each row by itself: rows
            like those of the fit then fill clusters about as evenly as the fit did. Not with constraints.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of each row.
        """
        constraints = ConstraintArguments(**arguments)
        if add_duals:
            return self._predict_by_duals(X, constraints)
        return self._predict(X, constraints)

    def _predict_by_duals(self, X: Any, arguments: ConstraintArguments) -> NDArray[np.int32]:
        duals = getattr(self, "duals_", None)
        if duals is None:
            raise ValueError(
                "add_duals=True needs a fit under size bounds alone, with rows that all count the same; this one has "
                "no duals_"
            )
        if arguments.given():
            raise ValueError(
                "add_duals=True assigns each row by itself; leave it out to keep constraints on new rows"
            )
        X, centers = self._validate_new(X), self._measured_centers()
        labels = np.empty(X.shape[0], dtype=np.int32)
        for at in chunks(X.shape[0], len(centers)):
            labels[at] = (distances.block_costs(X[at], None, centers, n_threads=default_threads()) + duals).argmin(1)
        return labels

    def _predict(self, X: Any, arguments: ConstraintArguments) -> NDArray[np.int32]:
        X, centers = self._validate_new(X), self._measured_centers()
        if not arguments.given():
            return distances.nearest_pass(X, None, centers, n_threads=default_threads())[0]
        problem = Problem.of(X, len(centers), replace(arguments, nonempty=False))
        costs = distances.block_costs(problem.mean, problem.weight, centers, n_threads=default_threads())
        penalty = self._cost_of_new_links(costs) if problem.has_soft_links else None
        if penalty is not None and problem.links is not None:
            penalty = problem.links.enough(penalty, float((costs.max(axis=1) - costs.min(axis=1)).sum()))
        budget = proof_budget(problem, Budget(self.time_limit))
        solution = assign_by(problem.assignment_problem(costs, penalty), budget=budget)
        warn_not_proved(solution)
        labels: NDArray[np.int32] = problem.expand(solution.labels)
        return labels

    def _cost_of_new_links(self, costs: NDArray[np.float64]) -> float:
        """Return the cost of a broken soft link of confidence 1 in `predict`: the mean of all costs."""
        return float(costs.mean())


def held_by(problem: Problem, block_labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Rows or demand in each cluster; of several resources, a column for each."""
    if problem.amounts is None:
        return np.bincount(block_labels, problem.demand, problem.n_clusters).astype(np.float64, copy=False)
    labels = problem.expand(block_labels)
    columns = (np.bincount(labels, column, problem.n_clusters) for column in problem.amounts.values.T)
    return np.column_stack(list(columns))
