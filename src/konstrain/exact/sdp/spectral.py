"""Eigenvalues for the semidefinite bound: the spectral projection of its iteration, and the sum behind the bound.

Symmetric matrices are C-ordered with only the lower triangle filled; LAPACK sees the transpose, filled above.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from threadpoolctl import ThreadpoolController


@dataclass(frozen=True)
class SpectralParams:
    """Tunable numbers of the projection on the cone and of following its eigenvectors."""

    # Least number of eigenpairs followed beyond the rank; more are safer and slower.
    spare_pairs: int = 6
    # Degree of the filter polynomial; a larger one separates the top of the spectrum better and takes longer.
    degree: int = 5


PARAMS = SpectralParams()


@cache
def _threadpools() -> Any:
    # Made once: it inspects every library of the process.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread, so that sums are taken in one order on any machine.

    On a machine with other work several threads wait very long for each other: ten times as long was seen.
    """
    manager: AbstractContextManager[Any] = _threadpools().limit(limits=1, user_api="blas")
    return manager


def deflate(matrix: NDArray[np.float64], direction: NDArray[np.float64], value: float) -> float:
    """Give the lower triangle the eigenvector u = `direction` at `value`, in place; return u'Mu from before."""
    h = blas.dsymv(1.0, matrix.T, direction, lower=0)
    quotient = float(direction @ h)
    # (I - uu') M (I - uu') + value uu' = M - u g' - g u' with g = h - (u'h + value) / 2 u.
    g = h - 0.5 * (quotient + value) * direction
    blas.dsyr2(-1.0, direction, g, lower=0, a=matrix.T, overwrite_a=1)
    return quotient


def smallest_sum(matrix: NDArray[np.float64], count: int) -> float:
    """Sum of the `count` smallest eigenvalues; destroys the matrix. Minus infinity if LAPACK finds fewer."""
    values, _, found, _, info = lapack.dsyevr(
        matrix.T, compute_v=0, range="I", il=1, iu=count, lower=0, overwrite_a=1
    )
    return float(values[:count].sum()) if info == 0 and found == count else -np.inf


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

    Matrices of successive iterations differ little, so the top eigenvectors are followed: a Chebyshev polynomial of
    the matrix, small on the rest of the spectrum, is applied to the last ones, and a Rayleigh-Ritz step makes them
    eigenvectors again. Errors are largest in directions whose share is near 0, where they matter least, and fade as
    the iteration converges. A full decomposition gives the first ones, and new ones after `forget`.
    """

    def __init__(self, trace: int) -> None:
        self.trace = trace
        self.rank = trace
        self._vectors: Any = None
        self._floor = 0.0
        self._edge = 0.0

    def forget(self) -> None:
        """Decompose in full next time: errors add up, and the matrix may change by more than an iteration's step."""
        self._vectors = None

    def rescale(self, factor: float) -> None:
        """Expect the next matrix to have its lower end, which is mostly multipliers, multiplied by this."""
        self._floor *= max(factor, 1.0) if self._floor < 0 else min(factor, 1.0)

    def factor(self, matrix: NDArray[np.float64], direction: NDArray[np.float64] | None) -> Any:
        """Return F with W = F F' for the lower triangle `matrix`, which is overwritten; no direction: any W u."""
        if self._vectors is None:
            return self._decompose(matrix, direction)
        if direction is not None:
            # u becomes an eigenvector in the part of the spectrum that the polynomial makes small.
            deflate(matrix, direction, self._floor)
        values, vectors = self._follow(matrix)
        if vectors is None:
            # The matrix is shifted by now, which moves the eigenvalues and leaves the shares alone.
            return self._decompose(matrix, direction)
        return self._take(values, vectors)

    def _decompose(self, matrix: NDArray[np.float64], direction: NDArray[np.float64] | None) -> Any:
        if direction is not None:
            # Below every other eigenvalue, so that u is never among the top pairs.
            deflate(matrix, direction, -2.0 * float(np.linalg.norm(matrix)) - 1.0)
        first = 0 if direction is None else 1
        values, vectors, info = lapack.dsyevd(matrix.T, lower=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError(f"dsyevd failed with info={info}")
        self._floor = float(values[first])
        return self._take(values[first:], vectors[:, first:])

    def _take(self, values: Any, vectors: Any) -> Any:
        """Shares of the eigenvectors; keep those that count and some more to follow."""
        shares, _ = shares_at_total(values, self.trace)
        self.rank = int(np.count_nonzero(shares))
        n_kept = self.rank + max(PARAMS.spare_pairs, self.rank // 4)
        is_full = values.size + 1 >= vectors.shape[0]
        if values.size < self.rank + PARAMS.spare_pairs // 2 or (is_full and 2 * n_kept > values.size):
            self.forget()
        else:
            self._vectors = np.asfortranarray(vectors[:, : -n_kept - 1 : -1])
            self._edge = float(values[-n_kept:][0])
        return np.asfortranarray(vectors[:, -self.rank :] * np.sqrt(shares[-self.rank :]))

    def _follow(self, matrix: NDArray[np.float64]) -> tuple[Any, Any]:
        """Ritz pairs of the followed subspace after one polynomial step; None where it degenerated."""
        lower, upper = self._floor, self._edge
        center, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        shifted = matrix.T
        diagonal = matrix.reshape(-1)[:: matrix.shape[0] + 1]
        diagonal -= center
        previous = self._vectors
        current = blas.dsymm(1.0 / half, shifted, previous, lower=0)
        for _ in range(PARAMS.degree - 1):
            # T_{n+1}(x) = 2 x T_n(x) - T_{n-1}(x)
            previous, current = (
                current,
                blas.dsymm(2.0 / half, shifted, current, beta=-1.0, c=previous, lower=0, overwrite_c=1),
            )
        basis = _orthonormal(current)
        if basis is None:
            return None, None
        small = basis.T @ blas.dsymm(1.0, shifted, basis, lower=0)
        values, rotation, info = lapack.dsyevd(small)
        # Ritz values below the interval: the spectrum has grown downwards and the polynomial blew up the wrong end.
        if info != 0 or values[0] < -half:
            return None, None
        return values + center, basis @ rotation


def _orthonormal(vectors: Any) -> Any:
    """Orthonormal basis by reflections, largest columns first: later ones hold much of the first by now."""
    reflectors, tau, _, info = lapack.dgeqrf(vectors, overwrite_a=1)
    basis, _, failed = lapack.dorgqr(reflectors, tau, overwrite_a=1)
    return basis if info == 0 and failed == 0 and np.isfinite(basis[0, -1]) else None
