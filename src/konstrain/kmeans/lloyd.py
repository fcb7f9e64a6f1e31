"""Lloyd's loop with an exact assignment step."""

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import Assignment
from konstrain.kmeans.loop import Iterations
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps


def lloyd(
    steps: Steps, centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None = None
) -> Clustering:
    """Assign blocks and move centers until nothing changes; the objective never rises from one step to the next."""
    labels: NDArray[np.int32] | None = None
    converged = False
    for _ in iterations:
        answer = _next_step(steps, centers, iterations, labels, warm)
        if answer is None:
            break
        converged = labels is not None and steps.are_same(labels, answer.labels)
        labels, warm = answer.labels, answer
        if converged:
            break
        before, centers = centers, steps.centers_of(labels, centers)
        if iterations.has_settled(before, centers):
            converged = True
            # Labels once more for the centers that will be reported, then the means of just these labels.
            answer = _next_step(steps, centers, iterations, labels, warm)
            if answer is not None:
                labels, warm = answer.labels, answer
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
    """Take a step; None when time cut it so short that it found nothing, or only what costs more than `labels`."""
    answer = iterations.attempt(steps.step, centers, warm)
    if answer is None or answer.proven or labels is None:
        return answer
    return None if answer.cost > steps.cost_of(labels, centers) else answer
