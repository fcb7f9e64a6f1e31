"""The front door: k-means under every kind of constraint at once."""

import math
import time
from copy import deepcopy
from dataclasses import KW_ONLY, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from konstrain._messages import share_of_text
from konstrain._sklearn import Interval, StrOptions, fit_context
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.connectivity import by_row_number, count_pieces
from konstrain.constraints.shares import shares_by_group
from konstrain.estimators._base import SIZE_PARAMETERS, BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator, start_of, warn_of_one_start
from konstrain.estimators._metric_choice import MetricChoice, learned_metric, measured, unit_rows
from konstrain.estimators.link_metric import KINDS
from konstrain.kmeans import distances, moves, regions
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import Progress, Run, auto_runs, draw_seeds, plan_run, relocate_centers
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.search import Search, anneals, n_seeds, suits
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget

if TYPE_CHECKING:
    from konstrain.exact.certificate import Certificate


@estimator
class ConstrainedKMeans(BaseConstrainedKMeans):
    """K-means that keeps must-links, cannot-links, sizes, demands and shares, all at once.

    One search for every mix of constraints: Lloyd's loop with dual prices for what couples rows within a cluster,
    repair of what is still violated, exact moves and swaps, relocation of centers. Hard constraints always hold;
    `step_gap_` is how far the last assignment may be from the best one at its centers, and `certify` proves how far
    the clustering is from the best of all. Without constraints and from given centers it is `sklearn.cluster.KMeans`:
    the same start gives the same labels.

    Parameters
    ----------
    init : {"k-means++", "random", "two-level"}, array-like of shape (n_clusters, n_features) or callable, \
            default="k-means++"
        Where runs start: block-aware k-means++ [1]_, random blocks, given centers, or
        ``callable(X, n_clusters, random_state=...)``. From 200 clusters on k-means++ chooses among the blocks that
        five rounds of k-means|| [2]_ have drawn, which takes a pass per round instead of one per cluster.
        "two-level", for thousands of clusters under bounds on sizes alone: groups of clusters that keep the sums of
        their bounds, each cut into its clusters; steps over all clusters follow, as from any start.
    n_init : int or "auto", default="auto"
        Number of runs; the best is kept. The first four begin at centers drawn by `init`, further ones at the best
        clustering with one center relocated. "auto": 1 from given centers, otherwise as many as a fixed amount of
        work allows, ending early when runs stop gaining. Every 100 are an independent search that makes at least the
        runs of "auto": 100 are never worse than "auto", 1,000 take about ten times as long.
    max_iter : int, default=300
        Most iterations of one run: those of Lloyd's loop and passes of moves and swaps together.
    tol : float, default=1e-4
        Movement of the centers, relative to the mean variance of the features, below which a run ends.
    violation_cost : float or "auto", default="auto"
        What breaking a soft link of confidence 1 costs, in `fit` and in `predict`. "auto": the mean of all
        row-to-center costs at the first assignment, then fixed.
    local_search : bool or "auto", default="auto"
        False: Lloyd's loop with an exact assignment in each step, and nothing else. True: the search described above,
        also where "auto" leaves it out: from given centers where exact steps are fast (no constraints, links alone,
        sizes alone), and for more rows than a search can afford, where one run of Lloyd's loop is made. There, under
        constraints, centers are relocated for about as many iterations as the loop took. Sparse rows are made dense
        for the search, or refused where that is too much.
    metric : {"cosine", "learned", "itml", "rca", "diagonal", "standard"} or None, default=None
        How distances are measured. None: plainly. "cosine": between directions (spherical k-means [3]_). Rows are
        divided by their lengths, without a copy where these are one, and centers are the sums of their rows divided
        by theirs; rows of length zero are refused, and so is `connectivity`. "learned": from the links, by a
        `LinkMetric` that is learned in turn with the clusters; held-out links decide whether it is a full one, a
        weight per feature, features on one scale, or none at all. A kind of `LinkMetric` by name: that one, come
        what may. Links stay what they are: hard ones are kept. All but "cosine" need dense X.
    move_cost : float or "auto", default="auto"
        With `previous` in `fit`: what a row that leaves its cluster costs, in the unit of the objective. "auto": what
        a row costs on average where it was. 0: moves cost nothing, and only where the search begins is given.
    max_moved : int, float, str or None, default=None
        With `previous` in `fit`: the number of rows that may move, or their share, 0.05 or "5%", of the rows that are
        not new.
    join_components : bool, default=False
        Whether edges between the nearest rows connect a graph of `connectivity` that is in several components. If
        not, no cluster spans two of them, and a component that no whole clusters can fill is an `InfeasibleError`.
    time_limit : float or None, default=None
        Seconds after which the best clustering so far is returned. What is left of it after the search goes into the
        proof of the last assignment step; a `NotProvenWarning` when that was not enough. None: the search ends
        by its budget of work, and a step whose proof would take a solver is not proved.
    n_jobs : int or None, default=None
        Workers for independent searches (`n_init` of 200 and more) or runs of Lloyd's loop, in joblib's sense. The
        solution does not depend on it.
    callback : callable or None, default=None
        Called after each run (`n_done`, `n_init`, `objective`, `best_objective`, `seconds`); ends the search by
        returning True.
    copy_x : bool, default=True
        Present for compatibility; X is never changed.

    Attributes
    ----------
    inertia_ : float
        Weighted squared distances of rows to their centers; in the learned metric if there is one. With
        ``metric="cosine"`` between rows and centers of length one: twice the weighted sum of 1 - cosine.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters; with ``metric="cosine"`` of length one, in the direction of these.
    objective_ : float
        `inertia_` plus what broken soft links and moved rows cost.
    violation_cost_ : float or None
        What breaking a soft link of confidence 1 costs; None where there are none.
    n_iter_ : int
        Iterations of the best run, at most `max_iter`.
    n_violations_ : int
        Broken links; only soft ones can be.
    move_cost_ : float or None
        What each moved row costs; None without `previous`.
    n_moved_ : int or None
        Rows in another cluster than in `previous`, new rows not counted; None without `previous`.
    moved_ : ndarray of int64 or None
        Their numbers.
    cluster_sizes_ : ndarray of shape (n_clusters,) or (n_clusters, n_resources)
        Rows, or demand, in each cluster.
    cluster_shares_ : dict
        Share of each group in each cluster: an array of shape (n_clusters,) by group; of several attributes, a
        dictionary of these by attribute. Empty without `category`.
    duals_ : ndarray of shape (n_clusters,) or None
        What one more row in each cluster costs under its bounds, where sizes alone couple rows that all count the
        same; else, with `max_moved`, or where time ended the last step, None. Squared distances plus these numbers
        (with `previous`, plus `move_cost_` where a row would move) are least in a cluster that each row has in the
        last assignment step: ``predict(X, add_duals=True)`` puts new rows where that keeps clusters balanced.
    n_pieces_ : ndarray of int64, shape (n_clusters,), or None
        Connected pieces of each cluster in the graph of `connectivity`: 1 each. None without a graph.
    link_metric_ : LinkMetric or None
        The metric learned; None: distances are plain.
    metric_choice_ : MetricChoice or None
        Which kind of metric was taken; with ``metric="learned"`` also the scores by held-out links.

    References
    ----------
    .. [1] Jia, Guo, Liao, Lu (2023), "Efficient Algorithm for the k-Means Problem with Must-Link and Cannot-Link
       Constraints", Algorithm 1.
    .. [2] Bahmani, Moseley, Vattani, Kumar, Vassilvitskii (2012), "Scalable k-means++", Algorithm 2.
    .. [3] Dhillon, Modha (2001), "Concept Decompositions for Large Sparse Text Data Using Clustering".

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.2], [9.0]]
    >>> model = ConstrainedKMeans(n_clusters=2, size_min=3, size_max=3, random_state=0)
    >>> model.fit(X, cannot_link=[(0, 1)]).n_violations_
    0
    >>> model.cluster_sizes_.tolist()
    [3.0, 3.0]
    """

    size_min: Any = None
    size_max: Any = None
    _: KW_ONLY
    size_tolerance: Any = None
    share_min: Any = None
    share_max: Any = None
    share_tolerance: Any = None
    init: Any = "k-means++"
    n_init: Any = "auto"
    tol: float = 1e-4
    violation_cost: Any = "auto"
    local_search: Any = "auto"
    metric: str | None = None
    move_cost: Any = "auto"
    max_moved: Any = None
    join_components: bool = False
    copy_x: bool = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConstrainedKMeans._parameter_constraints,
        **SIZE_PARAMETERS,
        "init": [StrOptions({"k-means++", "random", "two-level"}), callable, "array-like"],
        "share_min": [Real, str, dict, None],
        "share_max": [Real, str, dict, None],
        "share_tolerance": [Interval(Real, 0, 1, closed="left"), str, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "violation_cost": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "local_search": [StrOptions({"auto"}), "boolean"],
        "metric": [StrOptions({"cosine", "learned", *KINDS}), None],
        "move_cost": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_moved": [Interval(Integral, 0, None, closed="left"), Interval(Real, 0, 1, closed="both"), str, None],
        "join_components": ["boolean"],
        "copy_x": ["boolean"],
    }

    _takes_resources = True

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
        connectivity: Any = None,
        previous: Any = None,
    ) -> Self:
        """Cluster the rows of X under constraints.

        Parameters
        ----------
        must_link, cannot_link : pairs, optional
            Rows that must, or must not, share a cluster: a list, an array of shape (n_pairs, 2), a frame, or a
            sparse adjacency matrix. A third column is a confidence in (0, 1] and makes the link soft; inf: hard.
        demand : array-like of shape (n_samples,) or (n_samples, n_resources), optional
            What each row counts towards the size of its cluster, or holds of each of several resources; default 1.
        connectivity : sparse matrix, networkx graph, libpysal weights or array of shape (n_edges, 2), optional
            Which rows are neighbours; every cluster is then in one piece of this graph. Edges count in both
            directions; weights, and edges of a row to itself, do not count. Nodes are row numbers, or the names in
            the index of a DataFrame X. Where no such clustering is found, `UndecidedError` reports how near the best
            one came.
        previous : array-like of shape (n_samples,), optional
            Cluster of each row in an earlier clustering, 0 to n_clusters - 1; -1, None or NaN: a new row. Clusters
            keep their numbers, the search begins at their centers, so that `init` and `n_init` do not count, and
            rows that leave them cost `move_cost`; at most `max_moved` do.
        """
        arguments = self._fit(
            X,
            ConstraintArguments(
                labels=y,
                sample_weight=sample_weight,
                must_link=must_link,
                cannot_link=cannot_link,
                demand=demand,
                category=category,
                connectivity=None if connectivity is None else by_row_number(connectivity, X),
                join_components=bool(self.join_components),
                previous=previous,
            ),
        )
        # For `certify`; copied, because the caller may change what was given, and without frames.
        self._asked = deepcopy(
            {**arguments.plain(), "n_clusters": self.n_clusters, "violation_cost": self.violation_cost_}
        )
        return self

    def certify(
        self, X: Any, *, bound: str = "auto", gap: float = 1e-6, time_limit: float | None = None, **options: Any
    ) -> "Certificate":
        """Prove how far the fitted clustering is from the best possible under the constraints it was fitted with.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows the model was fitted on.
        bound : {"auto", "columns", "column-generation", "sdp", "parts"}, default="auto"
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
            about distances in that metric, named by `Certificate.metric`.

        Raises
        ------
        ValueError
            With ``metric="cosine"``, for which there is no lower bound yet.
        """
        check_is_fitted(self)
        if self._is_cosine:
            raise ValueError("there is no lower bound for metric='cosine' yet: nothing is certified")
        n_given, n_fitted = np.shape(X)[0], len(self.labels_)
        if n_given != n_fitted:
            raise ValueError(f"X has {n_given} rows, but the fit was to {n_fitted}; give the rows it was fitted to")
        if self.link_metric_ is not None:
            X = self.link_metric_.transform(X)
        # Imported here: proofs load a solver, and most fits need none.
        from konstrain.exact.certificate import certify

        arguments = {**self._asked, "partial_labels": self._asked.get("labels"), "labels": self.labels_}
        moves = ("moved rows",) if arguments.pop("previous", None) is not None else ()
        certificate = certify(X, bound=bound, gap=gap, time_limit=time_limit, **arguments, **options)
        certificate = replace(certificate, left_out=(*certificate.left_out, *moves))
        return certificate if self.link_metric_ is None else replace(certificate, metric=str(self.link_metric_))

    def _learn_metric(self, X: Any, arguments: ConstraintArguments, budget: Budget) -> None:
        self.link_metric_, self.metric_choice_ = None, None
        if self.metric == "cosine":
            if arguments.connectivity is not None:
                raise ValueError("metric='cosine' does not take connectivity; leave one of them out")
            self.metric_choice_ = MetricChoice("cosine")
        elif self.metric is not None:
            self.link_metric_, self.metric_choice_ = learned_metric(self, X, arguments, budget)

    @property
    def _is_cosine(self) -> bool:
        return self.metric_choice_ is not None and self.metric_choice_.kind == "cosine"

    def _build_problem(self, X: Any, arguments: ConstraintArguments) -> Problem:
        problem = replace(super()._build_problem(X, arguments), unit_centers=self._is_cosine)
        if problem.homes is None:
            return problem
        earlier, most = moves.Earlier.of(problem), self.max_moved
        cost = earlier.mean_cost if self.move_cost == "auto" else float(self.move_cost)
        if isinstance(most, str):
            most = share_of_text("max_moved", most)
        if most is None or not isinstance(most, Integral):
            # Rounded first: 0.29 of 100 rows are 29.
            most = math.inf if most is None else math.floor(round(most * earlier.n_known, 6))
        return replace(problem, homes=replace(problem.homes, cost=cost, most=most))

    def _keep_centers_of(self, X: Any, problem: Problem) -> None:
        if not self._is_cosine:
            super()._keep_centers_of(X, problem)

    def _measured(self, X: Any) -> Any:
        if self._is_cosine:
            return unit_rows(X)
        return X if self.link_metric_ is None else measured(self.link_metric_, X)

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        run = plan_run(
            Steps(problem, budget=budget, n_threads=default_threads()),
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
        if isinstance(self.init, str) and problem.has_like_clusters:
            best = best.in_order(np.bincount(best.block_labels, problem.demand, self.n_clusters))
        super()._keep(X, problem, best)
        self.cluster_shares_: dict[Any, Any] = {}
        if problem.attributes:
            self.cluster_shares_ = shares_by_group(problem.attributes, self.labels_, self.n_clusters)
        self.move_cost_, self.n_moved_, self.moved_ = None, None, None
        if problem.previous is not None:
            moved = np.flatnonzero((problem.previous >= 0) & (problem.previous != self.labels_))
            assert problem.homes is not None
            self.move_cost_, self.n_moved_, self.moved_ = problem.homes.cost, int(moved.size), moved
        self.duals_ = self._duals_of(problem, best)
        self.n_pieces_: NDArray[np.int64] | None = None
        if problem.connectivity is not None:
            self.n_pieces_ = count_pieces(problem.connectivity, self.labels_, self.n_clusters)
        if self.violation_cost_ is not None:
            # At the given cost: the search may have used a lower one, of the same effect.
            penalty = Steps(problem, violation_cost=self.violation_cost_).penalty(best.block_labels)
            self.objective_ = self.inertia_ + penalty + (self.move_cost_ or 0.0) * (self.n_moved_ or 0)

    def _duals_of(self, problem: Problem, best: Clustering) -> NDArray[np.float64] | None:
        """Return what one more row in each cluster costs; None unless sizes alone couple rows that are alike."""
        coupled = problem.links is not None or problem.resources is not None
        # Under a bound on moves their cost is not the given one.
        coupled |= problem.homes is not None and problem.homes.most < math.inf
        is_alike = problem.n_blocks == problem.n_samples and problem.has_unit_demand and problem.has_unit_weight
        if coupled or not is_alike or not problem.has_bounds or best.assignment is None:
            return None
        return None if not best.assignment.proven else best.assignment.prices

    def _cost_of_new_links(self, costs: NDArray[np.float64]) -> float:
        """Return the cost of soft links in `predict`: that of the fit, if it had any."""
        if self.violation_cost != "auto":
            return float(self.violation_cost)
        fitted: float | None = self.violation_cost_
        return super()._cost_of_new_links(costs) if fitted is None else fitted

    def _n_runs(self, problem: Problem, start: Start) -> int:
        return auto_runs(problem, start) if self.n_init == "auto" else super()._n_runs(problem, start)

    def _after_loop(self, loop: Loop, best: Clustering, seed: int) -> Clustering:
        # Without constraints, users of scikit-learn's KMeans expect Lloyd's own run.
        is_searched = self.local_search and not loop.steps.problem.is_free and not best.interrupted
        return relocate_centers(loop, best, seed) if is_searched else best

    def _search(self, X: Any, problem: Problem, budget: Budget) -> Clustering:
        if problem.homes is not None:
            return self._follow(X, problem, budget)
        start = start_of(self, X)
        is_regional = problem.connectivity is not None
        if not is_regional:
            if not suits(problem, start, self.local_search):
                return super()._search(X, problem, budget)
            is_regional = self.n_init == "auto" and not start.is_given and anneals(problem)
        n_runs = None if self.n_init == "auto" else int(self.n_init)
        if start.is_given:
            warn_of_one_start(self)
            n_runs = 1 if is_regional or self.local_search == "auto" else None
        seeds = draw_seeds(check_random_state(self.random_state), n_seeds(n_runs))
        loop = self._make_run(X, problem, start, budget, seeds[0]).loop
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": loop.tol, "n_runs": n_runs}
        options |= {"verbose": int(self.verbose), "callback": self.callback, "n_jobs": self.n_jobs}
        return (regions.RegionSearch if is_regional else Search)(loop.steps, start, **options).best(seeds)

    def _follow(self, X: Any, problem: Problem, budget: Budget) -> Clustering:
        """Search from an earlier clustering."""
        earlier = moves.Earlier.of(problem)
        start = Start(X, earlier.centers)
        seed = draw_seeds(check_random_state(self.random_state), 1)[0]
        loop = self._make_run(X, problem, start, budget, seed).loop
        kind = Search if problem.connectivity is None else regions.RegionSearch

        def follow(steps: Steps, labels: list[NDArray[np.int32]], part: str) -> Clustering:
            return kind(steps, start, max_iter=self.max_iter, tol=loop.tol).follow(labels, seed, part)

        began = time.perf_counter()

        def is_over(n_done: int, best: Clustering) -> bool:
            progress = Progress(n_done, n_done, best.objective, best.objective, time.perf_counter() - began)
            if self.verbose:
                progress.show()
            return bool(self.callback is not None and self.callback(progress))

        return moves.follow_within(loop.steps, follow, is_over)


def _mean_variance(X: Any) -> float:
    """Mean of the features' variances: what scikit-learn's KMeans multiplies `tol` by."""
    # All rows as one cluster: its mean squared distance, in two sweeps that copy nothing.
    together, threads = np.zeros(X.shape[0], dtype=np.int32), default_threads()
    sums, weights = distances.center_sums(X, None, together, 1, n_threads=threads)
    around = distances.own_costs(X, None, together, sums / weights[:, None], n_threads=threads)
    return around / float(X.shape[0] * X.shape[1])
