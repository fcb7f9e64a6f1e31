"""The proof: variables fixed by their reduced costs, and HiGHS on the variables that stay open.

If a block goes to a cluster, the bound rises by the reduced cost of that choice above its least one. Where that is
more than the gap to the labels known, no better labels make this choice. A first small problem of the choices of
least reduced cost improves the labels; a second one holds every choice of any better labels, so its optimum is the
optimum. Balas and Zemel (1980) solve large knapsack problems in this manner.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import PROOF_RELATIVE
from konstrain.assignment.model import AssignmentModel, ModelSolution, links_of
from konstrain.assignment.priced.repair import labels_by_kind
from konstrain.assignment.priced.search import PricedSearch
from konstrain.assignment.problem import AssignmentProblem, infeasible_combination
from konstrain.links import Edges, paid
from konstrain.stop import solver_work

Reals = NDArray[np.float64]
Labels = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ReducedParams:
    """What the reduced problems hold."""

    # Choices of least reduced cost in the first one, and most numbers of blocks by kind and cluster; larger: better
    # labels, and longer runs of HiGHS.
    first_choices: int = 200
    growth: int = 8  # Factor by which it grows while no labels are known; larger: fewer and longer runs.


PARAMS = ReducedParams()


def close(search: PricedSearch) -> float:
    """Close the gap between labels and bound; returns the best bound reached."""
    if search.labels is None:
        found = labels_by_kind(search.problem, search.rules, search.budget, PARAMS.first_choices)
        if found is not None:
            search.offer(found)
            search.repair_from(found, np.zeros_like(search.rules.low))
    if search.is_closed() or (search.labels is not None and not search.affords_step()):
        return search.bound
    part = OpenBlocks.of(search)
    if part is None:
        return _close_whole(search)
    inner = part.searched_from(search)
    known, bound = search.cost, part.fixed_cost + _close_whole(inner)
    assert inner.labels is not None
    search.offer(part.joined(inner.labels))
    # Labels outside the reduced problem cost at least as much as those known then.
    return max(search.bound, min(bound, known))


def _close_whole(search: PricedSearch) -> float:
    """Raise the bound by better duals, then prove by HiGHS."""
    if search.best is not None and search.blocks.tied.size:
        search.climb()
    return search.bound if search.is_closed() else prove(search)


def prove(search: PricedSearch) -> float:
    """Improve labels and prove them by reduced problems; returns the best bound reached."""
    n_blocks = search.problem.n_blocks
    reduced_costs = search.reduced_costs()
    allowed = _open_choices(search, reduced_costs)
    # Soft links are not in the reduced costs: with them the second problem takes hardly longer than the first.
    has_soft_labels = search.labels is not None and search.has_soft_links
    if allowed.sum() > n_blocks + PARAMS.first_choices and not has_soft_labels:
        _improve(search, reduced_costs)
        if search.is_closed() or search.budget.expired():
            return search.bound
        allowed = _open_choices(search, reduced_costs)
    solution = _try(search, allowed)
    if solution.status == "infeasible" and search.labels is None:
        raise infeasible_combination(search.problem)
    # Labels outside the reduced problem cost at least as much as those known when it was made.
    return max(search.bound, min(solution.bound, search.cost))


def _improve(search: PricedSearch, reduced_costs: Reals) -> None:
    """Find better labels among the choices of least reduced cost; among more of them while there are no labels."""
    n_choices = PARAMS.first_choices
    while n_choices < reduced_costs.size:
        status = _try(search, _cheapest_choices(search, reduced_costs, n_choices)).status
        if search.labels is not None or status == "limit":
            return
        n_choices *= PARAMS.growth


def _cheapest_choices(search: PricedSearch, reduced_costs: Reals, n_choices: int) -> Flags:
    """Allow the choices of least reduced cost and those of the labels known so far."""
    assert search.best is not None
    allowed = np.zeros(reduced_costs.shape, dtype=bool)
    for labels in (search.best.relaxed.labels, search.labels):
        if labels is not None:
            allowed[np.arange(labels.size), labels] = True
    others = np.where(allowed, np.inf, reduced_costs).ravel()
    allowed.ravel()[np.argpartition(others, n_choices)[:n_choices]] = True
    return allowed


def _open_choices(search: PricedSearch, reduced_costs: Reals) -> Flags:
    """Allow every choice that labels of lower cost than the known ones could make."""
    if search.labels is None:
        return np.ones(reduced_costs.shape, dtype=bool)
    allowed: Flags = reduced_costs <= _reach(search)[:, None]
    allowed[np.arange(reduced_costs.shape[0]), search.labels] = True
    return allowed


def _reach(search: PricedSearch) -> Reals:
    """Return the reduced cost of each block above which no better labels have a choice."""
    assert search.best is not None
    gap = search.cost - search.best.bound
    # Slightly more than exact: the sums behind gap and slack are rounded.
    rounding = 4 * search.problem.rounding(search.cost) + PROOF_RELATIVE * abs(gap)
    return gap + search.best.relaxed.slack() + rounding


def _try(search: PricedSearch, allowed: Flags) -> ModelSolution:
    """Solve the problem of the allowed choices, unless that is beyond the budget."""
    n_open = int(allowed.sum() - (allowed.sum(axis=1) == 1).sum())
    if not search.budget.affords(solver_work(n_open)):
        return ModelSolution(None, -np.inf, "limit")
    solution = ReducedProblem(search.problem, allowed).solve(search)
    if solution.labels is not None:
        search.offer(solution.labels)
    return solution


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The problem over the allowed clusters of each block; blocks with a single one left are fixed beforehand."""

    problem: AssignmentProblem
    allowed: Flags

    def solve(self, search: PricedSearch) -> ModelSolution:
        """Solve it by HiGHS from the best labels of a search; return labels of all blocks."""
        problem = self.problem
        costs = np.where(self.allowed[self.open], problem.costs[self.open], np.inf)
        links, constant = self._charge_links(costs)
        constant += float(problem.costs[self.fixed, self.labels[self.fixed]].sum())
        if not np.isfinite(constant):
            return ModelSolution(None, np.inf, "infeasible")
        if not self.open.size:
            is_feasible = problem.is_feasible(self.labels)
            return ModelSolution(
                self.labels if is_feasible else None, constant, "optimal" if is_feasible else "infeasible"
            )
        fixed = np.flatnonzero(self.fixed)
        others = problem.rules.of(fixed).sums(self.labels[fixed])
        model = AssignmentModel(costs, links, problem.rules.restricted_to(self.open, others))
        start = None if search.labels is None else search.labels[self.open]
        solution = model.solve(budget=search.budget, start=start)
        if solution.labels is None:
            return ModelSolution(None, constant + solution.bound, solution.status)
        labels = self.labels.copy()
        labels[self.open] = solution.labels
        return ModelSolution(labels, constant + solution.bound, solution.status)

    @cached_property
    def fixed(self) -> Flags:
        """Whether each block has a single cluster left."""
        is_single: Flags = self.allowed.sum(axis=1) == 1
        return is_single

    @cached_property
    def open(self) -> NDArray[np.intp]:
        """The blocks that have a choice, in the order of the model."""
        return np.flatnonzero(~self.fixed)

    @cached_property
    def labels(self) -> Labels:
        """Cluster of each fixed block."""
        only: Labels = self.allowed.argmax(axis=1).astype(np.int32)
        return only

    def _charge_links(self, costs: Reals) -> tuple[Edges | None, float]:
        """Move links with a fixed end into costs (in place); returns the links between open blocks and a constant."""
        edges = links_of(self.problem.links)
        if edges is None:
            return None, 0.0
        u, v, w = edges
        fixed, labels = self.fixed, self.labels
        both = fixed[u] & fixed[v]
        constant = paid(w[both], labels[u[both]] == labels[v[both]])
        position = np.full(self.problem.n_blocks, -1, dtype=np.int32)
        position[self.open] = np.arange(self.open.size, dtype=np.int32)
        for free, other in ((u, v), (v, u)):
            half = ~fixed[free] & fixed[other]
            row, cluster, weight = position[free[half]], labels[other[half]], w[half]
            positive = weight > 0
            np.add.at(costs, (row[positive], cluster[positive]), weight[positive])
            # Not following a soft must-link costs everywhere but in the fixed end's cluster.
            np.add.at(costs, row[~positive], -weight[~positive, None])
            np.add.at(costs, (row[~positive], cluster[~positive]), weight[~positive])
        inside = ~fixed[u] & ~fixed[v]
        return (position[u[inside]], position[v[inside]], w[inside]), constant


@dataclass(frozen=True, eq=False)
class OpenBlocks:
    """The blocks of a problem that better labels may move, as a smaller problem."""

    problem: AssignmentProblem  # The open blocks, within the rules that the fixed ones leave them.
    blocks: NDArray[np.intp]  # Which blocks these are.
    labels: Labels  # (n_blocks of the whole,): the labels known; in better ones fixed blocks do not move.
    fixed_cost: float  # What the fixed blocks cost.

    @classmethod
    def of(cls, search: PricedSearch) -> Self | None:
        """Fix blocks that no better labels move; None without labels, with soft links, or when all may move."""
        problem, labels = search.problem, search.labels
        if labels is None or search.has_soft_links:
            return None
        allowed = _open_choices(search, search.reduced_costs())
        is_open = _whole_components(problem, allowed.sum(axis=1) > 1)
        if is_open.all():
            return None
        blocks, fixed = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        others = problem.rules.of(fixed).sums(labels[fixed])
        part = AssignmentProblem(
            np.ascontiguousarray(problem.costs[blocks]),
            problem.graph.restricted_to(blocks.astype(np.int32)),
            resources=problem.rules.restricted_to(blocks, others),
        )
        return cls(part, blocks, labels, float(problem.own_costs(labels)[fixed].sum()))

    def searched_from(self, search: PricedSearch) -> PricedSearch:
        """Return a search among the open blocks from the labels and duals of the whole."""
        assert search.best is not None
        inner = PricedSearch(self.problem, search.budget)
        inner.offer(self.labels[self.blocks])
        inner.evaluate(search.best.duals)
        return inner

    def joined(self, labels: Labels) -> Labels:
        """Return the labels of the whole, given those of the open blocks."""
        whole = self.labels.copy()
        whole[self.blocks] = labels
        return whole


def _whole_components(problem: AssignmentProblem, is_open: Flags) -> Flags:
    """Open every block that is linked, over however many others, with one that is."""
    if not problem.has_links:
        return is_open
    component = problem.graph.components()
    has_open = np.bincount(component[is_open], minlength=component.size) > 0
    opened: Flags = has_open[component]
    return opened
