"""The linear program over prices of rules, solved among the choices that matter.

Newton steps (``src/cpp/assignment/resources``) end near the best prices. From there a row has few clusters that it
may want at all: only these choices become columns. The program's duals are prices, at which choices that were left
out may be cheaper; these are added, until none is, and the prices are the best there are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from konstrain._highs import GrowingProgram, LinearAnswer
from konstrain._tolerances import SIFTED_RELATIVE
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.resources import Resources
from konstrain.stop import Deadline

# Choices of the first program per price, and how many times as many where these do not suffice to keep the rules.
CHOICES_PER_PRICE = 10
WIDENING = 4
# Programs after which the best prices so far are good enough.
MOST_PROGRAMS = 12


@dataclass(frozen=True, eq=False)
class Pricing:
    """What rows pay at some prices in every cluster and in their cheapest ones, and the bound that this proves."""

    prices: NDArray[np.float64]
    paid: NDArray[np.float64]
    least: float
    bound: float

    @classmethod
    def at(
        cls, costs: NDArray[np.float64], rules: Resources, prices: NDArray[np.float64], kinds: Kinds | None = None
    ) -> "Pricing":
        """Price all rows; those of a kind are charged the same."""
        if kinds is None:
            paid = costs + rules.charges(prices)
        else:
            of_kinds = replace(rules, amounts=rules.amounts[kinds.examples]).charges(prices)
            paid = of_kinds[kinds.of_block] + costs
        least = float(paid.min(axis=1).sum())
        return cls(prices, paid, least, least - rules.paid_by_bounds(prices))

    @cached_property
    def regret(self) -> NDArray[np.float64]:
        """What each choice costs above the cheapest of its row."""
        above: NDArray[np.float64] = self.paid - self.paid.min(axis=1, keepdims=True)
        return above


def sift(
    costs: NDArray[np.float64], rules: Resources, prices: NDArray[np.float64], deadline: Deadline
) -> tuple[NDArray[np.float64], float]:
    """Return the prices whose bound is that of the linear program, and what all rows pay at these.

    It is solved near the prices given, which are kept if time is up or nothing is better.
    Rules are taken as they stand: give them with the bounds that sums are compared with, in comparable units.
    """
    best = now = Pricing.at(costs, rules, prices)
    n_choices = CHOICES_PER_PRICE * prices.size
    allowed = _least_regret(now.regret, n_choices)
    for _ in range(MOST_PROGRAMS):
        program = _Restricted(costs, rules, allowed)
        answer = program.solve(deadline)
        if answer.status == "infeasible" and not allowed.all():
            n_choices *= WIDENING
            allowed |= _least_regret(best.regret, n_choices)
            continue
        if answer.status != "optimal":
            break
        now = Pricing.at(costs, rules, program.prices_of(answer))
        if now.bound > best.bound:
            best = now
        value = program.value_of(answer)
        if value - best.bound <= SIFTED_RELATIVE * abs(value):
            break
        known = np.where(allowed, now.paid, np.inf).min(axis=1)
        allowed |= now.paid < known[:, None]
    return best.prices, best.least


def _least_regret(regret: NDArray[np.float64], n_choices: int) -> NDArray[np.bool_]:
    """Allow the cheapest choice of every row and so many others."""
    allowed: NDArray[np.bool_] = regret <= 0.0
    if n_choices >= regret.size:
        return np.ones_like(allowed)
    others = np.where(allowed, np.inf, regret).ravel()
    allowed.ravel()[np.argpartition(others, n_choices)[:n_choices]] = True
    return allowed


@dataclass(frozen=True, eq=False)
class _Restricted:
    """The linear program over the allowed choices; rows with a single one are part of what clusters hold already."""

    costs: NDArray[np.float64]
    rules: Resources
    allowed: NDArray[np.bool_]

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether each row has a choice."""
        has_choice: NDArray[np.bool_] = self.allowed.sum(axis=1) > 1
        return has_choice

    @cached_property
    def least(self) -> NDArray[np.float64]:
        """Cheapest allowed choice of each row."""
        cheapest: NDArray[np.float64] = np.where(self.allowed, self.costs, np.inf).min(axis=1)
        return cheapest

    @cached_property
    def scale(self) -> float:
        """Largest cost in the program, above the cheapest of its row: HiGHS' tolerances are absolute."""
        above = np.where(self.allowed, self.costs - self.least[:, None], 0.0)
        return float(above.max(initial=0.0)) or 1.0

    def solve(self, deadline: Deadline) -> LinearAnswer:
        """Solve from scratch."""
        labels = self.allowed.argmax(axis=1).astype(np.int32)
        fixed = np.flatnonzero(~self.is_open)
        held = Resources(self.rules.amounts[fixed], self.rules.rules, self.rules.low, self.rules.high)
        values = held.values(labels[fixed])
        ones = np.ones(int(self.is_open.sum()))
        low, high = (self.rules.low - values).ravel(), (self.rules.high - values).ravel()
        program = GrowingProgram(np.concatenate([ones, low]), np.concatenate([ones, high]))
        row, cluster = np.nonzero(self.allowed & self.is_open[:, None])
        matrix = self._columns(row, cluster)
        cost = (self.costs[row, cluster] - self.least[row]) / self.scale
        program.add_columns(cost, matrix.indptr[:-1], matrix.indices, matrix.data)
        return program.solve(deadline)

    def _columns(self, row: NDArray[np.intp], cluster: NDArray[np.intp]) -> csc_array:
        """One column per choice: its row, which is dealt out once, and what it adds to the rules of its cluster."""
        n_open, n_rules = int(self.is_open.sum()), self.rules.n_rules
        place = np.cumsum(self.is_open) - 1
        choice = np.arange(row.size)
        rule_rows = n_open + (cluster * n_rules)[:, None] + np.arange(n_rules)
        rows = np.concatenate([place[row], rule_rows.ravel()])
        columns = np.concatenate([choice, np.repeat(choice, n_rules)])
        values = np.concatenate([np.ones(row.size), self.rules.of_blocks[row].ravel()])
        matrix = coo_array((values, (rows, columns)), shape=(n_open + self.rules.low.size, row.size))
        return csc_array(matrix)

    def prices_of(self, answer: LinearAnswer) -> NDArray[np.float64]:
        """Prices of the rules: a full cluster's is above zero."""
        duals = answer.duals[-self.rules.low.size :].reshape(self.rules.low.shape)
        prices: NDArray[np.float64] = self.rules.payable(-self.scale * duals)
        return prices

    def value_of(self, answer: LinearAnswer) -> float:
        """Optimum of the program, rows without a choice included."""
        return float(self.least.sum()) + self.scale * answer.value
