"""Greedy methods of hard links: COP-KMeans (Wagstaff et al. 2001), and the baseline of Jia et al. (2023), 6.1.1.

Blocks come one after the other, each to its nearest center that is not forbidden.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._messages import has_term, row_term, term
from konstrain._sklearn import StrOptions
from konstrain.baselines._base import BaseCenterClusterer, LinkedRows, RowClustering
from konstrain.constraints import Problem
from konstrain.estimators._conventions import estimator
from konstrain.exceptions import DeadEndError
from konstrain.kmeans import distances
from konstrain.links import LinkGraph


@dataclass(frozen=True, eq=False)
class GreedyBlocks:
    """Must-linked rows as blocks, and the conflicts between blocks; a conflict within one block is left aside."""

    rows: LinkedRows
    problem: Problem

    @classmethod
    def of(cls, rows: LinkedRows) -> "GreedyBlocks":
        """Merge must-linked rows."""
        cannot = rows.cannot.rows
        # Given as soft links, which may contradict must-links: `on_failure` decides later whether that is an error.
        soft = np.column_stack([cannot, np.ones(len(cannot))])
        problem = Problem.build(rows.X, rows.n_clusters, must_link=rows.must.rows, cannot_link=soft, nonempty=False)
        return cls(rows, problem)

    @cached_property
    def conflicts(self) -> LinkGraph:
        """Conflicts between blocks."""
        return self.problem.links or LinkGraph.without_edges(self.problem.n_blocks)

    def refuse_contradictions(self) -> None:
        """Raise when a cannot-link lies within a block, with the must-links that tie its two rows together."""
        if self.problem.constant_penalty > 0:
            must, cannot = self.rows.must.rows, self.rows.cannot.rows
            Problem.build(
                self.rows.n_samples, self.rows.n_clusters, must_link=must, cannot_link=cannot, nonempty=False
            )

    def dead_end(self, method: str, block: int, labels: NDArray[np.int32]) -> DeadEndError:
        """Return what keeps a block out of each cluster."""
        block_of, rows = self.problem.block_of, self.problem.rows_of(block)
        both = np.concatenate([self.rows.cannot.rows, self.rows.cannot.rows[:, ::-1]])
        own, other = both[block_of[both[:, 0]] == block].T
        clusters = labels[block_of[other]]
        first = [int(np.flatnonzero(clusters == j)[0]) for j in range(self.rows.n_clusters)]
        reasons = [
            f"cluster {j} holds row {row_term(other[i])}, which must not be with {row_term(own[i])}"
            for j, i in enumerate(first)
        ]
        named = f"row {row_term(rows[0])}" if rows.size == 1 else f"must-linked rows {_some(rows)}"
        starts = ", ".join(term(name) for name in ("n_init", "random_state") if has_term(name))
        broken = "; on_failure='continue' breaks links instead and counts them" if has_term("on_failure") else ""
        return DeadEndError(
            f"{method} has no cluster left for {named}: {'; '.join(reasons)}. Another start or order may succeed "
            f"({starts}){broken}; {term('ConstrainedKMeans')} keeps all links, or proves that nobody can",
            rows=rows.tolist(),
            occupied_by=[int(other[i]) for i in first],
        )


@dataclass(frozen=True, eq=False)
class GreedyClustering(RowClustering):
    """A run and, if it ended in one, its dead end."""

    dead_end: DeadEndError | None = None


@estimator
class BaseGreedyClusterer(BaseCenterClusterer):
    """Base of the greedy methods; a subclass defines the costs and the order of blocks.

    Parameters
    ----------
    on_failure : {"raise", "continue"}, default="raise"
        What happens when no cluster is left for a block: an error that names what is in the way (when it
        happens in all runs), or it goes to its nearest center, and the links that break are counted.
    best_by : {"links", "clusters"}, default="links"
        Which of several runs is kept: the one with the fewest broken links, or with the most clusters whose rows
        break none (as Babaki et al. 2014 choose); of equals the one with the least inertia.
    n_init : int, default=1
        Number of runs from different seeds.

    Attributes
    ----------
    inertia_, objective_ : float
        Squared distances of the rows to the means of their clusters.
    n_violations_ : int
        Broken links; none unless `on_failure` is "continue".

    Raises
    ------
    InfeasibleError
        When a cannot-link contradicts must-links and `on_failure` is "raise".
    DeadEndError
        When every run ended with a block for which no cluster was left and `on_failure` is "raise".
    """

    _: KW_ONLY
    on_failure: str = "raise"
    best_by: str = "links"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "on_failure": [StrOptions({"raise", "continue"})],
        "best_by": [StrOptions({"links", "clusters"})],
    }

    @abstractmethod
    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each block at each center."""

    @abstractmethod
    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        """Order in which one run assigns the blocks."""

    def _make_run(self, rows: LinkedRows) -> Callable[[int], GreedyClustering]:
        blocks = GreedyBlocks.of(rows)
        if self.on_failure == "raise":
            blocks.refuse_contradictions()
        return lambda seed: self._run(blocks, seed)

    def _run(self, blocks: GreedyBlocks, seed: int) -> GreedyClustering:
        rows, problem, conflicts = blocks.rows, blocks.problem, blocks.conflicts
        stops = self.on_failure == "raise"
        never = np.full(conflicts.indices.size, np.inf)
        order = self._order(blocks, np.random.default_rng(seed))
        centers = self._start(rows, seed)
        labels = np.full(problem.n_blocks, -1, dtype=np.int32)
        converged, n_iter = False, 0
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            before, labels = labels, np.full_like(labels, -1)
            _, _, stuck = _core.greedy_pass(
                self._costs(blocks, centers), order, conflicts.indptr, conflicts.indices, never, stops, labels
            )
            if stops and stuck >= 0:
                dead_end = blocks.dead_end(type(self).__name__, stuck, labels)
                return GreedyClustering(problem.expand(labels), np.inf, n_iter, True, centers, 1, dead_end)
            converged = np.array_equal(labels, before)
            centers = rows.means(problem.expand(labels), centers)
        found = problem.expand(labels)
        n_failures = rows.violations(found).total if self.best_by == "links" else _n_broken_clusters(rows, found)
        return GreedyClustering(found, rows.inertia(found), n_iter, converged, centers, n_failures)

    def _keep(self, rows: LinkedRows, best: RowClustering) -> None:
        assert isinstance(best, GreedyClustering)
        if best.dead_end is not None:
            raise best.dead_end
        super()._keep(rows, best)


@estimator
class COPKMeans(BaseGreedyClusterer):
    """COP-KMeans: k-means in which rows go, one after the other, to the nearest center that breaks no link.

    What is assigned stays until the next iteration. So the order of the rows matters, and rows that come late may
    find no cluster left although a clustering that keeps all links exists [1]_.

    Parameters
    ----------
    order : {"given", "random"}, default="given"
        Order in which blocks are assigned: that of their first rows, or one drawn at random for each run.

    Notes
    -----
    What the paper leaves open, and what we chose. Must-linked rows are merged first and go as one block to the center
    at least total squared distance, as later papers describe the method; in the paper's own pseudo-code the row met
    first decides for the others, which is `GreedyKMeans` here. The paper leaves the order of rows open.
    Iterations need not converge; labels that no longer change end a run. An empty cluster keeps its center.

    References
    ----------
    .. [1] Wagstaff, Cardie, Rogers, Schroedl (2001), "Constrained K-means Clustering with Background Knowledge",
       ICML.

    Examples
    --------
    >>> model = COPKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit([[0.0], [1.0], [5.0]], cannot_link=[(0, 1)])
    >>> model.labels_.tolist(), model.n_violations_
    ([0, 1, 1], 0)
    """

    _: KW_ONLY
    order: str = "given"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "order": [StrOptions({"given", "random"})],
    }

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        problem = blocks.problem
        return distances.block_costs(problem.mean, problem.weight, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        n_blocks = blocks.problem.n_blocks
        order = np.arange(n_blocks) if self.order == "given" else rng.permutation(n_blocks)
        return order.astype(np.int32)


@estimator
class GreedyKMeans(BaseGreedyClusterer):
    """Greedy k-means: must-link sets follow their first row, cannot-link sets take centers in input order.

    A must-link set goes to the nearest center of its first row. The rows of a cannot-link set go to their nearest
    centers in input order; one whose center is taken by another row of the set goes to its next nearest, and so on
    [1]_. The input order decides a lot: shuffle the rows, as the paper does, if it means nothing.

    Notes
    -----
    What the paper leaves open, and what we chose. Its cannot-link sets are disjoint and have at most `n_clusters`
    members, so that a center is always left; with links of any form it may not be, see `on_failure`. Must-link sets
    come first, then all other rows, both in input order; a must-link set also leaves out centers that a conflicting
    one has taken. As in k-means, centers become means and all of it is repeated until labels stop changing.

    References
    ----------
    .. [1] Jia, Guo, Liao, Lu (2023), "Efficient Algorithm for the k-Means Problem with Must-Link and Cannot-Link
       Constraints", Tsinghua Science and Technology, section 6.1.1.

    Examples
    --------
    >>> model = GreedyKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit([[1.0], [5.0], [6.0]], must_link=[(0, 2)])
    >>> model.labels_.tolist()
    [0, 1, 0]
    """

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        first = blocks.problem.first_rows
        return distances.block_costs(blocks.rows.X[first], None, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        is_single = np.diff(blocks.problem.block_indptr) == 1
        return np.argsort(is_single, kind="stable").astype(np.int32)


def _n_broken_clusters(rows: LinkedRows, labels: NDArray[np.int32]) -> int:
    """Count the clusters with a row that breaks a link."""
    apart, together = rows.broken(labels)
    breaking = np.concatenate([rows.must.rows[apart], rows.cannot.rows[together]])
    return int(np.unique(labels[breaking]).size)


def _some(rows: NDArray[np.int32]) -> str:
    """Name rows, but not hundreds of them."""
    shown = ", ".join(map(row_term, rows[:6]))
    return shown if rows.size <= 6 else f"{shown}, ... ({rows.size} in all)"
