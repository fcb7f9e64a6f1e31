"""CSP (Wang and Davidson 2010): spectral clustering whose cuts must satisfy the links to a threshold."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from konstrain._sklearn import StrOptions
from konstrain._tolerances import NULL_EIGENVALUE
from konstrain.baselines._base import LinkedRows, RowClustering
from konstrain.baselines._graph import BaseGraphClusterer, Graph, rbf_affinity
from konstrain.estimators._conventions import estimator
from konstrain.scaling import standardized


@estimator
class ConstrainedSpectral(BaseGraphClusterer):
    """Flexible constrained spectral clustering (CSP): cheap cuts among those that satisfy the links well enough.

    With the normalised Laplacian `L` of the rows' graph and the matrix `Q` of links (1 for a must-link, -1 for a
    cannot-link) the cuts are the solutions of ``L v = lambda (Q - threshold I) v`` with ``lambda > 0``: of all
    directions with ``v' Q v >= threshold v' v`` those in which the cost ``v' L v`` is stationary. The signs of the
    cheapest cut are two clusters; for k clusters k-means runs on the k - 1 cheapest, each weighted by one minus its
    cost [1]_ [2]_.

    Parameters
    ----------
    gamma : float or None, default=None
        Of "rbf"; None: ``1 / (2 median^2)`` with the median distance of two rows. The authors' program has 0.5, with
        `standardize`.
    standardize : bool, default=False
        Give features mean 0 and variance 1 before "rbf", as the authors' program does.
    threshold : float or None, default=None
        What a cut's ``v' Q v / v' v`` must exceed; None: that of `variant`.
    variant : {"program", "paper"}, default="program"
        The authors' published program and their paper differ, see Notes.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means; with two clusters nothing is random.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_cuts)
        Where k-means has clustered the rows.
    cuts_ : ndarray of shape (n_samples, n_cuts)
        The cuts ``v`` behind it, of length 1, cheapest first.
    threshold_ : float
        The threshold used; 0 without links.

    Notes
    -----
    At most as many cuts exceed the threshold as eigenvalues of `Q` do. Variants, beta over the volume of the graph in
    the paper being our threshold:

    - "program": for two clusters `Q` is divided by the degrees' roots and the threshold is half its largest
      eigenvalue. For k > 2 `Q` is taken as it is, with the threshold just below the middle between its k-th and
      (k+1)-th singular values. (Half the largest eigenvalue when there are too few links for that.) With
      `standardize` and ``gamma=0.5`` it comes closest to what Ganji et al. (2016) report for CSP.
    - "paper": `Q` is divided by the degrees' roots, and the threshold is ``0.5 + 0.4 n_links / n_pairs`` of its
      (k-1)-th largest eigenvalue, or of its least positive one.

    What both leave open: k-means starts from random rows; without links, or when no cut exceeds the threshold (few
    must-links alone hold best with all rows on one side), the cheapest cuts of the plain Laplacian are taken; a row
    without neighbours is at the origin of the embedding; with fewer cuts than k - 1, k-means runs on those there
    are. Repeated links count once. Confidences of links become entries of `Q`.

    The eigenproblem is indefinite; we split off the null space of `L`, which leaves a symmetric one, so that all cuts
    are real and the same on every machine. Time grows with the cube of the number of rows.

    References
    ----------
    .. [1] Wang, Davidson (2010), "Flexible constrained spectral clustering", KDD.
    .. [2] Wang, Qian, Davidson (2014), "On constrained spectral clustering and its applications", Data Mining and
       Knowledge Discovery 28.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.2], [5.3]]
    >>> model = ConstrainedSpectral(n_clusters=2)
    >>> model = model.fit(X, must_link=[(0, 2), (3, 5)], cannot_link=[(0, 3), (1, 4), (2, 5)])
    >>> model.n_violations_
    0
    """

    _: KW_ONLY
    standardize: bool = False
    threshold: float | None = None
    variant: str = "program"

    _takes_confidences: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "standardize": ["boolean"],
        "threshold": [Real, None],
        "variant": [StrOptions({"program", "paper"})],
    }

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        graph = self._graph(rows)
        cuts, costs = self._cuts(graph, rows)
        weights = np.sqrt(graph.volume) * (1.0 - costs if self.n_clusters > 2 else np.ones_like(costs))
        self.cuts_, self.embedding_ = cuts, graph.root[:, None] * cuts * weights
        if self.n_clusters == 2:
            return lambda seed: self._two_sides(self.embedding_)
        return lambda seed: self._cluster(self.embedding_, seed, "random")

    def _graph(self, rows: LinkedRows) -> Graph:
        if self.standardize and self.affinity == "rbf":
            return Graph(rbf_affinity(standardized(rows.X.copy()), self.gamma))
        return super()._graph(rows)

    def _cuts(self, graph: Graph, rows: LinkedRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the cheapest cuts, one fewer than clusters where there are enough, and what they cost."""
        Q = link_matrix(rows)
        if self.variant == "paper" or self.n_clusters == 2:
            Q = graph.scaled(Q)
        n_cuts = max(self.n_clusters - 1, 1)
        # Scaling gives rows without neighbours the weight 0, and their links with them: none may be left.
        self.threshold_ = self._threshold(Q) if Q.any() else 0.0
        cuts, costs = feasible_cuts(graph.laplacian, Q, self.threshold_) if Q.any() else plain_cuts(graph.laplacian)
        if not cuts.shape[1]:
            cuts, costs = plain_cuts(graph.laplacian)
        return cuts[:, :n_cuts], costs[:n_cuts]

    def _threshold(self, Q: NDArray[np.float64]) -> float:
        eigenvalues: NDArray[np.float64] = eigvalsh(Q)[::-1]
        largest = float(eigenvalues[0])
        if self.threshold is not None:
            if self.threshold >= largest:
                raise ValueError(
                    f"threshold={self.threshold:g} is not below {largest:g}, the largest eigenvalue of the matrix of "
                    "links: no cut satisfies it; lower threshold"
                )
            return float(self.threshold)
        if self.variant == "paper":
            return _threshold_of_paper(eigenvalues, self.n_clusters, np.count_nonzero(Q) / Q.size)
        return _threshold_of_program(eigenvalues, self.n_clusters)

    def _two_sides(self, embedding: NDArray[np.float64]) -> RowClustering:
        labels = (embedding[:, 0] > 0).astype(np.int32)
        cost = sum(float(((side - side.mean(axis=0)) ** 2).sum()) for side in _parts(embedding, labels))
        return RowClustering(labels, cost, 1, converged=True)


def link_matrix(rows: LinkedRows) -> NDArray[np.float64]:
    """Return `Q`: the confidence of each must-link, minus that of each cannot-link, 0 elsewhere."""
    Q = np.zeros((rows.n_samples, rows.n_samples))
    for pairs, sign in ((rows.must, 1.0), (rows.cannot, -1.0)):
        i, j = pairs.rows.T
        Q[i, j] = Q[j, i] = sign * pairs.weight
    return Q


def feasible_cuts(
    L: NDArray[np.float64], Q: NDArray[np.float64], threshold: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve ``L v = lambda (Q - threshold I) v`` for all ``lambda > 0``.

    Returns the solutions ``v`` as columns of length 1, and their costs ``v' L v``, cheapest first. Cuts between
    unconnected parts of the graph, which cost nothing, are among them if they exceed the threshold.
    """
    B = Q - threshold * np.eye(len(Q))
    eigenvalues, vectors = eigh(L)
    null = eigenvalues <= NULL_EIGENVALUE
    Z, Y, root = vectors[:, null], vectors[:, ~null], np.sqrt(eigenvalues[~null])
    # v = Y y + Z z. As Z' L = 0, a solution with lambda > 0 has Z' B v = 0, which gives z. What remains of B on y
    # is symmetric, and dividing by the roots turns the problem into an ordinary one with eigenvalues 1 / lambda.
    ZBZ, ZBY = Z.T @ B @ Z, Z.T @ B @ Y
    excess, z = eigh(ZBZ)
    # What is exactly at the threshold does not exceed it.
    excess[np.abs(excess) <= NULL_EIGENVALUE] = -NULL_EIGENVALUE
    solved = z @ ((z.T @ ZBY) / excess[:, None])
    M = (Y.T @ B @ Y - ZBY.T @ solved) / np.outer(root, root)
    inverse, y = eigh(0.5 * (M + M.T))
    y = y[:, inverse > 0] / root[:, None]
    v = Y @ y - Z @ (solved @ y)
    return _cheapest_first(L, np.hstack([_with_two_sides(Z @ z[:, excess > 0]), v]))


def _with_two_sides(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns that have entries of either sign."""
    has_sides = (v.min(axis=0) < -NULL_EIGENVALUE) & (v.max(axis=0) > NULL_EIGENVALUE)
    return np.asarray(v[:, has_sides])


def plain_cuts(L: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvectors of the Laplacian without the first, which does not cut, and their costs."""
    return _cheapest_first(L, eigh(L)[1][:, 1:])


def _cheapest_first(
    L: NDArray[np.float64], v: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    v = v / np.linalg.norm(v, axis=0)
    # Eigenvectors come with either sign: the largest entry is made positive.
    v *= np.sign(v[np.abs(v).argmax(axis=0), np.arange(v.shape[1])])
    costs = np.einsum("ij,ij->j", v, L @ v)
    order = np.argsort(costs, kind="stable")
    return v[:, order], costs[order]


def _threshold_of_program(eigenvalues: NDArray[np.float64], n_clusters: int) -> float:
    half = 0.5 * float(eigenvalues[0])
    singular = np.sort(np.abs(eigenvalues))[::-1]
    if n_clusters <= 2 or n_clusters >= singular.size:
        return half
    between = 0.5 * float(singular[n_clusters - 1] + singular[n_clusters]) - 1e-6
    return between if 0 < between < eigenvalues[0] else half


def _threshold_of_paper(eigenvalues: NDArray[np.float64], n_clusters: int, share_known: float) -> float:
    positive = eigenvalues[eigenvalues > NULL_EIGENVALUE * eigenvalues[0]]
    at = min(max(n_clusters - 1, 1), positive.size)
    return float(positive[at - 1]) * (0.5 + 0.4 * share_known)


def _parts(points: NDArray[np.float64], labels: NDArray[np.int32]) -> list[NDArray[np.float64]]:
    return [points[labels == label] for label in np.unique(labels)]
