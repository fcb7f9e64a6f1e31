"""Steps under sizes alone: one sweep from the last step's prices; for many clusters lists, and no matrix of costs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import KEPT_NUMBERS, MOST_NUMBERS, chunks
from konstrain._tolerances import PROOF_RELATIVE
from konstrain.assignment import Assignment, transport
from konstrain.constraints import Problem
from konstrain.kmeans import distances
from konstrain.stop import Budget

# Labels with the sums and weights of the clusters they make.
Sums = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class SizedPart:
    """A problem in which sizes alone couple the blocks, all of which count the same."""

    problem: Problem  # Blocks and bounds.
    violation_cost: float | None  # Cost of breaking a soft link of confidence 1, by which no two blocks are linked.
    unit: float  # Demand of each block.
    bounds: tuple[NDArray[np.int64], NDArray[np.int64]]  # (n_clusters,): fewest and most blocks of each cluster.

    @classmethod
    def of(cls, problem: Problem, violation_cost: float | None) -> "SizedPart | None":
        """Take up a problem with sizes; None when something else matters."""
        if not problem.has_bounds:
            return None
        # One number in the shape of all costs. Bounds are counted without costs, and nothing else gets this problem.
        costs = np.broadcast_to(np.zeros(1), (problem.n_blocks, problem.n_clusters))
        sizes = problem.assignment_problem(costs, violation_cost)
        if not transport.supports(sizes):
            return None
        return cls(problem, violation_cost, transport.unit_of(sizes), transport.count_bounds(sizes))

    @cached_property
    def uses_lists(self) -> bool:
        """Whether clusters are many, and a matrix of costs slower than lists or much larger than half of the rows.

        Products make a matrix, which is faster than single costs where rows have more features than clusters.
        """
        n_numbers, n_blocks = self.problem.mean.size, self.problem.n_blocks
        half = n_numbers * self.problem.mean.dtype.itemsize // 16  # in doubles
        k = self.problem.n_clusters
        return transport.uses_lists(k) and (k * n_blocks >= n_numbers or k * n_blocks > KEPT_NUMBERS + half)

    def start_duals(self, warm: Assignment | None) -> NDArray[np.float64] | None:
        """Return the prices per block of a similar step; None unless there is a finite one for each cluster."""
        if warm is None or warm.prices is None or warm.prices.shape != self.bounds[0].shape:
            return None
        prices = np.ascontiguousarray(warm.prices, dtype=np.float64) * self.unit
        return prices if np.isfinite(prices).all() else None

    def step_from_duals(
        self,
        centers: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        prices: NDArray[np.float64],
        costs: NDArray[np.float64],
        moved: NDArray[np.int32] | None,
        budget: Budget,
        n_threads: int,
    ) -> tuple[Assignment, Sums]:
        """Solve one step from prices per block of a similar one; fills the columns of costs that moved."""
        answer, (sums, weights) = distances.sized_step(
            self.problem.mean,
            weight,
            centers,
            self.bounds,
            prices,
            costs,
            moved=moved,
            time_limit=budget.remaining(),
            n_threads=n_threads,
        )
        checked = transport.checked(self.problem.assignment_problem(costs, self.violation_cost), answer)
        return checked, (checked.labels, sums, weights)

    def step_by_lists(
        self,
        centers: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        warm: Assignment | None,
        budget: Budget,
        n_threads: int,
    ) -> tuple[Assignment, Sums | None] | None:
        """Solve one step over lists, with the sums of its clusters where they are known; None: it takes a matrix."""
        start = self.start_duals(warm)
        if start is not None and not start.any():
            # No bound was binding last time: nearest centers come first.
            found = self._nearest(centers, weight, n_threads)
            if found is not None:
                return found
        answer = self._by_lists(centers, weight, start, budget, n_threads)
        if not answer[-1] and not budget.expired():
            reaching = self._prices_that_reach_all(centers, weight, answer[1], budget, n_threads)
            if reaching is not None:
                answer = self._by_lists(centers, weight, reaching, budget, n_threads)
        labels, prices, cost, bound, finished = answer
        if not finished:
            cost = distances.own_costs(self.problem.mean, weight, labels, centers, n_threads=n_threads)
        proven = finished and cost - bound <= PROOF_RELATIVE * abs(cost)
        # Lists may lead nowhere, or prices be so large that the costs' last digits drown: the engine starts over with
        # a matrix of costs, unless that takes too much memory.
        is_small = self.problem.n_blocks * self.problem.n_clusters <= MOST_NUMBERS
        if is_small and not (proven or budget.expired()):
            return None
        lower_bound = min(bound, cost)
        return Assignment(labels, cost, lower_bound, proven, transport.name, prices / self.unit), None

    def _by_lists(
        self,
        centers: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        start: NDArray[np.float64] | None,
        budget: Budget,
        n_threads: int,
    ) -> transport.KernelResult:
        """Ask the kernel, from prices per block or from none."""
        return distances.sized_pass(
            self.problem.mean,
            weight,
            centers,
            self.bounds,
            start,
            list_length=transport.PARAMS.list_length,
            time_limit=budget.remaining(),
            n_threads=n_threads,
        )

    def _prices_that_reach_all(
        self,
        centers: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        prices: NDArray[np.float64],
        budget: Budget,
        n_threads: int,
    ) -> NDArray[np.float64] | None:
        """Lower prices of clusters that are nobody's cheapest until they get what they must hold.

        A center far from all rows is on no list, and no step over lists brings its price down to where it belongs.
        None when there is no such cluster, or no time.
        """
        n_blocks, lower = self.problem.n_blocks, self.bounds[0]
        least, sizes = np.empty(n_blocks), np.zeros(lower.size, dtype=np.int64)
        for at in chunks(n_blocks, lower.size):
            if budget.expired():
                return None
            some = None if weight is None else weight[at]
            priced = distances.block_costs(self.problem.mean[at], some, centers, n_threads=n_threads) + prices
            least[at] = priced.min(axis=1)
            sizes += np.bincount(priced.argmin(axis=1), minlength=lower.size)
        starved = np.flatnonzero((sizes == 0) & (lower > 0))
        reaching = prices.copy()
        for j in starved:
            there = distances.candidate_distances(self.problem.mean, centers[j : j + 1], n_threads=n_threads)[0]
            extra = (there if weight is None else weight * there) - least
            reaching[j] = -np.partition(extra, lower[j] - 1)[lower[j] - 1]
        return reaching if starved.size else None

    def _nearest(
        self, centers: NDArray[np.float64], weight: NDArray[np.float64] | None, n_threads: int
    ) -> tuple[Assignment, Sums] | None:
        """Send every block to its nearest center; None when that breaks a bound."""
        labels, cost, sums, weights = distances.nearest_pass(self.problem.mean, weight, centers, n_threads=n_threads)
        sizes = np.bincount(labels, minlength=len(centers))
        lower, upper = self.bounds
        if (sizes < lower).any() or (sizes > upper).any():
            return None
        answer = Assignment(labels, cost, cost, True, transport.name, np.zeros(len(centers)))
        return answer, (labels, sums, weights)
