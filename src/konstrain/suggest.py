"""Which pairs are worth asking a person about? Three published ways to choose, one loop.

Each strategy says which question to put next, given what is known. Several at once are found by assuming that the
person will answer as the present clustering has it; asked one by one, the strategies are the published ones. What is
known is read off the links alone, so the answers of one round, given as links, start the next.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from konstrain.constraints import Problem
from konstrain.constraints.inputs import read_links
from konstrain.constraints.tables import reusable
from konstrain.estimators import ConstrainedKMeans
from konstrain.kmeans.distances import block_costs


def suggest_pairs(
    X: Any,
    n_clusters: int,
    *,
    ask: int = 10,
    strategy: str = "margin",
    must_link: Any = None,
    cannot_link: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    demand: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> NDArray[np.int64]:
    """Choose pairs of rows for a person to say of whether they belong together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        Number of clusters.
    ask : int, default=10
        Number of pairs.
    strategy : {"margin", "explore-consolidate", "min-max"}, default="margin"
        "margin": rows that stand between two clusters, most doubtful first, each asked against the middle row of the
        nearer cluster, and of the other one once that was denied.
        "explore-consolidate" [1]_: rows far from all known ones until there is one of each cluster, then random
        rows, each asked against the known ones of every cluster, nearest first. "min-max" [2]_: the same, but with
        the row furthest from all known ones instead of a random one.
    must_link, cannot_link : pairs, optional
        What is known already; the answers to earlier questions.
    size_min, size_max, demand, sample_weight : optional
        Constraints on the clustering that answers are guessed from, as in `ConstrainedKMeans`.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Returns
    -------
    pairs : ndarray of int64, shape (n_pairs, 2)
        The first to be asked first. Fewer than `ask` when nothing else is open.

    References
    ----------
    .. [1] Basu, Banerjee, Mooney (2004), "Active Semi-Supervision for Pairwise Constrained Clustering".
    .. [2] Mallapragada, Jin, Jain (2008), "Active Query Selection for Semi-supervised Clustering".

    Examples
    --------
    >>> X = [[0.0], [1.0], [4.6], [9.0], [10.0]]
    >>> suggest_pairs(X, 2, ask=1, random_state=0).tolist()
    [[2, 1]]
    """
    if ask < 1:
        raise ValueError(f"ask must be at least 1, got {ask}")
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    rng = check_random_state(random_state)
    links = {"must_link": reusable(must_link), "cannot_link": reusable(cannot_link)}
    model = ConstrainedKMeans(
        n_clusters, size_min=size_min, size_max=size_max, random_state=rng.randint(np.iinfo(np.int32).max)
    ).fit(X, sample_weight=sample_weight, demand=demand, **links)
    known = _Known(X, n_clusters, *(read_links(kind, pairs, len(X)).hard for kind, pairs in links.items()))
    questions = STRATEGIES[strategy](known, model, rng)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < ask:
        pair = next(questions(known), None)
        if pair is None:
            break
        chosen.append(pair)
        known = known.assuming(*pair, together=bool(model.labels_[pair[0]] == model.labels_[pair[1]]))
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class _Known:
    """What answers have told so far: which rows belong together, and which do not."""

    X: NDArray[Any]
    n_clusters: int
    must_link: NDArray[Any]
    cannot_link: NDArray[Any]

    @cached_property
    def problem(self) -> Problem:
        # Fewer clusters may be known to be possible than guesses ask for; here only blocks and conflicts count.
        n = len(self.X)
        return Problem.build(n, n, must_link=self.must_link, cannot_link=self.cannot_link, nonempty=False)

    def assuming(self, first: int, second: int, *, together: bool) -> "_Known":
        """Add what an answer would tell."""
        pair = np.array([[first, second]])
        if together:
            return _Known(self.X, self.n_clusters, np.concatenate([self.must_link, pair]), self.cannot_link)
        return _Known(self.X, self.n_clusters, self.must_link, np.concatenate([self.cannot_link, pair]))

    def is_open(self, first: int, second: int) -> bool:
        """Whether neither links nor what follows from them say anything about two rows."""
        a, b = self.problem.block_of[first], self.problem.block_of[second]
        return bool(a != b) and b not in self._conflicts_of(int(a))

    def _conflicts_of(self, block: int) -> NDArray[np.int32]:
        graph = self.problem.conflicts
        if graph is None:
            return np.zeros(0, dtype=np.int32)
        return graph.indices[graph.indptr[block] : graph.indptr[block + 1]]

    @cached_property
    def linked_blocks(self) -> list[int]:
        """Blocks that some answer was about, largest first."""
        rows = np.concatenate([self.must_link.ravel(), self.cannot_link.ravel()])
        blocks = np.unique(self.problem.block_of[rows.astype(np.int64)])
        return sorted(blocks.tolist(), key=lambda block: (-self.problem.rows_of(block).size, block))

    @cached_property
    def neighborhoods(self) -> list[int]:
        """Blocks known to be in different clusters: one of each cluster that was met so far."""
        taken: list[int] = []
        for block in self.linked_blocks:
            if len(taken) < self.n_clusters and set(taken) <= set(self._conflicts_of(block).tolist()):
                taken.append(block)
        return taken

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """Rows of the neighborhoods."""
        return np.concatenate([self.problem.rows_of(b) for b in self.neighborhoods] or [np.zeros(0, dtype=np.int32)])

    def representative(self, block: int, near: int) -> int:
        """The row of a block nearest to a row."""
        rows = self.problem.rows_of(block)
        return int(rows[np.argmin(((self.X[rows] - self.X[near]) ** 2).sum(axis=1))])

    def against_neighborhoods(self, row: int) -> Iterator[tuple[int, int]]:
        """Ask a row against each neighborhood that it may belong to, nearest first."""
        means = [self.X[self.problem.rows_of(block)].mean(axis=0) for block in self.neighborhoods]
        order = np.argsort([((self.X[row] - mean) ** 2).sum() for mean in means], kind="stable")
        block = int(self.problem.block_of[row])
        open_ = [
            self.neighborhoods[i] for i in order if self.is_open(row, self.problem.rows_of(self.neighborhoods[i])[0])
        ]
        # Apart from all but one of all clusters it is in that one: no need to ask.
        if len(self.neighborhoods) == self.n_clusters and len(open_) == 1 and block not in self.neighborhoods:
            return
        for neighborhood in open_:
            yield row, self.representative(neighborhood, row)

    def distance_to_known(self) -> NDArray[np.float64]:
        """Squared distance of each row to the nearest row of a neighborhood; -1 for rows that are linked already."""
        nearest = np.full(len(self.X), np.inf)
        for row in self.rows:
            np.minimum(nearest, ((self.X - self.X[row]) ** 2).sum(axis=1), out=nearest)
        nearest[np.isin(self.problem.block_of, self.linked_blocks)] = -1.0
        return nearest


# What comes next, given what is known; the first one is asked.
_Questions = Callable[[_Known], Iterator[tuple[int, int]]]


def _margin(known: _Known, model: ConstrainedKMeans, rng: Any) -> _Questions:
    """Rows between two clusters, most doubtful first, against the middle row of the nearer one, then the other."""
    del rng
    squared = block_costs(known.X, None, np.ascontiguousarray(model.cluster_centers_, dtype=np.float64))
    best_two = np.argsort(squared, axis=1, kind="stable")[:, : min(2, known.n_clusters)]
    nearest, second = (np.take_along_axis(squared, best_two, axis=1)[:, i] for i in (0, -1))
    doubt = np.argsort((second - nearest) / np.maximum(second, np.finfo(float).tiny), kind="stable")
    medoids = [_medoid(squared, model.labels_, j) for j in range(known.n_clusters)]

    def questions(now: _Known) -> Iterator[tuple[int, int]]:
        for row in doubt.tolist():
            # A row that was asked about has been told enough of; the next one tells more.
            if now.problem.rows_of(int(now.problem.block_of[row])).size > 1:
                continue
            for cluster in best_two[row].tolist():
                anchor = medoids[cluster]
                if row not in medoids and now.is_open(row, anchor):
                    yield row, anchor

    return questions


def _medoid(squared: NDArray[np.float64], labels: NDArray[np.int32], cluster: int) -> int:
    return int(np.argmin(np.where(labels == cluster, squared[:, cluster], np.inf)))


def _explore_consolidate(known: _Known, model: ConstrainedKMeans, rng: Any) -> _Questions:
    """Farthest-first until all clusters are met, then random rows (Basu et al. 2004)."""
    del model
    order = rng.permutation(len(known.X))

    def next_row(now: _Known, distance: NDArray[np.float64]) -> int:
        if len(now.neighborhoods) < now.n_clusters:
            return int(distance.argmax())
        return int(next(row for row in order if distance[row] >= 0))

    return _explore_first(known, order, next_row)


def _min_max(known: _Known, model: ConstrainedKMeans, rng: Any) -> _Questions:
    """Farthest-first throughout: the row least like anything known (Mallapragada et al. 2008)."""
    del model
    order = rng.permutation(len(known.X))
    return _explore_first(known, order, lambda now, distance: int(distance.argmax()))


def _explore_first(
    known: _Known, order: NDArray[Any], next_row: Callable[[_Known, NDArray[np.float64]], int]
) -> _Questions:
    first = int(order[0])

    def questions(now: _Known) -> Iterator[tuple[int, int]]:
        if not now.neighborhoods:
            yield int(((now.X - now.X[first]) ** 2).sum(axis=1).argmax()), first
        # Rows whose questions have begun come before new ones.
        for block in now.linked_blocks:
            if block not in now.neighborhoods:
                yield from now.against_neighborhoods(int(now.problem.rows_of(block)[0]))
        distance = now.distance_to_known()
        while (distance >= 0).any():
            row = next_row(now, distance)
            yield from now.against_neighborhoods(row)
            distance[row] = -1.0

    return questions


STRATEGIES: dict[str, Callable[[_Known, ConstrainedKMeans, Any], _Questions]] = {
    "margin": _margin,
    "explore-consolidate": _explore_consolidate,
    "min-max": _min_max,
}
