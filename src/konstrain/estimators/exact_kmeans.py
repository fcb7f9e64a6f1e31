"""ExactKMeans: the best clustering that exists under the constraints, with proof (Babaki et al. 2014 and beyond)."""

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state

from konstrain._messages import term
from konstrain._sklearn import HasMethods, Interval, StrOptions
from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.estimators._base import SIZE_PARAMETERS, BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator
from konstrain.exact.columns.cluster_constraints import alternative_to as unlike
from konstrain.exact.columns.generation import STABILIZATIONS
from konstrain.exact.solve import BOUNDS, Limits, solve
from konstrain.exact.task import ProofTask
from konstrain.exceptions import NotProvenWarning, UndecidedError
from konstrain.gap import relative_gap
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


@estimator
class ExactKMeans(BaseConstrainedKMeans):
    """K-means solved to proved optimality, or to a proved gap.

    Branch and bound over must-links and cannot-links with three bounds: column generation [1]_, which carries every
    anti-monotone constraint on single clusters; column generation over boxes of space, for few features; and a
    semidefinite relaxation with star cuts, which closes most instances of a few hundred blocks at the root. Any
    time: a limit or Ctrl-C returns the best clustering and the bound reached.

    Parameters
    ----------
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on what a cluster holds: rows, or units of `demand`; "12%" is that share of what all rows hold.
    size_tolerance : float or str, optional
        With 0.1 or "10%", every cluster holds within 10% of an equal part.
    bound : {"auto", "columns", "column-generation", "sdp"}, default="auto"
        Which lower bound to use. "columns": column generation whose pricing divides space into boxes, for up to four
        features and thousands of rows. "column-generation": as in [1]_. "auto": "columns" for such rows, with more
        than two features under bounds on sizes only where its root is the higher one; [1]_ for cluster constraints
        and for few blocks per cluster; the semidefinite one otherwise, and when [1]_ stalls.
    init : estimator or None, default=None
        A clusterer whose labels the search begins with, such as
        ``COPKMeans(5, on_failure="continue", best_by="clusters", n_init=500)``, where [1]_ begins. They may break
        links: column generation then takes the parts of their clusters that break none. Without a seed of its own it
        gets one from `random_state`. None: our own search.
    stabilization : {"smoothing", "perturbation"}, default="smoothing"
        Of "column-generation": how duals are kept from jumping. "perturbation": as in [1]_; "smoothing" takes fewer
        columns.
    local_pricing : bool, default=True
        Of "column-generation": whether descent goes before branch and bound; False: the latter alone, as in [1]_.
    gap : float, default=1e-6
        Relative gap at which a clustering counts as proved.
    time_limit : float or None, default=None
        Seconds after which the best clustering and bound so far are returned.
    node_limit : int or None, default=None
        Most nodes of the tree.
    n_jobs : int or None, default=None
        Nodes bounded at the same time, and threads for descents over boxes; without a time limit the result is the
        same for any number.
    verbose : int, default=0
        1: a line of bound, incumbent, gap, open nodes and seconds on standard error after each round.
    callback : callable or None, default=None
        Called with the same after each round; returning True ends the search with the bound reached.
    random_state : int, RandomState instance or None, default=None
        Seed of the search for upper bounds.

    Attributes
    ----------
    lower_bound_ : float
        No clustering that satisfies the constraints has a smaller inertia; safe against rounding.
    gap_ : float
        ``(inertia_ - lower_bound_) / inertia_``.
    is_optimal_ : bool
        Whether the gap is at most `gap`.
    prover_ : str
        The bound behind `lower_bound_`: "columns", "column-generation" or "sdp"; empty if interrupted before.
    n_nodes_ : int
        Number of nodes of the tree.
    trace_ : list of TracePoint
        Seconds, lower bound, incumbent, nodes and open nodes after each round.

    References
    ----------
    .. [1] Babaki, Guns, Nijssen (2014), "Constrained Clustering using Column Generation".
    .. [2] Piccialli, Russo Russo, Sudoso (2022), "An exact algorithm for semi-supervised minimum sum-of-squares
       clustering".

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.2], [9.0]]
    >>> model = ExactKMeans(n_clusters=2, random_state=0).fit(X, cannot_link=[(0, 1)])
    >>> model.is_optimal_, model.n_violations_
    (True, 0)
    """

    size_min: Any = None
    size_max: Any = None
    _: KW_ONLY
    size_tolerance: Any = None
    bound: str = "auto"
    init: Any = None
    stabilization: str = "smoothing"
    local_pricing: bool = True
    gap: float = 1e-6
    node_limit: int | None = None
    # No parameters here: there is one run, and nodes instead of iterations.
    n_init: ClassVar[int] = 1  # type: ignore[misc]
    max_iter: ClassVar[int] = 300  # type: ignore[misc]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SIZE_PARAMETERS,
        "bound": [StrOptions(set(BOUNDS))],
        "init": [HasMethods(["fit", "get_params"]), None],
        "stabilization": [StrOptions(set(STABILIZATIONS))],
        "local_pricing": ["boolean"],
        "gap": [Interval(Real, 0, 1, closed="neither")],
        "node_limit": [Interval(Integral, 1, None, closed="left"), None],
    }
    _takes_confidences: ClassVar[bool] = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        demand: Any = None,
        cluster_constraints: Sequence[Any] = (),
        alternative_to: Any = None,
        alternative_limit: int | None = None,
    ) -> Self:
        """Find the best clustering under the constraints and prove it.

        Parameters
        ----------
        cluster_constraints : sequence of ClusterConstraint
            Anti-monotone constraints on single clusters (`konstrain.exact`): `MaxSize`, `MaxOverlap`,
            `MaxDifference`, `MaxSoftViolations`, `AllOf`, `AnyOf`, or objects of your own with a method `allows`.
        alternative_to : array-like of shape (n_samples,), optional
            A clustering that the new one is to differ from: no cluster may share more than `alternative_limit` rows
            with any of its clusters.
        alternative_limit : int, optional
            Needed with `alternative_to`.
        """
        self._rules = tuple(cluster_constraints)
        if alternative_to is not None:
            if alternative_limit is None:
                raise ValueError("alternative_to needs alternative_limit: how many rows two clusters may share")
            check_consistent_length(X, alternative_to)
            self._rules = (*self._rules, unlike(np.asarray(alternative_to), alternative_limit))
        self._links = {"must_link": must_link, "cannot_link": cannot_link}
        links = {**self._links, "demand": demand}
        super().fit(X, y, sample_weight, **links)
        return self

    def _build_problem(self, X: Any, arguments: ConstraintArguments) -> Problem:
        return super()._build_problem(_dense(X), arguments)

    def _search(self, X: Any, problem: Problem, budget: Budget) -> Clustering:
        if (problem.weight == 0).any():
            row = problem.first_rows[np.argmin(problem.weight)]
            raise ValueError(f"row {row} and all rows tied to it have weight 0; leave rows without weight out")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        limits = Limits(
            self.gap, budget, self.node_limit, self.n_jobs, seed, self.bound, self._show_progress, self._switches()
        )
        rows = _dense(X)
        tree = solve(ProofTask(rows, problem, self._rules), limits, start=self._start(rows, seed))
        if tree.labels is None:
            raise UndecidedError(
                f"no clustering was found within the limits, and none was ruled out; raise {term('time_limit')}"
            )
        self.lower_bound_ = min(tree.lower_bound, tree.upper_bound)
        self.gap_ = relative_gap(self.lower_bound_, tree.upper_bound)
        self.is_optimal_ = bool(self.gap_ <= self.gap)
        self.prover_, self.n_nodes_, self.trace_ = tree.prover, tree.n_nodes, tree.trace
        self._warn_if_open(interrupted=tree.interrupted)
        block_labels = tree.labels[problem.first_rows]
        steps = Steps(problem)
        centers = steps.centers_of(block_labels, np.zeros((problem.n_clusters, rows.shape[1])))
        return steps.clustering(block_labels, centers, max(1, tree.n_nodes), converged=True)

    def _switches(self) -> dict[str, Any]:
        """Return the switches of column generation as in the paper; raise for them where another bound is given."""
        switches = {"stabilization": self.stabilization, "local_pricing": self.local_pricing}
        changed = [name for name, value in switches.items() if value != getattr(type(self)(), name)]
        if changed and self.bound in ("columns", "sdp"):
            raise ValueError(
                f"{changed[0]}={switches[changed[0]]!r} is a switch of bound='column-generation', not of "
                f"bound={self.bound!r}; leave it out, or take that bound"
            )
        return switches

    def _start(self, rows: NDArray[np.float64], seed: int) -> NDArray[np.int32] | None:
        """Labels of the clusterer to begin with, if there is one."""
        if self.init is None:
            return None
        model = clone(self.init)
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=seed)
        given = {name: pairs for name, pairs in self._links.items() if pairs is not None}
        return np.asarray(model.fit(rows, **given).labels_, dtype=np.int32)

    def _means_of_rows(self, X: Any, problem: Problem, best: Clustering) -> tuple[NDArray[np.float64], float]:
        """Centers and inertia as they are: the problem is in double precision for any X."""
        return best.centers, best.inertia

    def _warn_if_open(self, *, interrupted: bool) -> None:
        if not self.is_optimal_:
            why = "interrupted" if interrupted else "a limit was reached"
            warn_caller(
                f"{why} before the optimum was proved: the gap is {self.gap_:.2e}, not {self.gap:.0e}",
                NotProvenWarning,
            )

    def _show_progress(self, point: Any) -> bool:
        if self.verbose:
            Console(file=sys.stderr).print(
                f"bound {point.lower_bound:.6g}  incumbent {point.upper_bound:.6g}  gap {point.gap:.2e}  "
                f"open nodes {point.n_open}  {point.seconds:.1f} s",
                highlight=False,
            )
        return self.callback is not None and bool(self.callback(point))


def _dense(X: Any) -> NDArray[np.float64]:
    """Return rows as proofs need them, dense and in double precision.

    In double precision: means of blocks, rounded to single, could lift a bound above the optimum. Dense: costs of
    sparse rows far from the origin, computed from squared lengths, are rounded by more than a bound may be.
    """
    rows = X.toarray() if hasattr(X, "toarray") else X
    return np.ascontiguousarray(rows, dtype=np.float64)
