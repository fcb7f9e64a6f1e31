"""The semidefinite relaxation of one node: blocks, scaled costs, conflicts and limits on the diagonal."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from konstrain._tolerances import SDP_ROUNDING, SUM_RELATIVE
from konstrain.constraints.inputs import is_sparse
from konstrain.constraints.problem import Problem
from konstrain.rounding import demand_rounding

# Least and most weight of each cluster.
SizeBounds = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class SdpModel:
    """Minimise ``total + scale * <cost, Y>`` over matrices that every clustering of the blocks has.

    A clustering is the matrix Y = D Z D with Z_ij = 1 / (weight of the cluster) for blocks that share one, else 0,
    and D = diag(sqrt(weight)). Then Y u = u for u = sqrt(weight / sum of weights), Y has k eigenvalues 1 and the
    rest 0, Y >= 0, and Y is 0 on conflicts.
    """

    n_clusters: int  # Number of clusters, k.
    weight: NDArray[np.float64]  # (n_blocks,): positive weights.
    # (n_blocks, n_blocks): minus the Gram matrix of sqrt(weight) * (mean - center of all), scaled to spectral norm 1.
    cost: NDArray[np.float64]
    # `total` and `scale`: what turns <cost, Y> into weighted squared distances of all rows to their centers; `total`
    # is lowered by `guard`.
    total: float
    scale: float
    is_conflict: NDArray[np.bool_]  # (n_blocks, n_blocks): whether two blocks may not share a cluster.
    # Block here of each block of the problem the model was made from; -1 for blocks without weight.
    block_of: NDArray[np.int32]
    sizes: SizeBounds = ()  # Least and most weight of each cluster, ascending; empty where no bounds are known.
    # What rounding in the means and in the cost matrix may have added to the cost of any clustering.
    guard: float = 0.0

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Make the model of a problem; needs its means."""
        if problem.mean is None or problem.scatter is None:
            raise ValueError("the semidefinite bound needs the rows: build the problem from X, not from n_samples")
        # Blocks without weight cost nothing wherever they go; leaving them out relaxes the problem.
        kept = np.flatnonzero(problem.weight > 0)
        weight = problem.weight[kept]
        rows = _centered_rows(problem.mean[kept], weight)
        gram = np.asarray(rows @ rows.T)
        scale = _largest_eigenvalue(gram)
        total = float(problem.scatter.sum() + np.trace(gram))
        guard = rounding_guard(problem, kept, float(np.trace(gram)), total)
        block_of = np.full(problem.n_blocks, -1, dtype=np.int32)
        block_of[kept] = np.arange(kept.size, dtype=np.int32)
        return cls(
            n_clusters=problem.n_clusters,
            weight=weight,
            cost=-gram / scale if scale > 0 else -gram,
            total=max(total - guard, 0.0),
            scale=scale,
            is_conflict=conflict_matrix(problem)[np.ix_(kept, kept)],
            block_of=block_of,
            sizes=size_bounds(problem),
            guard=guard,
        )

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.weight.size

    @cached_property
    def direction(self) -> NDArray[np.float64]:
        """The unit vector u with Y u = u for every clustering."""
        return np.asarray(np.sqrt(self.weight / self.weight.sum()))

    @property
    def least_size(self) -> float:
        """Weight that every cluster has at least."""
        return min((least for least, _ in self.sizes), default=0.0)

    @property
    def most_size(self) -> float:
        """Weight that no cluster exceeds."""
        return max((most for _, most in self.sizes), default=np.inf)

    @cached_property
    def low(self) -> NDArray[np.float64]:
        """Least Y_ii: weight over the most a cluster may hold."""
        return self.weight / self.most_size

    @cached_property
    def high(self) -> NDArray[np.float64]:
        """Most Y_ii: weight over the least its cluster can hold; infinite when sizes are free."""
        if self.least_size <= 0:
            return np.full(self.n_blocks, np.inf)
        return np.asarray(self.weight / np.maximum(self.weight, self.least_size))

    @cached_property
    def forbidden(self) -> NDArray[np.int32]:
        """Positions ``i * n_blocks + j``, i > j, of the conflicts."""
        return np.flatnonzero(np.tril(self.is_conflict, -1)).astype(np.int32)

    @cached_property
    def known_value(self) -> float | None:
        """The exact bound where nothing has to be computed; infinite: no clustering. None: run the relaxation."""
        if self.weight.max(initial=0.0) > self.most_size:
            return np.inf
        if self.n_blocks <= self.n_clusters:
            return self.within_blocks
        if self.n_clusters == 1:
            return np.inf if self.is_conflict.any() else self.total
        return None if self.scale > 0 else self.total

    @property
    def within_blocks(self) -> float:
        """What every clustering pays inside blocks, merged ones included."""
        return max(
            self.total + self.scale * float(np.trace(self.cost)) - SDP_ROUNDING * self.n_blocks * self.total, 0.0
        )

    def squared_distances(self) -> NDArray[np.float64]:
        """Squared distances between the means of all blocks."""
        gram = -self.scale * self.cost / np.sqrt(np.outer(self.weight, self.weight))
        squares = gram.diagonal()
        return np.asarray(np.maximum(squares[:, None] + squares - 2 * gram, 0.0))

    def merged(self, i: int, j: int) -> Self:
        """Blocks i < j as one block, in the place of i."""
        weight = np.delete(self.weight, j)
        weight[i] = self.weight[i] + self.weight[j]
        is_conflict = self.is_conflict.copy()
        is_conflict[i] |= is_conflict[j]
        is_conflict[:, i] |= is_conflict[:, j]
        place = place_after_merge(self.n_blocks, i, j)
        return replace(
            self,
            weight=weight,
            cost=merge_matrix(self.cost, self.weight, i, j),
            is_conflict=np.delete(np.delete(is_conflict, j, 0), j, 1),
            block_of=np.where(self.block_of >= 0, place[self.block_of], -1).astype(np.int32),
        )

    def separated(self, i: int, j: int) -> Self:
        """Blocks i and j in different clusters."""
        is_conflict = self.is_conflict.copy()
        is_conflict[i, j] = is_conflict[j, i] = True
        return replace(self, is_conflict=is_conflict)


def place_after_merge(n_blocks: int, i: int, j: int) -> NDArray[np.int32]:
    """Number of each block after j > i was merged into i."""
    place = np.arange(n_blocks, dtype=np.int32)
    place[j + 1 :] -= 1
    place[j] = i
    return place


def merge_matrix(matrix: NDArray[np.float64], weight: NDArray[np.float64], i: int, j: int) -> NDArray[np.float64]:
    """P matrix P' for a symmetric matrix, where P replaces rows i and j by their combination of unit length.

    P has orthonormal rows and its transpose takes matrices Y of the merged blocks to matrices Y of the blocks.
    """
    both = weight[i] + weight[j]
    a, b = np.sqrt(weight[i] / both), np.sqrt(weight[j] / both)
    merged = matrix.copy()
    merged[i] = a * matrix[i] + b * matrix[j]
    merged[:, i] = a * merged[:, i] + b * merged[:, j]
    return np.ascontiguousarray(np.delete(np.delete(merged, j, 0), j, 1))


def symmetric(lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symmetric matrix with this lower triangle."""
    return np.tril(lower) + np.tril(lower, -1).T


def lower_norm(lower: NDArray[np.float64]) -> float:
    """Frobenius norm of the symmetric matrix with this lower triangle."""
    squares = np.tril(lower) ** 2
    return float(np.sqrt(2 * squares.sum() - np.trace(squares)))


def _centered_rows(mean: Any, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """sqrt(weight) * (mean - center of all), dense and double: squares of raw data far from 0 would be all rounding.

    That the center is rounded does not matter: costs of clusterings are the same around any point.
    """
    rows = np.asarray(mean.toarray() if is_sparse(mean) else mean, dtype=np.float64)
    return np.asarray(np.sqrt(weight)[:, None] * (rows - (weight @ rows) / weight.sum()))


def rounding_guard(problem: Problem, kept: NDArray[np.intp], trace: float, total: float) -> float:
    """By how much the cost of a clustering, computed from these means and this Gram matrix, may be too high.

    **Means.** Let block i's mean be off by a vector of length at most e_i, and r^2 = sum_i w_i e_i^2. Stacked, the
    sqrt(w_i) (mean_i - center) of a clustering are a projection of the sqrt(w_i) mean_i, so the square root of its
    cost changes by at most r: the cost, which is at most `total`, by at most 2 r sqrt(total) + r^2. A mean of n
    values is rounded n + 1 times, each time relative to a magnitude of at most sqrt(|mean|^2 + scatter / weight), and
    once more when it is stored in single precision. Means of single rows are the rows themselves: e_i = 0.

    **Gram matrix.** With p features, entry ij is off by at most (p + 4) u |x_i| |x_j|, where u is the rounding of one
    operation; in the Frobenius norm by (p + 4) u trace. A clustering's Y has norm sqrt(k); the trace enters again.

    **Scatter.** Sums of squares of differences: off by at most (p + n + 4) u of themselves.
    """
    assert problem.scatter is not None
    mean, weight, scatter = problem.mean[kept], problem.weight[kept], problem.scatter[kept]
    n_rows = np.diff(problem.block_indptr)[kept].astype(np.float64)
    squares = (
        np.asarray(mean.multiply(mean).sum(axis=1)).ravel()
        if is_sparse(mean)
        else np.einsum("ij,ij->i", mean, mean, dtype=np.float64)
    )
    stored = float(np.finfo(mean.dtype).eps)
    error = SUM_RELATIVE * (n_rows + 1) * np.sqrt(squares + scatter / weight) + stored * np.sqrt(squares)
    r = float(np.sqrt(weight[n_rows > 1] @ error[n_rows > 1] ** 2))
    n_features = mean.shape[1]
    from_gram = SUM_RELATIVE * (n_features + 4) * (1 + np.sqrt(problem.n_clusters)) * trace
    from_scatter = SUM_RELATIVE * (n_features + float(n_rows.max(initial=1.0)) + 4) * float(scatter.sum())
    return float(2 * r * np.sqrt(total) + r**2 + from_gram + from_scatter)


def _largest_eigenvalue(gram: NDArray[np.float64]) -> float:
    last = gram.shape[0] - 1
    if last < 0:
        return 0.0
    return float(eigh(gram, eigvals_only=True, subset_by_index=[last, last])[0])


def conflict_matrix(problem: Problem) -> NDArray[np.bool_]:
    """Return which two blocks may not share a cluster."""
    matrix = np.zeros((problem.n_blocks, problem.n_blocks), dtype=bool)
    if problem.conflicts is not None:
        u, v, _ = problem.conflicts.edges
        matrix[u, v] = matrix[v, u] = True
    return matrix


def size_bounds(problem: Problem) -> SizeBounds:
    """Least and most weight of each cluster; nothing unless sizes are counted in weights."""
    if (problem.size_min is None and problem.size_max is None) or not np.array_equal(problem.demand, problem.weight):
        return ()
    k, total = problem.n_clusters, float(problem.weight.sum())
    low = np.zeros(k) if problem.size_min is None else problem.size_min
    high = np.full(k, total) if problem.size_max is None else np.minimum(problem.size_max, total)
    # What the other clusters must take or cannot take tightens each cluster's own bounds.
    least = np.maximum(low, total - (high.sum() - high))
    most = np.minimum(high, total - (low.sum() - low))
    slack = demand_rounding(problem.demand, problem.n_samples) * total
    least, most = np.maximum(least - slack, 0.0), most + slack
    if (problem.weight == np.floor(problem.weight)).all():
        # So are all sizes.
        least, most = np.ceil(least), np.floor(most)
        if most.max() - least.min() == 1:
            # Sizes differ by one at most, so it is known how many clusters have which.
            n_larger = int(total - k * least.min())
            least = most = np.repeat([least.min(), most.max()], [k - n_larger, n_larger])
    return tuple(sorted(zip(least.tolist(), most.tolist(), strict=True)))
