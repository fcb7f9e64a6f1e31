"""CKM with links, as Le et al. (2018) compare with it: a linear program over shares, each row to its largest one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import BINARY
from konstrain.assignment.milp import whole_model
from konstrain.assignment.model import Relaxation
from konstrain.baselines._base import BaseCenterClusterer, LinkedRows, RowClustering
from konstrain.constraints import Problem
from konstrain.estimators._conventions import estimator
from konstrain.exceptions import InfeasibleError
from konstrain.kmeans.steps import Steps


@estimator
class RelaxedKMeans(BaseCenterClusterer):
    """K-means whose assignments may be split by a linear program and are then rounded.

    Bradley, Bennett and Demiriz [2]_ assign rows under minimum sizes by a linear program, whose corners are whole.
    With cannot-links in the same program they are not: rows end split between clusters. Each row then goes to the
    cluster of its largest share, which may break links and sizes; centers move to the means. This is what [1]_
    compares with.

    Parameters
    ----------
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the rows of a cluster, kept by the shares and perhaps not by the labels.

    Attributes
    ----------
    inertia_, objective_ : float
        Squared distances of rows to their centers.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster.
    n_split_ : int
        Rows that the last linear program split between clusters.

    Notes
    -----
    What the papers leave open. [1]_ speaks of a threshold and names none: by its largest share every row gets one
    label. Must-linked rows have equal shares in the program, so they are merged beforehand.
    A run ends when labels come back that it already had. An empty cluster keeps its center.

    References
    ----------
    .. [1] Le, Eriksson, Do, Milford (2018), "A Binary Optimization Approach for Constrained K-Means Clustering",
       ACCV.
    .. [2] Bradley, Bennett, Demiriz (2000), "Constrained K-Means Clustering", Microsoft Research MSR-TR-2000-65.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> model = RelaxedKMeans(2, size_min=3, random_state=0).fit(X, cannot_link=[(0, 1)])
    >>> model.cluster_sizes_.tolist(), model.n_split_
    ([3, 3], 0)
    """

    size_min: Any = None
    size_max: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "size_min": [Real, "array-like", None],
        "size_max": [Real, "array-like", None],
    }

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        problem = Problem.build(
            rows.X,
            self.n_clusters,
            must_link=rows.must.rows,
            cannot_link=rows.cannot.rows,
            size_min=self.size_min,
            size_max=self.size_max,
        )
        steps = SharedSteps(problem, n_threads=rows.n_threads)
        return lambda seed: self._run(steps, self._start(rows, seed))

    def _run(self, steps: "SharedSteps", centers: NDArray[np.float64]) -> RowClustering:
        seen: set[bytes] = set()
        converged = False
        n_iter = 0
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            shares = steps.shares(centers)
            labels = shares.argmax(axis=1).astype(np.int32)
            centers = steps.centers_of(labels, centers)
            converged = labels.tobytes() in seen
            seen.add(labels.tobytes())
        rows, inertia = steps.problem.expand(labels), steps.inertia(labels, centers)
        return RoundedClustering(rows, inertia, n_iter, converged, centers, n_split=steps.n_split(shares))

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        assert isinstance(best, RoundedClustering)
        super()._keep(rows, best)
        self.n_split_ = best.n_split
        self.cluster_sizes_ = np.bincount(best.labels, minlength=self.n_clusters)


@dataclass(frozen=True, eq=False)
class RoundedClustering(RowClustering):
    """A run, and how many rows its last linear program split."""

    n_split: int = 0


@dataclass(eq=False)
class SharedSteps(Steps):
    """Steps whose assignments are shares of blocks in clusters."""

    _relaxation: Relaxation | None = field(default=None, init=False, repr=False)

    def shares(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cheapest shares at these centers that keep links and sizes."""
        costs = self.costs(centers)
        if self._relaxation is None:
            self._relaxation = whole_model(self.problem.assignment_problem(costs)).relaxation()
        shares = self._relaxation.solve(costs)
        if shares is None:
            raise InfeasibleError(
                "not even rows split between clusters keep all links and sizes", reason="combination"
            )
        return shares

    def n_split(self, shares: NDArray[np.float64]) -> int:
        """Count the rows of blocks that are not whole in one cluster."""
        split = shares.max(axis=1) < 1.0 - BINARY
        return int(split[self.problem.block_of].sum())
