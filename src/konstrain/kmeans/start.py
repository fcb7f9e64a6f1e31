"""Where runs begin: block-aware k-means++ (Jia et al. 2023, Algorithm 1), random blocks, a rule, given centers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints import Problem
from konstrain.kmeans.distances import candidate_distances
from konstrain.kmeans.steps import Steps


@dataclass(frozen=True, eq=False)
class Start:
    """Where runs begin.

    Parameters
    ----------
    X : array or CSR of shape (n_samples, n_features)
        The rows, for rules that look at them.
    rule : {"k-means++", "random"}, callable or ndarray of float64, shape (n_clusters, n_features)
        How centers are drawn, by name or as ``callable(X, n_clusters, random_state=...)``, or the centers themselves.
    n_trials : int or None
        Draws per step of k-means++; None: as scikit-learn.
    """

    X: Any
    rule: str | Callable[..., NDArray[np.float64]] | NDArray[np.float64]
    n_trials: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether the centers are given, so that every run begins at the same ones."""
        return isinstance(self.rule, np.ndarray)

    def centers(self, steps: Steps, seed: int) -> NDArray[np.float64]:
        """Return the centers one run starts from."""
        return self.drawn(steps.problem, seed, steps.n_threads)

    def drawn(self, problem: Problem, seed: int, n_threads: int) -> NDArray[np.float64]:
        """Return centers for the blocks of a problem."""
        if isinstance(self.rule, np.ndarray):
            return self.rule.copy()
        if callable(self.rule):
            return self.rule(self.X, problem.n_clusters, random_state=np.random.RandomState(seed))
        rng = np.random.default_rng(seed)
        if self.rule == "random":
            return rows_of_means(problem, random_blocks(problem, rng))
        return rows_of_means(problem, plus_plus(problem, rng, n_trials=self.n_trials, n_threads=n_threads))


def plus_plus(
    problem: Problem, rng: np.random.Generator, *, n_trials: int | None = None, n_threads: int = 1
) -> NDArray[np.int64]:
    """Draw the blocks whose means become the first centers.

    A block is drawn with probability proportional to ``weight * dmin^2 + scatter``: what its rows, taken one by one,
    would be drawn with. Of several draws per step the one that lowers the total most is kept (greedy k-means++).

    Parameters
    ----------
    problem : Problem
        Blocks with means.
    rng : numpy.random.Generator
        Source of randomness.
    n_trials : int or None
        Draws per step; None: 2 + log(n_clusters), as scikit-learn does.
    n_threads : int
        Threads for the distances; does not change the result.
    """
    weight, scatter = problem.weight, problem.scatter
    assert scatter is not None
    n_trials = 2 + int(math.log(problem.n_clusters)) if n_trials is None else n_trials
    chosen = np.empty(problem.n_clusters, dtype=np.int64)
    chosen[0] = _draw(weight, 1, rng)[0]
    nearest = candidate_distances(problem.mean, chosen[:1], n_threads=n_threads)[0]
    for step in range(1, problem.n_clusters):
        candidates = _draw(weight * nearest + scatter, n_trials, rng)
        distances = np.minimum(candidate_distances(problem.mean, candidates, n_threads=n_threads), nearest)
        best = int((distances @ weight).argmin())
        chosen[step], nearest = candidates[best], distances[best]
    return chosen


def random_blocks(problem: Problem, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw distinct blocks, each as likely as it has weight."""
    weight = problem.weight
    positive = int((weight > 0).sum())
    if positive < problem.n_clusters:
        return rng.choice(problem.n_blocks, problem.n_clusters, replace=problem.n_blocks < problem.n_clusters)
    return rng.choice(problem.n_blocks, problem.n_clusters, replace=False, p=weight / weight.sum())


def rows_of_means(problem: Problem, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the means of some blocks as dense centers."""
    rows: Any = problem.mean[blocks]
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.ascontiguousarray(dense, dtype=np.float64)


def _draw(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw indices with these weights; all alike when nothing weighs anything."""
    cumulative = np.cumsum(weights)
    total = float(cumulative[-1])
    if not total > 0.0:
        return rng.integers(weights.size, size=count)
    at = np.searchsorted(cumulative, rng.random(count) * total, side="right")
    return np.minimum(at, weights.size - 1)
