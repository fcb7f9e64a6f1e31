"""Parts that look like the whole: how blocks are dealt out for a bound by parts.

For any split of the blocks, the least costs of the parts add up to no more than the least cost of the whole: the best
clustering of the whole, restricted to a part and given the part's own means, costs no more there. Must-links stay
whole, since blocks do; cannot-links within a part and upper bounds on sizes hold for every subset of a cluster. What
a part cannot see is left out, which weakens the bound and never breaks it.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from konstrain import _core
from konstrain._tolerances import SUM_RELATIVE
from konstrain.constraints.problem import Problem
from konstrain.kmeans.distances import center_sums, default_threads
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE, Deadline

# How often each row looks for a partner to change places with, and among how many: 1,000,000 rows take 8 s.
N_SWEEPS = 2
N_PARTNERS = 16
# Blocks tied by cannot-links stay together up to this share of a part.
BUNDLE_SHARE = 0.25
# With more features the scatter matrices of all parts take longer than the bounds of some parts.
MOST_FEATURES = 32


@dataclass(frozen=True, eq=False)
class Split:
    """Blocks of a problem dealt out to parts.

    Parameters
    ----------
    problem : Problem
        What was split.
    labels : ndarray of int32, shape (n_blocks,)
        The clustering that every part is to look like.
    part_of : ndarray of int32, shape (n_blocks,)
        Part of each block.
    n_parts : int
        Number of parts.

    Examples
    --------
    >>> problem = Problem.build([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], 2)
    >>> split = Split.deal(problem, np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), part_size=2, seed=0)
    >>> [split.labels[blocks].tolist() for blocks in split]
    [[0, 1], [0, 1], [0, 1]]
    """

    problem: Problem
    labels: NDArray[np.int32]
    part_of: NDArray[np.int32]
    n_parts: int

    @classmethod
    def deal(
        cls,
        problem: Problem,
        labels: NDArray[np.int32],
        part_size: int,
        seed: int,
        beside: NDArray[np.float64] | None = None,
        deadline: Deadline = NO_DEADLINE,
    ) -> Self:
        """Split a problem into parts of about this many blocks, alike in features and in numbers `beside` them.

        After the deadline blocks no longer change places to make parts more alike.
        """
        n_parts = -(-problem.n_blocks // part_size)
        part_of = _place_bundles(problem.conflicts, problem.n_blocks, n_parts, max(2, int(BUNDLE_SHARE * part_size)))
        rows = np.asarray(problem.mean, dtype=np.float64)
        _core.deal_rows(
            np.ascontiguousarray(rows if beside is None else np.hstack([rows, beside])),
            problem.weight,
            labels,
            problem.n_clusters,
            n_parts,
            N_SWEEPS,
            N_PARTNERS,
            seed,
            part_of,
            time_limit=deadline.remaining(),
        )
        return cls(problem, labels, part_of, n_parts)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self.blocks_of(part) for part in range(self.n_parts))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Blocks by part, and where each part begins."""
        counts = np.bincount(self.part_of, minlength=self.n_parts)
        return np.argsort(self.part_of, kind="stable"), np.concatenate([[0], np.cumsum(counts)])

    def blocks_of(self, part: int) -> NDArray[np.int64]:
        """Blocks of one part, ascending."""
        blocks, begin = self._sorted
        return blocks[begin[part] : begin[part + 1]]

    @cached_property
    def n_torn(self) -> int:
        """Cannot-links whose ends are in different parts: the bound does not see them."""
        if self.problem.conflicts is None:
            return 0
        return self.problem.conflicts.n_edges - self._inner_edges[0].size

    @cached_property
    def _inner_edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Cannot-links within parts, by part, as places in the part; and where each part begins."""
        assert self.problem.conflicts is not None
        blocks, begin = self._sorted
        place = np.empty(self.problem.n_blocks, dtype=np.int32)
        place[blocks] = np.arange(blocks.size) - np.repeat(begin[:-1], np.diff(begin))
        first, second, _ = self.problem.conflicts.edges
        inner = np.flatnonzero(self.part_of[first] == self.part_of[second])
        inner = inner[np.argsort(self.part_of[first[inner]], kind="stable")]
        counts = np.bincount(self.part_of[first[inner]], minlength=self.n_parts)
        return place[first[inner]], place[second[inner]], np.concatenate([[0], np.cumsum(counts)])

    def _conflicts_of(self, part: int) -> LinkGraph | None:
        if self.problem.conflicts is None:
            return None
        first, second, begin = self._inner_edges
        among = slice(begin[part], begin[part + 1])
        if first[among].size == 0:
            return None
        return LinkGraph.from_edges(self.blocks_of(part).size, first[among], second[among])

    @property
    def whole_cost(self) -> float:
        """What the labels cost when nothing is split."""
        together = Split(self.problem, self.labels, np.zeros_like(self.part_of), 1)
        return float(together.costs[0])

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """What the labels cost in each part, with means of its own."""
        problem, k = self.problem, self.problem.n_clusters
        centers = cluster_means(problem, self.labels)
        moved = np.asarray(problem.mean, dtype=np.float64) - centers[self.labels]
        cell = self.part_of * np.int64(k) + self.labels
        weight = np.bincount(cell, problem.weight, self.n_parts * k).astype(np.float64)
        square = np.bincount(cell, problem.weight * (moved**2).sum(axis=1), weight.size).astype(np.float64)
        sums, _ = center_sums(moved, problem.weight, cell.astype(np.int32), weight.size, n_threads=default_threads())
        square -= (sums**2).sum(axis=1) / np.where(weight > 0, weight, 1.0)
        within: NDArray[np.float64] = np.maximum(square, 0.0).reshape(-1, k).sum(axis=1)
        return within + self._scatter

    @cached_property
    def floors(self) -> NDArray[np.float64]:
        """What every clustering pays in each part at least: inside blocks, and off the best k - 1 directions.

        The centers of k clusters lie in a plane of k - 1 dimensions, and the squared distances to the best such plane
        are the eigenvalues of the scatter matrix beyond the first k - 1.
        """
        n_features = self.problem.mean.shape[1]
        if not self.problem.n_clusters <= n_features <= MOST_FEATURES:
            return self._scatter
        off_plane = np.linalg.eigvalsh(self._scatter_matrices)[:, : n_features - self.problem.n_clusters + 1]
        return np.asarray(self._scatter + np.maximum(off_plane.sum(axis=1) - self._rounding, 0.0))

    @cached_property
    def _scatter(self) -> NDArray[np.float64]:
        """What every clustering pays inside the blocks of each part."""
        return np.bincount(self.part_of, self.problem.scatter, self.n_parts).astype(np.float64)

    @cached_property
    def _scatter_matrices(self) -> NDArray[np.float64]:
        """Weighted scatter of the blocks of each part around their mean."""
        weight, rows = self.problem.weight, np.asarray(self.problem.mean, dtype=np.float64)
        rows = rows - weight @ rows / weight.sum()
        in_part = np.maximum(np.bincount(self.part_of, weight, self.n_parts), np.finfo(float).tiny)
        sums = [np.bincount(self.part_of, weight * feature, self.n_parts) for feature in rows.T]
        matrices = np.empty((self.n_parts, len(sums), len(sums)))
        for i, first in enumerate(rows.T):
            for j, second in enumerate(rows.T[: i + 1]):
                products = np.bincount(self.part_of, weight * first * second, self.n_parts)
                matrices[:, i, j] = matrices[:, j, i] = products - sums[i] * sums[j] / in_part
        return matrices

    @cached_property
    def _rounding(self) -> float:
        """By how much sums over the rows of a part, and eigenvalues of them, may be off."""
        weight, rows = self.problem.weight, np.asarray(self.problem.mean, dtype=np.float64)
        total = float(weight @ ((rows - weight @ rows / weight.sum()) ** 2).sum(axis=1))
        n_blocks, n_features = int(np.bincount(self.part_of).max()), rows.shape[1]
        return float(SUM_RELATIVE * (n_blocks + n_features) * n_features * total)

    def part_problem(self, part: int) -> Problem:
        """Return the problem of one part, its blocks as rows."""
        blocks = self.blocks_of(part)
        problem = self.problem
        assert problem.scatter is not None
        return problem_of_blocks(
            problem.n_clusters,
            np.asarray(problem.mean, dtype=np.float64)[blocks],
            problem.weight[blocks],
            problem.scatter[blocks],
            problem.demand[blocks],
            self._conflicts_of(part),
            largest_size(problem),
        )


def largest_size(problem: Problem) -> float | None:
    """Return what no cluster may exceed; bounds of single clusters say that of the largest one only."""
    if problem.size_max is None or not np.isfinite(problem.size_max.max()):
        return None
    return float(problem.size_max.max())


def problem_of_blocks(
    n_clusters: int,
    mean: NDArray[np.float64],
    weight: NDArray[np.float64],
    scatter: NDArray[np.float64],
    demand: NDArray[np.float64],
    conflicts: LinkGraph | None = None,
    size_max: float | None = None,
) -> Problem:
    """Make a problem whose rows are blocks; clusters may be empty, since a part need not touch all of them."""
    n = weight.size
    every = np.arange(n, dtype=np.int32)
    return Problem(
        n_samples=n,
        n_clusters=n_clusters,
        block_of=every,
        block_indptr=np.arange(n + 1, dtype=np.int64),
        block_rows=every.copy(),
        weight=weight,
        mean=mean,
        scatter=scatter,
        demand=demand,
        conflicts=conflicts,
        links=conflicts,
        size_max=None if size_max is None else np.full(n_clusters, size_max),
        nonempty=False,
        sample_weight=weight,
    )


def merge_equal(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Merge blocks with equal means where some best clustering keeps them together; also the new block of each.

    Moving one of two equal rows to the cluster of the other changes the cost like a concave function, so one of the
    two moves does not raise it. Cannot-links and sizes could forbid it.
    """
    if problem.conflicts is not None or problem.size_max is not None or problem.size_min is not None:
        return problem, np.arange(problem.n_blocks)
    # Zeros of both signs are equal, but not their bytes. Sorting wide rows takes ten times as long as hashing them.
    means = np.asarray(problem.mean, dtype=np.float64) + 0.0
    seen: dict[bytes, int] = {}
    of_block = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in means])
    if len(seen) == problem.n_blocks:
        return problem, np.arange(problem.n_blocks)
    distinct = means[np.unique(of_block, return_index=True)[1]]
    weight, scatter, demand = (
        np.bincount(of_block, values).astype(np.float64, copy=False)
        for values in (problem.weight, problem.scatter, problem.demand)
    )
    return problem_of_blocks(problem.n_clusters, distinct, weight, scatter, demand), of_block


def cluster_means(problem: Problem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Weighted mean of each cluster; of all blocks where a cluster has no weight."""
    k = problem.n_clusters
    mean = np.ascontiguousarray(problem.mean, dtype=np.float64)
    sums, weight = center_sums(mean, problem.weight, labels, k, n_threads=default_threads())
    everywhere = sums.sum(axis=0) / max(float(weight.sum()), np.finfo(float).tiny)
    means: NDArray[np.float64] = np.where(
        weight[:, None] > 0, sums / np.where(weight > 0, weight, 1.0)[:, None], everywhere
    )
    return means


def _place_bundles(conflicts: LinkGraph | None, n_blocks: int, n_parts: int, most: int) -> NDArray[np.int32]:
    """Part of each block that has cannot-links, so that few of these are torn; -1 for all others."""
    part_of = np.full(n_blocks, -1, dtype=np.int32)
    if conflicts is None:
        return part_of
    fill = [(0, part) for part in range(n_parts)]
    for bundle in sorted(_bundles(conflicts, most), key=len, reverse=True):
        count, part = fill[0]
        part_of[bundle] = part
        heapq.heapreplace(fill, (count + bundle.size, part))
    return part_of


def _bundles(conflicts: LinkGraph, most: int) -> Iterator[NDArray[Any]]:
    """Components of the conflicts; large ones in pieces of near blocks."""
    n = conflicts.n_blocks
    graph = csr_array((np.ones(conflicts.indices.size, dtype=np.int8), conflicts.indices, conflicts.indptr), (n, n))
    _, component = connected_components(graph, directed=False)
    order = np.argsort(component, kind="stable")
    order = order[conflicts.is_linked[order]]
    for blocks in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        if blocks.size <= most:
            yield blocks
            continue
        near = breadth_first_order(graph, blocks[0], directed=False, return_predecessors=False)
        yield from np.array_split(near, -(-near.size // most))
