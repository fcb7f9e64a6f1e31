"""Size bounds as prices: the Lagrangian bound of a coupled problem, raised step by step, with answers on the way.

Every cluster has a price per unit of demand. At given prices the size bounds disappear and the links alone remain,
which `solve_linked` answers exactly:

    L(prices) = min over labels that keep the links of  cost + sum_j price_j * size_j
                - sum_j (price_j > 0 ? price_j * size_max_j : price_j * size_min_j)

is a lower bound for any prices, and nearly tight at the best ones. The steps towards those are Polyak's (1969), of a
length that is halved when they fail several times in a row (Held, Wolfe and Crowder 1974).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import transport
from konstrain.assignment.fill import fill_empty
from konstrain.assignment.linked import LinkedAnswer, solve_linked
from konstrain.assignment.mend import mend_sizes
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Deadline

# Steps after which further prices hardly raise the bound, and how many failures halve the step length.
MAX_STEPS = 60
# Steps where the answer need not be proved.
FEW_STEPS = 10
# Part of the time that is left for one relaxation: labels and a proof are to come after it.
RELAXATION_SHARE = 0.3
PATIENCE = 4
# Steps end early when a window of them raised the bound by less than this share of the gap that is left.
STALL_WINDOW = 10
STALL_GAIN = 0.1
# While no labels are known a step aims this share above the bound, since the gap it would close is unknown.
AIM = 0.01
# Relative gap above which start prices are too far off to be refined: those of the problem without links are better.
FAR_OFF = 1e-3
# Steps between two attempts to turn the labels at the current prices into feasible ones.
REPAIR_EVERY = 5
# Rows of costs handed to the transport kernel for a start; more would cost memory and change the prices little.
MAX_START_ENTRIES = 5_000_000
# Whole demands are repeated unit by unit up to this many units per block on average; beyond, and for fractions, a
# unit is half of the mean demand, so that a block becomes two rows on average.
MOST_UNITS = 4


@dataclass(frozen=True, eq=False)
class PricePoint:
    """The relaxation at some prices: its labels, the bound it gives, and where the sizes want the prices to go."""

    prices: NDArray[np.float64]
    relaxed: LinkedAnswer
    bound: float
    direction: NDArray[np.float64]


class Lagrangian:
    """Searches good prices and, beside them, feasible labels."""

    def __init__(self, problem: AssignmentProblem, deadline: Deadline) -> None:
        self.problem = problem
        self.deadline = deadline
        self.low, self.high = _priced_bounds(problem)
        self.best: PricePoint | None = None
        self.labels: NDArray[np.int32] | None = None
        self.cost = np.inf

    def evaluate(self, prices: NDArray[np.float64]) -> PricePoint:
        """Solve the relaxation at these prices; remembers the best bound and any feasible labels."""
        relaxed = solve_linked(self.problem, self.deadline.share(RELAXATION_SHARE), prices)
        sizes = self.problem.sizes(relaxed.labels)
        paid = np.where(prices > 0, prices * self.high, prices * self.low)
        limit = np.where(prices > 0, self.high, np.where(prices < 0, self.low, np.clip(sizes, self.low, self.high)))
        point = PricePoint(prices, relaxed, relaxed.bound - float(paid.sum()), sizes - limit)
        if self.best is None or point.bound > self.best.bound:
            self.best = point
        self.offer(self._filled(relaxed.labels) if self.problem.nonempty else relaxed.labels)
        return point

    def _filled(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        costs = self.problem.costs
        return fill_empty(labels, costs - np.take_along_axis(costs, labels[:, None], axis=1))

    def offer(self, labels: NDArray[np.int32]) -> None:
        """Keep labels if they are feasible and better than what was known."""
        if self.problem.is_feasible(labels):
            cost = self.problem.cost_of(labels)
            if cost < self.cost:
                self.labels, self.cost = labels, cost

    @property
    def bound(self) -> float:
        """Best lower bound so far."""
        return -np.inf if self.best is None else self.best.bound

    def is_closed(self) -> bool:
        """Whether the best labels are proved optimal."""
        return self.problem.closes_gap(self.cost, self.bound)

    def run(self, start: NDArray[np.float64] | None) -> None:
        """Raise the bound by Polyak's subgradient steps until it closes or stalls.

        The steps begin at the start prices or, when these are missing or far off, at those of the problem without
        links.
        """
        zero = np.zeros(self.problem.n_clusters)
        if self.problem.has_links and not self.problem.graph.is_hard:
            self._settle_soft_links(zero)
            if self.deadline.is_brief:
                self._place(self.evaluate(zero if start is None else start).relaxed.labels, zero)
                return
        point = self.evaluate(zero if start is None else start)
        if start is not None:
            self.repair(point)
        if self._gap() > FAR_OFF:
            point = self.evaluate(self._transport_prices())
            self.repair(point)
        length, failures, checkpoint = 1.0, 0, self.bound
        most_steps = FEW_STEPS if self.deadline.is_brief else MAX_STEPS
        for step in range(1, most_steps + 1):
            if self.is_closed() or self.deadline.expired() or not point.direction.any():
                return
            before = self.bound
            point = self.evaluate(self._next_prices(point, length))
            failures = 0 if self.bound > before else failures + 1
            if failures == PATIENCE:
                length, failures, point = length / 2, 0, self.best or point
            if step % REPAIR_EVERY == 0:
                self.repair(point)
            if step % STALL_WINDOW == 0:
                if self.bound - checkpoint < STALL_GAIN * (self.cost - self.bound) and np.isfinite(self.cost):
                    break
                checkpoint = self.bound
        self.repair(self.best or point)

    def _settle_soft_links(self, prices: NDArray[np.float64]) -> None:
        """Find labels before any bound, for with soft links the relaxation alone is hard.

        All blocks are placed by sizes and by what their links cost where the others are now, as long as that helps.
        """
        nearest: NDArray[np.int32] = self.problem.costs.argmin(axis=1).astype(np.int32)
        before = np.inf
        self._place(nearest if self.labels is None else self.labels, prices)
        while self.labels is not None and self.cost < before and not self.deadline.expired():
            before = self.cost
            self._place(self.labels, prices)

    def _gap(self) -> float:
        """What labels and bound differ by, relative to what the labels pay beyond the least costs."""
        return float((self.cost - self.bound) / max(self.problem.excess(self.cost), 1e-300))

    def _next_prices(self, point: PricePoint, length: float) -> NDArray[np.float64]:
        target = self.cost if np.isfinite(self.cost) else self.bound + AIM * abs(self.bound)
        step = length * max(target - point.bound, 0.0) / float(point.direction @ point.direction)
        prices = point.prices + step * point.direction
        # The bound has a kink at zero: a price that would change sign stops there first.
        return np.where(np.sign(point.prices) * np.sign(prices) < 0, 0.0, prices)

    def repair(self, point: PricePoint) -> None:
        """Keep blocks of hard links and of odd sizes where the relaxation put them, and place all others."""
        prices = self._place(point.relaxed.labels, point.prices)
        if self.problem.demand is not None:
            mended = mend_sizes(self.problem, point.relaxed.labels)
            if mended is not None:
                self.offer(mended)
        # Where links and sizes hardly meet, the prices of what was moved are those of the whole.
        if prices is not None and not self.is_closed():
            self.evaluate(prices)

    def _place(self, labels: NDArray[np.int32], prices: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Place all movable blocks by transport, soft links priced as labels have them; returns its prices."""
        problem = self.problem
        movable = _movable(problem)
        if not movable.any():
            return None
        fixed = labels[~movable]
        demand = None if problem.demand is None else problem.demand[~movable]
        held = np.bincount(fixed, weights=demand, minlength=problem.n_clusters)
        counts = np.bincount(fixed, minlength=problem.n_clusters)
        unit = 1.0 if problem.demand is None else float(problem.demand[movable][0])
        low, high = (bounds - held for bounds in problem.widened_bounds)
        if problem.nonempty:
            low = np.where(counts > 0, low, np.maximum(low, unit))
        part = AssignmentProblem(
            costs=np.ascontiguousarray(_with_soft_links(problem, labels)[movable]),
            demand=None if problem.demand is None else np.ascontiguousarray(problem.demand[movable]),
            size_min=low,
            size_max=high,
        )
        warm = Assignment(fixed, 0.0, 0.0, False, "", prices=prices)
        try:
            answer = transport.solve(part, warm=warm, deadline=self.deadline)
        except InfeasibleError:
            return None  # the blocks that stay already break a bound; other prices may place them better
        placed = labels.copy()
        placed[movable] = answer.labels
        self.offer(placed)
        return answer.prices

    def _transport_prices(self) -> NDArray[np.float64]:
        """Prices of the problem without links and with divisible blocks: rows repeated once per unit of demand."""
        problem = self.problem
        rows = np.arange(problem.n_blocks)
        most = max(1, MAX_START_ENTRIES // problem.n_clusters)
        if rows.size > most:
            rows = np.linspace(0, problem.n_blocks - 1, most).astype(np.int64)
        demand = np.ones(rows.size) if problem.demand is None else problem.demand[rows]
        unit, repeats = _units(demand)
        repeats = np.where(demand > 0, repeats, 0)
        repeated = np.repeat(rows, repeats)
        share = repeated.size * unit / max(problem.total_demand, 1e-300)
        part = AssignmentProblem(
            costs=problem.costs[repeated] / np.repeat(demand / unit, repeats)[:, None],
            size_min=np.floor(self.low * share / unit),
            size_max=np.ceil(self.high * share / unit),
        )
        zero = np.zeros(problem.n_clusters)
        if not part.n_blocks:
            return zero
        try:
            answer = transport.solve(part, deadline=self.deadline)
        except InfeasibleError:
            return zero  # rounding to units crossed the bounds; the steps start from nothing instead
        return zero if answer.prices is None else answer.prices / unit


def _priced_bounds(problem: AssignmentProblem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Size bounds with non-emptiness as a least size, where no block has zero demand."""
    low, high = problem.bounds
    if problem.nonempty and problem.n_blocks:
        smallest = 1.0 if problem.demand is None else float(problem.demand.min())
        low = np.maximum(low, smallest)
    return low, high


def _with_soft_links(problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Costs of blocks with what their soft links would add, if all others stayed where labels have them."""
    if problem.links is None or problem.links.is_hard:
        return problem.costs
    costs = problem.costs.copy()
    u, v, w = problem.links.edges
    soft = np.isfinite(w)
    for block, other in ((u[soft], v[soft]), (v[soft], u[soft])):
        # A negative weight is paid everywhere but in the other's cluster.
        np.add.at(costs, block, -np.minimum(w[soft], 0.0)[:, None])
        np.add.at(costs, (block, labels[other]), w[soft])
    return costs


def _movable(problem: AssignmentProblem) -> NDArray[np.bool_]:
    """Blocks without hard links that all have one and the same demand: the most common one."""
    free = ~problem.graph.hard_part().is_linked
    if problem.demand is None or not free.any():
        return free
    values, counts = np.unique(problem.demand[free & (problem.demand > 0)], return_counts=True)
    if not values.size:
        return np.zeros(problem.n_blocks, dtype=bool)
    movable: NDArray[np.bool_] = free & (problem.demand == values[counts.argmax()])
    return movable


def _units(demand: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Return a unit of demand and how many of them each block holds: exact for small integers, else rounded."""
    whole = np.round(demand)
    if (whole == demand).all() and whole.sum() <= MOST_UNITS * max(demand.size, 1):
        return 1.0, whole.astype(np.int64)
    unit = max(float(demand.mean()) / 2.0, 1e-300)
    return unit, np.maximum(1, np.round(demand / unit)).astype(np.int64)
