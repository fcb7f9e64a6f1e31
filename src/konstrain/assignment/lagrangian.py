"""Size bounds as prices: the Lagrangian bound of a coupled problem, raised step by step, with answers on the way.

Every cluster has a price per unit of demand. At given prices the size bounds disappear and the links alone remain,
which `solve_linked` answers exactly:

    L(prices) = min over labels that keep the links of  cost + sum_j price_j * size_j
                - sum_j (price_j > 0 ? price_j * size_max_j : price_j * size_min_j)

is a lower bound for any prices, and nearly tight at the best ones. Where most blocks are free, their transport finds
prices (`split.py`); what gap these leave is narrowed by Polyak's steps (1969), of a length that is halved when they
fail several times in a row (Held, Wolfe and Crowder 1974).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import transport
from konstrain.assignment.fill import fill_empty
from konstrain.assignment.linked import LinkedAnswer, solve_linked
from konstrain.assignment.mend import mend_sizes
from konstrain.assignment.problem import AssignmentProblem, only_prices
from konstrain.assignment.split import Split
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Deadline

# Rounds between the two parts after which they will hardly agree any more.
MAX_ROUNDS = 10
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
# Share of free blocks from which on transport puts the sizes right: better than moves of single blocks, and at once.
MOSTLY_FREE = 1 / 2
# Rows of costs handed to the transport kernel for a start; more would cost memory and change the prices little.
MAX_START_ENTRIES = 1_000_000
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
        self.split = Split(problem)
        self.best: PricePoint | None = None
        self.labels: NDArray[np.int32] | None = None
        self.cost = np.inf

    def evaluate(self, prices: NDArray[np.float64]) -> PricePoint:
        """Solve the relaxation at these prices; remembers the best bound and any feasible labels."""
        return self._remember(prices, solve_linked(self.problem, self._for_a_relaxation(), prices))

    def _for_a_relaxation(self) -> Deadline:
        return self.deadline.share(RELAXATION_SHARE)

    def _remember(self, prices: NDArray[np.float64], relaxed: LinkedAnswer) -> PricePoint:
        sizes = self.problem.sizes(relaxed.labels)
        paid = np.where(prices > 0, prices * self.high, prices * self.low)
        limit = np.where(prices > 0, self.high, np.where(prices < 0, self.low, np.clip(sizes, self.low, self.high)))
        point = PricePoint(prices, relaxed, relaxed.bound - float(paid.sum()), sizes - limit)
        if self.best is None or point.bound > self.best.bound:
            self.best = point
        self.offer(self._filled(relaxed.labels) if self.problem.nonempty else relaxed.labels)
        return point

    def _filled(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        if np.bincount(labels, minlength=self.problem.n_clusters).all():
            return labels  # as nearly always: what the moves would cost takes a pass over all costs
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

    def priced_costs(self) -> NDArray[np.float64]:
        """Costs of all choices at the best prices, prices included."""
        assert self.best is not None
        return self.problem.costs_at(self.best.prices)

    def is_closed(self) -> bool:
        """Whether the best labels are proved optimal."""
        return self.problem.closes_gap(self.cost, self.bound)

    def run(self, start: NDArray[np.float64] | None) -> None:
        """Find good prices and labels from the start prices or, where these are missing or far off, without any."""
        if self._has_soft_links:
            zero = np.zeros(self.problem.n_clusters)
            self._settle_soft_links(zero)
            if self.deadline.is_brief:
                self._place(self.evaluate(zero if start is None else start).relaxed.labels, zero)
                return
        if start is not None:
            self.alternate(start)
        if start is None or self._gap() > FAR_OFF:
            self.alternate(self.prices_without_links())

    def alternate(self, prices: NDArray[np.float64]) -> None:
        """Place the tied blocks at these prices, the free ones in the room that is left, and again at their prices.

        Free blocks near a tie are many, so that prices hardly change with a few more or less of them: mostly the tied
        blocks soon ask for the same room twice in a row, which closes the gap.
        """
        if not self.split.free.size:
            self.evaluate(prices)
            return
        tied_labels = self.split.place_tied(prices, self._for_a_relaxation()).labels
        asked_before: set[bytes] = set()
        for _ in range(MAX_ROUNDS):
            asked = self.split.held_by(tied_labels).tobytes()
            if asked in asked_before or self.is_closed():
                return
            asked_before.add(asked)
            point = self._round(tied_labels, prices)
            if point is None:
                self.evaluate(prices)
                return
            prices, tied_labels = point.prices, point.relaxed.labels[self.split.tied]

    def _round(self, tied_labels: NDArray[np.int32], prices: NDArray[np.float64]) -> PricePoint | None:
        """Place the free blocks around the tied ones and see what their prices prove; None when there is no room."""
        placed = self.split.place_free(tied_labels, prices, self.deadline)
        if placed is None:
            return None
        self.offer(self.split.joined(placed.labels, tied_labels))
        assert placed.prices is not None
        return self._remember(placed.prices, self.split.relaxed_around(placed, tied_labels, self._for_a_relaxation()))

    def climb(self) -> None:
        """Raise the best bound by Polyak's subgradient steps until it closes or stalls."""
        assert self.best is not None
        if self.deadline.is_brief and self._has_soft_links:
            return  # every step would cost as much as finding the labels did
        point = self.best
        length, failures, checkpoint = 1.0, 0, self.bound
        # With soft links relaxations are dear and, cut short, prove little.
        are_few = self.deadline.is_brief or (self._has_soft_links and self.deadline.counts_work)
        most_steps = FEW_STEPS if are_few else MAX_STEPS
        for step in range(1, most_steps + 1):
            if self.is_closed() or self.deadline.expired() or not point.direction.any():
                return
            before = self.bound
            point = self.evaluate(self._next_prices(point, length))
            failures = 0 if self.bound > before else failures + 1
            if failures == PATIENCE:
                length, failures, point = length / 2, 0, self.best
            if step % REPAIR_EVERY == 0:
                self.repair(point)
            if step % STALL_WINDOW == 0:
                if self.bound - checkpoint < STALL_GAIN * (self.cost - self.bound) and np.isfinite(self.cost):
                    break
                checkpoint = self.bound
        self.repair(self.best)

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

    @property
    def is_mostly_free(self) -> bool:
        """Whether so many blocks have no links and the same demand that transport can put the sizes right."""
        return self.problem.demand is None or self.split.free.size >= MOSTLY_FREE * self.problem.n_blocks

    @property
    def _has_soft_links(self) -> bool:
        return self.problem.has_links and not self.problem.graph.is_hard

    def repair(self, point: PricePoint) -> None:
        """Keep blocks of hard links and of odd sizes where the relaxation put them, and place all others."""
        if not self.is_mostly_free:
            mended = mend_sizes(self.problem, point.relaxed.labels)
            if mended is not None:
                self.offer(mended)
        if self._has_soft_links:
            prices = self._place(point.relaxed.labels, point.prices)
            # Where links and sizes hardly meet, the prices of what was moved are those of the whole.
            if prices is not None and not self.is_closed():
                self.evaluate(prices)
        elif self.split.free.size:
            self._round(point.relaxed.labels[self.split.tied], point.prices)

    def _place(self, labels: NDArray[np.int32], prices: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Place blocks without hard links by transport, soft links priced as labels have them; returns its prices."""
        costs = _with_soft_links(self.problem, labels)
        hard = replace(self.problem, costs=costs, links=self.problem.graph.hard_part())
        split = Split(hard)
        if not split.free.size:
            return None
        placed = split.place_free(labels[split.tied], prices, self.deadline)
        if placed is None:
            return None
        self.offer(split.joined(placed.labels, labels[split.tied]))
        return placed.prices

    def prices_without_links(self, start: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Prices of the problem without links and with divisible blocks: rows repeated once per unit of demand.

        Of a large problem those of a sample of its blocks. `start` are prices of a similar problem.
        """
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
            warm = only_prices(None if start is None else unit * start)
            answer = transport.solve(part, warm=warm, deadline=self.deadline)
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


def _units(demand: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Return a unit of demand and how many of them each block holds: exact for small integers, else rounded."""
    whole = np.round(demand)
    if (whole == demand).all() and whole.sum() <= MOST_UNITS * max(demand.size, 1):
        return 1.0, whole.astype(np.int64)
    unit = max(float(demand.mean()) / 2.0, 1e-300)
    return unit, np.maximum(1, np.round(demand / unit)).astype(np.int64)
