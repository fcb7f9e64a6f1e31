"""Rows as a graph: affinities, the normalised Laplacian, and clusters of the rows' places in a spectral embedding."""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from konstrain._sklearn import Interval, StrOptions
from konstrain._tolerances import SYMMETRIC
from konstrain.baselines._base import DENSE, MAX_ITER_RULE, BaseRowClusterer, LinkedRows, RowClustering
from konstrain.estimators._conventions import estimator


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph over the rows."""

    affinity: NDArray[np.float64]  # (n_samples, n_samples): symmetric, not negative; what is on the diagonal counts.

    @cached_property
    def root(self) -> NDArray[np.float64]:
        """One over the root of each row's degree; 0 for a row without neighbours."""
        degree = self.affinity.sum(axis=1)
        root: NDArray[np.float64] = np.zeros_like(degree)
        np.divide(1.0, np.sqrt(degree), out=root, where=degree > 0)
        return root

    @cached_property
    def volume(self) -> float:
        """Sum of all degrees."""
        return float(self.affinity.sum())

    def scaled(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide a symmetric matrix by the roots of the degrees from both sides."""
        return self.root[:, None] * matrix * self.root

    @cached_property
    def laplacian(self) -> NDArray[np.float64]:
        """The normalised Laplacian."""
        return np.eye(len(self.affinity)) - self.scaled(self.affinity)


def rbf_affinity(X: NDArray[np.float64], gamma: float | None) -> NDArray[np.float64]:
    """Return ``exp(-gamma * d^2)`` for each pair of rows, 0 on the diagonal.

    `gamma` defaults to ``1 / (2 median^2)`` with the median distance of two rows (1 if that is 0).
    """
    squared = pdist(X, "sqeuclidean")
    if gamma is None:
        median = float(np.median(squared)) if squared.size else 0.0
        gamma = 0.5 / median if median > 0 else 1.0
    affinity: NDArray[np.float64] = squareform(np.exp(-gamma * squared))
    return affinity


def checked_affinity(affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a precomputed affinity if it can be one."""
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(f"a precomputed affinity must be square, got shape {affinity.shape}")
    if affinity.min() < 0:
        i, j = np.unravel_index(int(affinity.argmin()), affinity.shape)
        raise ValueError(f"affinity[{i}, {j}] is {affinity[i, j]:g}; affinities must not be negative")
    skew = np.abs(affinity - affinity.T)
    if skew.max() > SYMMETRIC * affinity.max():
        i, j = np.unravel_index(int(skew.argmax()), affinity.shape)
        raise ValueError(
            f"the affinity is not symmetric: [{i}, {j}] is {affinity[i, j]:g}, [{j}, {i}] is {affinity[j, i]:g}"
        )
    return affinity


@estimator
class BaseGraphClusterer(BaseRowClusterer):
    """Base of the methods that embed a graph of the rows and cluster there.

    Parameters
    ----------
    affinity : {"rbf", "precomputed"}, default="rbf"
        ``exp(-gamma d^2)`` with 0 on the diagonal, or X is the matrix of affinities itself.
    gamma : float or None, default=None
        Of "rbf"; None: ``1 / (2 median^2)`` with the median distance of two rows.
    n_init : int, default=1
        Number of runs of k-means from different seeds; the best is kept.
    max_iter : int, default=300
        Most iterations of k-means.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    objective_ : float
        What k-means minimises: squared distances of rows to the means of their clusters in the embedding.
    inertia_ : float
        The same in the features; nan for a precomputed affinity.
    n_iter_ : int
        Iterations of k-means.
    """

    _: KW_ONLY
    affinity: str = "rbf"
    gamma: float | None = None
    max_iter: int = 300

    _accepted: ClassVar[dict[str, Any]] = DENSE
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": MAX_ITER_RULE,
        "affinity": [StrOptions({"rbf", "precomputed"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _graph(self, rows: LinkedRows) -> Graph:
        if self.affinity == "precomputed":
            return Graph(checked_affinity(rows.X))
        return Graph(rbf_affinity(rows.X, self.gamma))

    def _cluster(self, places: NDArray[np.float64], seed: int, init: str) -> RowClustering:
        """Cluster the rows by plain k-means where the embedding has put them."""
        if self.n_clusters == 1:
            spread = float(((places - places.mean(axis=0)) ** 2).sum())
            return RowClustering(np.zeros(len(places), dtype=np.int32), spread, 1, converged=True)
        # Fewer different places than clusters: some clusters stay empty.
        n_places = len(np.unique(places, axis=0))
        k_means = KMeans(
            min(self.n_clusters, n_places), init=init, n_init=1, max_iter=self.max_iter, tol=0.0, random_state=seed
        )
        with warnings.catch_warnings():
            # Clusters that end empty show in the labels.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = k_means.fit(places)
        labels = found.labels_.astype(np.int32)
        # scikit-learn need not come to rest when a cluster runs empty, for it fills that one again and again: ending
        # at `max_iter` is no failure here.
        return RowClustering(labels, float(found.inertia_), found.n_iter_, converged=True)

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        super()._keep(rows, best)
        if self.affinity == "precomputed":
            self.inertia_ = float("nan")  # there are no features to measure it in

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags
