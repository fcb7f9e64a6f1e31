"""The front door: k-means under every kind of constraint at once."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from konstrain._sklearn import Interval, StrOptions, fit_context
from konstrain.constraints import Problem
from konstrain.constraints.shares import shares_by_group
from konstrain.constraints.tables import reusable
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.estimators._conventions import partial_labels_of
from konstrain.estimators._learned import learned_metric, measured
from konstrain.estimators._metric_guard import MetricChoice
from konstrain.estimators.link_metric import KINDS, LinkMetric
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.plan import plan_restarts, plan_run
from konstrain.kmeans.restarts import RestartPlan, Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Deadline

if TYPE_CHECKING:
    from konstrain.exact.certificate import Certificate


class ConstrainedKMeans(BaseConstrainedKMeans):
    """K-means that keeps must-links, cannot-links, cluster sizes and demands, each step solved exactly.

    Without constraints it is `sklearn.cluster.KMeans`: the same start gives the same labels. Soft links may break at
    a price; everything can be combined.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on what a cluster holds: rows, or units of `demand`. Where that has several resources, one bound for
        each, shape (n_resources,), or for each cluster and resource, shape (n_clusters, n_resources).
    share_min, share_max : float or dict, optional
        Least and largest share of a cluster's rows that each group of `category` may take: ``{"F": 0.4}``; of several
        attributes ``{"sex": {"F": 0.4}}``; a number holds for every group. Shares count rows, whatever they weigh.
    share_tolerance : float, optional
        With t, and r the share of a group in all rows, its share of every cluster is between (1 - t) r and
        r / (1 - t). With `share_min` or `share_max` as well, the stricter bound counts.
    init : {"k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, default="k-means++"
        Where runs start: block-aware k-means++ [1]_, random blocks, given centers, or
        ``callable(X, n_clusters, random_state=...)``. From 200 clusters on k-means++ chooses among the blocks that
        five rounds of k-means|| [2]_ have drawn, which takes a pass per round instead of one per cluster.
    n_init : int or "auto", default="auto"
        Number of runs from different seeds; the best is kept. "auto": 1 for given centers, otherwise as many as a
        fixed amount of work allows, at most 100, ending early when 8 of them found the same best clustering. On
        data so large that fewer are allowed, and under shares or several resources, ends within 1e-5 of the best
        count as the same, and from 16 runs on the search also ends once as many runs as led to the last gain have
        gained nothing more.
    max_iter : int, default=300
        Most iterations of one run.
    tol : float, default=1e-4
        Movement of the centers, relative to the mean variance of the features, below which a run ends.
    violation_cost : float or "auto", default="auto"
        What breaking a soft link of confidence 1 costs, in `fit` and in `predict`. "auto": the mean of all
        row-to-center costs at the first assignment, then fixed.
    local_search : bool or "auto", default="auto"
        Whether runs go on, after Lloyd's loop, with moves, swaps, chains of conflicting blocks and relocation of
        centers. "auto": unless X is sparse or very large, or centers were given; from given centers a brief search
        of about as many iterations follows under size bounds. Unless this is False, centers of runs with links or
        sizes have momentum, which takes fewer iterations and ends lower; without either the loop is Lloyd's own.
    metric : {"learned", "itml", "rca", "diagonal", "standard"} or None, default=None
        How distances are measured. None: plainly. "learned": as the links tell, by a `LinkMetric` that is learned in
        turn with the clusters; held-out links decide whether it is a full one, a weight per feature, features on one
        scale, or none at all. A kind of `LinkMetric` by name: that one, come what may. Links stay what they are:
        hard ones are kept. Needs dense X.
    time_limit : float or None, default=None
        Seconds after which the best clustering so far is returned. The last assignment step is proved optimal; None:
        no limit, but where sizes meet soft links or unequal demand that proof ends after a fixed amount of work.
        A `NotProvenWarning` says when it did, and what could still be saved; a `time_limit` keeps a tenth for it.
    n_jobs : int or None, default=None
        Workers for restarts, in joblib's sense. The answer does not depend on it.
    verbose : int, default=0
        1: progress on standard error.
    callback : callable or None, default=None
        Told after each restart (`n_done`, `n_init`, `objective`, `best_objective`, `seconds`); ends the search by
        returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.
    copy_x : bool, default=True
        Present for compatibility; X is never changed.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row. Always the labels that `inertia_` and `cluster_centers_` belong to.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters.
    inertia_ : float
        Weighted squared distances of rows to their centers; in the learned metric if there is one.
    objective_ : float
        `inertia_` plus what broken soft links cost.
    violation_cost_ : float or None
        What breaking a soft link of confidence 1 costs; None where there are none.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links; only soft ones can be.
    cluster_sizes_ : ndarray of shape (n_clusters,) or (n_clusters, n_resources)
        Rows, or demand, in each cluster.
    cluster_shares_ : dict
        Share of each group in each cluster: an array of shape (n_clusters,) by group; of several attributes, a
        dictionary of these by attribute. Empty without `category`.
    link_metric_ : LinkMetric or None
        The metric learned; None: distances are plain.
    metric_choice_ : MetricChoice or None
        Which kind of metric was taken; with ``metric="learned"`` also what held-out links said.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] Jia, Guo, Liao, Lu (2023), "Efficient Algorithm for the k-Means Problem with Must-Link and Cannot-Link
       Constraints", Algorithm 1.
    .. [2] Bahmani, Moseley, Vattani, Kumar, Vassilvitskii (2012), "Scalable k-means++", Algorithm 2.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.2], [9.0]]
    >>> model = ConstrainedKMeans(n_clusters=2, size_min=3, size_max=3, random_state=0)
    >>> model.fit(X, cannot_link=[(0, 1)]).n_violations_
    0
    >>> model.cluster_sizes_.tolist()
    [3.0, 3.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConstrainedKMeans._parameter_constraints,
        "size_min": [Real, "array-like", None],
        "size_max": [Real, "array-like", None],
        "share_min": [Real, dict, None],
        "share_max": [Real, dict, None],
        "share_tolerance": [Interval(Real, 0, 1, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "violation_cost": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "local_search": [StrOptions({"auto"}), "boolean"],
        "metric": [StrOptions({"learned", *KINDS}), None],
        "copy_x": ["boolean"],
    }

    _takes_resources = True

    link_metric_: LinkMetric | None
    metric_choice_: MetricChoice | None

    def __init__(
        self,
        n_clusters: int = 8,
        size_min: Any = None,
        size_max: Any = None,
        *,
        share_min: Any = None,
        share_max: Any = None,
        share_tolerance: float | None = None,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        violation_cost: Any = "auto",
        local_search: Any = "auto",
        metric: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Any], Any] | None = None,
        random_state: Any = None,
        copy_x: bool = True,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            time_limit=time_limit,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            random_state=random_state,
        )
        self.size_min = size_min
        self.size_max = size_max
        self.share_min = share_min
        self.share_max = share_max
        self.share_tolerance = share_tolerance
        self.tol = tol
        self.violation_cost = violation_cost
        self.local_search = local_search
        self.metric = metric
        self.copy_x = copy_x

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
        """Cluster the rows of X under constraints."""
        links = {"must_link": reusable(must_link), "cannot_link": reusable(cannot_link)}
        beside = {"demand": demand, "category": category}
        self._fit(X, y, sample_weight, **links, **beside)
        # What `certify` asks about again; copied, for the caller may change what was given.
        self._asked: dict[str, Any] = deepcopy(
            {
                "n_clusters": self.n_clusters,
                "partial_labels": partial_labels_of(y, len(self.labels_)),
                "sample_weight": sample_weight,
                "size_min": self.size_min,
                "size_max": self.size_max,
                "violation_cost": self.violation_cost_,
                **self._share_bounds(),
                **links,
                **beside,
            }
        )
        return self

    # The same arguments mean the same: `help` and the reference show them here too.
    fit.__doc__ = (BaseConstrainedKMeans.fit.__doc__ or "").replace(
        """        demand : array-like of shape (n_samples,), optional
            What each row counts towards the size of its cluster; default 1.
""",
        """        demand : array-like of shape (n_samples,) or (n_samples, n_resources), optional
            What each row counts towards the size of its cluster, or holds of each of several resources; default 1.
        category : array-like of shape (n_samples,), or table with a column per attribute, optional
            The group of each row; `share_min`, `share_max` and `share_tolerance` bound its share of every cluster.
""",
    )

    def _share_bounds(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("share_min", "share_max", "share_tolerance")}

    def certify(
        self, X: Any, *, bound: str = "auto", gap: float = 1e-6, time_limit: float | None = None, **options: Any
    ) -> "Certificate":
        """Prove how far the fitted clustering is from the best possible under the constraints it was fitted with.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows the model was fitted on.
        bound : {"auto", "column-generation", "sdp", "parts"}, default="auto"
            Which lower bound to use; "parts" works for any number of rows. See `konstrain.certify`.
        gap : float, default=1e-6
            Relative gap at which to end.
        time_limit : float, optional
            Seconds after which the bound reached is returned.
        **options
            Further arguments of `konstrain.certify`: `part_size`, `n_jobs`, `client`, `resume`, `callback`.

        Returns
        -------
        Certificate
            Lower bound, gap, proof flag, and the best clustering met on the way. With a learned metric all of it is
            about distances in that metric, and `Certificate.metric` says so.
        """
        check_is_fitted(self)
        n_given, n_fitted = np.shape(X)[0], len(self.labels_)
        if n_given != n_fitted:
            raise ValueError(f"X has {n_given} rows, but the fit was to {n_fitted}; give the rows it was fitted to")
        if self.link_metric_ is not None:
            X = self.link_metric_.transform(X)
        # Imported here: proofs bring a solver, and most fits ask for none.
        from konstrain.exact.certificate import certify

        certificate = certify(
            X, labels=self.labels_, bound=bound, gap=gap, time_limit=time_limit, **self._asked, **options
        )
        return certificate if self.link_metric_ is None else replace(certificate, metric=str(self.link_metric_))

    def _learn_metric(self, X: Any, constraints: dict[str, Any], deadline: Deadline) -> None:
        self.link_metric_, self.metric_choice_ = None, None
        if self.metric is not None:
            self.link_metric_, self.metric_choice_ = learned_metric(self, X, constraints, deadline)

    def _measured(self, X: Any) -> Any:
        return X if self.link_metric_ is None else measured(self.link_metric_, X)

    def _make_run(self, X: Any, problem: Problem, start: Start, deadline: Deadline, first_seed: int) -> Run:
        run = plan_run(
            Steps(problem, deadline=deadline, n_threads=default_threads()),
            start,
            first_seed,
            max_iter=self.max_iter,
            tol=self.tol * _mean_variance(X) if self.tol > 0 else 0.0,
            violation_cost=self.violation_cost,
            search=self.local_search,
        )
        used = run.loop.steps.violation_cost
        self.violation_cost_ = used if used is None or self.violation_cost == "auto" else float(self.violation_cost)
        return run

    def _keep(self, X: Any, problem: Problem, best: Clustering) -> None:
        super()._keep(X, problem, best)
        self.cluster_shares_ = shares_by_group(problem.attributes, self.labels_, self.n_clusters)
        if self.violation_cost_ is not None:
            # At the price that was asked for: the search may have used a lower one, of the same effect.
            penalty = Steps(problem, violation_cost=self.violation_cost_).penalty(best.block_labels)
            self.objective_ = self.inertia_ + penalty

    def _price_of_new_links(self, costs: NDArray[np.float64]) -> float:
        """What soft links cost in `predict`: what they cost in `fit`, if there were any."""
        if self.violation_cost != "auto":
            return float(self.violation_cost)
        fitted: float | None = self.violation_cost_
        return super()._price_of_new_links(costs) if fitted is None else fitted

    def _restart_plan(self, problem: Problem, start: Start) -> RestartPlan:
        return plan_restarts(problem, start) if self.n_init == "auto" else super()._restart_plan(problem, start)


def _mean_variance(X: Any) -> float:
    """Mean of the features' variances: what scikit-learn's KMeans multiplies `tol` by."""
    # All rows as one cluster: its mean squared distance, in two sweeps that copy nothing.
    together, threads = np.zeros(X.shape[0], dtype=np.int32), default_threads()
    sums, weights = distances.center_sums(X, None, together, 1, n_threads=threads)
    around = distances.own_costs(X, None, together, sums / weights[:, None], n_threads=threads)
    return around / float(X.shape[0] * X.shape[1])
