"""Duals for the next pass: Newton's steps on what a pass counted, and a sample that shows how duals change."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SLOPE_RIDGE
from konstrain.assignment import AssignmentProblem
from konstrain.assignment.priced import duals_of
from konstrain.dask.passes import BANDS, PartitionRows, Slopes, Sums, reduced_labels
from konstrain.dask.problem import RemoteRules
from konstrain.kmeans import distances

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class RemoteDualParams:
    """How duals are searched."""

    # How many times as far as the rows near a tie reach their duals are trusted; larger: longer steps.
    trust: float = 2.0


PARAMS = RemoteDualParams()


def newton_duals(duals: Reals, found: Sums, values: Reals, width: float, rules: RemoteRules) -> Reals:
    """Return duals at which the rules would be kept if sums changed as fast as rows near a tie show.

    Parameters
    ----------
    duals : ndarray of float64, shape (n_clusters, n_rules)
        Where the pass was made.
    found : Sums
        What it counted.
    values : ndarray of float64, shape (n_clusters, n_rules)
        What clusters have of each rule, tied blocks included.
    width : float
        The widest band of the pass.
    rules : RemoteRules
        Where these values should be.
    """
    best, span = duals, rules.terms.span
    # The narrowest band in which the step stays: near rows show best how sums change near by.
    for band in reversed(range(len(BANDS))):
        reach = BANDS[band] * width
        best = rules.rules.payable(_solve(duals, values, _slopes(found.slopes, band, reach, duals.shape), rules))
        if span(best - duals) <= PARAMS.trust * reach:
            return best
    moved = best - duals
    return rules.rules.payable(duals + moved * min(1.0, PARAMS.trust**2 * width / span(moved)))


def _slopes(found: Slopes, band: int, reach: float, shape: tuple[int, ...]) -> Reals:
    """Return by how much values fall as duals rise: minus the matrix of derivatives, a Laplacian over clusters."""
    k, n_rules = shape
    here = found.codes % len(BANDS) == band
    a, b = np.divmod(found.codes[here] // len(BANDS), k)
    # Rows of a near b leave when a's dual rises, those of b near a come: each side shows half the slope.
    slope = found.products[here] / (2 * reach)
    matrix = np.zeros((k, k, n_rules, n_rules))
    for row, column, sign in ((a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)):
        np.add.at(matrix, (row, column), sign * slope)
    return matrix.transpose(0, 2, 1, 3).reshape(k * n_rules, k * n_rules)


def _solve(duals: Reals, values: Reals, slopes: Reals, rules: RemoteRules) -> Reals:
    """Return duals that keep the rules, zero where no bound binds, if values were linear in the duals."""
    start, begin, low, high = (array.ravel() for array in (duals, values, rules.rules.low, rules.rules.high))
    diagonal = np.diag(slopes)
    ridge = SLOPE_RIDGE * (float(diagonal.mean()) or 1.0)
    matrix = slopes + np.diag(np.full(start.size, ridge))
    per_value = 1.0 / np.maximum(diagonal, ridge)
    new, value, sides = start.copy(), begin, b""
    # Every bound may begin to bind, and cease to.
    for _ in range(2 * start.size):
        above = new + per_value * (value - high) > 0
        below = new + per_value * (value - low) < 0
        before, sides = sides, above.tobytes() + below.tobytes()
        if sides == before:
            break
        binding, step = above | below, -start
        if binding.any():
            wanted = np.where(above, high, low)
            pull = (begin - wanted)[binding] - matrix[np.ix_(binding, ~binding)] @ step[~binding]
            step[binding] = np.linalg.solve(matrix[np.ix_(binding, binding)], pull)
        new, value = start + step, begin - matrix @ step
    return new.reshape(duals.shape)


@dataclass(eq=False)
class DualSample:
    """A sample of the rows, whose duals change from step to step much as those of all rows do."""

    rows: PartitionRows  # The sample.
    rules: RemoteRules  # The rules, with bounds times the share of the sample.

    def __post_init__(self) -> None:
        self._last: Reals | None = None

    def follow(self, centers: Reals, duals: Reals | None) -> Reals:
        """Return duals to begin a step with: the last step's, moved as the sample's are moved by the new centers.

        Without duals of a last step, those of the sample.
        """
        before = self._last
        self._last = self._solved(centers)
        # The error of the sample's duals is in both: the difference is far better than either.
        return self._last if before is None or duals is None else duals + (self._last - before)

    def _solved(self, centers: Reals) -> Reals:
        """Return the duals of the sample alone."""
        costs = distances.block_costs(self.rows.values, self.rows.weight, centers)
        bounds = self.rules.over(self.rows.amounts(), np.zeros((len(centers), self.rules.rules.weights.shape[1])))
        if self.rules.is_size:
            bounds = {"size_min": np.floor(bounds["size_min"]), "size_max": np.ceil(bounds["size_max"])}
            bounds["demand"] = self.rows.demand
        problem = AssignmentProblem(costs, **bounds)
        if not (problem.has_sizes or problem.has_resources):
            return np.zeros_like(self.rules.rules.low)  # a share of a bound may bind nothing
        start = None if self._last is None else self.rules.for_engine(self._last)
        return self.rules.from_engine(duals_of(problem, start))

    def gap_of(self, share: float, centers: Reals, duals: Reals) -> float:
        """Return the gap per unit that this share of the rows has at most."""
        if share >= 1.0 or len(duals) == 1:
            return np.inf
        _, gaps = reduced_labels(self.rows, centers, duals, self.rules.terms)
        gaps = gaps[np.isfinite(gaps)]
        return float(np.quantile(gaps, share)) if gaps.size else np.inf
