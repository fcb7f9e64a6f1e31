"""The proximal master: duals near the best known ones that known clusters allow, by an interior-point method.

    maximise  sum(lambda) - k sigma - rho/2 |lambda - center|^2
    subject to  lambda(S) - sigma <= cost(S)  for every known cluster S,   lambda, sigma >= 0.

Without the quadratic term this is the dual of choosing at most k known clusters that cover every point, and its duals
jump about while clusters are missing. The term keeps them near the center, so that few clusters are needed. Where
clusters have a least size, a subset of a cluster need not be one, and covering a point twice may pay: lambda is free
then, which is the dual of covering every point once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotrf, dpotrs
from scipy.sparse import csr_array

from konstrain import _core
from konstrain.stop import UNLIMITED, Budget

Vector = NDArray[np.float64]
# As usual for this method: most steps, after which the duals are taken as they are, and the share of the way to the
# boundary that a step may go.
MAX_STEPS: Final = 60
TO_BOUNDARY: Final = 0.99


class ColumnSets:
    """Different clusters in compressed rows: members ascend; costs and centers in the scale of the points."""

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
    columns: ColumnSets,
    n_clusters: int,
    center: Vector,
    sigma: float,
    penalty: float,
    tolerance: float,
    *,
    are_signed: bool = False,
    budget: Budget = UNLIMITED,
) -> MasterPoint:
    """Solve the proximal master by Mehrotra's predictor and corrector, from `center` and `sigma` on.

    A larger `penalty` (rho) stays nearer to `center`. Ends at a complementarity of `tolerance`, relative to the
    number of clusters, or with the duals reached when the budget is spent. With `are_signed` duals of points may be
    negative: points are covered exactly once, not at least once.
    """
    system = _NewtonSystem(columns, n_clusters, center, penalty, are_signed)
    point = system.start(sigma)
    for _ in range(MAX_STEPS):
        missing, error = system.residuals(point)
        product = point.product
        is_feasible = np.abs(missing).max() < max(1e-6, tolerance) and np.abs(error).max() < max(1e-7, tolerance / 20)
        if product < tolerance * n_clusters and is_feasible:
            break
        if budget.expired() or not system.factorize(point):
            break
        guess = system.direction(point, missing, error, -point.use * point.reduced, -point.excess * point.y)
        after = point.moved(guess, point.longest_step(guess)).product
        aim = (after / product) ** 3 * product / system.n_pairs
        step = system.direction(
            point,
            missing,
            error,
            aim - point.use * point.reduced - guess.use * guess.reduced,
            system.is_bounded * (aim - point.excess * point.y - guess.excess * guess.y),
        )
        point = point.moved(step, TO_BOUNDARY * point.longest_step(step))
    n = center.size
    return MasterPoint(point.use, point.y[:n].copy(), float(point.y[n]), float(system.gain @ point.y))


@dataclass(frozen=True, eq=False)
class _InteriorPoint:
    """Primal and dual values with their slacks, or a step of them; entries of `excess` without a bound are zero."""

    use: Vector  # of columns
    reduced: Vector  # reduced costs: slacks of the constraints of columns
    excess: Vector  # how much more than once points are covered: slacks of the bounds on y
    y: Vector  # duals of the points, and of the number of clusters

    @property
    def product(self) -> float:
        """Sum of the products of complementary pairs."""
        return float(self.use @ self.reduced + self.excess @ self.y)

    def moved(self, step: "_InteriorPoint", length: float) -> "_InteriorPoint":
        """Return the point after a step of some length."""
        return _InteriorPoint(
            self.use + length * step.use,
            self.reduced + length * step.reduced,
            self.excess + length * step.excess,
            self.y + length * step.y,
        )

    def longest_step(self, step: "_InteriorPoint") -> float:
        """Return the longest length, at most 1, after which what has a bound is positive."""
        has_bound = self.excess > 0.0
        return min(
            _longest(self.use, step.use),
            _longest(self.reduced, step.reduced),
            _longest(self.excess[has_bound], step.excess[has_bound]),
            _longest(self.y[has_bound], step.y[has_bound]),
        )


class _NewtonSystem:
    """Linear equations of a step of the interior-point method."""

    def __init__(
        self, columns: ColumnSets, n_clusters: int, center: Vector, penalty: float, are_signed: bool
    ) -> None:
        n = center.size
        self.columns = columns
        self.members_of = columns.matrix()
        self.columns_of = csr_array(self.members_of.T)
        self.gain = np.append(np.ones(n), -float(n_clusters))
        self.pull = np.append(np.full(n, penalty), 0.0)
        self.anchor = np.append(center, 0.0)
        self.is_bounded = np.append(np.full(n, 0.0 if are_signed else 1.0), 1.0)
        self.n_pairs = len(columns) + int(self.is_bounded.sum())

    def start(self, sigma: float) -> _InteriorPoint:
        """Return the point to start from: the center, away from bounds."""
        n_columns, n_clusters = len(self.columns), -self.gain[-1]
        y = np.append(self.anchor[:-1], sigma)
        y = np.where(self.is_bounded > 0.0, np.maximum(y, 1e-2 * np.abs(y).mean()), y)
        use = np.full(n_columns, max(n_clusters / n_columns, 1e-3))
        reduced = np.maximum(self.columns.cost - self._worth(y), 0.05)
        excess = self.is_bounded * np.maximum(self._cover(use) - self.gain, 0.1)
        return _InteriorPoint(use, reduced, excess, y)

    def residuals(self, point: _InteriorPoint) -> tuple[Vector, Vector]:
        """Return by how much the covers of points, and the reduced costs of columns, are off."""
        missing = self.gain - self._cover(point.use) + point.excess - self.pull * (point.y - self.anchor)
        return missing, self.columns.cost - self._worth(point.y) - point.reduced

    def factorize(self, point: _InteriorPoint) -> bool:
        """Factorize the normal equations at a point; return whether that was possible."""
        self._scale = point.use / point.reduced
        diagonal = np.divide(point.excess, point.y, out=np.zeros_like(point.y), where=point.excess > 0.0) + self.pull
        solve = _factorized(self.columns, self.columns_of, self._scale, diagonal)
        if solve is None:
            return False
        self._solve = solve
        return True

    def direction(
        self, point: _InteriorPoint, missing: Vector, error: Vector, to_use: Vector, to_y: Vector
    ) -> _InteriorPoint:
        """Return the Newton step for given changes of the products of complementary pairs."""
        y = np.where(self.is_bounded > 0.0, point.y, 1.0)
        use = to_use / point.reduced
        d_y = self._solve(missing - self._cover(use - self._scale * error) + to_y / y)
        d_reduced = error - self._worth(d_y)
        return _InteriorPoint(use - self._scale * d_reduced, d_reduced, (to_y - point.excess * d_y) / y, d_y)

    def _cover(self, use: Vector) -> Vector:
        return np.append(self.columns_of @ use, -use.sum())

    def _worth(self, y: Vector) -> Vector:
        return np.asarray(self.members_of @ y[:-1] - y[-1])


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
