"""Partition the blocks into parts that resemble the whole, for the decomposition bound.

For any partition of the blocks, the least costs of the parts add up to no more than the least cost of the whole: the
best clustering of the whole, restricted to a part and given the part's own means, costs no more there. Must-links
stay whole, since blocks do; cannot-links within a part and upper bounds on sizes hold for every subset of a cluster.
Constraints between parts are left out, which weakens the bound and never breaks it.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from konstrain import _core
from konstrain._tolerances import SUM_RELATIVE
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.spectral import one_blas_thread
from konstrain.kmeans.distances import center_sums, default_threads
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget


@dataclass(frozen=True)
class PartitionParams:
    """Tunable numbers of a partition."""

    # More sweeps of exchanges, and more partners tried per row, make parts more alike and take longer.
    n_sweeps: int = 2
    n_partners: int = 16
    # A larger share of a part for blocks tied by cannot-links keeps more of the links, and makes sizes less equal.
    bundle_share: float = 0.25


PARAMS = PartitionParams()


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of the blocks of a problem."""

    problem: Problem  # The problem of the whole.
    labels: NDArray[np.int32]  # (n_blocks,): the clustering that every part resembles.
    part_of: NDArray[np.int32]  # (n_blocks,): part of each block.
    n_parts: int  # Number of parts.

    @classmethod
    def stratified(
        cls,
        problem: Problem,
        labels: NDArray[np.int32],
        part_size: int,
        seed: int,
        extra: NDArray[np.float64] | None = None,
        budget: Budget = UNLIMITED,
    ) -> Self:
        """Return a partition into parts of about `part_size` blocks, alike in features and in `extra` features.

        After the budget blocks are no longer exchanged to make parts more alike.
        """
        n_parts = -(-problem.n_blocks // part_size)
        part_of = _place_bundles(
            problem.conflicts, problem.n_blocks, n_parts, max(2, int(PARAMS.bundle_share * part_size))
        )
        rows = np.asarray(problem.mean, dtype=np.float64)
        _core.deal_rows(
            np.ascontiguousarray(rows if extra is None else np.hstack([rows, extra])),
            problem.weight,
            labels,
            problem.n_clusters,
            n_parts,
            PARAMS.n_sweeps,
            PARAMS.n_partners,
            seed,
            part_of,
            time_limit=budget.remaining(),
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
        """Return the blocks of one part, ascending."""
        blocks, begin = self._sorted
        return blocks[begin[part] : begin[part + 1]]

    @cached_property
    def n_cut_links(self) -> int:
        """Number of cannot-links between different parts, which the bound leaves out."""
        if self.problem.conflicts is None:
            return 0
        return self.problem.conflicts.n_edges - self._inner_edges[0].size

    @cached_property
    def _inner_edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Cannot-links within parts, by part, as positions in the part; and where each part begins."""
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
        """Cost of the labels in the whole problem."""
        together = Partition(self.problem, self.labels, np.zeros_like(self.part_of), 1)
        return float(together.costs[0])

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Cost of the labels in each part, with the means of the part."""
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
        """Bound of each part before any work: cost inside blocks, and distances to the best plane of centers.

        The centers of k clusters lie in an affine plane of k - 1 dimensions. The squared distances to the best such
        plane are the sum of the eigenvalues of the scatter matrix beyond the first k - 1.
        """
        if self.problem.mean.shape[1] < self.problem.n_clusters:
            return self._scatter
        rows = np.asarray(self.problem.mean, dtype=np.float64)
        # One thread: small products gain nothing from more, and the last digits do not depend on their number.
        with one_blas_thread():
            off_plane = [
                _distance_to_planes(rows[blocks], self.problem.weight[blocks], self.problem.n_clusters - 1)
                for blocks in self
            ]
        return np.asarray(self._scatter + off_plane)

    @cached_property
    def _scatter(self) -> NDArray[np.float64]:
        """Cost inside the blocks of each part, which every clustering pays."""
        return np.bincount(self.part_of, self.problem.scatter, self.n_parts).astype(np.float64)

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


def _distance_to_planes(rows: NDArray[np.float64], weight: NDArray[np.float64], dimension: int) -> float:
    """Return a lower bound on the weighted squared distances of rows to any plane of this dimension."""
    total = max(float(weight.sum()), np.finfo(float).tiny)
    rows = rows - weight @ rows / total
    # Once more: what rounding left of a center far from the origin is of the size of the rows by now.
    rows = np.sqrt(weight)[:, None] * (rows - weight @ rows / total)
    gram = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    trace = float(np.trace(gram))
    values = np.linalg.eigvalsh(gram)
    rounding = SUM_RELATIVE * sum(rows.shape) * rows.shape[1] * trace
    return float(max(0.0, values[: max(0, values.size - dimension)].sum() - rounding))


def largest_size(problem: Problem) -> float | None:
    """Return the largest upper bound on sizes, which no cluster may exceed; None: sizes are free."""
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
    """Return a problem whose rows are blocks; clusters may be empty, since a part need not meet all of them."""
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
    """Merge blocks with equal means where an optimal clustering keeps them together; also return their new blocks.

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
    """Return the weighted mean of each cluster; that of all blocks where a cluster has no weight."""
    k = problem.n_clusters
    mean = np.ascontiguousarray(problem.mean, dtype=np.float64)
    sums, weight = center_sums(mean, problem.weight, labels, k, n_threads=default_threads())
    everywhere = sums.sum(axis=0) / max(float(weight.sum()), np.finfo(float).tiny)
    means: NDArray[np.float64] = np.where(
        weight[:, None] > 0, sums / np.where(weight > 0, weight, 1.0)[:, None], everywhere
    )
    return means


def _place_bundles(conflicts: LinkGraph | None, n_blocks: int, n_parts: int, most: int) -> NDArray[np.int32]:
    """Return the part of each block with cannot-links, so that few links are cut; -1 for all other blocks."""
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
    """Yield the connected components of the conflicts, large ones in pieces."""
    component = conflicts.components()
    order = np.argsort(component, kind="stable")
    order = order[conflicts.is_linked[order]]
    for blocks in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        if blocks.size <= most:
            yield blocks
            continue
        near = breadth_first_order(conflicts.adjacency, blocks[0], directed=False, return_predecessors=False)
        yield from np.array_split(near, -(-near.size // most))
