"""The steps of k-means over a problem: costs, assignment of blocks, centers."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import stop
from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.assignment import Assignment, AssignmentProblem, assign_by
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.linked_part import LinkedPart
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.sized_part import SizedPart
from konstrain.stop import UNLIMITED, Budget


@dataclass(eq=False)
class Steps:
    """An iteration of k-means: costs, an exact assignment, new centers.

    A method of a paper is a subclass that overrides `costs`, `assign` or `centers_of`. Loops (`loop.py`) decide on
    the order of steps and on their end.
    """

    problem: Problem  # Blocks, links and bounds.
    # What breaking a soft link of confidence 1 costs; None when there are no soft links.
    violation_cost: float | None = None
    budget: Budget = UNLIMITED  # Time and work of all steps together.
    n_threads: int = 1  # Threads of the distance kernels; the result does not depend on it.
    # Work for the proof of one assignment; None: every assignment is proved, if there is time.
    step_work: float | None = None
    _known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(default=None, init=False, repr=False)
    _sums: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    _lists_failed: bool = field(default=False, init=False, repr=False)

    def step(self, centers: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Solve one assignment step."""
        if self.problem.is_free or self._part is not None:
            solution = self._step_without_matrix(centers)
            if solution is not None:
                return solution
        if self._sized is not None:
            solution = self._step_under_sizes(self._sized, centers, warm)
            if solution is not None:
                return solution
        return self.assign(self.costs(centers), warm)

    def _step_under_sizes(
        self, sized: SizedPart, centers: NDArray[np.float64], warm: Assignment | None
    ) -> Assignment | None:
        """Assign blocks where sizes alone couple them; None: the engine has to start from zero duals."""
        if sized.uses_lists and not self._lists_failed:
            found = sized.step_by_lists(centers, self._weight, warm, self.budget, self.n_threads)
            if found is not None:
                solution, self._sums = found
                return solution
            # Rows that lie between very many clusters do so in later steps, too.
            self._lists_failed = True
        duals = sized.start_duals(warm)
        if duals is None:
            return None
        moved = None
        if self._known is not None:
            moved = np.flatnonzero((self._known[1] != centers).any(axis=1)).astype(np.int32)
        # Invalid while the buffer is written.
        costs, self._known = self._cost_buffer, None
        solution, self._sums = sized.step_from_duals(
            centers, self._weight, duals, costs, moved, self.budget, self.n_threads
        )
        self._known = costs, centers.copy()
        return solution if solution.proven or self.budget.expired() else None

    def _step_without_matrix(self, centers: NDArray[np.float64]) -> Assignment | None:
        """Assign every block to its nearest center, then the linked ones exactly; None if a cluster ends empty."""
        labels, cost, sums, weights = distances.nearest_pass(
            self.problem.mean, self._weight, centers, n_threads=self.n_threads
        )
        if self._part is None:
            solution = Assignment(labels, cost, cost, True, "nearest")
        else:
            placed = self._part.place(labels, centers, self.solve, self.n_threads)
            if not placed.move(sums, weights):
                sums, weights = self.sums_of(labels)
            solution = replace(
                placed.solution, labels=labels, cost=cost + placed.rise, lower_bound=cost + placed.proved_rise
            )
        # Clusters without weight may still hold blocks, of weight zero.
        if self.problem.nonempty and not ((weights > 0).all() or np.bincount(labels, minlength=len(centers)).all()):
            return None
        self._sums = (labels, sums, weights)
        return solution

    @cached_property
    def _part(self) -> LinkedPart | None:
        if self.problem.has_bounds or self.problem.homes is not None:
            return None
        return LinkedPart.of(self.problem, self.violation_cost)

    @cached_property
    def _sized(self) -> SizedPart | None:
        return None if self.problem.homes is not None else SizedPart.of(self.problem, self.violation_cost)

    def costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each block in each cluster: its weight times the squared distance of its mean.

        Valid until the next call: all calls share one array, which is not filled again for the same centers.
        """
        if self._known is None or not np.array_equal(self._known[1], centers):
            costs, self._known = self._cost_buffer, None
            distances.block_costs(self.problem.mean, self._weight, centers, n_threads=self.n_threads, out=costs)
            self._known = costs, centers.copy()
        return self._known[0]

    @cached_property
    def _cost_buffer(self) -> NDArray[np.float64]:
        return np.empty((self.problem.n_blocks, self.problem.n_clusters))

    def assign(self, costs: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Assign blocks at least total cost."""
        problem = self.problem.assignment_problem(costs, self.violation_cost)
        relaxed = replace(problem, nonempty=False)
        if problem.nonempty and not relaxed.has_sizes:
            # Non-emptiness alone couples all blocks, and is rarely violated: the problem without it comes first.
            solution = self.solve(relaxed, warm)
            if (np.bincount(solution.labels, minlength=problem.n_clusters) > 0).all():
                return solution
        return self.solve(problem, warm)

    def solve(self, problem: AssignmentProblem, warm: Assignment | None = None) -> Assignment:
        """Solve an assignment problem within the budget of a step."""
        is_hard = problem.has_resources
        is_hard |= problem.has_sizes and (problem.has_links or problem.demand is not None)
        if self.step_work is None or not is_hard:
            return assign_by(problem, warm=warm, budget=self.budget)
        # Under resources and shares a proof takes long, and repair leaves little to gain.
        for work in (0.0 if problem.has_resources else self.step_work, stop.PARAMS.work):
            try:
                return assign_by(problem, warm=warm, budget=self.budget.part(work=work))
            except UndecidedError:
                continue
        # No labels yet: all of the budget may be spent on finding some.
        return assign_by(problem, warm=warm, budget=self.budget)

    def centers_of(self, labels: NDArray[np.int32], previous: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted means of the clusters, or their directions; a cluster without weight keeps its center."""
        return centers_from(*self._known_sums(labels), previous, unit=self.problem.unit_centers)

    def _known_sums(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._sums is not None and self._sums[0] is labels:
            return self._sums[1:]  # The sweep that found these labels summed them up.
        return self.sums_of(labels)

    def pulls(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """What each cluster costs more per squared distance of its center from the best place for it."""
        if not self.problem.unit_centers:
            return self.cluster_weights(labels)
        lengths: NDArray[np.float64] = np.linalg.norm(self._known_sums(labels)[0], axis=1)
        return lengths

    def are_same(self, labels: NDArray[np.int32], others: NDArray[np.int32]) -> bool:
        """Whether two labelings are the same."""
        return bool(np.array_equal(labels, others))

    def clustering(
        self,
        labels: NDArray[np.int32],
        centers: NDArray[np.float64],
        n_iter: int,
        *,
        converged: bool,
        proven: bool = True,
        warm: Assignment | None = None,
    ) -> Clustering:
        """Return labels and centers with their costs."""
        inertia = self.inertia(labels, centers)
        return Clustering(
            block_labels=labels,
            centers=centers,
            inertia=inertia,
            objective=inertia + self.penalty(labels),
            n_iter=n_iter,
            converged=converged,
            proven=proven,
            assignment=warm,
        )

    def inertia(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """Weighted squared distances of all rows to their centers."""
        assert self.problem.scatter is not None
        return self._own_cost(labels, centers) + float(self.problem.scatter.sum())

    def penalty(self, labels: NDArray[np.int32]) -> float:
        """Penalties of broken soft links, and costs of moved rows."""
        homes = self.problem.homes
        moves = 0.0 if homes is None else homes.cost * homes.n_moved(labels)
        if self.violation_cost is None:
            return moves
        links = self.problem.links_at(self.violation_cost)
        return moves + self.constant_penalty + (links.penalty(labels) if links is not None else 0.0)

    @property
    def constant_penalty(self) -> float:
        """Penalty of soft links that every clustering breaks, which assignment steps leave out."""
        return self.problem.constant_penalty * (self.violation_cost or 0.0)

    def cost_of(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """Cost of labels in an assignment step at these centers, broken soft links included."""
        return self._own_cost(labels, centers) + self.penalty(labels) - self.constant_penalty

    def cluster_weights(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Total weight of each cluster."""
        return np.bincount(labels, self._weight, self.problem.n_clusters).astype(np.float64, copy=False)

    def sums_of(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weighted sum of the blocks of each cluster, and its weight."""
        return distances.center_sums(
            self.problem.mean, self._weight, labels, self.problem.n_clusters, n_threads=self.n_threads
        )

    @property
    def _weight(self) -> NDArray[np.float64] | None:
        return None if self.problem.has_unit_weight else self.problem.weight

    def _own_cost(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """Cost of all blocks in their own clusters."""
        return distances.own_costs(self.problem.mean, self._weight, labels, centers, n_threads=self.n_threads)


def is_hard(problem: Problem) -> bool:
    """Return whether an exact step may take long: sizes with links or unequal demand, resources, shares."""
    has_sizes = problem.size_min is not None or problem.size_max is not None
    return problem.resources is not None or (has_sizes and (problem.links is not None or not problem.has_unit_demand))


def centers_from(
    sums: NDArray[np.float64], weights: NDArray[np.float64], previous: NDArray[np.float64], *, unit: bool = False
) -> NDArray[np.float64]:
    """Divide sums of clusters by their weights; a cluster without weight keeps its center.

    With `unit` means are divided by their lengths, and one without a direction gives way to the previous center.
    """
    # Not in place: callers keep the previous centers to measure how far they moved.
    means = np.divide(sums, weights[:, None], out=previous.copy(), where=weights[:, None] > 0)
    if not unit:
        return means
    lengths: NDArray[np.float64] = np.linalg.norm(means, axis=1)[:, None]
    return np.divide(means, lengths, out=previous.copy(), where=lengths > TOTAL_RELATIVE)


def placed(problem: Problem, centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centers where a problem has them: anywhere, or at length one, those without a direction on an axis."""
    if not problem.unit_centers:
        return centers
    axis = np.eye(1, centers.shape[1]).repeat(len(centers), axis=0)
    return centers_from(centers, np.ones(len(centers)), axis, unit=True)
