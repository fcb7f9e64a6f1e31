"""A clustering as one object: labels, centers and costs that belong together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.assignment import Assignment


@dataclass(frozen=True, eq=False)
class Clustering:
    """What one run ends with; replaced whole or not at all, so that its parts never disagree.

    Parameters
    ----------
    block_labels : ndarray of int32, shape (n_blocks,)
        Cluster of each block.
    centers : ndarray of float64, shape (n_clusters, n_features)
        Weighted means of the clusters.
    inertia : float
        Weighted squared distances of all rows to their centers.
    objective : float
        Inertia plus what broken soft links cost.
    n_iter : int
        Assignment steps that led here.
    converged : bool
        Whether the labels stopped changing, or the centers moved less than the tolerance.
    proven : bool or None
        Whether every assignment step was solved to proved optimality; None: no proof was asked for.
    assignment : Assignment or None
        The last assignment step, a start for further ones.
    step_gap : float or None
        How far the last step may be from its optimum, relative to its cost; None where nobody looked.
    n_violations : int
        Links that a method which may break links broke; fewer is better, whatever the objective.
    interrupted : bool
        Whether the keyboard ended the search whose best run this is.
    """

    block_labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    inertia: float
    objective: float
    n_iter: int
    converged: bool
    proven: bool | None = True
    assignment: Assignment | None = None
    step_gap: float | None = None
    n_violations: int = 0
    interrupted: bool = False


def is_lower(new: float, old: float) -> bool:
    """Whether one objective is below another by more than rounding."""
    return new < old - SAME_OBJECTIVE * abs(old)
