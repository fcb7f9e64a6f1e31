"""The part of a coupled problem that prices leave undecided, as a binary program that proves the answer.

Called the core after Balas and Zemel (1980), who solve large knapsack problems that way.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.model import AssignmentModel, links_of
from konstrain.assignment.problem import AssignmentProblem
from konstrain.links import Edges, paid
from konstrain.stop import Deadline


@dataclass(frozen=True, eq=False)
class CoreAnswer:
    """Labels of all blocks (None when none were found), a bound on the best that the core holds, and the status."""

    labels: NDArray[np.int32] | None
    bound: float
    status: str


def solve_core(
    problem: AssignmentProblem,
    allowed: NDArray[np.bool_],
    deadline: Deadline,
    start: NDArray[np.int32] | None,
) -> CoreAnswer:
    """Choose among the allowed clusters of each block; blocks with a single one left are fixed beforehand."""
    core = _Core(problem, allowed)
    costs = np.where(allowed[core.blocks], problem.costs[core.blocks], np.inf)
    links, constant = core.charge_links(costs)
    constant += float(problem.costs[core.fixed, core.labels[core.fixed]].sum())
    if not np.isfinite(constant):
        return CoreAnswer(None, np.inf, "infeasible")
    if not core.blocks.size:
        is_feasible = problem.is_feasible(core.labels)
        return CoreAnswer(core.labels, constant, "optimal") if is_feasible else CoreAnswer(None, np.inf, "infeasible")
    answer = core.model(costs, links).solve(deadline=deadline, start=None if start is None else start[core.blocks])
    if answer.labels is None:
        return CoreAnswer(None, constant + answer.bound, answer.status)
    labels = core.labels.copy()
    labels[core.blocks] = answer.labels
    return CoreAnswer(labels, constant + answer.bound, answer.status)


@dataclass(frozen=True, eq=False)
class _Core:
    """Which blocks have one cluster left and which have a choice; of the latter `labels` says nothing."""

    problem: AssignmentProblem
    allowed: NDArray[np.bool_]

    @cached_property
    def fixed(self) -> NDArray[np.bool_]:
        """Whether each block has a single cluster left."""
        is_single: NDArray[np.bool_] = self.allowed.sum(axis=1) == 1
        return is_single

    @cached_property
    def blocks(self) -> NDArray[np.intp]:
        """The blocks of the core, in the order of the model."""
        return np.flatnonzero(~self.fixed)

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """Cluster of each fixed block."""
        only: NDArray[np.int32] = self.allowed.argmax(axis=1).astype(np.int32)
        return only

    def charge_links(self, costs: NDArray[np.float64]) -> tuple[Edges | None, float]:
        """Move links with a fixed end into costs (in place); returns the links inside the core and a constant."""
        edges = links_of(self.problem.links)
        if edges is None:
            return None, 0.0
        u, v, w = edges
        fixed, labels = self.fixed, self.labels
        both = fixed[u] & fixed[v]
        constant = paid(w[both], labels[u[both]] == labels[v[both]])
        position = np.full(self.problem.n_blocks, -1, dtype=np.int32)
        position[self.blocks] = np.arange(self.blocks.size, dtype=np.int32)
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

    def model(self, costs: NDArray[np.float64], links: Edges | None) -> AssignmentModel:
        """Return the program over the blocks of the core, with the sizes that the fixed ones leave."""
        problem, given = self.problem, self.labels[self.fixed]
        demand, fixed_demand = None, None
        if problem.demand is not None:
            demand, fixed_demand = problem.demand[self.blocks], problem.demand[self.fixed]
        held = np.bincount(given, weights=fixed_demand, minlength=problem.n_clusters)
        at_least: NDArray[np.float64] | None = None
        if problem.nonempty:
            at_least = np.ones(problem.n_clusters) - np.bincount(given, minlength=problem.n_clusters)
        low, high = problem.widened_bounds
        resources = None
        if problem.resources is not None:
            others = replace(problem.resources, amounts=problem.resources.amounts[self.fixed]).sums(given)
            resources = problem.resources.restricted_to(self.blocks, others)
        return AssignmentModel(costs, links, demand, low - held, high - held, at_least, resources)
