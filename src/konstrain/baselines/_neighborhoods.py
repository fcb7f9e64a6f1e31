"""Neighborhoods: rows tied together by must-links, what they entail, and the starting centers they give."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain, repeat
from numbers import Real
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import MOST_NUMBERS
from konstrain._sklearn import Interval, StrOptions
from konstrain.baselines._base import BaseCenterClusterer, LinkedRows, RowClustering, WeightedPairs
from konstrain.constraints import Problem
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances
from konstrain.links import LinkGraph

# As documented: share of a neighborhood whose mean starts a further run; with 1 all runs would be the same.
RESTART_SHARE: Final = 0.75

# Centers, and the label of each row, -1 where it is not known yet.
Start = tuple[NDArray[np.float64], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Sets of at least two rows that must-links of full weight tie together."""

    rows: LinkedRows  # Rows and links; a link with a confidence below 1 ties nothing and entails nothing.
    problem: Problem  # The rows merged into blocks.
    members: list[NDArray[np.int32]]  # Rows of each neighborhood, in the order of their first rows.

    @classmethod
    def of(cls, rows: LinkedRows) -> "Neighborhoods":
        """Find the neighborhoods."""
        sure = rows.must.rows[rows.must.weight >= 1.0]
        problem = Problem.build(rows.n_samples, rows.n_clusters, must_link=sure, nonempty=False)
        several = np.flatnonzero(np.diff(problem.block_indptr) > 1)
        return cls(rows, problem, [problem.rows_of(block) for block in several.tolist()])

    def closure(self) -> LinkedRows:
        """Return the rows with all links that links of full weight entail; other links stay as they are."""
        rows, block_of = self.rows, self.problem.block_of
        cannot = rows.cannot.rows[rows.cannot.weight >= 1.0]
        across = block_of[cannot]
        contradicts = across[:, 0] == across[:, 1]
        first, second, _ = LinkGraph.from_edges(self.problem.n_blocks, *across[~contradicts].T).edges
        sizes = np.diff(self.problem.block_indptr)
        n_pairs = int((sizes * (sizes - 1) // 2).sum() + (sizes[first] * sizes[second]).sum())
        most = MOST_NUMBERS
        if n_pairs > most:
            raise ValueError(
                f"the links entail {n_pairs} links, more than the {most} that are handled; use closure=False"
            )
        within = [members[np.column_stack(np.triu_indices(members.size, 1))] for members in self.members]
        between = [self._all_pairs(a, b) for a, b in zip(first, second, strict=True)]
        return replace(
            rows,
            must=_with_unsure(within, rows.must),
            cannot=_with_unsure([*between, cannot[contradicts]], rows.cannot),
        )

    def _all_pairs(self, first: int, second: int) -> NDArray[np.int32]:
        a, b = self.problem.rows_of(first), self.problem.rows_of(second)
        return np.column_stack([np.repeat(a, b.size), np.tile(b, a.size)])

    def means(self) -> NDArray[np.float64]:
        """Mean of each neighborhood."""
        return self._means_of(self.members)

    def _means_of(self, sets: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        labels = self._labels_of(sets, other=len(sets))
        sums, sizes = distances.center_sums(self.rows.X, None, labels, len(sets) + 1, n_threads=self.rows.n_threads)
        return sums[:-1] / sizes[:-1, None]

    def _labels_of(self, sets: Sequence[NDArray[np.int32]], other: int) -> NDArray[np.int32]:
        """Number of the set that each row is in."""
        labels = np.full(self.rows.n_samples, other, dtype=np.int32)
        for number, members in enumerate(sets):
            labels[members] = number
        return labels

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows in each neighborhood."""
        return np.array([members.size for members in self.members], dtype=np.int64)

    def largest(self) -> list[int]:
        """Choose the largest neighborhoods, at most one per cluster (PCK-Means)."""
        chosen: list[int] = np.sort(np.argsort(-self.sizes, kind="stable")[: self.rows.n_clusters]).tolist()
        return chosen

    def distant(self) -> list[int]:
        """Choose large neighborhoods far from each other, at most one per cluster (MPCK-Means)."""
        if len(self.members) <= self.rows.n_clusters:
            return list(range(len(self.members)))
        means, chosen = self.means(), [int(self.sizes.argmax())]
        nearest = np.full(len(means), np.inf)
        while len(chosen) < self.rows.n_clusters:
            nearest = np.minimum(nearest, ((means - means[chosen[-1]]) ** 2).sum(axis=1))
            nearest[chosen] = 0.0
            chosen.append(int((self.sizes * np.sqrt(nearest)).argmax()))
        return chosen

    def starts(self, chosen: list[int]) -> Callable[[np.random.Generator], Start]:
        """Return a function that gives the start of one run after the other.

        The first start has the means of the chosen neighborhoods as centers, the others the means of a random part of
        each; clusters without a neighborhood are topped up. All rows of the chosen neighborhoods are labelled.
        """
        sets = [self.members[number] for number in chosen]
        shares = chain([1.0], repeat(RESTART_SHARE))

        def start(rng: np.random.Generator) -> Start:
            share = next(shares)
            drawn = sets if share == 1.0 else [rng.choice(s, math.ceil(share * s.size), replace=False) for s in sets]
            return self._topped_up(self._means_of(drawn), rng), self._labels_of(sets, other=-1)

        return start

    def _topped_up(self, centers: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Add a row apart from all neighborhoods, if there is one, then perturbations of the mean of all rows."""
        apart = self._row_apart_from_all() if len(centers) < self.rows.n_clusters else None
        if apart is not None:
            centers = np.concatenate([centers, self.rows.points([apart])])
        n_missing = self.rows.n_clusters - len(centers)
        if not n_missing:
            return centers
        mean, spread = self._mean_and_spread()
        return np.concatenate([centers, mean + spread * rng.standard_normal((n_missing, mean.size))])

    def _row_apart_from_all(self) -> int | None:
        """Return the first row that cannot be with any neighborhood, if there are both."""
        neighborhood_of = np.full(self.rows.n_samples, -1)
        for number, members in enumerate(self.members):
            neighborhood_of[members] = number
        both = np.concatenate([self.rows.cannot.rows, self.rows.cannot.rows[:, ::-1]])
        both = both[(neighborhood_of[both[:, 0]] < 0) & (neighborhood_of[both[:, 1]] >= 0)]
        touched = np.unique(np.column_stack([both[:, 0], neighborhood_of[both[:, 1]]]), axis=0)
        rows, counts = np.unique(touched[:, 0], return_counts=True)
        apart = rows[counts == len(self.members)]
        return int(apart[0]) if apart.size else None

    def _mean_and_spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each feature over all rows."""
        X = self.rows.X
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        squares = X.multiply(X) if hasattr(X, "multiply") else X.astype(np.float64) ** 2
        variance = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))


def _with_unsure(entailed: list[NDArray[np.int32]], given: WeightedPairs) -> WeightedPairs:
    unsure = given.weight < 1.0
    sure = np.concatenate([np.zeros((0, 2), dtype=np.int32), *entailed])
    return WeightedPairs(
        np.concatenate([sure, given.rows[unsure]]), np.concatenate([np.ones(len(sure)), given.weight[unsure]])
    )


@estimator
class BaseNeighborhoodClusterer(BaseCenterClusterer):
    """Base of the methods that put a price on broken links and start from neighborhoods.

    Parameters
    ----------
    violation_cost : float, default=1.0
        What a broken link of confidence 1 costs: `w` of the paper.
    closure : bool, default=True
        Whether links that others entail count like given ones: all pairs of must-linked rows, and all pairs across
        two sets with a cannot-link between them. Links with a confidence below 1 entail nothing.

    Attributes
    ----------
    violations_ : Violations
        Broken links by kind, counted from the labels and the given links.
    """

    _: KW_ONLY
    init: Any = "neighborhoods"
    violation_cost: float = 1.0
    closure: bool = True

    _takes_confidences: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions({"neighborhoods", "k-means++", "random"}), callable, "array-like"],
        "violation_cost": [Interval(Real, 0, None, closed="left")],
        "closure": ["boolean"],
    }

    @abstractmethod
    def _planned(self, neighborhoods: Neighborhoods, rows: LinkedRows) -> tuple[list[int], Any]:
        """Choose the neighborhoods that start runs, and prepare the loop over rows and all links that count."""

    def _make_run(self, rows: LinkedRows) -> Callable[[int], RowClustering]:
        neighborhoods = Neighborhoods.of(rows)
        chosen, loop = self._planned(neighborhoods, neighborhoods.closure() if self.closure else rows)
        seeded = neighborhoods.starts(chosen)

        def run(seed: int) -> RowClustering:
            rng = np.random.default_rng(seed)
            is_seeded = isinstance(self.init, str) and self.init == "neighborhoods"
            centers, labels = seeded(rng) if is_seeded else (self._start(rows, seed), rows.unlabelled())
            found: RowClustering = loop.run(centers, labels, rng)
            return found

        return run
