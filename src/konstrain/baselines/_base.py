"""Base of methods that label rows and may break links, which are counted in the result.

A method derives from `BaseRowClusterer`, or from `BaseCenterClusterer` when it has centers, and makes a run in
`_make_run`. Validation, restarts, counting and fitted attributes are here.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from konstrain._sklearn import Interval, StrOptions, fit_context
from konstrain.constraints import Problem, pairs_from_labels
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.inputs import read_links
from konstrain.estimators._conventions import (
    ACCEPTED,
    BaseClusterer,
    CentersMixin,
    estimator,
    partial_labels_of,
    refuse_confidences,
    refuse_too_few_rows,
    start_of,
    validated_rows,
    warn_not_converged,
)
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.restarts import draw_seeds
from konstrain.metrics import Violations, count_violations

# What `max_iter` may be, in the methods that have it.
MAX_ITER_RULE: list[Any] = [Interval(Integral, 1, None, closed="left")]


@dataclass(frozen=True, eq=False)
class WeightedPairs:
    """Links of one kind: `rows` of shape (n_pairs, 2), and the `weight` of each, 1 where no confidence was given."""

    rows: NDArray[np.int32]
    weight: NDArray[np.float64]

    @classmethod
    def read(cls, name: str, links: Any, n_samples: int, implied: NDArray[np.int32]) -> Self:
        """Check the links and append those that partial labels imply."""
        given = read_links(name, links, n_samples)
        rows = np.concatenate([given.hard, given.soft, implied])
        weight = np.ones(len(rows))
        weight[len(given.hard) : len(given.hard) + len(given.soft)] = given.confidence
        return cls(rows, weight)


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """Rows and the links between them as they were given: nothing is merged, and links may contradict each other."""

    X: Any  # (n_samples, n_features): validated rows.
    n_clusters: int  # Number of clusters.
    # `must` and `cannot`: links, those that partial labels imply included.
    must: WeightedPairs
    cannot: WeightedPairs
    n_threads: int = 1  # Threads of the distance kernels; the result does not depend on it.

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def free(self) -> Problem:
        """The same rows without links, each a block of its own: what seeding works on."""
        return Problem.build(self.X, self.n_clusters, nonempty=False)

    def unlabelled(self) -> NDArray[np.int32]:
        """Return labels without a cluster for any row."""
        return np.full(self.n_samples, -1, dtype=np.int32)

    def points(self, which: Any) -> NDArray[np.float64]:
        """Return some rows as dense points in double precision."""
        rows = self.X[which]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

    def broken(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which must-links and which cannot-links are broken."""
        must, cannot = labels[self.must.rows], labels[self.cannot.rows]
        return must[:, 0] != must[:, 1], cannot[:, 0] == cannot[:, 1]

    def violations(self, labels: NDArray[np.int32]) -> Violations:
        """Count the broken links."""
        return count_violations(labels, must_link=self.must.rows, cannot_link=self.cannot.rows)

    def means(self, labels: NDArray[np.int32], previous: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Means of the clusters; an empty one keeps its previous center, or the origin."""
        sums, sizes = distances.center_sums(self.X, None, labels, self.n_clusters, n_threads=self.n_threads)
        centers = np.zeros_like(sums) if previous is None else previous.copy()
        filled = sizes > 0
        centers[filled] = sums[filled] / sizes[filled, None]
        return centers

    def inertia(self, labels: NDArray[np.int32]) -> float:
        """Squared distances of the rows to the means of their clusters."""
        return distances.own_costs(self.X, None, labels, self.means(labels))


@dataclass(frozen=True, eq=False)
class RowClustering:
    """What one run ends with."""

    labels: NDArray[np.int32]  # (n_samples,): cluster of each row.
    objective: float  # What the method minimises.
    n_iter: int  # Iterations that led here.
    converged: bool  # Whether the run ended by itself and not at `max_iter`.
    # (n_clusters, n_features): centers that belong to the labels, in methods that have any.
    centers: NDArray[np.float64] | None = None
    n_failures: int = 0  # Links that a method meant to keep had to break; fewer is better, before the objective.

    @property
    def rank(self) -> tuple[int, float]:
        """What makes one run better than another; less is better."""
        return self.n_failures, self.objective


@estimator
class BaseRowClusterer(BaseClusterer):
    """Base of the methods that label rows; a subclass makes a run in `_make_run`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=1
        Number of runs from different seeds; the one with the least objective is kept.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.
    """

    n_clusters: int = 8
    _: KW_ONLY
    n_init: int = 1
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    # Whether links may carry a confidence, which then is their weight.
    _takes_confidences: ClassVar[bool] = False
    # What scikit-learn's validation lets through.
    _accepted: ClassVar[dict[str, Any]] = ACCEPTED

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Cluster the rows of X; links may end broken, `violations_` counts them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.
        y : array-like of shape (n_samples,), optional
            Partial labels, -1, None or NaN for unknown: turned into as few links as imply all others
            (`pairs_from_labels`). A `y` without any unknown row is ignored, as by every clusterer in scikit-learn.
        must_link, cannot_link : pairs, optional
            Rows that should, or should not, share a cluster: a list, an array of shape (n_pairs, 2), a frame, or a
            sparse adjacency matrix.

        Returns
        -------
        self
            The fitted estimator.
        """
        X = validated_rows(self, X)
        refuse_too_few_rows(X, self.n_clusters)
        rows = self._read(X, ConstraintArguments(labels=y, must_link=must_link, cannot_link=cannot_link))
        seeds = draw_seeds(check_random_state(self.random_state), self.n_init)
        # Of equally good runs the first stays.
        self._keep(rows, min(map(self._make_run(rows), seeds), key=lambda run: run.rank))
        return self

    def _read(self, X: Any, arguments: ConstraintArguments) -> LinkedRows:
        n_samples = X.shape[0]
        if not self._takes_confidences:
            refuse_confidences(type(self).__name__, n_samples, **arguments.links)
        labels = partial_labels_of(arguments.labels, n_samples)
        # Without labels every row is unknown, and unknown rows imply no links.
        same, different = pairs_from_labels(np.full(n_samples, -1) if labels is None else labels)
        return LinkedRows(
            X,
            self.n_clusters,
            must=WeightedPairs.read("must_link", arguments.must_link, n_samples, same),
            cannot=WeightedPairs.read("cannot_link", arguments.cannot_link, n_samples, different),
            n_threads=default_threads(),
        )

    @abstractmethod
    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        """Prepare what all runs share and return the function that makes one run from a seed."""

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        self.labels_ = best.labels
        self.inertia_ = rows.inertia(best.labels)
        self.objective_ = best.objective
        self.n_iter_ = best.n_iter
        self.violations_ = rows.violations(best.labels)
        self.n_violations_ = self.violations_.total

    def fit_predict(self, X: Any, y: Any = None, **links: Any) -> NDArray[np.int32]:
        """Fit and return the label of each row; arguments as in `fit`."""
        labels: NDArray[np.int32] = self.fit(X, y, **links).labels_
        return labels


@estimator
class BaseCenterClusterer(CentersMixin, BaseRowClusterer):
    """Base of the methods that label rows and have centers.

    Parameters
    ----------
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: random rows, k-means++, given centers, or ``callable(X, n_clusters, random_state=...)``.
    max_iter : int, default=300
        Most iterations of one run.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters; an empty cluster keeps its last center.
    """

    _: KW_ONLY
    init: Any = "random"
    max_iter: int = 300

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": MAX_ITER_RULE,
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
    }

    def _start(self, rows: LinkedRows, seed: int) -> NDArray[np.float64]:
        """Return the centers one run starts from."""
        return start_of(self, rows.X).drawn(rows.free, seed, rows.n_threads)

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        assert best.centers is not None
        super()._keep(rows, best)
        self.cluster_centers_ = best.centers.astype(rows.X.dtype, copy=False)
        self._n_features_out = self.n_clusters
        if not best.converged and best.n_iter >= self.max_iter:
            warn_not_converged(self.max_iter)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label new rows with their nearest center.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of each row.
        """
        X = self._validate_new(X)
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=np.float64)
        return distances.nearest_pass(X, None, centers, n_threads=default_threads())[0]


# Double precision throughout: these methods factor matrices, or add up many small changes.
DENSE: dict[str, Any] = {"dtype": np.float64, "order": "C"}
