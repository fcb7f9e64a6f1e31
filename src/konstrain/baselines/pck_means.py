"""PCK-Means (Basu et al. 2004): broken links cost a fixed price; must-linked neighborhoods give the start."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.baselines._base import LinkedRows, RowClustering
from konstrain.baselines._neighborhoods import BaseNeighborhoodClusterer, Neighborhoods
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances
from konstrain.links import LinkGraph


@estimator
class PCKMeans(BaseNeighborhoodClusterer):
    """PCK-Means: k-means in which every broken link costs a fixed price.

    Rows go, one after the other, to the cluster at which half the squared distance to the center and the prices of
    links that would break, given the present labels of the other rows, are least [1]_.

    Parameters
    ----------
    init : {"neighborhoods", "k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, \
default="neighborhoods"
        Where runs start: the means of the largest sets of must-linked rows, k-means++, random rows, given centers, or
        ``callable(X, n_clusters, random_state=...)``.
    violation_cost : float, default=1.0
        What a broken link of confidence 1 costs, in units of half a squared distance: `w` of the paper.

    Attributes
    ----------
    objective_ : float
        Half the squared distances of rows to their centers, plus the prices of broken links.

    Notes
    -----
    What the paper leaves open, and what we chose. Rows come in a random order, drawn anew for each sweep; sweeps are
    repeated until none changes a label, then centers move, so that the objective never rises after the first sweep.
    In the first sweep only rows that have been labelled count; those of the neighborhoods that gave the start are
    labelled from the beginning, or else the row that comes first could carry all of them to the center of another.
    The first run starts from the means of the neighborhoods, further ones (`n_init`) from the means of three quarters
    of each, drawn at random, for the order of the rows alone hardly ever leads elsewhere. When there are fewer
    neighborhoods than clusters, a row with cannot-links to all of them is taken next, if there is one, then the mean
    of all rows perturbed by normal deviates with the features' standard deviations (the paper leaves the amount
    open). A link without confidence, or with confidence inf, has confidence 1: no link is hard here.

    References
    ----------
    .. [1] Basu, Banerjee, Mooney (2004), "Active Semi-Supervision for Pairwise Constrained Clustering", SDM.

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> cheap, dear = (PCKMeans(n_clusters=2, violation_cost=w, random_state=0) for w in (0.1, 100.0))
    >>> [model.fit(X, must_link=[(0, 1), (0, 2)]).violations_.must_link for model in (cheap, dear)]
    [1, 0]
    """

    def _planned(self, neighborhoods: Neighborhoods, rows: LinkedRows) -> tuple[list[int], "PenaltyLoop"]:
        return neighborhoods.largest(), PenaltyLoop(rows, self.violation_cost, self.max_iter)


@dataclass(frozen=True, eq=False)
class PenaltyLoop:
    """The loop of PCK-Means over rows whose links have a fixed price."""

    rows: LinkedRows
    violation_cost: float
    max_iter: int

    @cached_property
    def links(self) -> LinkGraph:
        """All links with their prices: positive for sharing a cluster, negative for not sharing one."""
        pairs = np.concatenate([self.rows.must.rows, self.rows.cannot.rows])
        prices = self.violation_cost * np.concatenate([-self.rows.must.weight, self.rows.cannot.weight])
        return LinkGraph.from_edges(self.rows.n_samples, pairs[:, 0], pairs[:, 1], prices)

    def run(self, centers: NDArray[np.float64], labels: NDArray[np.int32], rng: np.random.Generator) -> RowClustering:
        """Run from these centers and labels, -1 where a row has none yet."""
        converged, n_iter = False, 0
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            before, labels = labels, labels.copy()
            self.assign(centers, labels, rng)
            # The first labels may not be those of the first centers, so equal labels prove nothing yet.
            converged = n_iter > 1 and np.array_equal(labels, before)
            centers = self.rows.means(labels, centers)
        return RowClustering(labels, self.objective(labels, centers), n_iter, converged, centers)

    def assign(self, centers: NDArray[np.float64], labels: NDArray[np.int32], rng: np.random.Generator) -> None:
        """Sweep over the rows until no label changes; `labels` are changed in place."""
        costs = distances.block_costs(self.rows.X, None, centers, n_threads=self.rows.n_threads)
        costs *= 0.5
        links, n_changed, n_sweeps = self.links, 1, 0
        assert links.weights is not None
        # Every change lowers the objective, so sweeps end by themselves; the limit is for rounding.
        while n_changed and n_sweeps < self.max_iter:
            order = rng.permutation(self.rows.n_samples).astype(np.int32)
            n_changed = _core.greedy_pass(costs, order, links.indptr, links.indices, links.weights, False, labels)[0]
            n_sweeps += 1

    def objective(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """Half the squared distances, and the prices of broken links."""
        apart, together = self.rows.broken(labels)
        broken = float(self.rows.must.weight[apart].sum() + self.rows.cannot.weight[together].sum())
        return 0.5 * distances.own_costs(self.rows.X, None, labels, centers) + self.violation_cost * broken
