"""First centers: block-aware k-means++ (Jia et al. 2023, Algorithm 1), random blocks, a rule, given centers.

For many clusters k-means++ is taken over a few thousand blocks that k-means|| has drawn (Bahmani et al. 2012,
"Scalable k-means++", Algorithm 2): a pass over all blocks per round instead of one per cluster. For very many under
sizes, blocks are first put into groups, each of which is then cut into clusters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import SEARCHED_ROWS
from konstrain._messages import term
from konstrain.assignment import transport
from konstrain.constraints import Problem
from konstrain.kmeans.distances import candidate_distances, nearest_distances
from konstrain.kmeans.loop import Iterations, lloyd
from konstrain.kmeans.sized_part import SizedPart
from konstrain.kmeans.steps import Steps, placed
from konstrain.stop import UNLIMITED, Budget

# Rounds of k-means||, each of about as many draws as there are clusters: the paper finds these enough.
ROUNDS: Final = 5


@dataclass(frozen=True, eq=False)
class Start:
    """Where runs begin."""

    X: Any  # (n_samples, n_features): the rows, for rules that need them.
    # (n_clusters, n_features): how centers are drawn, by name or as ``callable(X, n_clusters, random_state=...)``, or
    # the centers themselves.
    rule: str | Callable[..., NDArray[np.float64]] | NDArray[np.float64]
    # Draws per step of k-means++; None: as scikit-learn, and for many clusters from what k-means|| has drawn.
    n_trials: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether the centers are given, so that every run begins at the same ones."""
        return isinstance(self.rule, np.ndarray)

    def centers(self, steps: Steps, seed: int) -> NDArray[np.float64]:
        """Return the centers one run starts from."""
        drawn = self.drawn(steps.problem, seed, steps.n_threads, steps.budget.part())
        return placed(steps.problem, drawn)

    def drawn(self, problem: Problem, seed: int, n_threads: int, budget: Budget = UNLIMITED) -> NDArray[np.float64]:
        """Return centers for the blocks of a problem; when time is over, those still missing are drawn at once."""
        if isinstance(self.rule, np.ndarray):
            return self.rule.copy()
        if callable(self.rule):
            return self.rule(self.X, problem.n_clusters, random_state=np.random.RandomState(seed))
        if self.rule == "two-level":
            return by_two_levels(problem, seed, n_threads=n_threads, budget=budget)
        rng = np.random.default_rng(seed)
        if self.rule == "random":
            return rows_of_means(problem, random_blocks(problem, rng))
        # An explicit number of trials disables k-means||.
        if transport.uses_lists(problem.n_clusters) and self.n_trials is None:
            return rows_of_means(problem, oversampled(problem, rng, n_threads=n_threads, budget=budget))
        return rows_of_means(
            problem, plus_plus(problem, rng, n_trials=self.n_trials, n_threads=n_threads, budget=budget)
        )


def plus_plus(
    problem: Problem,
    rng: np.random.Generator,
    *,
    n_trials: int | None = None,
    n_threads: int = 1,
    budget: Budget = UNLIMITED,
) -> NDArray[np.int64]:
    """Draw the blocks whose means become the first centers.

    A block is drawn with probability proportional to ``weight * dmin^2 + scatter``, that of its rows taken one by
    one. Of `n_trials` draws per step (default: 2 + log(n_clusters), as in scikit-learn) the one that lowers the total
    most is kept (greedy k-means++). When the budget is spent, all blocks still missing are drawn at once by the last
    probabilities.
    """
    assert problem.scatter is not None
    return _greedy_draws(
        problem.mean,
        problem.weight,
        problem.scatter,
        problem.n_clusters,
        rng,
        n_trials=n_trials,
        n_threads=n_threads,
        budget=budget,
    )


def by_two_levels(
    problem: Problem, seed: int, *, n_threads: int = 1, budget: Budget = UNLIMITED, n_iterations: int = 5
) -> NDArray[np.float64]:
    """Return centers of clusters within groups of clusters, which keep the sums of the bounds of their clusters.

    Each level has about as many clusters as the square root of all, so that both take little time. Groups are found
    among a sample of the blocks; then all blocks are assigned to them, and every group is cut into its clusters.
    """
    sized = SizedPart.of(problem, None)
    if sized is None or problem.connectivity is not None:
        raise ValueError(
            f"{term('init')}='two-level' is for bounds on sizes alone, of rows that all count the same; leave other "
            f"constraints out, or take another {term('init')}"
        )
    low, high = sized.bounds
    groups = np.array_split(np.arange(problem.n_clusters), round(math.sqrt(problem.n_clusters)))
    lows, highs = (np.array([bound[own].sum() for own in groups]) for bound in (low, high))
    weight = None if problem.has_unit_weight else problem.weight

    def part(blocks: NDArray[np.int64] | slice, low: NDArray[Any], high: NDArray[Any]) -> Problem:
        some = None if weight is None else weight[blocks]
        alone = Problem.build(problem.mean[blocks], low.size, sample_weight=some, size_min=low, size_max=high)
        return replace(alone, unit_centers=problem.unit_centers)

    def means(problem: Problem) -> NDArray[np.float64]:
        steps = Steps(problem, budget=budget, n_threads=n_threads)
        first = Start(None, "k-means++").centers(steps, seed)
        return lloyd(steps, first, Iterations(budget, n_iterations)).centers

    n_sampled = min(problem.n_blocks, SEARCHED_ROWS)
    sample = np.sort(np.random.default_rng(seed).choice(problem.n_blocks, n_sampled, replace=False))
    share = n_sampled / problem.n_blocks
    middles = means(part(sample, np.floor(share * lows), np.ceil(share * highs)))
    together = part(slice(None), lows, highs)
    group_of = Steps(together, budget=budget, n_threads=n_threads).step(middles, None).labels
    insides = (np.flatnonzero(group_of == j) for j in range(len(groups)))
    return np.vstack([means(part(own, low[g], high[g])) for own, g in zip(insides, groups, strict=True)])


def oversampled(
    problem: Problem, rng: np.random.Generator, *, n_threads: int = 1, budget: Budget = UNLIMITED
) -> NDArray[np.int64]:
    """Draw the blocks whose means become the first centers in a few passes, by k-means||.

    In each round every block is drawn on its own, with `n_clusters` times its share of ``weight * dmin^2 + scatter``
    as probability. A drawn block weighs as much as the blocks to which it is the nearest one drawn, and k-means++
    chooses among them. No round begins when the budget is spent.
    """
    weight, scatter = problem.weight, problem.scatter
    assert scatter is not None
    drawn = _draw(weight, 1, rng)
    home, nearest = nearest_distances(problem.mean, rows_of_means(problem, drawn), n_threads=n_threads)
    for _ in range(ROUNDS):
        if budget.expired():
            break
        more = _draw_each(weight * nearest + scatter, problem.n_clusters, rng)
        more = np.setdiff1d(more, drawn)
        if more.size == 0:
            continue
        to_more, distance = nearest_distances(problem.mean, rows_of_means(problem, more), n_threads=n_threads)
        home = np.where(distance < nearest, to_more + np.int32(drawn.size), home)
        nearest = np.minimum(nearest, distance)
        drawn = np.concatenate([drawn, more])
    if drawn.size < problem.n_clusters:
        # Rounds ended early, since few blocks differ or time is short: k-means++ handles both.
        return plus_plus(problem, rng, n_threads=n_threads, budget=budget)
    represented = np.bincount(home, weight, drawn.size).astype(np.float64, copy=False)
    chosen = _greedy_draws(
        problem.mean[drawn],
        represented,
        np.zeros(drawn.size),
        problem.n_clusters,
        rng,
        n_trials=None,
        n_threads=1,  # With few blocks starting another thread takes longer than the distances.
        budget=budget,
    )
    return drawn[chosen]


def _greedy_draws(
    mean: Any,
    weight: NDArray[np.float64],
    scatter: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_trials: int | None,
    n_threads: int,
    budget: Budget,
) -> NDArray[np.int64]:
    """Draw rows of `mean` as in `plus_plus`."""
    n_trials = 2 + int(math.log(n_clusters)) if n_trials is None else n_trials
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = _draw(weight, 1, rng)[0]
    nearest = candidate_distances(mean, chosen[:1], n_threads=n_threads)[0]
    for step in range(1, n_clusters):
        if budget.expired():
            chosen[step:] = _draw_apart(weight * nearest + scatter, n_clusters - step, rng)
            break
        candidates = _draw(weight * nearest + scatter, n_trials, rng)
        distances = np.minimum(candidate_distances(mean, candidates, n_threads=n_threads), nearest)
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


def _draw_apart(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw different indices with these weights, those that weigh nothing last; some again where there are too few.

    The index of the shortest waiting time is drawn, where these are exponential with the weights as rates. Centers
    at the same place would leave all blocks between them in a tie.
    """
    waits = np.full(weights.size, np.inf)
    np.divide(rng.exponential(size=weights.size), weights, out=waits, where=weights > 0)
    return np.resize(np.argsort(waits, kind="stable"), count)


def _draw_each(weights: NDArray[np.float64], count: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw each index on its own, `count` of them on average, with probabilities proportional to these weights."""
    total = float(weights.sum())
    if not total > 0.0:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(rng.random(weights.size) * total < count * weights)
