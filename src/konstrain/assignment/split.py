"""A coupled problem in two parts that meet only in the sizes: blocks that transport can place, and all others.

Most rows of a large table have no links. Given where the linked ones stand, `transport` places the others exactly and
prices the clusters; at these prices the linked ones are a small problem of their own.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import transport
from konstrain.assignment.linked import LinkedAnswer, solve_linked
from konstrain.assignment.problem import Assignment, AssignmentProblem, only_prices
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Deadline


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of a coupled problem.

    Parameters
    ----------
    problem : AssignmentProblem
        With sizes.
    """

    problem: AssignmentProblem

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Blocks without links that all have one and the same demand: the most common one."""
        is_free, _ = most_common_demand(self.problem.demand, ~self.problem.graph.is_linked)
        return np.flatnonzero(is_free)

    @cached_property
    def tied(self) -> NDArray[np.intp]:
        """All other blocks."""
        is_tied = np.ones(self.problem.n_blocks, dtype=bool)
        is_tied[self.free] = False
        return np.flatnonzero(is_tied)

    def held_by(self, tied_labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Sum of the tied blocks' demands in each cluster."""
        return self._tied_problem.sizes(tied_labels)

    def place_tied(self, prices: NDArray[np.float64], deadline: Deadline) -> LinkedAnswer:
        """Place the tied blocks at least cost, prices included; sizes are left aside."""
        return solve_linked(self._tied_problem, deadline, prices)

    def place_free(
        self, tied_labels: NDArray[np.int32], prices: NDArray[np.float64], deadline: Deadline
    ) -> Assignment | None:
        """Place the free blocks by transport; None when the tied ones leave no room that would do."""
        part = self._free_problem(tied_labels)
        try:
            answer = transport.solve(part, warm=only_prices(prices), deadline=deadline)
        except InfeasibleError:
            return None  # the tied blocks alone break a bound; other prices may place them better
        return answer if np.isfinite(answer.lower_bound) else None

    def relaxed_around(self, placed: Assignment, tied_labels: NDArray[np.int32], deadline: Deadline) -> LinkedAnswer:
        """Solve the relaxation at the prices of placed free blocks, which are cheapest where they are.

        `tied_labels` are those that the free blocks were placed around.
        """
        assert placed.prices is not None
        tied = self.place_tied(placed.prices, deadline)
        least = transport.least_priced_cost(self._free_problem(tied_labels), placed)

        def slack() -> NDArray[np.float64]:
            total = np.zeros(self.problem.n_blocks)
            total[self.tied] = tied.slack()
            return total

        return LinkedAnswer(self.joined(placed.labels, tied.labels), tied.cost + least, tied.bound + least, slack)

    def joined(self, free_labels: NDArray[np.int32], tied_labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of all blocks."""
        labels = np.empty(self.problem.n_blocks, dtype=np.int32)
        labels[self.free], labels[self.tied] = free_labels, tied_labels
        return labels

    def _free_problem(self, tied_labels: NDArray[np.int32]) -> AssignmentProblem:
        """Return the free blocks with the sizes that the tied ones leave them."""
        problem = self.problem
        costs, demand = self._free_arrays
        held = self.held_by(tied_labels)
        low, high = (bounds - held for bounds in problem.widened_bounds)
        if problem.nonempty:
            unit = 1.0 if demand is None else float(demand[0])
            is_empty = np.bincount(tied_labels, minlength=problem.n_clusters) == 0
            low = np.where(is_empty, np.maximum(low, unit), low)
        return AssignmentProblem(costs, demand=demand, size_min=low, size_max=high)

    @cached_property
    def _free_arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Costs and demand of the free blocks."""
        # No copy where they stand first, as in what is left of large problems.
        stand_first = self.free.size and self.free[-1] == self.free.size - 1
        blocks = slice(self.free.size) if stand_first else self.free
        demand = self.problem.demand
        return self.problem.costs[blocks], None if demand is None else demand[blocks]

    @cached_property
    def _tied_problem(self) -> AssignmentProblem:
        problem, blocks = self.problem, self.tied
        return AssignmentProblem(
            costs=problem.costs[blocks],
            links=problem.graph.restricted_to(blocks.astype(np.int32)),
            demand=None if problem.demand is None else problem.demand[blocks],
        )


def most_common_demand(
    demand: NDArray[np.float64] | None, among: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], float]:
    """Which of these blocks have their most common positive demand, and which demand that is."""
    if demand is None:
        return among, 1.0
    values, counts = np.unique(demand[among & (demand > 0)], return_counts=True)
    if not values.size:
        return np.zeros_like(among), 1.0
    unit = float(values[counts.argmax()])
    return among & (demand == unit), unit
