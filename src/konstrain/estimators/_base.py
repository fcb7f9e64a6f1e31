"""What all k-means estimators share: parameters, validation, restarts, fitted attributes and predict."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from konstrain._messages import Advised, term
from konstrain._sklearn import HasMethods, Interval, StrOptions, fit_context
from konstrain._warnings import warn_caller
from konstrain.assignment import assign_by
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments
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
from konstrain.kmeans.last_step import proof_budget, prove_last_step
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import Restarts, Run, draw_seeds
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.weightless import place_weightless
from konstrain.metrics import Violations, count_violations
from konstrain.stop import Budget

# Parameters of estimators that bound what clusters hold.
BOUNDS = ("size_min", "size_max", "share_min", "share_max", "share_tolerance")


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
        X, y, sample_weight, must_link, cannot_link
            As in `ConstrainedKMeans.fit`.
        demand : array-like of shape (n_samples,), optional
            What each row counts towards the size of its cluster; default 1.

        Returns
        -------
        self
            The fitted estimator.
        """
        asked = ConstraintArguments(
            labels=y, sample_weight=sample_weight, must_link=must_link, cannot_link=cannot_link, demand=demand
        )
        self._fit(X, asked)
        return self

    def _fit(self, X: Any, asked: ConstraintArguments) -> ConstraintArguments:
        """Fit under the arguments of `fit` and the bounds among the parameters; return both together."""
        X = validated_rows(self, X)
        budget = Budget(self.time_limit)
        self._refuse_untaken(asked, X.shape[0])
        asked = replace(asked, labels=partial_labels_of(asked.labels, X.shape[0]), **self._bounds(X.shape[0]))
        self._learn_metric(X, asked, budget)
        rows = self._measured(X)
        problem = self._build_problem(rows, asked)
        best = place_weightless(problem, self._search(rows, problem, budget), budget)
        self._keep(rows, problem, best)
        if rows is not X:
            self._keep_centers_of(X, problem)
        self._report(count_violations(self.labels_, **asked.links))
        warn_of_few_distinct_rows(X, self.n_clusters)
        return asked

    def _refuse_untaken(self, asked: ConstraintArguments, n_samples: int) -> None:
        """Raise for confidences or several resources where the method takes none."""
        shape = np.shape(asked.demand)
        if not self._takes_resources and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"demand has {shape[1]} resources, {type(self).__name__} takes one; use ConstrainedKMeans"
            )
        if not self._takes_confidences:
            refuse_confidences(type(self).__name__, n_samples, **asked.links)

    def _learn_metric(self, X: Any, asked: ConstraintArguments, budget: Budget) -> None:
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

    def _build_problem(self, X: Any, asked: ConstraintArguments) -> Problem:
        refuse_too_few_rows(X, self.n_clusters)
        problem = Problem.of(X, self.n_clusters, asked)
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
        restarts = Restarts(
            run,
            budget,
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
            callback=self.callback,
        )
        return prove_last_step(run.loop, self._after_loop(run.loop, restarts.best(seeds), seeds[0]))

    def _after_loop(self, loop: Loop, best: Clustering, seed: int) -> Clustering:
        """Return what follows the best run of the loop: nothing, unless an estimator overrides this."""
        return best

    @abstractmethod
    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        """Return how one run goes: its loop, its steps, what follows."""

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
            limit = "time limit" if self.time_limit is not None else "limit on work"
            gap = "" if best.step_gap is None else f" (at most {best.step_gap:.2g} of its cost could be saved)"
            warn_caller(
                Advised(
                    f"an assignment step was cut short by the {limit}: labels are feasible, but the step was not "
                    f"proved optimal{gap}",
                    f"{'raise' if self.time_limit is not None else 'give a'} {term('time_limit')}",
                ),
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
        asked = ConstraintArguments(
            size_min=size_min,
            size_max=size_max,
            must_link=must_link,
            cannot_link=cannot_link,
            demand=demand,
            category=category,
            share_min=share_min,
            share_max=share_max,
            share_tolerance=share_tolerance,
        )
        return self._predict(X, asked)

    def _predict(self, X: Any, asked: ConstraintArguments) -> NDArray[np.int32]:
        X, centers = self._validate_new(X), self._measured_centers()
        if not asked.given():
            return distances.nearest_pass(X, None, centers, n_threads=default_threads())[0]
        problem = Problem.of(X, len(centers), replace(asked, nonempty=False))
        costs = distances.block_costs(problem.mean, problem.weight, centers, n_threads=default_threads())
        price = self._price_of_new_links(costs) if problem.has_soft_links else None
        if price is not None and problem.links is not None:
            price = problem.links.enough(price, float((costs.max(axis=1) - costs.min(axis=1)).sum()))
        budget = proof_budget(problem, Budget(self.time_limit))
        answer = assign_by(problem.assignment_problem(costs, price), budget=budget)
        if not answer.proven:
            warn_caller(
                "the time limit ended the assignment of the new rows before it was proved optimal: labels are "
                f"feasible, and cost at most {answer.gap:.2g} of their cost too much; raise {term('time_limit')}",
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
