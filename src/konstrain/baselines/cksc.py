"""CKSC (Li and Liu 2009): a kernel learnt from the links on the spectrum of the rows' graph, then kernel k-means."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import nnls

from konstrain._sklearn import Interval
from konstrain.baselines._base import LinkedRows, RowClustering
from konstrain.baselines._graph import BaseGraphClusterer
from konstrain.estimators._conventions import estimator


@estimator
class CKSC(BaseGraphClusterer):
    """Constrained clustering by spectral kernel learning: a smooth kernel that is consistent with the links.

    The kernel is ``K = sum_l beta_l v_l v_l'`` over the smoothest eigenvectors ``v_l`` of the graph's normalised
    Laplacian, with ``beta_1 >= ... >= beta_m >= 0``: smoother directions count at least as much. The weights minimise
    the squared distance of `K` from 1 on the diagonal and at must-links and from 0 at cannot-links, a convex
    quadratic program. Kernel k-means on `K` gives the clusters [1]_.

    Parameters
    ----------
    n_components : int, default=20
        Number of eigenvectors, m; at most the number of rows is taken.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (m,)
        The weights ``beta``, never rising.
    embedding_ : ndarray of shape (n_samples, m)
        Rows whose inner products are the kernel: ``K = embedding_ @ embedding_.T``.

    Notes
    -----
    What we chose. The graph: the paper leaves its making to the user; ours has all pairs. The quadratic program: with
    ``beta_l = delta_l + ... + delta_m`` the weights never rise and stay above 0 exactly when all ``delta >= 0``, so
    it is a non-negative least-squares problem, solved to the end by an active-set method. Kernel k-means: `K` has
    rank m, so it is plain k-means on ``v_l sqrt(beta_l)``. Without links the diagonal alone is fitted. A confidence
    is the weight of a link's square.

    References
    ----------
    .. [1] Li, Liu (2009), "Constrained clustering by spectral kernel learning", ICCV.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.2], [5.3]]
    >>> model = CKSC(n_clusters=2, n_components=3, random_state=0).fit(X, must_link=[(0, 2)], cannot_link=[(2, 3)])
    >>> model.n_violations_
    0
    """

    _: KW_ONLY
    n_components: int = 20
    n_init: int = 10

    _takes_confidences: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        m = min(self.n_components, rows.n_samples)
        V = eigh(self._graph(rows).laplacian, subset_by_index=(0, m - 1))[1]
        self.kernel_weights_ = learn_weights(*fitting_problem(V, rows))
        self.embedding_ = V * np.sqrt(self.kernel_weights_)
        return lambda seed: self._cluster(self.embedding_, seed, "k-means++")


def fitting_problem(V: NDArray[np.float64], rows: LinkedRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `A` and `t` of the fit ``|A beta - t|^2``: a line for each row's own entry of `K` and for each link."""
    diagonal = np.arange(rows.n_samples)
    i = np.concatenate([diagonal, rows.must.rows[:, 0], rows.cannot.rows[:, 0]])
    j = np.concatenate([diagonal, rows.must.rows[:, 1], rows.cannot.rows[:, 1]])
    target = np.ones(i.size)
    target[i.size - len(rows.cannot.rows) :] = 0.0
    root = np.sqrt(np.concatenate([np.ones(rows.n_samples), rows.must.weight, rows.cannot.weight]))
    return V[i] * V[j] * root[:, None], target * root


def learn_weights(A: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise ``|A beta - t|^2`` over ``beta_1 >= ... >= beta_m >= 0``."""
    # Column l of the sums belongs to delta_l, which all of beta_1 ... beta_l contain.
    delta = nnls(np.cumsum(A, axis=1), t)[0]
    weights: NDArray[np.float64] = np.cumsum(delta[::-1])[::-1]
    return weights
