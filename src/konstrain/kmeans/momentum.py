"""Lloyd's loop with momentum: fewer steps than its own on clusters that overlap, and lower ends."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import Assignment
from konstrain.kmeans.loop import Iterations
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.steps import Steps

# Where moving the centers saves more than this share of a step's cost, what is left of it is computed anew.
MOST_CANCELLED = 0.9


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
        saved = float(steps.cluster_weights(step.labels) @ ((means - centers) ** 2).sum(axis=1))
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

    A step of Lloyd's loop starts from the means of the last labels; here it starts as far beyond them as `momentum`
    times their last move. Labels that do not cost less than the last ones are dropped, and the next step starts from
    the means themselves, where it cannot lead up. So the objective falls from one kept step to the next, as in
    Lloyd's own loop, and the end is an end of that loop too: the last step always starts from the means.
    """
    best: _Reached | None = None
    at_means = converged = False
    for _ in iterations:
        answer = iterations.attempt(steps.step, centers, warm)
        if answer is None:
            break
        warm = answer
        reached = _Reached.of(steps, answer, centers)
        if best is None or is_lower(reached.objective, best.objective):
            settled = best is not None and iterations.has_settled(best.means, reached.means)
            converged, at_means = settled and at_means, settled
            centers = reached.means if best is None or settled else best.beyond(reached, momentum)
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
        warm=best.step,
    )
