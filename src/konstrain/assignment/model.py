"""The assignment step as a binary program: one variable per block and cluster it may take."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from konstrain._highs import BinaryProgram, LinearProgram, solve_binary
from konstrain._tolerances import SUM_RELATIVE
from konstrain.assignment.rules import Rules
from konstrain.links import Edges, LinkGraph
from konstrain.stop import UNLIMITED, Budget


@dataclass(frozen=True, eq=False)
class ModelSolution:
    """Labels (None when none were found) with a bound; `status` is optimal, infeasible or limit."""

    labels: NDArray[np.int32] | None
    bound: float
    status: str


@dataclass(frozen=True, eq=False)
class AssignmentModel:
    """An assignment problem for HiGHS, in which some choices may be ruled out beforehand."""

    costs: NDArray[np.float64]  # (n_blocks, n_clusters): infinite where a block may not go.
    links: Edges | None = None  # First end, second end, weight (as in `LinkGraph`) of every link.
    rules: Rules | None = None  # Bounds on sums, compared with them as they are.
    # Coefficients over blocks and clusters (clusters of a block side by side) and what each sum may be at most.
    linear: tuple[csr_array, NDArray[np.float64]] | None = None

    def solve(self, *, budget: Budget = UNLIMITED, start: NDArray[np.int32] | None = None) -> ModelSolution:
        """Solve to optimality or until the budget is spent; `start` is a feasible labelling, if one is known.

        HiGHS sees differences down to a billionth of the largest cost that it is given. Choices that cost more than
        all labels it finds together are therefore ruled out, and it solves the rest again on a finer scale.
        """
        model = whole = self._within_rules()
        while True:
            solution = model._solve_once(budget, start)
            if solution.labels is None or solution.status != "optimal":
                return solution
            most, start = whole._excess_of(solution.labels), solution.labels
            # Twice: every further problem halves the scale at least, so that there are few.
            if model._scale(model._excess()) <= 2.0 * most:
                return solution
            if most == 0.0:
                return ModelSolution(solution.labels, float(whole._least.sum()), "optimal")
            model = model._below(most)

    def _within_rules(self) -> "AssignmentModel":
        """Rule out clusters that are too small for a block: what is left sets the scale of each rule."""
        costs = self.costs
        for r in self._counting_rules:
            assert self.rules is not None
            costs = np.where(self.rules.added[:, r, None] <= self.rules.high[:, r], costs, np.inf)
        return replace(self, costs=costs)

    @cached_property
    def _counting_rules(self) -> NDArray[np.intp]:
        """Rules that blocks only add to."""
        if self.rules is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero((self.rules.added >= 0.0).all(axis=0))

    def _below(self, most: float) -> "AssignmentModel":
        """Rule out choices, and make links hard, whose cost alone exceeds what all of some labels pay in excess."""
        # A little above, since sums are rounded.
        most *= 1.0 + SUM_RELATIVE * self.costs.size
        costs = np.where(self.costs - self._least[:, None] <= most, self.costs, np.inf)
        links = self.links
        if links is not None:
            first, second, weight = links
            links = first, second, np.where(np.abs(weight) > most, np.copysign(np.inf, weight), weight)
        return replace(self, costs=costs, links=links)

    def _solve_once(self, budget: Budget, start: NDArray[np.int32] | None) -> ModelSolution:
        """Solve by HiGHS, and again with a cut for each rule that the solution breaks by less than HiGHS can see."""
        allowed = np.isfinite(self.costs)
        if not allowed.any(axis=1).all():
            return ModelSolution(None, np.inf, "infeasible")
        excess = self._excess()
        # HiGHS' tolerances are absolute, so the costs it sees run from 0 to about 1, in any unit of the user.
        scale = self._scale(excess) or 1.0
        program = self._program(allowed, excess / scale, scale)
        x0 = None if start is None else self._encode(start, allowed, program.cost.size)
        # Each round cuts off the labels of the last one, so that rounds end; one or two are usual.
        while True:
            solution = solve_binary(program, budget=budget, start=x0)
            bound = float(self._least.sum() + scale * solution.bound)
            if solution.x is None:
                return ModelSolution(None, bound, solution.status)
            labels = self._decode(solution.x, allowed)
            cuts = self._cuts(labels, allowed)
            if cuts is None:
                return ModelSolution(labels, bound, solution.status)
            program = program.with_rows(*cuts.finish(program.cost.size))

    @cached_property
    def _least(self) -> NDArray[np.float64]:
        least: NDArray[np.float64] = self.costs.min(axis=1)
        return least

    def _excess(self) -> NDArray[np.float64]:
        """What each allowed choice costs above its block's cheapest, in the order of the variables."""
        excess: NDArray[np.float64] = (self.costs - self._least[:, None])[np.isfinite(self.costs)]
        return excess

    def _excess_of(self, labels: NDArray[np.int32]) -> float:
        """What labels pay above the cheapest cluster of each block, penalties included."""
        total = float((self.costs[np.arange(labels.size), labels] - self._least).sum())
        if self.links is None:
            return total
        first, second, weight = self.links
        broken = np.where(weight > 0, labels[first] == labels[second], labels[first] != labels[second])
        return total + float(np.abs(weight[broken]).sum())

    def _cuts(self, labels: NDArray[np.int32], allowed: NDArray[np.bool_]) -> "_Rows | None":
        """Rows in whole numbers that exclude what is wrong with the sums of labels; None when nothing is."""
        if self.rules is None:
            return None
        rules, variable, cuts = self.rules, _numbered(allowed), _Rows()
        values = rules.values(labels)
        for j, r in np.argwhere((values > rules.high) | (values < rules.low)):
            inside, added = labels == j, rules.added[:, r]
            if r not in self._counting_rules:
                # Amounts of both signs may cancel: nothing less than just this cluster is excluded.
                there = np.flatnonzero(variable[:, j] >= 0)
                sign = np.where(inside[there], 1.0, -1.0)
                cuts.add_one(variable[there, j], sign, -np.inf, float((sign > 0).sum()) - 1.0)
            elif values[j, r] > rules.high[j, r]:
                # The largest of these blocks that together are too much: not all of them.
                largest = np.flatnonzero(inside)[np.argsort(-added[inside], kind="stable")]
                count = int(np.argmax(np.cumsum(added[largest]) > rules.high[j, r])) + 1
                cuts.add_one(variable[largest[:count], j], 1.0, -np.inf, count - 1.0)
            else:
                # These blocks are too little: at least one more.
                cuts.add_one(variable[(variable[:, j] >= 0) & ~inside, j], 1.0, 1.0, np.inf)
        return cuts if cuts.n_rows else None

    def relaxation(self) -> "Relaxation":
        """Let blocks be shared between clusters; without soft links, and every choice allowed."""
        allowed = np.ones(self.costs.shape, dtype=bool)
        return Relaxation(LinearProgram(self._program(allowed, np.zeros(allowed.size), 1.0)))

    def _scale(self, excess: NDArray[np.float64]) -> float:
        """Return the largest finite cost that HiGHS would see."""
        largest = float(excess.max(initial=0.0))
        if self.links is not None:
            weights = np.abs(self.links[2])
            largest = max(largest, float(weights[np.isfinite(weights)].max(initial=0.0)))
        return largest

    def _program(self, allowed: NDArray[np.bool_], excess: NDArray[np.float64], scale: float) -> BinaryProgram:
        variable = _numbered(allowed)
        rows = _Rows()
        block, _ = np.nonzero(allowed)
        rows.add(block, variable[allowed], 1.0, np.ones(self.costs.shape[0]), np.ones(self.costs.shape[0]))
        self._add_rules(rows, allowed, variable)
        if self.linear is not None:
            coefficients, high = self.linear
            rows.add_matrix(coefficients, variable.ravel(), high)
        penalties = self._add_links(rows, variable, excess.size)
        cost = np.concatenate([excess, penalties / scale])
        integer = np.arange(cost.size) < excess.size
        # Soft links make choices alike: most of them only move the penalty from one link to another.
        return BinaryProgram(cost, *rows.finish(cost.size), integer, is_even=penalties.size > 0)

    def _add_rules(self, rows: "_Rows", allowed: NDArray[np.bool_], variable: NDArray[np.int64]) -> None:
        if self.rules is None:
            return
        block, cluster = np.nonzero(allowed)
        for r in range(self.rules.n_rules):
            added, low, high = self.rules.added[:, r], self.rules.low[:, r], self.rules.high[:, r]
            # In units of the largest amount that each cluster can take: HiGHS' tolerances are absolute here too.
            unit = np.where(allowed, np.abs(added)[:, None], 0.0).max(axis=0, initial=0.0)
            unit[unit == 0.0] = 1.0
            rows.add(cluster, variable[allowed], added[block] / unit[cluster], low / unit, high / unit)

    def _add_links(self, rows: "_Rows", variable: NDArray[np.int64], n_choices: int) -> NDArray[np.float64]:
        """Add one row per link and cluster it concerns; soft links get a variable that pays for breaking them."""
        if self.links is None:
            return np.zeros(0)
        first, second, weight = self.links
        soft = np.isfinite(weight)
        payer = np.where(soft, n_choices + np.cumsum(soft) - 1, -1)
        for cluster in range(variable.shape[1]):
            u, v = variable[first, cluster], variable[second, cluster]
            cannot = (weight > 0) & (u >= 0) & (v >= 0)
            rows.add_links(((u[cannot], 1.0), (v[cannot], 1.0), (payer[cannot], -1.0)), 1.0)
            must = (weight < 0) & (u >= 0)
            rows.add_links(((u[must], 1.0), (v[must], -1.0), (payer[must], -1.0)), 0.0)
        penalties: NDArray[np.float64] = np.abs(weight[soft])
        return penalties

    def _encode(
        self, labels: NDArray[np.int32], allowed: NDArray[np.bool_], n_variables: int
    ) -> NDArray[np.float64] | None:
        chosen = np.zeros(allowed.shape)
        chosen[np.arange(labels.size), labels] = 1.0
        x = np.zeros(n_variables)
        x[: int(allowed.sum())] = chosen[allowed]
        if self.links is not None:
            first, second, weight = self.links
            soft = np.isfinite(weight)
            together = labels[first] == labels[second]
            x[int(allowed.sum()) :] = np.where(weight > 0, together, ~together)[soft]
        return x

    def _decode(self, x: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
        chosen = np.full(allowed.shape, -1.0)
        chosen[allowed] = x[: int(allowed.sum())]
        labels: NDArray[np.int32] = chosen.argmax(axis=1).astype(np.int32)
        return labels


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The linear relaxation of an assignment model, solved again and again for other costs."""

    program: LinearProgram

    def solve(self, costs: NDArray[np.float64], *, budget: Budget = UNLIMITED) -> NDArray[np.float64] | None:
        """Return the share of each block in each cluster; None when there is none, or none was found in time."""
        excess = costs - costs.min(axis=1, keepdims=True)
        largest = float(excess.max(initial=0.0))
        solution = self.program.solve((excess / largest if largest > 0 else excess).ravel(), budget=budget)
        return solution.x.reshape(costs.shape) if solution.x is not None and solution.status == "optimal" else None


class _Rows:
    """Collects constraint rows as triplets."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self._low: list[NDArray[np.float64]] = []
        self._high: list[NDArray[np.float64]] = []

    def add(self, row: Any, column: Any, value: Any, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        value = np.broadcast_to(value, row.shape)
        self._blocks.append((low.size, row, column, value))
        self._low.append(low)
        self._high.append(high)

    @property
    def n_rows(self) -> int:
        return sum(low.size for low in self._low)

    def add_one(self, columns: NDArray[np.int64], value: Any, low: float, high: float) -> None:
        """Add a single row over these variables."""
        self.add(np.zeros(columns.size, dtype=np.int64), columns, value, np.array([low]), np.array([high]))

    def add_matrix(self, coefficients: csr_array, variable: NDArray[np.int64], high: NDArray[np.float64]) -> None:
        """Add rows ``coefficients @ choices <= high``; a variable of -1 does not exist."""
        entries = coefficients.tocoo()
        there = variable[entries.col] >= 0
        columns = variable[entries.col[there]]
        self.add(entries.row[there], columns, entries.data[there], np.full(high.size, -np.inf), high)

    def add_links(self, terms: tuple[tuple[NDArray[np.int64], float], ...], high: float) -> None:
        """Add rows ``sum of coefficient * variable <= high``, one per link; a variable of -1 does not exist."""
        n_rows = terms[0][0].size
        columns = np.concatenate([variable for variable, _ in terms])
        values = np.repeat([coefficient for _, coefficient in terms], n_rows)
        numbers = np.tile(np.arange(n_rows), len(terms))
        there = columns >= 0
        self.add(numbers[there], columns[there], values[there], np.full(n_rows, -np.inf), np.full(n_rows, high))

    def finish(self, n_columns: int) -> tuple[csr_array, NDArray[np.float64], NDArray[np.float64]]:
        # At once: a matrix for each cluster's links would take longer to make than small programs take to solve.
        first = np.cumsum([0, *(n for n, *_ in self._blocks)])
        rows = np.concatenate([start + row for start, (_, row, _, _) in zip(first, self._blocks, strict=False)])
        columns, values = (np.concatenate([block[i] for block in self._blocks]) for i in (2, 3))
        matrix = coo_array((values, (rows, columns)), shape=(int(first[-1]), n_columns))
        return csr_array(matrix), np.concatenate(self._low), np.concatenate(self._high)


def _numbered(allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Variable of each choice, -1 where it is ruled out."""
    variable = np.full(allowed.shape, -1, dtype=np.int64)
    variable[allowed] = np.arange(int(allowed.sum()))
    return variable


def links_of(graph: LinkGraph | None) -> Edges | None:
    """Edges of a link graph as a model takes them."""
    return None if graph is None or graph.n_edges == 0 else graph.edges
