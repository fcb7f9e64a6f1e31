"""Lloyd's loop with momentum: fewer steps than its own on clusters that overlap, and lower ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.assignment import Assignment
from konstrain.estimators._lloyd import Lloyd
from konstrain.exceptions import UndecidedError
from konstrain.result import Clustering

# Where moving the centers gains more than this share of a step's cost, what is left of it is computed anew.
MOST_CANCELLED = 0.9


@dataclass(frozen=True, eq=False)
class _Reached:
    """Labels, their means, what they cost with just these means, and the assignment step that found them."""

    step: Assignment
    means: NDArray[np.float64]
    objective: float


@dataclass(eq=False)
class MomentumLloyd(Lloyd):
    """Lloyd's loop whose centers go on in the direction of their last move.

    A step of Lloyd's loop starts from the means of the last labels; here it starts as far beyond them as `momentum`
    times their last move. Labels that do not cost less than the last ones are dropped, and the next step starts from
    the means themselves, where it cannot lead up. So the objective falls from one kept step to the next, as in
    Lloyd's own loop, and the end is an end of that loop too: the last step always starts from the means.

    Parameters
    ----------
    momentum : float
        How far to go on, in units of the last move.
    """

    momentum: float = 1.0

    def run(self, centers: NDArray[np.float64], warm: Assignment | None = None) -> Clustering:
        """Run from these centers; the objective never rises from one kept step to the next."""
        best: _Reached | None = None
        at_means, converged, proven, n_iter = False, False, True, 0
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            try:
                warm = self.step(centers, warm)
            except UndecidedError:
                if best is None:
                    raise
                break  # out of time within a step: the last complete one stands
            proven &= warm.proven
            reached = self._reached(warm, centers)
            if best is None or reached.objective < best.objective - SAME_OBJECTIVE * abs(best.objective):
                settled = best is not None and self.has_settled(best.means, reached.means)
                converged, at_means = settled and at_means, settled
                centers = self._beyond(best, reached, settled)
                best = reached
            else:
                converged, at_means, centers = at_means, True, best.means
            if self.deadline.expired():
                break
        assert best is not None
        return self.clustering(
            best.step.labels, best.means, n_iter, converged=converged, proven=proven, warm=best.step
        )

    def _reached(self, step: Assignment, centers: NDArray[np.float64]) -> _Reached:
        """Take the means of a step's labels; by them the step costs less than by the centers it started from."""
        means = self.centers_of(step.labels, centers)
        weight = np.bincount(step.labels, self._weight, len(centers))
        gain = float(weight @ ((means - centers) ** 2).sum(axis=1))
        if gain <= MOST_CANCELLED * step.cost:
            return _Reached(step, means, step.cost - gain)
        # From centers far away the difference of two large numbers would be all rounding.
        own = self._own_cost(step.labels, means)
        return _Reached(step, means, own + self.penalty(step.labels) - self._constant_penalty)

    def _beyond(self, before: _Reached | None, now: _Reached, settled: bool) -> NDArray[np.float64]:
        """Where to start the next step."""
        if before is None or settled:
            return now.means
        return now.means + self.momentum * (now.means - before.means)
