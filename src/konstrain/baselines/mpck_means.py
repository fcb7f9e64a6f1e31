"""MPCK-Means (Bilenko et al. 2004): PCK-Means that learns how much each feature counts, cluster by cluster."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._memory import chunks
from konstrain._sklearn import Interval, StrOptions
from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.baselines._base import LinkedRows, RowClustering
from konstrain.baselines._neighborhoods import BaseNeighborhoodClusterer, Neighborhoods
from konstrain.estimators._conventions import ACCEPTED, estimator, weight_of


@estimator
class MPCKMeans(BaseNeighborhoodClusterer):
    """MPCK-Means: k-means with penalties for broken links and a learned diagonal metric for each cluster.

    A broken must-link costs more the further apart its rows are, a broken cannot-link the closer they are. After
    each assignment the weight of a feature becomes the inverse of how much it varies in the cluster, broken links
    included [1]_.

    Parameters
    ----------
    init : {"neighborhoods", "k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, \
default="neighborhoods"
        Where runs start: the means of large sets of must-linked rows far from each other, k-means++, random rows,
        given centers, or ``callable(X, n_clusters, random_state=...)``.
    metric : {"per-cluster", "shared"}, default="per-cluster"
        Whether each cluster has feature weights of its own, as published, or all share them.
    least_variance : float, default=0.01
        The variance of a feature within a cluster counts at least as this share of its variance over all rows, so
        that no weight becomes infinite.

    Attributes
    ----------
    feature_weights_ : ndarray of float64, shape (n_clusters, n_features)
        The diagonal of each cluster's metric.
    objective_ : float
        Squared distances in the clusters' metrics minus the logarithms of their determinants, plus penalties.

    Notes
    -----
    What the paper leaves open, and what we chose. Metrics are diagonal and start as the Euclidean one. The paper
    repairs singular metrics by adding a little to all features; here weights are limited (`least_variance`), and the
    update is the exact minimiser within the limit; a feature without any variance keeps weight 1. The two rows
    furthest apart, which measure a broken cannot-link, are found anew for each metric; that can raise the objective,
    and an iteration that does not lower it ends a run. Rows come in a random order, drawn for each sweep; sweeps are
    repeated until none changes a label. Labels at the start, further runs, and what happens when there are fewer
    neighborhoods than clusters are as in `PCKMeans`.

    References
    ----------
    .. [1] Bilenko, Basu, Mooney (2004), "Integrating Constraints and Metric Learning in Semi-Supervised Clustering",
       ICML.

    Examples
    --------
    >>> X = [[0.0, 9.0], [1.0, 0.0], [0.0, 1.0], [5.0, 8.0], [6.0, 2.0], [5.0, 0.0]]
    >>> model = MPCKMeans(n_clusters=2, random_state=0).fit(X, must_link=[(0, 1), (3, 4)])
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> bool((model.feature_weights_[:, 0] > model.feature_weights_[:, 1]).all())
    True
    """

    _: KW_ONLY
    metric: str = "per-cluster"
    least_variance: float = 0.01
    max_iter: int = 100

    _accepted: ClassVar[dict[str, Any]] = {**ACCEPTED, "accept_sparse": False}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions({"per-cluster", "shared"})],
        "least_variance": [Interval(Real, 0, 1, closed="neither")],
    }

    def _planned(self, neighborhoods: Neighborhoods, rows: LinkedRows) -> tuple[list[int], "MetricLoop"]:
        shared = self.metric == "shared"
        return neighborhoods.distant(), MetricLoop(
            rows, self.violation_cost, shared, self.least_variance, self.max_iter
        )

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        assert isinstance(best, MetricClustering)
        super()._keep(rows, best)
        self.feature_weights_ = best.weights

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label new rows with the cluster at which distance in its metric, minus the log-determinant, is least."""
        labels: NDArray[np.int32] = self._costs(self._validate_new(X)).argmin(axis=1).astype(np.int32)
        return labels

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distance of each row to each center, in the metric of that center's cluster."""
        X = self._validate_new(X)
        squared = metric_distances(X, self.cluster_centers_, self.feature_weights_)
        return np.sqrt(squared).astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum over rows of the least distance and log-determinant: the objective without links."""
        X = self._validate_new(X)
        least = self._costs(X).min(axis=1)
        weight = weight_of(X, sample_weight)
        return -float(least.sum() if weight is None else least @ weight)

    def _costs(self, X: Any) -> NDArray[np.float64]:
        return metric_costs(X, self.cluster_centers_, self.feature_weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricClustering(RowClustering):
    """A run and the metrics it ended with: `weights` of shape (n_clusters, n_features)."""

    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MetricLoop:
    """The loop of MPCK-Means over rows and their links."""

    rows: LinkedRows  # Rows and links.
    violation_cost: float  # What a broken link weighs.
    shared: bool  # Whether all clusters share one metric.
    least_variance: float  # Least variance of a feature in a cluster, as a share of its variance over all rows.
    max_iter: int  # Most iterations.

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """The rows in double precision."""
        return np.ascontiguousarray(self.rows.X, dtype=np.float64)

    @cached_property
    def pairs(self) -> NDArray[np.int32]:
        """All linked pairs: must-links, then cannot-links."""
        return np.concatenate([self.rows.must.rows, self.rows.cannot.rows])

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """What each pair weighs: the price of a unit of distance."""
        return self.violation_cost * np.concatenate([self.rows.must.weight, self.rows.cannot.weight])

    @cached_property
    def is_must(self) -> NDArray[np.bool_]:
        """Whether each pair is a must-link."""
        return np.arange(len(self.pairs)) < len(self.rows.must.rows)

    @cached_property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Each row's linked rows and the numbers of the links, in compressed rows."""
        own = self.pairs.T.ravel()
        other = self.pairs[:, ::-1].T.ravel()
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=self.rows.n_samples)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        numbers = np.tile(np.arange(len(self.pairs), dtype=np.int32), 2)
        return indptr, np.ascontiguousarray(other[order]), np.ascontiguousarray(numbers[order])

    def run(
        self, centers: NDArray[np.float64], labels: NDArray[np.int32], rng: np.random.Generator
    ) -> MetricClustering:
        """Run from these centers and labels, -1 where a row has none yet, for as long as the objective falls."""
        weights = np.ones_like(centers)
        farthest = self.farthest(weights)
        costs, prices = metric_costs(self.X, centers, weights), self.link_prices(weights, farthest)
        labels = labels.copy()
        best: MetricClustering | None = None
        for n_iter in range(1, self.max_iter + 1):
            self.assign(costs, prices, labels, rng)
            centers = self.rows.means(labels, centers)
            weights = self.updated_weights(labels, centers, farthest)
            farthest = self.farthest(weights)
            costs, prices = metric_costs(self.X, centers, weights), self.link_prices(weights, farthest)
            objective = self.objective(costs, prices, labels)
            if best is not None and objective >= best.objective - SAME_OBJECTIVE * abs(best.objective):
                return replace(best, converged=True)
            best = MetricClustering(labels.copy(), objective, n_iter, False, centers, weights=weights)
        assert best is not None
        return best

    def assign(
        self,
        costs: NDArray[np.float64],
        prices: NDArray[np.float64],
        labels: NDArray[np.int32],
        rng: np.random.Generator,
    ) -> None:
        """Sweep over the rows until no label changes; `labels` are changed in place."""
        n_changed, n_sweeps = 1, 0
        while n_changed and n_sweeps < self.max_iter:
            order = rng.permutation(self.rows.n_samples).astype(np.int32)
            n_changed = _core.priced_greedy_pass(
                costs, order, *self.adjacency, prices, self.is_must.view(np.uint8), labels
            )
            n_sweeps += 1

    def farthest(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared differences, feature by feature, of the two rows furthest apart in each cluster's metric."""
        if self.is_must.all():
            return np.zeros_like(weights)  # only cannot-links are measured by it
        distinct = weights[:1] if self.shared else weights
        found = [farthest_pair(self.X * np.sqrt(weight)) for weight in distinct]
        squares = np.array([(self.X[i] - self.X[j]) ** 2 for i, j in found])
        return np.ascontiguousarray(np.broadcast_to(squares, weights.shape))

    def link_prices(self, weights: NDArray[np.float64], farthest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Price of each broken link in each cluster; that of a must-link is the sum over its rows' two clusters."""
        prices = np.empty((len(self.pairs), len(weights)))
        distinct = weights[:1] if self.shared else weights
        for part in chunks(len(prices), self.X.shape[1]):
            prices[part] = self._squares(part) @ distinct.T
        prices = np.where(self.is_must[:, None], 0.5 * prices, (farthest * weights).sum(axis=1) - prices)
        prices *= self.prices[:, None]
        return prices

    def updated_weights(
        self, labels: NDArray[np.int32], centers: NDArray[np.float64], farthest: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weights by the paper's formula for diagonal metrics: size of a cluster over its scatter in each feature."""
        sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)
        scatter = np.zeros_like(centers)
        np.add.at(scatter, labels, (self.X - centers[labels]) ** 2)
        self._add_broken_links(scatter, labels, farthest)
        if self.shared:
            sizes[:] = sizes.sum()
            scatter[:] = scatter.sum(axis=0)
        variance = np.divide(scatter, sizes[:, None], out=np.ones_like(scatter), where=sizes[:, None] > 0)
        overall = self.X.var(axis=0)
        weights = 1.0 / np.maximum(variance, self.least_variance * np.where(overall > 0, overall, 1.0))
        weights[:, overall == 0] = 1.0
        weights[sizes == 0] = 1.0
        return weights

    def _add_broken_links(
        self, scatter: NDArray[np.float64], labels: NDArray[np.int32], farthest: NDArray[np.float64]
    ) -> None:
        first, second = labels[self.pairs].T
        broken = np.flatnonzero((first != second) == self.is_must)
        for some in chunks(broken.size, self.X.shape[1]):
            part = broken[some]
            price, must = self.prices[part, None], self.is_must[part]
            squares = price * self._squares(part)
            np.add.at(scatter, first[part[must]], 0.5 * squares[must])
            np.add.at(scatter, second[part[must]], 0.5 * squares[must])
            shared = first[part[~must]]
            np.add.at(scatter, shared, price[~must] * farthest[shared] - squares[~must])

    def _squares(self, which: Any) -> NDArray[np.float64]:
        """Squared differences of some linked pairs, feature by feature."""
        pairs = self.pairs[which]
        squares: NDArray[np.float64] = (self.X[pairs[:, 0]] - self.X[pairs[:, 1]]) ** 2
        return squares

    def objective(self, costs: NDArray[np.float64], prices: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
        """Distances minus log-determinants, plus the prices of broken links."""
        own = costs[np.arange(labels.size), labels].sum()
        first, second = labels[self.pairs].T
        at = np.arange(len(self.pairs))
        apart, together = self.is_must & (first != second), ~self.is_must & (first == second)
        both = prices[at, first] + prices[at, second]
        return float(own + both[apart].sum() + prices[at, first][together].sum())


def metric_distances(X: NDArray[Any], centers: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distance of each row to each center, in the metric of the center's cluster."""
    squared = np.empty((len(X), len(centers)))
    for j, (center, weight) in enumerate(zip(centers, weights, strict=True)):
        squared[:, j] = ((X - center) ** 2) @ weight
    return squared


def metric_costs(X: NDArray[Any], centers: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in the clusters' metrics minus the logarithms of the metrics' determinants."""
    costs = metric_distances(X, centers, weights)
    costs -= np.log(weights).sum(axis=1)
    return costs


def farthest_pair(points: NDArray[np.float64]) -> tuple[int, int]:
    """Return the numbers of two points at the largest Euclidean distance.

    Two points are at most as far apart as their distances to the common mean together, so points are compared from
    the outermost inwards, and only with those that could still make a new maximum.
    """
    centered = points - points.mean(axis=0)
    radius = np.sqrt(np.einsum("ij,ij->i", centered, centered))
    order = np.argsort(-radius, kind="stable")
    centered, radius = centered[order], radius[order]
    best, pair = 0.0, (0, 0)
    for ours in chunks(len(points), len(points)):
        begin = ours.start
        end = int(np.searchsorted(-radius, radius[begin] - best, side="right"))
        if end <= begin:
            break
        squared = radius[ours, None] ** 2 + radius[begin:end] ** 2 - 2.0 * (centered[ours] @ centered[begin:end].T)
        i, j = np.unravel_index(squared.argmax(), squared.shape)
        if squared[i, j] > best**2:
            best, pair = float(np.sqrt(squared[i, j])), (begin + int(i), begin + int(j))
    return int(order[pair[0]]), int(order[pair[1]])
