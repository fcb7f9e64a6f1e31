"""`ConstrainedKMeans` over Dask collections: scikit-learn's conventions around a run over all rows."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, Unpack, cast

import dask
import dask.array as da
import distributed
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from konstrain import estimators, stop
from konstrain._sklearn import StrOptions, fit_context
from konstrain._warnings import warn_caller
from konstrain.assignment import Assignment
from konstrain.constraints.arguments import CONNECTIVITY, ConstraintArguments, ConstraintKeywords, takes_constraints
from konstrain.constraints.inputs import membership_values
from konstrain.constraints.shares import shares_of_counts
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions, client_for, with_groups
from konstrain.dask.passes import PartitionRows, Place, Scan
from konstrain.dask.problem import RemoteProblem, build_problem, overview_of
from konstrain.dask.rows import RowSource, is_collection, is_lazy, lazy_labels
from konstrain.dask.start import Sample, first_centers
from konstrain.dask.steps import RemoteLabels, RemoteSteps
from konstrain.estimators._conventions import estimator, warn_not_proved, warn_of_limits
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.last_step import proof_budget, prove_last_step
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import choose_loop, draw_seeds
from konstrain.kmeans.result import Clustering
from konstrain.metrics import Violations, count_violations
from konstrain.stop import Budget

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Iteration:
    """What a callback receives after each step over all rows; returning True ends the fit."""

    n_iter: int
    max_iter: int
    n_samples: int
    objective: float
    seconds: float


@estimator
class DaskConstrainedKMeans(estimators.ConstrainedKMeans):
    """K-means under links, sizes and demands on a Dask array or dataframe: exact, with the rows where they are.

    The same parameters, steps and proofs as `konstrain.ConstrainedKMeans`. Workers keep the rows; each step
    sends them centers and duals, and receives sums, sizes and the rows near a tie. So links and sizes hold over
    all rows, and from the same centers the labels are those of a fit in memory. The run starts from the best
    clustering of a sample, which is searched on the client; no local search follows it. `local_search` and `n_jobs`
    are about the sample.

    Parameters
    ----------
    init : {"k-means++", "random", "k-means||"}, array-like or callable, default="k-means++"
        Where the clustering of the sample starts, or the centers themselves. A callable is given the sample.
        "k-means||" draws centers from all rows [1]_; from 1,000 clusters on "k-means++" does so too.
    n_init : int or "auto", default="auto"
        Number of runs on the sample.
    metric : None
        Metrics are learned in memory only.
    verbose : int, default=0
        1: a line per iteration on standard error.
    callback : callable or None, default=None
        Called after each step over all rows with `n_iter`, `max_iter`, `n_samples`, `objective` and `seconds`; ends
        the fit by returning True.
    client : distributed.Client or None, default=None
        The cluster to work on. None: the current client; where there is none, this machine's cores for as long as
        the fit takes.

    Attributes
    ----------
    labels_ : dask array of int32, shape (n_samples,)
        Cluster of each row, cut like X; computed from X when it is needed.

    References
    ----------
    .. [1] Bahmani, Moseley, Vattani, Kumar, Vassilvitskii (2012), "Scalable K-Means++".

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from konstrain.dask import ConstrainedKMeans
    >>> x = da.from_array([[0.0], [0.2], [0.4], [5.0], [5.2], [9.0]], chunks=(2, 1))
    >>> own = {"n_workers": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    >>> with LocalCluster(**own) as cluster, Client(cluster) as client:
    ...     model = ConstrainedKMeans(n_clusters=2, size_min=3, size_max=3, random_state=0).fit(x)
    ...     print(model.cluster_sizes_, (model.labels_ == model.labels_[0]).sum().compute())
    [3. 3.] 3
    """

    _: KW_ONLY
    client: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions({"k-means++", "random", "k-means||"}), callable, "array-like"],
        "metric": [None],
        "client": "no_validation",  # type: ignore[dict-item]
    }

    @property
    def client_(self) -> Any:
        """The cluster that a fit would work on now."""
        return distributed.get_client() if self.client is None else self.client

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
        category: Any = None,
    ) -> Self:
        """Cluster the rows of X under constraints.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Rows to cluster; the sizes of its partitions need not be known. float32 stays float32.
        y : dask array or series cut like X, or array-like, optional
            Partial labels, -1, None or NaN for unknown: rows with the same label must share a cluster, rows with
            different labels must not. Rows with labels are gathered on the client. A `y` without any unknown row is
            ignored, as in `konstrain.ConstrainedKMeans`.
        sample_weight : dask array or series cut like X, or array-like, optional
            What each row counts in centers and costs; default 1.
        must_link, cannot_link : pairs, optional
            Rows that must, or must not, share a cluster, by their numbers from the first row of the first partition
            on; forms as in `konstrain.ConstrainedKMeans`. Rows with links are gathered on the client.
        demand : dask array, series or dataframe cut like X, or array-like, optional
            What each row counts towards the size of its cluster; default 1. Of several resources a column each, with
            bounds as in `konstrain.ConstrainedKMeans`.
        category : dask array, series or dataframe cut like X, or array-like or dict of these, optional
            The group of each row, whose share of every cluster is bounded by `share_min`, `share_max` and
            `share_tolerance`; a column per attribute.
        """
        budget = Budget(self.time_limit)
        self.link_metric_, self.metric_choice_ = None, None
        labels = y if y is None or is_lazy(y) else membership_values(y)
        source = RowSource.of(X, sample_weight, demand, labels, category)
        with client_for(self.client) as client, Partitions(client, with_groups(client, source)) as partitions:
            overview = overview_of(partitions, self.n_clusters)
            arguments = ConstraintArguments(
                must_link=must_link, cannot_link=cannot_link, **self._bounds(overview.n_samples)
            )
            problem = build_problem(partitions, overview, self.n_clusters, arguments)
            steps, best = self._run(partitions, problem, budget)
            self._keep_remote(partitions, problem, steps, best)
        return self

    def _run(self, partitions: Partitions, problem: RemoteProblem, budget: Budget) -> tuple[RemoteSteps, Clustering]:
        """Find a start, then run the loop over all rows."""
        seeds = draw_seeds(check_random_state(self.random_state), 2)
        sample = Sample.draw(partitions, problem, seeds[0])
        centers = first_centers(self, partitions, sample, problem, seeds[1], budget)
        steps = RemoteSteps(
            problem,
            violation_cost=self._violation_cost_of(partitions, problem, centers),
            budget=budget,
            n_threads=default_threads(),
            step_work=stop.PARAMS.step_work,
            partitions=partitions,
            sample=sample,
        )
        steps.report = self._reporter(steps, budget)
        tol = self.tol * problem.overview.mean_variance if self.tol > 0 else 0.0
        loop = Loop(choose_loop(problem, self.local_search), steps, self.max_iter, tol)
        best = loop.run(centers)
        if best.interrupted:
            warn_caller(
                f"interrupted in iteration {best.n_iter}; the best clustering so far is returned", RuntimeWarning
            )
        return steps, steps.place_weightless(prove_last_step(loop, best))

    def _violation_cost_of(self, partitions: Partitions, problem: RemoteProblem, centers: Reals) -> float | None:
        """What breaking a soft link of confidence 1 costs: the mean of all costs at the start, unless it is given."""
        if not problem.has_soft_links:
            return None
        if self.violation_cost != "auto":
            return float(self.violation_cost)
        total: float = partitions.run(passes.costs_everywhere, centers, join=sum)
        return total / (problem.n_samples * problem.n_clusters)

    def _reporter(self, steps: RemoteSteps, budget: Budget) -> Callable[[RemoteLabels], None]:
        began, n_iter = time.perf_counter(), 0

        def report(labels: RemoteLabels) -> None:
            nonlocal n_iter
            n_iter += 1
            objective = labels.cost + steps.penalty(labels)
            now = Iteration(n_iter, self.max_iter, steps.problem.n_samples, objective, time.perf_counter() - began)
            if self.verbose:
                Console(stderr=True).print(
                    f"iteration {now.n_iter}  {now.n_samples:,} rows  objective {objective:.6g}  {now.seconds:.1f} s",
                    highlight=False,
                )
            if self.callback is not None and self.callback(now):
                budget.end()

        return report

    def _keep_remote(
        self, partitions: Partitions, problem: RemoteProblem, steps: RemoteSteps, best: Clustering
    ) -> None:
        source, labels = partitions.source, cast("RemoteLabels", best.block_labels)
        self.labels_: Any = _labels_of(partitions, labels)
        self._groups = source.groups
        self._labelling, self._first_rows = labels.labelling, partitions.first_rows
        self.cluster_centers_ = best.centers.astype(source.dtype)
        self.inertia_, self.objective_ = best.inertia, best.objective
        self.n_iter_ = best.n_iter
        n_resources = len(source.resources)
        totals = labels.totals
        self.cluster_sizes_ = cast("Any", totals.amounts[:, :n_resources] if n_resources else totals.sizes)
        self.cluster_shares_ = shares_of_counts(problem.attributes, totals.amounts[:, n_resources:-2])
        self.violation_cost_ = steps.violation_cost
        self.n_features_in_ = source.n_features
        if source.features is not None:
            self.feature_names_in_ = np.array(source.features, dtype=object)
        self._n_features_out = self.n_clusters
        tied = problem.tied
        self._report(
            Violations(0, 0)
            if tied is None
            else count_violations(
                tied.problem.expand(labels.tied), must_link=tied.must_link, cannot_link=tied.cannot_link
            )
        )
        warn_of_limits(self, best)

    @takes_constraints("groups", "sample_weight", "diameter_max", "separation_min", *CONNECTIVITY)
    def predict(self, X: Any, *, add_duals: bool = False, **arguments: Unpack[ConstraintKeywords]) -> Any:
        """Assign new rows to the fitted centers.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            New rows; rows in memory are assigned as by `konstrain.ConstrainedKMeans`.
        add_duals : bool, default=False
            Refused: a fit over a cluster has no `duals_`.

        Returns
        -------
        labels : dask array of int32, shape (n_samples,)
            Cluster of each row, cut like X and lazy; with constraints the assignment of all rows together is solved
            before this returns.
        """
        if add_duals or not is_collection(X):
            return super().predict(X, add_duals=add_duals, **arguments)
        constraints = ConstraintArguments(**arguments)
        check_is_fitted(self)
        source = RowSource.of(X, None, constraints.demand, category=constraints.category)
        self._refuse_other_features(source)
        centers = self._measured_centers()
        if not constraints.given():
            return lazy_labels([_nearest(part, centers) for part in source.partitions()], source.n_rows)
        with client_for(self.client) as client, Partitions(client, with_groups(client, source)) as partitions:
            constraints = replace(constraints, nonempty=False)
            problem = build_problem(partitions, overview_of(partitions, 1), self.n_clusters, constraints)
            solution = self._assigned(partitions, problem, centers)
            warn_not_proved(solution)
            return _labels_of(partitions, cast("RemoteLabels", solution.labels))

    def _assigned(self, partitions: Partitions, problem: RemoteProblem, centers: Reals) -> Assignment:
        cost = None
        if problem.has_soft_links:
            cost = self.violation_cost_ if self.violation_cost == "auto" else float(self.violation_cost)
            cost = self._violation_cost_of(partitions, problem, centers) if cost is None else cost
        seed = draw_seeds(check_random_state(self.random_state), 1)[0]
        steps = RemoteSteps(
            problem,
            violation_cost=cost,
            budget=proof_budget(cast("Any", problem), Budget(self.time_limit))
            if problem.resources is not None
            else Budget(self.time_limit),
            n_threads=default_threads(),
            partitions=partitions,
            sample=Sample.draw(partitions, problem, seed),
        )
        return steps.step(centers, None)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, **constraints: Any) -> Any:
        """Fit and return the label of each row, as a lazy dask array; arguments as in `fit`."""
        return self.fit(X, y, sample_weight, **constraints).labels_

    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each center: a lazy dask array for a dask collection."""
        if not is_collection(X):
            return super().transform(X)
        check_is_fitted(self)
        source = RowSource.of(X)
        self._refuse_other_features(source)
        local = self.to_local()
        # As in scikit-learn: single only where rows and centers are.
        dtype = np.result_type(source.dtype, self.cluster_centers_)
        parts = [dask.delayed(_transformed)(part, local, dtype) for part in source.partitions()]
        shapes = [(n, self.n_clusters) for n in source.n_rows]
        return da.concatenate(
            [da.from_delayed(part, shape, dtype=dtype) for part, shape in zip(parts, shapes, strict=True)]
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted squared distances of rows to their nearest centers."""
        if not is_collection(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        source = RowSource.of(X, sample_weight)
        self._refuse_other_features(source)
        centers = self._measured_centers()
        with client_for(self.client) as client, Partitions(client, source) as partitions:
            return -float(partitions.run(passes.sum_up, Scan.nearest(centers)).cost)

    def certify(self, X: Any, **options: Any) -> Any:
        """Proofs need the rows in memory: see `konstrain.certify`."""
        raise TypeError("certify needs the rows in memory; call konstrain.certify on a sample of them")

    def to_local(self) -> estimators.ConstrainedKMeans:
        """Return an ordinary `konstrain.ConstrainedKMeans` with these centers, for rows in memory.

        It has all fitted attributes but `labels_`, which has as many entries as there are rows.
        """
        check_is_fitted(self)
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = estimators.ConstrainedKMeans(**params)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "labels_"}
        for name, value in {**fitted, "_n_features_out": self._n_features_out}.items():
            setattr(local, name, value)
        return local

    def _refuse_other_features(self, source: RowSource) -> None:
        if source.n_features != self.n_features_in_:
            raise ValueError(f"X has {source.n_features} features, but the fit was to {self.n_features_in_}")

    def __sklearn_clone__(self) -> Self:
        # A client is a connection: copies of the estimator share it.
        from sklearn.base import clone

        params = self.get_params(deep=False)
        client = params.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in params.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        # Another process connects itself.
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}


def _labels_of(partitions: Partitions, labels: RemoteLabels) -> da.Array:
    """Labels of all rows, computed from the collection itself when they are needed."""
    shared = dask.delayed(labels.labelling, pure=False, traverse=False)
    make = dask.delayed(passes.labels_of, pure=False)
    firsts = partitions.first_rows
    parts = [make(part, shared, Place(i, firsts[i])) for i, part in enumerate(partitions.source.partitions())]
    return lazy_labels(parts, partitions.n_rows)


def _nearest(part: Any, centers: Reals) -> Any:
    return dask.delayed(passes.nearest_labels, pure=False)(part, centers)


def _transformed(rows: PartitionRows, local: estimators.ConstrainedKMeans, dtype: Any) -> NDArray[Any]:
    return local.transform(rows.values.astype(dtype, copy=False))
