"""Prices for several sums per cluster, the bound they prove, and labels that keep all bounds.

Sizes, resources and shares are rules with a price per cluster; at given prices they disappear and the links alone
remain. Blocks without links are placed near their bound (`free_blocks.py`), linked ones exactly at the prices this
leads to, in turn with the others.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.free_blocks import FreeBlocks, Placed
from konstrain.assignment.linked import LinkedAnswer, solve_linked
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.assignment.resources import Resources
from konstrain.stop import Deadline

# Rounds between free and linked blocks after which they will hardly agree any more.
MAX_ROUNDS = 6
# Relative gap that is open for sure, where good answers are enough.
WIDE_GAP = 1e-7
# Part of the time that is left for the linked blocks of one round.
LINKED_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class RulePoint:
    """The problem without its rules at some prices: labels, and the bound they prove.

    `lost` is what all labels that keep the rules cost beyond that, for blocks are whole.
    """

    prices: NDArray[np.float64]
    relaxed: LinkedAnswer
    bound: float
    lost: float


class ResourceSearch:
    """Searches prices for all rules and, beside them, feasible labels."""

    def __init__(self, problem: AssignmentProblem, deadline: Deadline) -> None:
        self.problem = problem
        self.deadline = deadline
        self.rules = all_rules(problem)
        self.best: RulePoint | None = None
        self.labels: NDArray[np.int32] | None = None
        self.cost = np.inf
        # Of a similar problem, with the same bounds: labels that kept them still do.
        self._known: NDArray[np.int32] | None = None

    @cached_property
    def _free(self) -> NDArray[np.intp]:
        return np.flatnonzero(~self.problem.graph.is_linked)

    @cached_property
    def _tied(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.problem.graph.is_linked)

    @property
    def bound(self) -> float:
        """Best lower bound so far."""
        return -np.inf if self.best is None else self.best.bound + self.best.lost

    def offer(self, labels: NDArray[np.int32]) -> None:
        """Keep labels if they are feasible and better than what was known."""
        if self.problem.is_feasible(labels):
            cost = self.problem.cost_of(labels)
            if cost < self.cost:
                self.labels, self.cost = labels, cost

    def is_closed(self) -> bool:
        """Whether the best labels are proved optimal."""
        if self.deadline.is_brief and self.cost - self.bound > WIDE_GAP * abs(self.cost):
            return False  # seen without the pass over all costs that an exact answer takes
        return self.problem.closes_gap(self.cost, self.bound)

    def priced_costs(self) -> NDArray[np.float64]:
        """Costs of all choices at the best prices, prices included."""
        assert self.best is not None
        return self.problem.costs + self.rules.charges(self.best.prices)

    def run(self, warm: Assignment | None) -> None:
        """Place free and linked blocks in turn until the linked ones ask for the same room twice."""
        prices = self._start(warm)
        if warm is not None and warm.labels.shape == (self.problem.n_blocks,):
            self._known = warm.labels
        is_warm = bool(prices.any())
        tied_labels = self._place_tied(prices).labels
        asked_before: set[bytes] = set()
        for _ in range(MAX_ROUNDS):
            others = self._sums_of_tied(tied_labels)
            if others.tobytes() in asked_before or (self.best is not None and self.deadline.expired()):
                return
            asked_before.add(others.tobytes())
            free = self._place_free(others, prices, is_warm)
            prices = free.prices
            self.offer(self._joined(free.labels, tied_labels))
            tied = self._place_tied(prices)
            self._remember(free, tied)
            if not self._tied.size or self.is_closed():
                return
            tied_labels, is_warm = tied.labels, True

    def _start(self, warm: Assignment | None) -> NDArray[np.float64]:
        """Prices of a similar problem, which may have had a rule more or less at the end; zero where it had none."""
        prices: NDArray[np.float64] = np.zeros_like(self.rules.low)
        given: Any = None if warm is None else warm.prices
        if given is not None and given.ndim == 2 and len(given) == len(prices) and np.isfinite(given).all():
            n_common = min(given.shape[1], prices.shape[1])
            prices[:, :n_common] = given[:, :n_common]
        return self.rules.payable(prices)

    def _place_free(self, others: NDArray[np.float64], prices: NDArray[np.float64], is_warm: bool) -> Placed:
        """Labels of the free blocks, their prices, and what they pay in their cheapest clusters at these."""
        if not self._free.size:
            return Placed(np.zeros(0, dtype=np.int32), prices, least=0.0, cost=0.0, bound=0.0)
        # Without links these are the same rules in every step, which remember what was computed from them.
        part = self.rules.restricted_to(self._free, others) if self._tied.size else self.rules.compared
        rules, unit = part.scaled
        costs = self.problem.costs[self._free] if self._tied.size else self.problem.costs
        known = None if self._known is None else self._known[self._free]
        placed = FreeBlocks(costs, rules, self.deadline).placed(prices * unit, is_warm, known)
        return replace(placed, prices=placed.prices / unit)

    def _place_tied(self, prices: NDArray[np.float64]) -> LinkedAnswer:
        """Place the linked blocks at least cost, prices included; all rules are left aside."""
        if not self._tied.size:
            none = np.zeros(0, dtype=np.int32)
            return LinkedAnswer(none, 0.0, 0.0, lambda: np.zeros(0))
        charges = replace(self.rules, amounts=self.rules.amounts[self._tied]).charges(prices)
        part = replace(self._tied_problem, costs=np.ascontiguousarray(self._tied_problem.costs + charges))
        return solve_linked(part, self.deadline.share(LINKED_SHARE))

    @cached_property
    def _tied_problem(self) -> AssignmentProblem:
        links = self.problem.graph.restricted_to(self._tied.astype(np.int32))
        return AssignmentProblem(self.problem.costs[self._tied], links)

    def _sums_of_tied(self, tied_labels: NDArray[np.int32]) -> NDArray[np.float64]:
        return replace(self.rules, amounts=self.rules.amounts[self._tied]).sums(tied_labels)

    def _joined(self, free_labels: NDArray[np.int32], tied_labels: NDArray[np.int32]) -> NDArray[np.int32]:
        labels = np.empty(self.problem.n_blocks, dtype=np.int32)
        labels[self._free], labels[self._tied] = free_labels, tied_labels
        return labels

    def _remember(self, free: Placed, tied: LinkedAnswer) -> None:
        def slack() -> NDArray[np.float64]:
            total = np.zeros(self.problem.n_blocks)
            total[self._tied] = tied.slack()
            return total

        labels = self._joined(free.labels, tied.labels)
        relaxed = LinkedAnswer(labels, free.least + tied.cost, free.least + tied.bound, slack)
        bound = relaxed.bound - self.rules.paid_by_bounds(free.prices)
        # What the free blocks lose as whole ones holds for the room that linked ones left them here, not elsewhere.
        point = RulePoint(free.prices, relaxed, bound, 0.0 if self._tied.size else free.lost)
        if self._tied.size:
            self.offer(labels)
        if self.best is None or point.bound > self.best.bound:
            self.best = point


def all_rules(problem: AssignmentProblem) -> Resources:
    """The problem's resources with sizes and non-empty clusters as further rules, in this order, tightened."""
    assert problem.resources is not None
    rules, k = problem.resources, problem.n_clusters
    ones = np.ones(problem.n_blocks)
    low, high = problem.widened_bounds
    if (low > 0).any() or (high < problem.total_demand).any():
        least = np.where(low > 0, low, -np.inf)
        most = np.where(high < problem.total_demand, high, np.inf)
        rules = rules.with_rule(ones if problem.demand is None else problem.demand, least, most)
    if problem.nonempty:
        rules = rules.with_rule(ones, np.ones(k), np.full(k, np.inf))
    return rules.tightened
