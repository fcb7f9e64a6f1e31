"""Where to look for prices next: Newton's steps on what a pass counted, and a sample that says how they change."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import AssignmentProblem, rules
from konstrain.assignment.priced import duals_of
from konstrain.dask.passes import BANDS, Rows, Rules, Sums, priced_labels, span
from konstrain.kmeans import distances

# Changes of the set of clusters whose bounds bind, after which the last one has to do.
MOST_CHANGES = 50
# Added to the diagonal, as a share of its mean: prices may all shift together where every size is fixed.
RIDGE = 1e-6
# Share of all rows that workers keep for further looks, which also tell how fast sizes change with prices.
WIDEST_SHARE = 0.1
# Rows that tell by how much rows prefer their clusters.
ENOUGH_ROWS = 20_000


def resources_of(
    weights: NDArray[np.float64], amounts: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> rules.Rules:
    """Return rules over some rows as engines take them: without amounts that no rule is about."""
    used = weights.any(axis=0)
    return rules.Rules(np.ascontiguousarray(amounts[:, used]), np.ascontiguousarray(weights[:, used]), low, high)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Least and largest sizes of the clusters, or values of the rules in them; infinite where nothing is asked."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def admissible(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return prices without those that no optimum has: none above zero without an upper bound, and so on."""
        prices = np.where(np.isfinite(self.high), prices, np.minimum(prices, 0.0))
        return np.where(np.isfinite(self.low), prices, np.maximum(prices, 0.0))

    def paid(self, prices: NDArray[np.float64]) -> float:
        """Return what the bounds take off the cost of the relaxation at these prices."""
        bound = np.where(prices > 0, self.high, np.where(prices < 0, self.low, 0.0))
        return float((prices * bound).sum())

    def times(self, share: float) -> "Bounds":
        """Return the bounds of this share of the rows."""
        return Bounds(share * self.low, share * self.high)


def newton_prices(
    prices: NDArray[np.float64],
    counted: Sums,
    held: NDArray[np.float64],
    width: float,
    bounds: Bounds,
    rules: Rules | None = None,
) -> NDArray[np.float64]:
    """Return prices at which sizes would be within bounds if they changed as fast as rows near a tie say.

    Parameters
    ----------
    prices : ndarray of float64, shape (n_clusters,) or (n_clusters, n_rules)
        Where the pass was made.
    counted : Sums
        What it counted.
    held : ndarray of float64, of the shape of the prices
        What clusters hold of what is bounded.
    width : float
        The widest band of the pass.
    bounds : Bounds
        Where this should be.
    rules : Rules or None
        What prices are for; None: for sizes.
    """
    best = prices
    # The narrowest band in which the step stays: near rows tell best how sizes change near by.
    for band in reversed(range(len(BANDS))):
        reach = BANDS[band] * width
        slopes = _slopes(counted, band, reach, prices)
        flat = Bounds(bounds.low.ravel(), bounds.high.ravel())
        best = bounds.admissible(_solve(prices.ravel(), held.ravel(), slopes, flat).reshape(prices.shape))
        if span(rules, best - prices) <= 2 * reach:
            return best
    moved = best - prices
    return bounds.admissible(prices + moved * min(1.0, 4 * width / span(rules, moved)))


def _slopes(counted: Sums, band: int, reach: float, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much what is held changes with prices: minus the matrix of derivatives, a Laplacian over clusters."""
    k, n_rules = len(prices), prices.size // len(prices)
    matrix = np.zeros((k, n_rules, k, n_rules))
    for code, products in counted.pairs.items():
        pair, which = divmod(code, len(BANDS))
        if which == band:
            a, b = divmod(pair, k)
            # Rows of a near b leave when a's price rises, those of b near a come: each side shows half the slope.
            slope = np.atleast_2d(products) / (2 * reach)
            matrix[a, :, b] -= slope
            matrix[b, :, a] -= slope
            matrix[a, :, a] += slope
            matrix[b, :, b] += slope
    return matrix.reshape(prices.size, prices.size)


def _solve(
    prices: NDArray[np.float64], sizes: NDArray[np.float64], slopes: NDArray[np.float64], bounds: Bounds
) -> NDArray[np.float64]:
    """Solve for sizes within bounds, prices being zero where no bound binds, if sizes were linear in the prices."""
    diagonal = np.diag(slopes)
    scale = float(diagonal.mean()) or 1.0
    matrix = slopes + np.diag(np.full(prices.size, RIDGE * scale))
    per_size = 1.0 / np.maximum(diagonal, RIDGE * scale)
    new, size = prices.copy(), sizes
    before: bytes = b""
    for _ in range(MOST_CHANGES):
        above = new + per_size * (size - bounds.high) > 0
        below = new + per_size * (size - bounds.low) < 0
        binding = above | below
        if (sides := above.tobytes() + below.tobytes()) == before:
            break
        before = sides
        step = -prices
        if binding.any():
            wanted = np.where(above, bounds.high, bounds.low)
            some = np.ix_(binding, binding)
            pull = (sizes - wanted)[binding] - matrix[np.ix_(binding, ~binding)] @ step[~binding]
            step = step.copy()
            step[binding] = np.linalg.solve(matrix[some], pull)
        new = prices + step
        size = sizes - matrix @ step
    return new


@dataclass(eq=False)
class PriceSample:
    """A sample of the rows, whose prices change from step to step much as those of all rows do.

    Parameters
    ----------
    rows : Rows
        The sample.
    bounds : Bounds
        Of the sample: the given ones times its share of the demand.
    rules : Rules or None
        What prices are for; None: for sizes.
    """

    rows: Rows
    bounds: Bounds
    rules: Rules | None = None

    def __post_init__(self) -> None:
        self._last: NDArray[np.float64] | None = None

    def follow(self, centers: NDArray[np.float64], prices: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return prices to begin a step with: the last step's, moved as the sample's are moved by the new centers.

        Without prices of a last step, those of the sample.
        """
        before = self._last
        self._last = self._solved(centers)
        # What is wrong with the sample's prices is wrong with both: the difference is far better than either.
        return self._last if before is None or prices is None else prices + (self._last - before)

    def _solved(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prices of the sample alone."""
        costs = distances.block_costs(self.rows.values, self.rows.weight, centers)
        low, high = self.bounds.low, self.bounds.high
        if self.rules is None:
            demand, sizes = self.rows.demand, (np.floor(low), np.ceil(high))
            problem = AssignmentProblem(costs, demand=demand, size_min=sizes[0], size_max=sizes[1])
        else:
            problem = AssignmentProblem(
                costs, resources=resources_of(self.rules.weights, self.rows.amounts(), low, high)
            )
        return duals_of(problem, self._last)

    def gap_of(self, share: float, centers: NDArray[np.float64], prices: NDArray[np.float64]) -> float:
        """Return by how much this share of the rows prefer their cluster at most, per unit of demand."""
        if share >= 1.0 or len(prices) == 1:
            return np.inf
        _, gaps = priced_labels(self.rows.at(self._some), centers, prices, self.rules)
        gaps = gaps[np.isfinite(gaps)]
        return float(np.quantile(gaps, share)) if gaps.size else np.inf

    @cached_property
    def _some(self) -> NDArray[np.intp]:
        """Rows enough to tell by how much rows prefer their clusters."""
        return np.arange(0, len(self.rows), max(1, len(self.rows) // ENOUGH_ROWS))
