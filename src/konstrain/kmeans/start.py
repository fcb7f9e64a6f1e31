"""Where the runs of an estimator begin: a rule with a seed, or given centers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain.constraints import Problem
from konstrain.kmeans.lloyd import Lloyd
from konstrain.kmeans.seeding import plus_plus, random_blocks, rows_of_means


@dataclass(frozen=True, eq=False)
class Start:
    """Where runs begin: a rule with a seed, or given centers."""

    X: Any
    rule: Any
    n_trials: int | None = None  # draws per step of k-means++; None: as scikit-learn

    @staticmethod
    def is_given(init: Any) -> bool:
        """Whether `init` holds the centers themselves."""
        return not (isinstance(init, str) or callable(init))

    @classmethod
    def of(cls, estimator: Any, X: Any) -> "Start":
        """Check the estimator's `init`."""
        if not cls.is_given(estimator.init):
            return cls(X, estimator.init)
        return cls(X, _checked_centers(estimator.init, estimator.n_clusters, X.shape[1]))

    def centers(self, lloyd: Lloyd, seed: int) -> NDArray[np.float64]:
        """Return the centers one run starts from."""
        return self.drawn(lloyd.problem, seed, lloyd.n_threads)

    def drawn(self, problem: Problem, seed: int, n_threads: int) -> NDArray[np.float64]:
        """Return centers for the blocks of a problem."""
        if callable(self.rule):
            drawn = self.rule(self.X, problem.n_clusters, random_state=np.random.RandomState(seed))
            return _checked_centers(drawn, problem.n_clusters, self.X.shape[1])
        if not isinstance(self.rule, str):
            return np.array(self.rule)
        rng = np.random.default_rng(seed)
        if self.rule == "random":
            return rows_of_means(problem, random_blocks(problem, rng))
        return rows_of_means(problem, plus_plus(problem, rng, n_trials=self.n_trials, n_threads=n_threads))


def _checked_centers(centers: Any, n_clusters: int, n_features: int) -> NDArray[np.float64]:
    checked: NDArray[np.float64] = check_array(centers, dtype=np.float64, order="C", copy=True, input_name="init")
    if checked.shape != (n_clusters, n_features):
        raise ValueError(
            f"init must have shape (n_clusters, n_features) = ({n_clusters}, {n_features}), got {checked.shape}"
        )
    return checked
