"""BCLS (Liu et al. 2017): balanced clusters by least-squares regression on the labels."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from konstrain._sklearn import Interval
from konstrain.baselines._base import DENSE, MAX_ITER_RULE, BaseRowClusterer, LinkedRows, RowClustering
from konstrain.estimators._conventions import estimator
from konstrain.estimators.bc_kmeans import one_hot
from konstrain.scaling import standardized

# The penalty grows no further than this, as in the authors' program.
MAX_PENALTY: Final = 1e5


@estimator
class BCLS(BaseRowClusterer):
    """Balanced clustering with least-squares regression: labels that a linear map predicts, in clusters of like size.

    Minimises ``|X W + 1 b' - Y|^2 + ridge |W|^2 + balance tr(Y' 1 1' Y)`` over labels `Y` (one 1 per row), `W` and
    `b`; the last term, the sum of squared cluster sizes, is least for equal sizes. The method of multipliers splits
    off a copy `Z` of `Y` that carries the last term: `W`, `b` and `Z` have closed forms, `Y` takes the largest entry
    of each row, and the penalty on ``Y - Z`` grows [1]_.

    Parameters
    ----------
    ridge : float, default=1e-5
        Gamma of the paper.
    balance : float, default=100.0
        Lambda of the paper.
    penalty : float, default=0.1
        Where the penalty mu starts.
    penalty_growth : float, default=1.005
        What mu is multiplied by in each iteration, up to 1e5.
    variance : float or None, default=None
        Share of the variance that principal components of the standardised features keep, before anything else; the
        paper takes 0.8 to 0.9, the authors' program 0.9. None: the rows as they are.
    n_init : int, default=10
        Number of runs from random labels; the one that ends with the least objective is kept.
    max_iter : int, default=2000
        Iterations of one run.

    Attributes
    ----------
    objective_ : float
        The function above at these labels, with the `W` and `b` that fit them best.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Rows in each cluster.
    n_violations_, violations_
        0: the method takes no links.

    Notes
    -----
    The labels of a run are its last ones. The objective does not choose among the iterations: with `balance` as
    published, sizes outweigh the regression, and random labels in equal numbers are hardly ever beaten. It does
    choose among runs: with few features a run can end with all rows in one cluster, from where it does not come back
    (`W` is 0 then, and rows change clusters all together), and such runs have the largest objective. Runs begin with
    labels drawn one by one, as in the authors' program. Balance is asked for, not promised.

    How many components there are decides. With ``variance=0.9`` of standardised features, the authors' setting, four
    in ten runs on 500 handwritten digits end in one cluster, all runs on data of 16 features in ten classes do, and
    none on Gaussian balls in 512 dimensions, where many components make labels as good as random ones
    (`docs/results/le2018.md` counts the runs).

    References
    ----------
    .. [1] Liu, Han, Nie, Li (2017), "Balanced Clustering with Least Square Regression", AAAI.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]]
    >>> BCLS(n_clusters=2, random_state=0).fit(X).cluster_sizes_.tolist()
    [3, 3]
    """

    _: KW_ONLY
    ridge: float = 1e-5
    balance: float = 100.0
    penalty: float = 0.1
    penalty_growth: float = 1.005
    variance: float | None = None
    n_init: int = 10
    max_iter: int = 2000

    _accepted: ClassVar[dict[str, Any]] = DENSE
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRowClusterer._parameter_constraints,
        "max_iter": MAX_ITER_RULE,
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="neither")],
        "penalty_growth": [Interval(Real, 1, None, closed="left")],
        "variance": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster.
        y : Ignored
            Present for scikit-learn's conventions.
        """
        super().fit(X)
        return self

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        regression = Regression(self._features(rows.X), self.ridge, self.balance)

        def run(seed: int) -> RowClustering:
            rng = np.random.default_rng(seed)
            labels = rng.integers(self.n_clusters, size=rows.n_samples)
            multipliers = Multipliers(regression, one_hot(labels, self.n_clusters), self.penalty, self.penalty_growth)
            return multipliers.run(self.max_iter)

        return run

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows with the mean taken off, as components of the standardised features where these are used."""
        if self.variance is None:
            centred: NDArray[np.float64] = X - X.mean(axis=0)
            return centred
        # As the authors' program does: features count alike, so that enough components are needed.
        components: NDArray[np.float64] = PCA(self.variance, svd_solver="full").fit_transform(standardized(X.copy()))
        return components

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        super()._keep(rows, best)
        self.cluster_sizes_ = np.bincount(best.labels, minlength=self.n_clusters)


@dataclass(frozen=True, eq=False)
class Regression:
    """The objective, and the linear map that predicts labels best."""

    X: NDArray[np.float64]  # (n_samples, n_features): rows with the mean taken off.
    # `ridge` and `balance`: gamma and lambda of the paper.
    ridge: float
    balance: float

    @cached_property
    def _solver(self) -> NDArray[np.float64]:
        gram = self.X.T @ self.X
        # Symmetric and positive: an inverse is as good as a factorisation here, and applied thousands of times.
        inverse = np.linalg.inv(gram + self.ridge * np.eye(len(gram)))
        return np.asarray(inverse @ self.X.T)

    def map(self, Y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The W-step: `W` and `b` that predict these labels best."""
        return self._solver @ Y, Y.mean(axis=0)

    def objective(self, Y: NDArray[np.float64]) -> float:
        """The function to be minimised, at the best `W` and `b` for these labels."""
        W, b = self.map(Y)
        error = self.X @ W + b - Y
        sizes = Y.sum(axis=0)
        return float((error**2).sum() + self.ridge * (W**2).sum() + self.balance * (sizes**2).sum())


@dataclass(eq=False)
class Multipliers:
    """The method of multipliers from given labels."""

    regression: Regression  # The objective.
    Y: NDArray[np.float64]  # (n_samples, n_clusters): labels to begin with, one 1 in each row.
    # `mu` and `growth`: the penalty on the difference of `Y` and its copy, and what it grows by.
    mu: float
    growth: float
    Z: NDArray[np.float64] = field(init=False)
    multipliers: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.Z = self.Y
        self.multipliers = np.zeros_like(self.Y)

    def run(self, max_iter: int) -> RowClustering:
        """Make `max_iter` iterations; return the labels that they end with."""
        for _ in range(max_iter):
            self.step()
        # The method prescribes the number of iterations, so reaching it is no failure to converge.
        labels = self.Y.argmax(axis=1)
        # Numbered without gaps where clusters have ended empty.
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        return RowClustering(labels, self.regression.objective(self.Y), max_iter, converged=True)

    def step(self) -> None:
        """One iteration: `W` and `b`, `Z`, `Y`, then multipliers and penalty."""
        W, b = self.regression.map(self.Y)
        self.Z = self.copy_step()
        scores = 2.0 * (self.regression.X @ W + b) + self.mu * self.Z - self.multipliers
        self.Y = one_hot(scores.argmax(axis=1), scores.shape[1])
        self.multipliers = self.multipliers + self.mu * (self.Y - self.Z)
        self.mu = min(self.mu * self.growth, MAX_PENALTY)

    def copy_step(self) -> NDArray[np.float64]:
        """The Z-step: solve ``(mu I + 2 balance 1 1') Z = mu Y + multipliers``."""
        right = self.mu * self.Y + self.multipliers
        pull = 2.0 * self.regression.balance
        # The matrix is a multiple of the identity plus one of rank 1 (Sherman and Morrison).
        solved: NDArray[np.float64] = (right - pull / (self.mu + pull * len(right)) * right.sum(axis=0)) / self.mu
        return solved

    @property
    def residual(self) -> float:
        """How far the copy is from the labels, per row."""
        return float(np.sqrt(((self.Y - self.Z) ** 2).sum() / len(self.Y)))
