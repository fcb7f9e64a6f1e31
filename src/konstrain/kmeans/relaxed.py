"""Centers led by shares instead of labels, where labels that keep all bounds are hard to find.

A step by shares is a linear program (`assignment/relaxed.py`), whose cost is the bound of the step by labels. Labels
are near that bound at centers that rest, and far from it at poor ones. So the loop and relocations go by shares, and
labels follow from where that ends.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import AssignmentProblem
from konstrain.assignment.relaxed import Relaxed, relax, suits
from konstrain.kmeans import local_search
from konstrain.kmeans.steps import Steps, centers_from

# Relative fall of the cost from one step to the next at which centers rest, and at which others are better.
RESTING = 1e-4
# How far a step starts beyond the last centers, in their last move (`momentum.py`).
MOMENTUM = 1.0
# Steps after which centers rest anyway, and steps of a whole search.
MOST_STEPS = 50
ALL_STEPS = 500
# How many times their last fall relocated centers are trusted to go on falling.
PATIENCE = 8.0
# Relocations tried in a row without success.
RELOCATIONS = 40


@dataclass(frozen=True, eq=False)
class _Place:
    """Centers, what the shares that led to them cost there, and these shares."""

    centers: NDArray[np.float64]
    cost: float
    answer: Relaxed


def supports(steps: Steps) -> bool:
    """Whether steps by shares are much easier than steps by labels."""
    problem = steps.problem
    if type(steps) is not Steps or problem.resources is None or problem.n_clusters < 2:
        return False
    return suits(_question(steps, np.zeros((problem.n_blocks, problem.n_clusters))))


def led_by_shares(steps: Steps, centers: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return where centers lead by shares: to where they rest, then relocated as long as that helps."""
    return _ByShares(steps, seed, ALL_STEPS).lead(centers)


@dataclass(eq=False)
class _ByShares:
    """A search that counts its steps; `n_left` of them are left."""

    steps: Steps
    seed: int
    n_left: int

    def lead(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        best = self._settled(centers, None, np.inf)
        improved = True
        while improved:
            improved = False
            for relocated in self._relocations(best):
                if self._is_over():
                    break
                found = self._settled(relocated, best.answer, best.cost)
                if found.cost < best.cost * (1.0 - RESTING):
                    best, improved = found, True
                    break
        return best.centers

    def step(self, centers: NDArray[np.float64], near: Relaxed | None) -> _Place:
        """Deal out shares, and move every center to the mean of what it got."""
        self.n_left -= 1
        steps, problem = self.steps, self.steps.problem
        answer = relax(_question(steps, steps.costs(centers)), near, steps.deadline)
        taken = answer.shares * problem.weight[:, None]
        means = centers_from(taken.T @ problem.mean, taken.sum(axis=0), centers)
        return _Place(means, float((answer.shares * steps.costs(means)).sum()), answer)

    def _settled(self, centers: NDArray[np.float64], near: Relaxed | None, limit: float) -> _Place:
        """Take steps until centers rest, or do not promise to come below the limit."""
        best = self.step(centers, near)
        start, last, is_plain = best.centers, best.answer, True
        for _ in range(MOST_STEPS):
            if self._is_over():
                break
            found = self.step(start, last)
            last, fall = found.answer, best.cost - found.cost
            if fall <= RESTING * best.cost:
                if is_plain:
                    break
                start, is_plain = best.centers, True
                continue
            start, is_plain = found.centers + MOMENTUM * (found.centers - best.centers), False
            best = found
            if best.cost - PATIENCE * fall > limit:
                break
        return best

    def _relocations(self, at: _Place) -> list[NDArray[np.float64]]:
        labels = at.answer.shares.argmax(axis=1).astype(np.int32)
        problem = self.steps.problem
        return local_search.relocation_candidates(
            problem.mean, problem.weight, labels, problem.n_clusters, RELOCATIONS, self.seed
        )

    def _is_over(self) -> bool:
        return self.n_left <= 0 or self.steps.deadline.expired()


def _question(steps: Steps, costs: NDArray[np.float64]) -> AssignmentProblem:
    return replace(steps.problem.assignment_problem(costs, steps.violation_cost), nonempty=False)
