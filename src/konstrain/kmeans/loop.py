"""When a loop of k-means ends, and a loop bound to its steps and limits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import Assignment
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps, is_hard
from konstrain.stop import Budget


@dataclass(eq=False)
class Iterations:
    """The iterations of one loop: counted, ended by their number or by time, with what was proved in them.

    Iterating yields their numbers, from 1 on; there is at least one, however late it is.

    Parameters
    ----------
    budget : Budget
        When the loop is to end with what it has.
    max_iter : int
        Most iterations.
    tol : float
        Squared movement of all centers together that counts as none; 0: only labels that stay end a loop.

    Attributes
    ----------
    n_iter : int
        Iterations begun.
    proven : bool
        Whether every step that `attempt` took was solved to proved optimality.
    interrupted : bool
        Whether the keyboard ended a step after the first.
    """

    budget: Budget
    max_iter: int = 300
    tol: float = 0.0

    def __post_init__(self) -> None:
        self.n_iter = 0
        self.proven = True
        self.interrupted = False
        self._n_taken = 0

    def __iter__(self) -> Iterator[int]:
        while self.n_iter < self.max_iter and not (self.n_iter and self.budget.expired()):
            self.n_iter += 1
            yield self.n_iter

    def attempt(self, step: Callable[..., Assignment], *arguments: Any) -> Assignment | None:
        """Take an assignment step; None when time or the user ended it, and the last complete one has to stand.

        Before any complete step there is nothing to stand, and the error is the caller's.
        """
        try:
            answer = step(*arguments)
        except (UndecidedError, KeyboardInterrupt) as error:
            if self._n_taken == 0:
                raise
            self.interrupted = isinstance(error, KeyboardInterrupt)
            return None
        self._n_taken += 1
        self.proven &= answer.proven
        return answer

    def has_settled(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
        """Whether the centers moved so little that going on is not worth it."""
        return self.tol > 0 and float(((after - before) ** 2).sum()) <= self.tol


# From steps and centers to a clustering, within iterations, perhaps with the answer to a similar step to begin with.
LoopFunction = Callable[[Any, NDArray[np.float64], Iterations, Assignment | None], Clustering]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop with the steps it is made of and its limits: what a search runs again and again.

    Parameters
    ----------
    function : callable
        The loop: `lloyd`, `lloyd_with_momentum`, or a paper's.
    steps : Steps
        What an iteration is made of; its budget is the loop's.
    max_iter, tol
        As in `Iterations`.
    """

    function: LoopFunction
    steps: Steps
    max_iter: int = 300
    tol: float = 0.0

    def after(self, clustering: Clustering) -> "Loop":
        """Return the loop with the iterations that a clustering has left of `max_iter`; there may be none."""
        return replace(self, max_iter=self.max_iter - clustering.n_iter)

    def run(self, centers: NDArray[np.float64], warm: Assignment | None = None) -> Clustering:
        """Run from these centers; `warm` is the answer to a similar assignment step."""
        steps = self.steps
        # Steps that may end without proof leave time for other runs and for the proof of the last step.
        is_cut_short = steps.step_work is not None and is_hard(steps.problem)
        iterations = Iterations(steps.budget.part() if is_cut_short else steps.budget, self.max_iter, self.tol)
        found = self.function(steps, centers, iterations, warm)
        return replace(found, interrupted=True) if iterations.interrupted else found
