"""The search: duals for the rules, labels at reduced costs, repair, and the bound that the duals prove.

Every rule has a dual per cluster. At given duals the rules disappear and the links alone remain, which `solve_linked`
solves exactly:

    L(duals) = min over labels that keep the links of  cost + sum_jr dual_jr * value_jr
               - sum_jr (dual_jr > 0 ? dual_jr * high_jr : dual_jr * low_jr)

is a lower bound for any duals, and nearly tight at the best ones. Blocks without links give duals (`duals.py`),
linked ones are placed at these, in turn, until the linked ones take the same capacity twice. The remaining gap is
narrowed by Polyak's steps (1969), of a length that is halved when they fail several times in a row (Held, Wolfe and
Crowder 1974).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import transport
from konstrain.assignment.linked import LinkedSolution, solve_linked
from konstrain.assignment.priced.duals import FreeBlocks, Placed, newton_duals
from konstrain.assignment.priced.repair import fill_empty, repaired, with_soft_links
from konstrain.assignment.problem import Assignment, AssignmentProblem, warm_start
from konstrain.stop import UNLIMITED, Budget, solver_work

Reals = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class PricedParams:
    """Effort of the search for duals and labels."""

    steps: int = 60  # Most of Polyak's steps; larger: a better bound, slower.
    # `window` and `stall`: labels are repaired after a window of steps, and steps end where it closed less than this
    # share of the gap; failures for half a window halve the step length; free and tied blocks take turns for at most
    # a window. Larger window: fewer labels are tried, longer steps; larger share: steps end earlier.
    window: int = 10
    stall: float = 0.1
    # Relative gap above which warm duals give way to first ones, and labels are worth more steps; larger: fewer.
    far_off: float = 1e-3


PARAMS = PricedParams()
# Share above the bound that a step aims at while no labels are known, as printed by Barahona and Anbil (2000).
AIM: Final = 0.05


@dataclass(frozen=True, eq=False)
class Point:
    """The problem without its rules at some duals: labels that keep the links, and the bound they prove."""

    duals: Reals
    relaxed: LinkedSolution
    bound: float


class PricedSearch:
    """Searches for duals of all rules and for labels that keep all of them."""

    def __init__(self, problem: AssignmentProblem, budget: Budget) -> None:
        self.problem = problem
        self.budget = budget
        self.rules = problem.rules
        self.blocks = FreeBlocks(problem, self.rules)
        self.best: Point | None = None
        self.labels: Labels | None = None
        self.cost = np.inf

    @property
    def bound(self) -> float:
        """Best lower bound so far."""
        return -np.inf if self.best is None else self.best.bound

    @property
    def prices(self) -> Reals | None:
        """The best duals as an `Assignment` has them: one per cluster where nothing but sizes is bounded."""
        if self.best is None:
            return None
        duals = self.best.duals
        return duals if self.problem.has_resources else np.ascontiguousarray(duals[:, 0])

    @property
    def has_soft_links(self) -> bool:
        """Whether breaking some link only costs something."""
        return self.problem.has_links and not self.problem.graph.is_hard

    def is_closed(self) -> bool:
        """Whether the best labels are proved optimal."""
        return self.problem.closes_gap(self.cost, self.bound)

    def offer(self, labels: Labels) -> None:
        """Keep labels if they are feasible and better than what was known."""
        if self.problem.is_feasible(labels):
            cost = self.problem.cost_of(labels)
            if cost < self.cost:
                self.labels, self.cost = labels, cost

    def reduced_costs(self) -> Reals:
        """Costs of all choices at the best duals, above the cheapest one of each block."""
        assert self.best is not None
        costs = self.problem.costs + self.rules.charges(self.best.duals)
        above: Reals = costs - costs.min(axis=1, keepdims=True)
        return above

    def evaluate(self, duals: Reals) -> Point:
        """Solve the relaxation at these duals; remembers the best bound and any feasible labels."""
        costs = np.ascontiguousarray(self.problem.costs + self.rules.charges(duals))
        relaxed = solve_linked(AssignmentProblem(costs, self.problem.links), self.budget.part())
        self.offer(self._filled(relaxed.labels))
        return self._remember(duals, relaxed)

    def run(self, warm: Assignment | None) -> None:
        """Find good duals and labels, from those of a similar problem where these are near."""
        if warm is not None and warm.labels.shape == (self.problem.n_blocks,):
            # At other centers the rules are the same: labels that kept them still do.
            self.offer(warm.labels)
        start = self.start_duals(warm)
        if self.has_soft_links:
            self._place_soft_links_first(start)
            if self.labels is not None and not self.affords_step():
                self.repair(self.evaluate(start))
                return
        if start.any():
            self._alternate(start)
        if not start.any() or self.is_far_off():
            self._alternate(self.blocks.first_duals(start, self.budget))
        if self.labels is None and self.best is not None:
            self.repair(self.best)

    def start_duals(self, warm: Assignment | None) -> Reals:
        """Duals of a similar problem, which may have had a rule more or less at the end; zero where it had none."""
        duals: Reals = np.zeros_like(self.rules.low)
        given: Any = None if warm is None else warm.prices
        if given is not None and given.ndim == 1:
            given = given[:, None]
        if given is not None and len(given) == len(duals) and np.isfinite(given).all():
            n_common = min(given.shape[1], duals.shape[1])
            duals[:, :n_common] = given[:, :n_common]
        return self.rules.payable(duals)

    def _alternate(self, duals: Reals) -> None:
        """Place tied blocks at these duals and free ones in the remaining capacity, then again at their duals.

        Many free blocks are near a tie, so duals hardly change with a few more or fewer of them: mostly the tied
        blocks soon take the same capacity twice, which closes the gap.
        """
        blocks = self.blocks
        if not blocks.free.size:
            self.evaluate(duals)
            return
        tied_labels = self._place_tied(duals).labels
        seen: set[bytes] = set()
        for _ in range(PARAMS.window):
            taken = blocks.sums_of_tied(tied_labels).tobytes()
            if taken in seen or self.is_closed() or (self.best is not None and self.budget.expired()):
                return
            seen.add(taken)
            point = self._round(tied_labels, duals)
            if point is None:
                self.evaluate(duals)
                return
            duals, tied_labels = point.duals, point.relaxed.labels[blocks.tied]

    def _round(self, tied_labels: Labels, duals: Reals) -> Point | None:
        """Place the free blocks around the tied ones, and bound by their duals; None when no capacity is left."""
        blocks = self.blocks
        placed = blocks.place(blocks.sums_of_tied(tied_labels), duals, self.budget)
        if placed is None:
            return None
        if placed.is_kept:
            self.offer(blocks.joined(placed.labels, tied_labels))
        return self._remember(placed.duals, self._relaxed_around(placed))

    def _relaxed_around(self, placed: Placed) -> LinkedSolution:
        """Solve the relaxation at the duals of placed free blocks, which are at their least reduced cost there."""
        tied = self._place_tied(placed.duals)

        def slack() -> Reals:
            total = np.zeros(self.problem.n_blocks)
            total[self.blocks.tied] = tied.slack()
            return total

        labels = self.blocks.joined(placed.labels, tied.labels)
        if self.blocks.tied.size:
            self.offer(self._filled(labels))
        return LinkedSolution(labels, tied.cost + placed.least, tied.bound + placed.least, slack)

    def _place_tied(self, duals: Reals) -> LinkedSolution:
        """Place the tied blocks at least reduced cost, without any rule."""
        if not self.blocks.tied.size:
            return LinkedSolution(np.zeros(0, dtype=np.int32), 0.0, 0.0, lambda: np.zeros(0))
        costs, rules, links = self._tied_part
        return solve_linked(AssignmentProblem(costs + rules.charges(duals), links), self.budget.part())

    @cached_property
    def _tied_part(self) -> tuple[Any, ...]:
        tied = self.blocks.tied
        links = self.problem.graph.restricted_to(tied.astype(np.int32))
        return self.problem.costs[tied], self.rules.of(tied), links

    def _remember(self, duals: Reals, relaxed: LinkedSolution) -> Point:
        point = Point(duals, relaxed, relaxed.bound - self.rules.paid_by_bounds(duals))
        if self.best is None or point.bound > self.best.bound:
            self.best = point
        return point

    def _filled(self, labels: Labels) -> Labels:
        """Labels with a block in every cluster, where clusters must not be empty."""
        if not self.problem.nonempty or np.bincount(labels, minlength=self.problem.n_clusters).all():
            return labels
        costs = self.problem.costs
        return fill_empty(labels, costs - np.take_along_axis(costs, labels[:, None], axis=1))

    def climb(self) -> None:
        """Raise the best bound by Polyak's subgradient steps until it closes or stalls."""
        assert self.best is not None
        point = self.evaluate(self.best.duals)
        length, failures, checkpoint = 1.0, 0, self.bound
        for step in range(1, PARAMS.steps + 1):
            direction = self._direction(point)
            if self.is_closed() or not self.affords_step() or not direction.any():
                return
            self.budget.spend(self._work_of_step)
            before = self.bound
            point = self.evaluate(self._next_duals(point, direction, length))
            failures = 0 if self.bound > before else failures + 1
            if failures > PARAMS.window // 2:
                length, failures, point = length / 2, 0, self.best
            if step % PARAMS.window == 0:
                self.repair(point)
                if self.bound - checkpoint < PARAMS.stall * (self.cost - self.bound) and np.isfinite(self.cost):
                    break
                checkpoint = self.bound
        self.repair(self.best)

    def affords_step(self) -> bool:
        """Return whether the budget allows another relaxation for a better bound."""
        return self.budget.affords(self._work_of_step)

    @cached_property
    def _work_of_step(self) -> float:
        """Multiply-adds of a relaxation; one with soft links is a search that takes as long as a linear program."""
        choices = float((self.problem.n_blocks + self.problem.graph.n_edges) * self.problem.n_clusters)
        return solver_work(choices) if self.has_soft_links else choices

    def _direction(self, point: Point) -> Reals:
        """Subgradient of the bound: violations of the rules, in their units."""
        values, duals = self.rules.values(point.relaxed.labels), point.duals
        inside = np.clip(values, self.rules.low, self.rules.high)
        limit = np.where(duals > 0, self.rules.high, np.where(duals < 0, self.rules.low, inside))
        return (values - limit) / self.rules.units

    def _next_duals(self, point: Point, direction: Reals, length: float) -> Reals:
        target = self.cost if np.isfinite(self.cost) else self.bound + AIM * abs(self.bound)
        step = length * max(target - point.bound, 0.0) / float((direction**2).sum())
        duals = point.duals + step * direction / self.rules.units
        # The bound has a kink at zero: a dual that would change sign stops there first.
        return self.rules.payable(np.where(np.sign(point.duals) * np.sign(duals) < 0, 0.0, duals))

    def is_far_off(self) -> bool:
        """Whether the gap is a large part of the cost beyond the least costs."""
        return bool(self.cost - self.bound > PARAMS.far_off * max(self.problem.excess(self.cost), 1e-300))

    def repair(self, point: Point) -> None:
        """Keep blocks of hard links where the relaxation put them, and place all others within the rules."""
        if self.has_soft_links:
            self._place_by_soft_links(point.relaxed.labels, point.duals)
        elif self.blocks.free.size and self.blocks.tied.size:
            self._round(point.relaxed.labels[self.blocks.tied], point.duals)
        self.repair_from(point.relaxed.labels, point.duals)

    def repair_from(self, labels: Labels, duals: Reals) -> None:
        """Repair these labels, unless some that keep all rules are known."""
        if self.labels is None:
            problem = self.problem
            found = repaired(problem.costs, self.rules, labels, duals, self.budget, problem.graph)
            if found is not None:
                self.offer(found)

    def _place_soft_links_first(self, duals: Reals) -> None:
        """Find labels before any bound, since with soft links the relaxation alone is hard.

        Blocks are placed at the cost of their links to the current labels of the others, as long as that helps.
        """
        nearest: Labels = self.problem.costs.argmin(axis=1).astype(np.int32)
        before = np.inf
        duals = self._place_by_soft_links(nearest if self.labels is None else self.labels, duals)
        while self.labels is not None and self.cost < before and not self.budget.expired():
            before = self.cost
            duals = self._place_by_soft_links(self.labels, duals)

    def _place_by_soft_links(self, labels: Labels, duals: Reals) -> Reals:
        """Place blocks without hard links, at the cost of soft links to the labels of others; return the duals."""
        hard = replace(
            self.problem, costs=with_soft_links(self.problem, labels), links=self.problem.graph.hard_part()
        )
        blocks = FreeBlocks(hard, self.rules)
        tied_labels = labels[blocks.tied]
        placed = blocks.place(blocks.sums_of_tied(tied_labels), duals, self.budget) if blocks.free.size else None
        if placed is None:
            return duals
        self.offer(blocks.joined(placed.labels, tied_labels))
        return placed.duals


def bound_at(problem: AssignmentProblem, duals: Reals, budget: Budget) -> float:
    """Return the lower bound at the `prices` of an `Assignment`."""
    search = PricedSearch(problem, budget)
    return search.evaluate(search.start_duals(warm_start(duals))).bound


def duals_of(problem: AssignmentProblem, start: Reals | None) -> Reals:
    """Return good duals of a problem without links, from those of a similar problem."""
    if transport.supports(problem):
        found = transport.solve(problem, warm=warm_start(start)).prices
        return np.zeros(problem.n_clusters) if found is None else found
    search = PricedSearch(problem, UNLIMITED)
    first = search.start_duals(warm_start(start))
    if search.blocks.is_counted is not None and search.rules.n_rules == 1:
        duals = search.blocks.first_duals(first, UNLIMITED)
    else:
        duals = newton_duals(problem.costs, search.rules, first, UNLIMITED)[1]
    return duals if problem.has_resources else np.ascontiguousarray(duals[:, 0])
