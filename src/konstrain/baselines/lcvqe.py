"""LCVQE (Pelleg & Baras 2007): broken links cost distances of their rows, and only three moves are tried."""

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.baselines._base import LinkedRows
from konstrain.baselines._quantization import BaseQuantizer
from konstrain.kmeans import distances


class LCVQE(BaseQuantizer):
    """LCVQE: CVQE made linear in the number of clusters, with penalties that know the rows.

    A broken must-link stays, or one row joins the other; a broken cannot-link stays, or one row goes to its next
    nearest center: whatever costs least. A must-link that stays broken costs a quarter of the squared distances of
    its rows to each other's centers, a broken cannot-link half that of its outer row to its next nearest center, and
    these centers are pulled to these rows [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: random rows, k-means++, given centers, or ``callable(X, n_clusters, random_state=...)``.
    n_init : int, default=1
        Number of runs from different seeds; the one with the least objective is kept.
    max_iter : int, default=300
        Most iterations of one run.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers with the pull of broken links, hence not quite the means; an empty cluster keeps its last center.
    objective_ : float
        Half the squared distances of rows to their centers, plus the penalties of broken links.
    inertia_ : float
        Squared distances of the rows to the means of their clusters.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links.

    Notes
    -----
    What the paper leaves open, and what we chose. Links are looked at in the order given, must-links before
    cannot-links, and only those broken at that moment. For a cannot-link descriptions of the method differ in whether
    only the row further from the center may leave; here either may. Penalties and pulls are those of the links that
    the final labels break; the outer row of a broken cannot-link is the one further from the common center. The
    objective may rise between iterations, for links are settled one by one; labels that no longer change end a run.

    References
    ----------
    .. [1] Pelleg, Baras (2007), "K-Means with Large and Noisy Constraint Sets", ECML.

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> model = LCVQE(n_clusters=2, init=[[0.0], [6.0]]).fit(X, cannot_link=[(2, 3)])
    >>> model.labels_.tolist(), model.n_violations_
    ([0, 0, 0, 1], 0)
    """

    def _settle(
        self, rows: LinkedRows, costs: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> None:
        _core.lcvqe_pass(costs, rows.must.rows, rows.cannot.rows, labels)

    def _pulls(
        self, rows: LinkedRows, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        is_apart, is_together = rows.broken(labels)
        apart = rows.must.rows[is_apart]
        # With one cluster there is no other center to be pulled to.
        together = rows.cannot.rows[is_together & (rows.n_clusters > 1)]
        outer, next_nearest = _outer_rows(rows, together, labels, centers)
        pulling = np.concatenate([apart[:, 1], apart[:, 0], outer])
        cluster = np.concatenate([labels[apart[:, 0]], labels[apart[:, 1]], next_nearest])
        strength = np.concatenate([np.full(apart.size, 0.5), np.ones(outer.size)])
        return cluster, rows.points(pulling), strength


def _outer_rows(
    rows: LinkedRows, together: NDArray[np.int32], labels: NDArray[np.int32], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the row further from the common center of each broken cannot-link, and its next nearest center."""
    if not together.size:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    first, second = (distances.block_costs(rows.X[together[:, side]], None, centers) for side in (0, 1))
    shared = labels[together[:, 0]]
    at = np.arange(shared.size)
    is_first = first[at, shared] >= second[at, shared]
    costs = np.where(is_first[:, None], first, second)
    costs[at, shared] = np.inf
    return np.where(is_first, together[:, 0], together[:, 1]), costs.argmin(axis=1).astype(np.int32)
