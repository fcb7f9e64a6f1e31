"""Duals of the rules, and labels of the blocks that only rules hold: by transport where it applies, else by Newton.

Blocks that add the same to one rule, and nothing to others, are a transportation problem for each rule: exact, with
duals that prove it. Otherwise the kernel (``src/cpp/assignment/priced``) takes Newton steps on a smoothed dual, and
`repair.py` moves the few blocks that break a bound at these duals.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._memory import CELLS
from konstrain.assignment import transport
from konstrain.assignment.priced.repair import repaired
from konstrain.assignment.problem import AssignmentProblem, warm_start
from konstrain.assignment.rules import Rules
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Budget

Reals = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class DualParams:
    """When transport gives the duals."""

    # Least share of the blocks without links that transport can place; larger: Newton steps more often.
    counted_share: float = 0.5


PARAMS = DualParams()


@dataclass(frozen=True, eq=False)
class Placed:
    """Labels of the free blocks, duals of all rules, and the sum of the blocks' least reduced costs at these."""

    labels: Labels
    duals: Reals
    least: float
    is_kept: bool  # Whether the labels keep all rules together with the blocks already placed.


@dataclass(frozen=True, eq=False)
class FreeBlocks:
    """Blocks without links, which are placed all at once in the capacity that the others leave."""

    problem: AssignmentProblem  # Costs and links.
    rules: Rules  # All rules, with bounds as sums are compared with them.

    @cached_property
    def is_counted(self) -> NDArray[np.bool_] | None:
        """Which blocks transport can place; None: too few of them."""
        unlinked, added = ~self.problem.graph.is_linked, self.rules.added
        if not unlinked.any() or (added[unlinked] < 0.0).any():
            return None
        counted = unlinked & (np.count_nonzero(added, axis=1) <= 1)
        for column in added.T:
            counted &= (column == 0.0) | (column == _most_common(column[counted]))
        return counted if counted.sum() >= PARAMS.counted_share * unlinked.sum() else None

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """The blocks that are placed here."""
        if self.is_counted is not None:
            return np.flatnonzero(self.is_counted)
        return np.flatnonzero(~self.problem.graph.is_linked)

    @cached_property
    def tied(self) -> NDArray[np.intp]:
        """All other blocks."""
        is_tied = np.ones(self.problem.n_blocks, dtype=bool)
        is_tied[self.free] = False
        return np.flatnonzero(is_tied)

    def joined(self, free_labels: Labels, tied_labels: Labels) -> Labels:
        """Return the labels of all blocks."""
        if not self.tied.size:
            return free_labels
        labels = np.empty(self.problem.n_blocks, dtype=np.int32)
        labels[self.free], labels[self.tied] = free_labels, tied_labels
        return labels

    def sums_of_tied(self, tied_labels: Labels) -> Reals:
        """What clusters hold of each amount by the tied blocks alone."""
        return self._tied_rules.sums(tied_labels)

    def place(self, others: Reals, duals: Reals, budget: Budget) -> Placed | None:
        """Place the free blocks in the capacity that the sums of the others leave; None when it does not suffice."""
        if self.is_counted is not None:
            return self._by_transport(others, duals, budget)
        part = self.rules.restricted_to(self.free, others) if self.tied.size else self.rules
        labels, found, least = newton_duals(self._costs, part, duals, budget)
        kept = labels if part.are_kept_by(labels) else repaired(self._costs, part, labels, found, budget)
        return Placed(labels if kept is None else kept, found, least, kept is not None)

    def _by_transport(self, others: Reals, duals: Reals, budget: Budget) -> Placed | None:
        held = others @ self.rules.weights.T
        low, high = self.rules.low - held, self.rules.high - held
        found, labels, least = duals.copy(), np.empty(self.free.size, dtype=np.int32), 0.0
        for r, blocks, costs, demand in self._counted_parts:
            if r is None:
                labels[blocks], cost = _core.nearest(costs)
                least += cost
                continue
            part = AssignmentProblem(costs, demand=demand, size_min=low[:, r], size_max=high[:, r])
            try:
                solution = transport.solve(part, warm=warm_start(duals[:, r]), budget=budget)
            except InfeasibleError:
                return None  # The tied blocks alone break a bound; at other duals they may keep it.
            if solution.prices is None or not np.isfinite(solution.lower_bound):
                return None
            labels[blocks], found[:, r] = solution.labels, solution.prices
            least += transport.least_reduced_cost(part, solution)
        payable = self.rules.payable(found)
        if not np.array_equal(payable, found):
            least = float((self._costs + self.rules.of(self.free).charges(payable)).min(axis=1).sum())
        return Placed(labels, payable, least, True)

    @cached_property
    def _costs(self) -> Reals:
        return self.problem.costs[self.free] if self.tied.size else self.problem.costs

    @cached_property
    def _counted_parts(self) -> list[tuple[int | None, Any, Reals, Reals | None]]:
        """For each rule the free blocks that add to it, their costs and amounts; None: blocks that add to none."""
        added = self.rules.added[self.free]
        parts: list[tuple[int | None, Any, Reals, Reals | None]] = []
        for r in (None, *range(self.rules.n_rules)):
            blocks: Any = np.flatnonzero(~added.any(axis=1) if r is None else added[:, r])
            if blocks.size == self.free.size:
                blocks, costs = slice(None), self._costs
            else:
                costs = self._costs[blocks]
            if costs.size:
                amount = None if r is None or (added[blocks, r] == 1.0).all() else added[blocks, r]
                parts.append((r, blocks, costs, amount))
        return parts

    @cached_property
    def _tied_rules(self) -> Rules:
        return self.rules.of(self.tied)

    def first_duals(self, start: Reals, budget: Budget) -> Reals:
        """Return duals of the problem without its links, and with divisible blocks where transport gives them."""
        if self.is_counted is None or self.rules.n_rules > 1:
            if not self.tied.size:
                return start
            return newton_duals(self.problem.costs, self.rules, start, budget)[1]
        part, unit = self._in_units()
        if not part.n_blocks or not np.isfinite(part.costs).all():
            return np.zeros_like(start)
        try:
            solution = transport.solve(part, warm=warm_start(unit * start[:, 0]), budget=budget)
        except InfeasibleError:
            return np.zeros_like(start)  # rounding to units crossed the bounds
        return (
            np.zeros_like(start) if solution.prices is None else self.rules.payable(solution.prices[:, None] / unit)
        )

    def _in_units(self) -> tuple[AssignmentProblem, float]:
        """Repeat blocks once per unit that they add to the only rule; returns the unit.

        Of many blocks a sample, so that costs take little memory.
        """
        most = max(1, CELLS // self.rules.n_clusters)
        rows = np.arange(self.problem.n_blocks)
        if rows.size > most:
            rows = np.linspace(0, rows.size - 1, most).astype(np.int64)
        added = self.rules.added[rows, 0]
        total, unit = max(float(self.rules.added.sum()), 1e-300), max(float(added.max()), 1e-300)
        if (added < unit).any():
            unit = max(float(added.mean()) / 2.0, 1e-300)
        repeats = np.where(added > 0, np.maximum(1.0, np.round(added / unit)), 0.0)
        counts = repeats.astype(np.int64)
        repeated = np.repeat(rows, counts)
        share = repeated.size * unit / total
        with np.errstate(over="ignore"):
            costs = self.problem.costs[repeated] / np.repeat(added / unit, counts)[:, None]
        low, high = np.maximum(self.rules.low[:, 0], 0.0), np.minimum(self.rules.high[:, 0], total)
        sizes = np.floor(low * share / unit), np.ceil(high * share / unit)
        return AssignmentProblem(costs, size_min=sizes[0], size_max=sizes[1]), unit


def newton_duals(costs: Reals, rules: Rules, start: Reals, budget: Budget) -> tuple[Labels, Reals, float]:
    """Return clusters of least reduced cost at the duals that Newton steps find, these duals, and the cost."""
    unit = rules.units
    labels, duals, least = _core.newton_duals(
        costs,
        rules.amounts,
        rules.weights / unit[:, None],
        np.ascontiguousarray(rules.low / unit),
        np.ascontiguousarray(rules.high / unit),
        np.ascontiguousarray(start * unit),
        is_warm=bool(start.any()),
        time_limit=budget.remaining(),
    )
    return labels, duals.reshape(start.shape) / unit, least


def _most_common(values: Reals) -> float:
    positive, counts = np.unique(values[values > 0], return_counts=True)
    return float(positive[counts.argmax()]) if positive.size else 0.0
