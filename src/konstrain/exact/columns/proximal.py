"""The proximal master: duals near the best known ones that known clusters allow, by an interior-point method.

    maximise  sum(lambda) - k sigma - rho/2 |lambda - center|^2
    subject to  lambda(S) - sigma <= cost(S)  for every known cluster S,   lambda, sigma >= 0.

Without the quadratic term this is the dual of choosing at most k known clusters that cover every point, and its duals
jump about while clusters are missing. The term keeps them near the center, so that few clusters are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotrf, dpotrs
from scipy.sparse import csr_array

from konstrain import _core

Vector = NDArray[np.float64]
# As usual for this method: most steps, after which the duals are taken as they are, and the share of the way to the
# boundary that a step may go.
MAX_STEPS: Final = 60
TO_BOUNDARY: Final = 0.99


class ColumnSets:
    """Different clusters in compressed rows: members ascend; costs and centers in the scale of the points.

    Parameters
    ----------
    n_points, n_features : int
        Points that clusters are made of, and their features.
    """

    def __init__(self, n_points: int, n_features: int) -> None:
        self.n_points = n_points
        self.start = np.zeros(1, dtype=np.int64)
        self.members = np.zeros(0, dtype=np.int32)
        self.cost = np.zeros(0)
        self.centers = np.zeros((0, n_features))
        self._mark = np.random.default_rng(0).integers(1, 2**63 - 1, size=n_points, dtype=np.uint64)
        self._keys = np.zeros(0, dtype=np.uint64)

    def __len__(self) -> int:
        return self.cost.size

    def sums(self, values: Vector) -> Vector:
        """Return the sum of values over the members of each column."""
        return _sums(values, self.start, self.members)

    def add(self, start: NDArray[np.int64], members: NDArray[np.int32], cost: Vector, centers: Vector) -> int:
        """Add the columns that are new; return their number."""
        if cost.size == 0:
            return 0
        keys = np.bitwise_xor.reduceat(self._mark[members], start[:-1])
        _, first = np.unique(keys, return_index=True)
        is_new = np.zeros(cost.size, dtype=bool)
        is_new[first] = True
        is_new &= ~np.isin(keys, self._keys)
        lengths = np.diff(start)
        self.members = np.concatenate([self.members, members[np.repeat(is_new, lengths)]])
        self.start = np.concatenate([self.start, self.start[-1] + np.cumsum(lengths[is_new])])
        self.cost = np.concatenate([self.cost, cost[is_new]])
        self.centers = np.concatenate([self.centers, centers.reshape(cost.size, -1)[is_new]])
        self._keys = np.concatenate([self._keys, keys[is_new]])
        return int(is_new.sum())

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the other columns."""
        lengths = np.diff(self.start)
        self.members = self.members[np.repeat(mask, lengths)]
        self.start = np.concatenate([[0], np.cumsum(lengths[mask])])
        self.cost, self.centers, self._keys = self.cost[mask], self.centers[mask], self._keys[mask]

    def matrix(self) -> csr_array:
        """Return the columns as rows of a sparse matrix over the points."""
        ones = np.ones(self.members.size)
        return csr_array((ones, self.members, self.start), shape=(len(self), self.n_points))

    @property
    def bandwidth(self) -> int:
        """Largest distance of two points of one column in the order of the points."""
        return int((self.members[self.start[1:] - 1] - self.members[self.start[:-1]]).max(initial=0))


@dataclass(frozen=True, eq=False)
class MasterPoint:
    """Solution of the proximal master: value of each column, duals, and the value without the quadratic term."""

    use: Vector
    duals: Vector
    sigma: float
    value: float


def solve_master(
    columns: ColumnSets, n_clusters: int, center: Vector, sigma: float, penalty: float, tolerance: float
) -> MasterPoint:
    """Solve the proximal master by Mehrotra's predictor and corrector.

    Parameters
    ----------
    columns : ColumnSets
        Known clusters.
    n_clusters : int
        Most clusters to choose.
    center : ndarray of shape (n_points,)
        Duals to stay near to, and to start from.
    sigma : float
        Dual of the number of clusters to start from.
    penalty : float
        rho: a larger one stays nearer to the center.
    tolerance : float
        Complementarity, relative to the number of clusters, at which to end.
    """
    n, m = center.size, len(columns)
    members_of = columns.matrix()
    columns_of = csr_array(members_of.T)
    gain = np.append(np.ones(n), -float(n_clusters))
    pull = np.append(np.full(n, penalty), 0.0)
    anchor = np.append(center, 0.0)

    def cover(use: Vector) -> Vector:
        return np.append(columns_of @ use, -use.sum())

    def worth(y: Vector) -> Vector:
        return np.asarray(members_of @ y[:n] - y[n])

    y = np.append(center, sigma)
    y = np.maximum(y, 1e-2 * y.mean())
    use = np.full(m, max(n_clusters / m, 1e-3))
    reduced = np.maximum(columns.cost - worth(y), 0.05)
    excess = np.maximum(cover(use) - gain, 0.1)
    for _ in range(MAX_STEPS):
        missing = gain - cover(use) + excess - pull * (y - anchor)
        error = columns.cost - worth(y) - reduced
        product = float(use @ reduced + excess @ y)
        mean_product = product / (m + n + 1)
        is_feasible = np.abs(missing).max() < max(1e-6, tolerance) and np.abs(error).max() < max(1e-7, tolerance / 20)
        if product < tolerance * n_clusters and is_feasible:
            break
        scale = use / reduced
        solve = _factorized(columns, columns_of, scale, excess / y + pull)
        if solve is None:
            break

        def direction(to_use: Vector, to_y: Vector) -> tuple[Vector, Vector, Vector, Vector]:
            """Return the Newton step for given products of the complementary pairs."""
            side = missing - cover(to_use / reduced - scale * error) + to_y / y  # noqa: B023
            d_y = solve(side)  # noqa: B023
            d_reduced = error - worth(d_y)  # noqa: B023
            return to_use / reduced - scale * d_reduced, d_reduced, (to_y - excess * d_y) / y, d_y  # noqa: B023

        def longest(step: tuple[Vector, Vector, Vector, Vector]) -> float:
            pairs = zip((use, reduced, excess, y), step, strict=True)  # noqa: B023
            return min(_longest(values, change) for values, change in pairs)

        guess = direction(-use * reduced, -excess * y)
        length = longest(guess)
        after = float((use + length * guess[0]) @ (reduced + length * guess[1]))
        after += float((excess + length * guess[2]) @ (y + length * guess[3]))
        aim = (after / product) ** 3 * mean_product
        step = direction(aim - use * reduced - guess[0] * guess[1], aim - excess * y - guess[2] * guess[3])
        length = TO_BOUNDARY * longest(step)
        use = use + length * step[0]
        reduced = reduced + length * step[1]
        excess = excess + length * step[2]
        y = y + length * step[3]
    return MasterPoint(use, y[:n].copy(), float(y[n]), float(gain @ y))


def _longest(values: Vector, change: Vector) -> float:
    """Return the longest step, at most 1, that keeps values positive."""
    falling = change < 0
    return min(1.0, float((values[falling] / -change[falling]).min(initial=1.0)))


def _factorized(
    columns: ColumnSets, columns_of: csr_array, scale: Vector, diagonal: Vector
) -> Callable[[Vector], Vector] | None:
    """Return a solver of ``(B diag(scale) B' + diag(diagonal)) y = side``, B the covers with a last row of -1.

    Clusters are local, so that in the order of the points the matrix has a band, and the last row is eliminated.
    """
    n, band = columns.n_points, columns.bandwidth
    is_banded = 3 * band < n
    stride = band if is_banded else n
    matrix = np.zeros(n * (band + 1) if is_banded else n * n)
    _core.add_normal_matrix(columns.start, columns.members, scale, stride, matrix)
    matrix[:: stride + 1][:n] += diagonal[:n]
    if is_banded:
        factor, info = dpbtrf(matrix.reshape(n, band + 1).T, lower=1, overwrite_ab=1)
    else:
        factor, info = dpotrf(matrix.reshape(n, n).T, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        return None

    def solve_covers(side: Vector) -> Vector:
        back = dpbtrs if is_banded else dpotrs
        return np.asarray(back(factor, side, lower=1)[0])

    border = -(columns_of @ scale)
    across = solve_covers(border)
    pivot = float(scale.sum() + diagonal[n] - border @ across)
    if not pivot > 0.0:
        return None

    def solve(side: Vector) -> Vector:
        inner = solve_covers(side[:n])
        last = (side[n] - border @ inner) / pivot
        return np.append(inner - last * across, last)

    return solve


def _sums(values: Vector, start: NDArray[np.int64], members: NDArray[np.int32]) -> Vector:
    if start.size == 1:
        return np.zeros(0)
    return np.asarray(np.add.reduceat(values[members], start[:-1]))
