"""Lloyd's loop with an exact assignment step: the shared heart of the k-means methods."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from konstrain import distances
from konstrain.assignment import Assignment, AssignmentProblem, assign
from konstrain.constraints import Problem
from konstrain.estimators._linked_part import LinkedPart
from konstrain.exceptions import UndecidedError
from konstrain.result import Clustering
from konstrain.stop import Deadline


@dataclass(eq=False)
class Lloyd:
    """One k-means run: costs, exact assignment, centers, until nothing changes.

    Methods of the papers override `costs`, `assign`, `centers_of` or `has_settled`: what a paper changes, no more.

    Parameters
    ----------
    problem : Problem
        Blocks, links and bounds.
    max_iter : int
        Most assignment steps.
    tol : float
        Squared movement of all centers together below which the run ends; 0: only when labels stop changing.
    violation_cost : float or None
        What breaking a soft link of confidence 1 costs; None when there are no soft links.
    deadline : Deadline
        When it passes, the run ends with what it has.
    n_threads : int
        Threads of the distance kernels; the result does not depend on it.
    """

    problem: Problem
    max_iter: int = 300
    tol: float = 0.0
    violation_cost: float | None = None
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    n_threads: int = 1
    _known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(default=None, init=False, repr=False)
    _sums: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, init=False, repr=False
    )

    def run(self, centers: NDArray[np.float64], warm: Assignment | None = None) -> Clustering:
        """Run from these centers; the objective never rises from one step to the next."""
        labels: NDArray[np.int32] | None = None
        proven, converged, n_iter = True, False, 0
        while n_iter < self.max_iter:
            n_iter += 1
            try:
                warm = self.step(centers, warm)
            except UndecidedError:
                if labels is None:
                    raise
                break  # out of time within a step: the last complete one stands
            if labels is not None and self._got_worse(centers, labels, warm):
                break
            proven &= warm.proven
            unchanged = labels is not None and np.array_equal(labels, warm.labels)
            labels = warm.labels
            if unchanged:
                converged = True
                break
            moved, centers = centers, self.centers_of(labels, centers)
            if self.has_settled(moved, centers):
                # Labels once more for the centers that will be reported, then the means of just these labels.
                warm = self.step(centers, warm)
                labels, converged = warm.labels, True
                centers = self.centers_of(labels, centers)
                break
            if self.deadline.expired():
                break
        assert labels is not None
        return self.clustering(labels, centers, n_iter, converged=converged, proven=proven, warm=warm)

    def step(self, centers: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Solve one assignment step."""
        if self.problem.is_free or self._part is not None:
            answer = self._step_without_matrix(centers)
            if answer is not None:
                return answer
        return self.assign(self.costs(centers), warm)

    def _step_without_matrix(self, centers: NDArray[np.float64]) -> Assignment | None:
        """Send every block to its nearest center, then put the linked ones right; None if a cluster ends empty."""
        labels, cost, sums, weights = distances.nearest_pass(
            self.problem.mean, self._weight, centers, n_threads=self.n_threads
        )
        if self._part is None:
            answer = Assignment(labels, cost, cost, True, "nearest")
        else:
            settled = self._part.settle(labels, centers, self.deadline, self.n_threads)
            if not settled.move(sums, weights):
                sums, weights = self._summed(labels, len(centers))
            answer = replace(
                settled.answer, labels=labels, cost=cost + settled.rise, lower_bound=cost + settled.proved_rise
            )
        # Clusters without weight may still hold blocks, of weight zero.
        if self.problem.nonempty and not ((weights > 0).all() or np.bincount(labels, minlength=len(centers)).all()):
            return None
        self._sums = (labels, sums, weights)
        return answer

    @cached_property
    def _part(self) -> LinkedPart | None:
        if self.problem.size_min is not None or self.problem.size_max is not None:
            return None
        return LinkedPart.of(self.problem, self.violation_cost)

    def costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each block in each cluster: its weight times the squared distance of its mean.

        Good until the next call: all write to the same array, and what is in it already is not computed again.
        """
        if self._known is None or not np.array_equal(self._known[1], centers):
            out = None if self._known is None else self._known[0]
            costs = distances.block_costs(self.problem.mean, self._weight, centers, n_threads=self.n_threads, out=out)
            self._known = costs, centers.copy()
        return self._known[0]

    def assign(self, costs: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Put blocks into clusters at least total cost."""
        question: AssignmentProblem = self.problem.assignment_problem(costs, self.violation_cost)
        anyhow = replace(question, nonempty=False)
        if question.nonempty and not anyhow.has_sizes:
            # Non-emptiness alone couples all blocks, and is rarely in the way: look first what happens without it.
            answer = assign(anyhow, warm=warm, time_limit=self.remaining_seconds())
            if (np.bincount(answer.labels, minlength=question.n_clusters) > 0).all():
                return answer
        return assign(question, warm=warm, time_limit=self.remaining_seconds())

    def remaining_seconds(self) -> float | None:
        """Time limit for one more step; None: no limit."""
        limit = self.deadline.remaining()
        return limit if np.isfinite(limit) else None

    def centers_of(self, labels: NDArray[np.int32], previous: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted means of the clusters; a cluster without weight keeps its center."""
        if self._sums is not None and self._sums[0] is labels:
            _, sums, weights = self._sums  # the sweep that found these labels has summed them up already
        else:
            sums, weights = self._summed(labels, len(previous))
        filled = weights > 0
        centers = previous.copy()
        centers[filled] = sums[filled] / weights[filled, None]
        return centers

    def _summed(self, labels: NDArray[np.int32], n_clusters: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weighted sums and weights of the clusters."""
        return distances.center_sums(self.problem.mean, self._weight, labels, n_clusters, n_threads=self.n_threads)

    def has_settled(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
        """Whether the centers moved so little that going on is not worth it."""
        return self.tol > 0 and float(((after - before) ** 2).sum()) <= self.tol

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
        """Bundle labels and centers with the costs they have."""
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
        """What the soft links that these labels break cost."""
        if self.violation_cost is None:
            return 0.0
        links = self.problem.links_at(self.violation_cost)
        return self._constant_penalty + (links.penalty(labels) if links is not None else 0.0)

    @property
    def _constant_penalty(self) -> float:
        """What broken soft links cost in every clustering, and no assignment step counts."""
        return self.problem.constant_penalty * (self.violation_cost or 0.0)

    @property
    def _weight(self) -> NDArray[np.float64] | None:
        return None if self.problem.has_unit_weight else self.problem.weight

    def _got_worse(self, centers: NDArray[np.float64], labels: NDArray[np.int32], new: Assignment) -> bool:
        """Whether an answer that was cut short costs more than simply keeping the labels."""
        if new.proven:
            return False
        return new.cost > self._own_cost(labels, centers) + self.penalty(labels) - self._constant_penalty

    def _own_cost(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """What all blocks cost in their own clusters."""
        return distances.own_costs(self.problem.mean, self._weight, labels, centers, n_threads=self.n_threads)
