"""Eigenvalues for the semidefinite bound: the spectral projection of its iteration, and the sum behind the bound.

Symmetric matrices are C-ordered with only the lower triangle filled; LAPACK sees the transpose, filled above.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

# Eigenpairs asked for beyond the rank of the last projection.
SPARE_PAIRS = 6


def deflate(matrix: NDArray[np.float64], direction: NDArray[np.float64], value: float) -> float:
    """Give the lower triangle the eigenvector `direction` at `value`, in place; return its Rayleigh quotient before."""
    h = blas.dsymv(1.0, matrix.T, direction, lower=0)
    quotient = float(direction @ h)
    # (I - uu') M (I - uu') + value uu' = M - u g' - g u' with g = h - (u'h + value) / 2 u.
    g = h - 0.5 * (quotient + value) * direction
    blas.dsyr2(-1.0, direction, g, lower=0, a=matrix.T, overwrite_a=1)
    return quotient


def smallest_sum(matrix: NDArray[np.float64], count: int) -> float:
    """Sum of the `count` smallest eigenvalues; destroys the matrix."""
    values, _, found, _, info = lapack.dsyevr(
        matrix.T, compute_v=0, range="I", il=1, iu=count, lower=0, overwrite_a=1
    )
    if info != 0 or found < count:
        raise np.linalg.LinAlgError(f"dsyevr failed with info={info}")
    return float(values[:count].sum())


def shares_at_total(values: NDArray[np.float64], total: float) -> tuple[NDArray[np.float64], float]:
    """Return ``clip(values - theta, 0, 1)`` and theta, chosen so that the shares sum to `total`."""
    breaks = np.sort(np.concatenate([values, values - 1.0]))
    sums = np.clip(values[:, None] - breaks, 0.0, 1.0).sum(axis=0)
    # `sums` falls from the number of values to 0; theta lies between the last break above the total and the next.
    after = int(np.searchsorted(-sums, -total, side="right"))
    left, right = max(after - 1, 0), min(after, breaks.size - 1)
    drop = sums[left] - sums[right]
    theta = breaks[left] + (breaks[right] - breaks[left]) * ((sums[left] - total) / drop if drop > 0 else 0.0)
    return np.clip(values - theta, 0.0, 1.0), float(theta)


class SpectralProjection:
    """Nearest matrix W with 0 <= W <= I, W u = 0 and a given trace, from the top of the spectrum alone.

    Parameters
    ----------
    trace : int
        Trace of W.
    rank : int
        Guess of its rank; later the rank of the last projection.
    """

    def __init__(self, trace: int, rank: int) -> None:
        self.trace = trace
        self.rank = rank

    def factor(self, matrix: NDArray[np.float64], direction: NDArray[np.float64]) -> Any:
        """Return F with W = F F' for the lower triangle `matrix`, which is overwritten."""
        size = matrix.shape[0]
        # Below every other eigenvalue, so that u is never among the top pairs.
        deflate(matrix, direction, -2.0 * np.linalg.norm(matrix) - 1.0)
        count = min(max(self.rank, self.trace) + SPARE_PAIRS, size - 1)
        while True:
            values, vectors = _top_pairs(matrix, count)
            shares, _ = shares_at_total(values, self.trace)
            self.rank = int(np.count_nonzero(shares))
            if shares[0] == 0.0 or count == size - 1:
                break
            count = min(2 * count, size - 1)
        used = slice(count - self.rank, count)
        return np.asfortranarray(vectors[:, used] * np.sqrt(shares[used]))


def _top_pairs(matrix: NDArray[np.float64], count: int) -> tuple[Any, Any]:
    """Return the largest eigenvalues, ascending, and their vectors."""
    size = matrix.shape[0]
    values, vectors, _, _, info = lapack.dsyevr(matrix.T, range="I", il=size - count + 1, iu=size, lower=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"dsyevr failed with info={info}")
    return values[:count], vectors[:, :count]
