"""How many clusters do the rows speak for? Three published answers, each under the constraints.

- Silhouettes (Rousseeuw 1987): rows near their own cluster and far from the next. The number with the largest mean.
- The gap statistic (Tibshirani, Walther, Hastie 2001): how much lower the logarithm of the cost is than on rows drawn
  evenly from the same box. The least number that is within one standard error of the next one's gap.
- Stability (Ben-Hur, Elisseeff, Guyon 2002): whether parts of the rows are clustered alike. The number with the
  largest mean agreement (adjusted Rand index) on the rows that two parts share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain.choosing.limits import (
    FROM_BELOW,
    for_number,
    least_clusters,
    most_clusters,
    refuse_sizes_per_cluster,
    shares_allow,
    with_numbers,
)
from konstrain.constraints.inputs import refuse_hidden
from konstrain.estimators import ConstrainedKMeans
from konstrain.metrics import mean_silhouette

# Share of the rows in each sample (Ben-Hur et al. 2002).
SAMPLE: Final = 0.8
# Largest number of clusters tried by default, as documented.
DEFAULT_MOST: Final = 10
BOUNDS = ("size_min", "size_max", "size_tolerance", "share_min", "share_max", "share_tolerance")


@dataclass(frozen=True)
class Scored:
    """One number of clusters: its score and the standard error of that, and the sum of squares."""

    n_clusters: int
    score: float
    error: float
    sse: float


@dataclass(frozen=True)
class NumberOfClusters:
    """How many clusters, and why.

    Parameters
    ----------
    n_clusters : int
        The recommended number.
    by : {"silhouette", "gap", "stability"}
        What it was chosen by.
    least, most : int
        The numbers that the constraints allow.
    scores : tuple of Scored
        One for each number that was tried.

    Examples
    --------
    >>> chosen = choose_n_clusters([[0.0], [0.2], [5.0], [5.1], [9.0], [9.1]], 2, 4)
    >>> chosen.n_clusters, chosen.by, chosen.least
    (3, 'silhouette', 1)
    """

    n_clusters: int
    by: str
    least: int
    most: int
    scores: tuple[Scored, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        has_errors = any(scored.error for scored in self.scores)
        lines = [f"{'clusters':>8}{self.by:>12}{'±' if has_errors else '':>10}{'SSE':>14}"]
        for scored in self.scores:
            mark = "  recommended" if scored.n_clusters == self.n_clusters else ""
            error = f"{scored.error:.2g}" if has_errors else ""
            lines.append(f"{scored.n_clusters:>8}{scored.score:>12.4g}{error:>10}{scored.sse:>14.6g}{mark}")
        return "\n".join([*lines, "", f"the constraints allow {self.least} to {self.most} clusters"])


def choose_n_clusters(
    X: Any,
    least: int | None = None,
    most: int | None = None,
    *,
    by: str = "silhouette",
    n_draws: int = 10,
    random_state: int = 0,
    callback: Callable[[Scored], None] | None = None,
    **constraints: Any,
) -> NumberOfClusters:
    """Recommend a number of clusters under constraints.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    least, most : int, optional
        The numbers to try; default: from 2, or what the constraints need, to 10, or what they allow. Numbers that the
        constraints do not allow are left out.
    by : {"silhouette", "gap", "stability"}, default="silhouette"
        What to choose by. The gap statistic compares with even rows under the same sizes; links are about rows that
        those do not have.
    n_draws : int, default=10
        Even reference sets for the gap, pairs of samples for stability: more give a smaller error and take longer.
    random_state : int, default=0
        Seed of all randomness.
    callback : callable, optional
        Called after each number, with its `Scored`.
    **constraints : optional
        `must_link`, `cannot_link`, `size_min`, `size_max` (one number for all clusters, or one for each column of
        `demand`), `demand`, `category`, `share_min`, `share_max`, `share_tolerance`, `sample_weight`. Parts of the
        rows, by which stability is found, need not have the shares of all rows: there these are left free.

    Returns
    -------
    NumberOfClusters

    Raises
    ------
    InfeasibleError
        When the constraints allow no number of clusters.
    ValueError
        When they allow none of those asked for.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.1], [5.2], [9.0], [9.1], [9.3]]
    >>> choose_n_clusters(X, 2, 5).n_clusters, choose_n_clusters(X, 2, 5, size_max=2).least
    (3, 5)
    """
    refuse_hidden("X", X)
    X = check_array(X, dtype=np.float64, order="C", input_name="X")
    if by not in _SCORES:
        raise ValueError(f"by={by!r} is none of {', '.join(_SCORES)}")
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws}")
    constraints = with_numbers(len(X), constraints)
    refuse_sizes_per_cluster(constraints)
    lowest, highest = least_clusters(len(X), **constraints), most_clusters(len(X), **constraints)
    numbers = list(_numbers(len(X), least, most, lowest, highest))
    if any(name in constraints for name in FROM_BELOW):
        # Some between the least and the largest may be impossible: shares and upper sizes need not go together.
        numbers = [k for k in numbers if shares_allow(len(X), k, constraints)]
    if not numbers:
        raise ValueError(f"shares of groups allow none of the numbers asked for, between {lowest} and {highest}")
    scores = []
    for k in numbers:
        trial = _Trial(X, k, constraints, random_state, n_draws)
        scores.append(Scored(k, *_SCORES[by](trial), float(trial.fitted.inertia_)))
        if callback is not None:
            callback(scores[-1])
    return NumberOfClusters(_recommended(scores, by), by, lowest, highest, tuple(scores))


def _numbers(n_samples: int, least: int | None, most: int | None, lowest: int, highest: int) -> range:
    begin = max(2 if least is None else least, lowest)
    # Every row its own cluster has nothing to be compared with.
    end = min(max(DEFAULT_MOST, begin) if most is None else most, highest, n_samples - 1)
    if begin > end:
        asked = f"{2 if least is None else least} to {'any' if most is None else most}"
        raise ValueError(
            f"none of {asked} clusters is left to try: the constraints allow {lowest} to {highest}, and there are "
            f"{n_samples} rows"
        )
    return range(begin, end + 1)


@dataclass(frozen=True, eq=False)
class _Trial:
    """One number of clusters, which each of the three scores rates with its standard error."""

    X: NDArray[np.float64]
    k: int
    constraints: Mapping[str, Any]
    seed: int
    n_draws: int

    @cached_property
    def fitted(self) -> ConstrainedKMeans:
        """The clustering of all rows."""
        return self._fit(self.X, self.constraints)

    def _fit(self, X: NDArray[np.float64], constraints: Mapping[str, Any]) -> ConstrainedKMeans:
        constraints = for_number(self.k, constraints)
        bounds = {name: value for name, value in constraints.items() if name in BOUNDS}
        rest = {name: value for name, value in constraints.items() if name not in BOUNDS}
        fitted: ConstrainedKMeans = ConstrainedKMeans(self.k, random_state=self.seed, **bounds).fit(X, **rest)
        return fitted

    def silhouette(self) -> tuple[float, float]:
        """Mean silhouette of the rows."""
        value = mean_silhouette(self.X, self.fitted.labels_, seed=self.seed)
        return (-1.0 if value is None else value), 0.0

    def gap(self) -> tuple[float, float]:
        """Gap between the logarithms of the cost and of that of rows drawn evenly from the same box."""
        rng = np.random.default_rng([self.seed, self.k])
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        without_links = {name: v for name, v in self.constraints.items() if name not in ("must_link", "cannot_link")}
        even_sets = (rng.uniform(low, high, self.X.shape) for _ in range(self.n_draws))
        drawn = [_log(self._fit(rows, without_links).inertia_) for rows in even_sets]
        # The error of the simulation is part of the rule's standard error.
        error = float(np.std(drawn)) * np.sqrt(1 + 1 / self.n_draws)
        return float(np.mean(drawn)) - _log(self.fitted.inertia_), float(error)

    def stability(self) -> tuple[float, float]:
        """Mean agreement of clusterings of two samples on the rows that both have."""
        from sklearn.metrics import adjusted_rand_score

        rng = np.random.default_rng([self.seed, self.k])
        scores = []
        for _ in range(self.n_draws):
            first, second = self._labels_of_sample(rng), self._labels_of_sample(rng)
            shared = (first >= 0) & (second >= 0)
            scores.append(adjusted_rand_score(first[shared], second[shared]))
        return float(np.mean(scores)), float(np.std(scores) / np.sqrt(self.n_draws))

    def _labels_of_sample(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Cluster a sample of the rows; -1 for all other rows."""
        n = len(self.X)
        rows = np.sort(rng.choice(n, min(max(self.k + 1, round(SAMPLE * n)), n), replace=False))
        labels = np.full(n, -1, dtype=np.int32)
        labels[rows] = self._fit(self.X[rows], _of_rows(self.constraints, rows, n)).labels_
        return labels


def _log(cost: float) -> float:
    # A cost of nothing would make the gap infinite, and every number as good as the next.
    return float(np.log(max(cost, np.finfo(np.float64).tiny)))


def _of_rows(constraints: Mapping[str, Any], rows: NDArray[np.int64], n_samples: int) -> dict[str, Any]:
    """The constraints on some of the rows: links between them, sizes in proportion and not narrower."""
    number = np.full(n_samples, -1)
    number[rows] = np.arange(rows.size)
    share = rows.size / n_samples
    found: dict[str, Any] = {}
    for name, value in constraints.items():
        if name in ("must_link", "cannot_link"):
            pairs = np.asarray(value)
            ends = number[pairs[:, :2].astype(np.int64)]
            kept = (ends >= 0).all(axis=1)
            found[name] = np.column_stack([ends[kept], pairs[kept, 2:]]) if pairs.shape[1] > 2 else ends[kept]
        elif name in ("demand", "sample_weight"):
            found[name] = np.asarray(value)[rows]
    # Where demands differ, a part may hold more of them than its share of the rows: sizes are then left free.
    if "demand" not in constraints:
        if "size_min" in constraints:
            found["size_min"] = int(constraints["size_min"] * share)
        if "size_max" in constraints:
            found["size_max"] = int(np.ceil(constraints["size_max"] * share)) + 1
        if "size_tolerance" in constraints:
            found["size_tolerance"] = constraints["size_tolerance"]
    return found


_SCORES = {"silhouette": _Trial.silhouette, "gap": _Trial.gap, "stability": _Trial.stability}


def _recommended(scores: Sequence[Scored], by: str) -> int:
    if by == "gap":
        for here, following in pairwise(scores):
            if here.score >= following.score - following.error:
                return here.n_clusters
    return max(scores, key=lambda scored: scored.score).n_clusters
