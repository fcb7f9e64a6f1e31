"""Lloyd's loop, plain and with momentum, bound to its steps and limits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import MOST_CANCELLED
from konstrain.assignment import Assignment
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.steps import Steps, is_hard, placed
from konstrain.stop import Budget


@dataclass(eq=False)
class Iterations:
    """The iterations of one loop: counted, ended by their number or by time, with what was proved in them.

    Iterating yields their numbers from 1 on, at least one, even after the budget.
    """

    budget: Budget  # When the loop is to end with what it has.
    max_iter: int = 300  # Most iterations.
    # Squared movement of all centers together that counts as none; 0: only labels that stay end a loop.
    tol: float = 0.0

    def __post_init__(self) -> None:
        self.n_iter = 0  # Iterations begun.
        self.proven = True  # Whether every step that `attempt` took was solved to proved optimality.
        self.interrupted = False  # Whether the keyboard ended a step after the first.
        self._n_taken = 0

    def __iter__(self) -> Iterator[int]:
        while self.n_iter < self.max_iter and not (self.n_iter and self.budget.expired()):
            self.n_iter += 1
            yield self.n_iter

    def attempt(self, step: Callable[..., Assignment], *arguments: Any) -> Assignment | None:
        """Take an assignment step; None when time or the user ended it after an earlier complete step.

        Before any complete step the error is raised.
        """
        try:
            solution = step(*arguments)
        except (UndecidedError, KeyboardInterrupt) as error:
            if self._n_taken == 0:
                raise
            self.interrupted = isinstance(error, KeyboardInterrupt)
            return None
        self._n_taken += 1
        self.proven &= solution.proven
        return solution

    def has_converged(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
        """Whether the centers moved by less than the tolerance."""
        return self.tol > 0 and float(((after - before) ** 2).sum()) <= self.tol


# From steps and centers to a clustering, within iterations, perhaps starting from the solution of a similar step.
LoopFunction = Callable[[Any, NDArray[np.float64], Iterations, Assignment | None], Clustering]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop with its steps and limits, which a search runs many times."""

    function: LoopFunction  # The loop: `lloyd`, `lloyd_with_momentum`, or a paper's.
    steps: Steps  # What an iteration is made of; its budget is the loop's.
    # `max_iter` and `tol`: as in `Iterations`.
    max_iter: int = 300
    tol: float = 0.0

    def after(self, clustering: Clustering) -> "Loop":
        """Return the loop with the iterations that a clustering has left of `max_iter`; there may be none."""
        return replace(self, max_iter=self.max_iter - clustering.n_iter)

    def run(self, centers: NDArray[np.float64], warm: Assignment | None = None) -> Clustering:
        """Run from these centers; `warm` is the solution to a similar assignment step."""
        steps = self.steps
        # Steps that may end without proof leave time for other runs and for the proof of the last step.
        is_cut_short = steps.step_work is not None and is_hard(steps.problem)
        iterations = Iterations(steps.budget.part() if is_cut_short else steps.budget, self.max_iter, self.tol)
        found = self.function(steps, centers, iterations, warm)
        return replace(found, interrupted=True) if iterations.interrupted else found


def lloyd(
    steps: Steps, centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None = None
) -> Clustering:
    """Assign blocks and move centers until nothing changes; the objective never rises from one step to the next."""
    labels: NDArray[np.int32] | None = None
    converged = False
    for _ in iterations:
        solution = _next_step(steps, centers, iterations, labels, warm)
        if solution is None:
            break
        converged = labels is not None and steps.are_same(labels, solution.labels)
        labels, warm = solution.labels, solution
        if converged:
            break
        before, centers = centers, steps.centers_of(labels, centers)
        if iterations.has_converged(before, centers):
            converged = True
            # Labels once more for the centers that will be reported, then the means of just these labels.
            solution = _next_step(steps, centers, iterations, labels, warm)
            if solution is not None:
                labels, warm = solution.labels, solution
                centers = steps.centers_of(labels, centers)
            break
    assert labels is not None
    return steps.clustering(
        labels, centers, iterations.n_iter, converged=converged, proven=iterations.proven, warm=warm
    )


def _next_step(
    steps: Steps,
    centers: NDArray[np.float64],
    iterations: Iterations,
    labels: NDArray[np.int32] | None,
    warm: Assignment | None,
) -> Assignment | None:
    """Take a step; None when time ended it before it found labels that cost no more than `labels`."""
    solution = iterations.attempt(steps.step, centers, warm)
    if solution is None or solution.proven or labels is None:
        return solution
    return None if solution.cost > steps.cost_of(labels, centers) else solution


@dataclass(frozen=True, eq=False)
class _Reached:
    """Labels, their means, what they cost with just these means, and the assignment step that found them."""

    step: Assignment
    means: NDArray[np.float64]
    objective: float

    @classmethod
    def of(cls, steps: Steps, step: Assignment, centers: NDArray[np.float64]) -> Self:
        """Take the means of a step's labels; by them the step costs less than by the centers it started from."""
        means = steps.centers_of(step.labels, centers)
        saved = float(steps.pulls(step.labels) @ ((means - centers) ** 2).sum(axis=1))
        if saved <= MOST_CANCELLED * step.cost:
            return cls(step, means, step.cost - saved)
        # From centers far away the difference of two large numbers would be all rounding.
        return cls(step, means, steps.cost_of(step.labels, means))

    def beyond(self, now: "_Reached", momentum: float) -> NDArray[np.float64]:
        """Return centers as far beyond the means reached now as `momentum` times their move from here."""
        return now.means + momentum * (now.means - self.means)


def lloyd_with_momentum(
    steps: Steps,
    centers: NDArray[np.float64],
    iterations: Iterations,
    warm: Assignment | None = None,
    *,
    momentum: float = 1.0,
) -> Clustering:
    """Run Lloyd's loop with centers that go on in the direction of their last move.

    A step of Lloyd's loop starts from the means of the last labels; here it starts beyond them, by `momentum` times
    their last move. Labels that do not cost less than the last ones are dropped, and the next step starts from the
    means, where the objective cannot rise. So the objective falls from one kept step to the next, and the result is
    also a fixed point of Lloyd's loop: the last step always starts from the means.
    """
    best: _Reached | None = None
    at_means = converged = False
    for _ in iterations:
        solution = iterations.attempt(steps.step, centers, warm)
        if solution is None:
            break
        warm = solution
        reached = _Reached.of(steps, solution, centers)
        if best is None or is_lower(reached.objective, best.objective):
            is_still = best is not None and iterations.has_converged(best.means, reached.means)
            converged, at_means = is_still and at_means, is_still
            centers = reached.means
            if best is not None and not is_still:
                centers = placed(steps.problem, best.beyond(reached, momentum))
            best = reached
        else:
            converged, at_means, centers = at_means, True, best.means
        if converged:
            break
    assert best is not None
    return steps.clustering(
        best.step.labels,
        best.means,
        iterations.n_iter,
        converged=converged,
        proven=iterations.proven,
        warm=warm,  # The last step starts from the means: its duals are theirs.
    )
