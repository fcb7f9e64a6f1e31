"""A clustering as one object: labels, centers and costs that belong together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.assignment import Assignment


@dataclass(frozen=True, eq=False)
class Clustering:
    """Result of one run; replaced as a whole, so that its parts stay consistent."""

    block_labels: NDArray[np.int32]  # (n_blocks,): cluster of each block.
    centers: NDArray[np.float64]  # (n_clusters, n_features): weighted means of the clusters.
    inertia: float  # Weighted squared distances of all rows to their centers.
    objective: float  # Inertia plus what broken soft links cost.
    n_iter: int  # Assignment steps that led here.
    converged: bool  # Whether the labels stopped changing, or the centers moved less than the tolerance.
    # Whether every assignment step was solved to proved optimality; None: no proof was needed.
    proven: bool | None = True
    assignment: Assignment | None = None  # The last assignment step, a start for further ones.
    # How far the last step may be from its optimum, relative to its cost; None where it was not computed.
    step_gap: float | None = None
    n_violations: int = 0  # Broken links of a method that may break them; fewer is better, before the objective.
    interrupted: bool = False  # Whether the keyboard ended the search whose best run this is.

    def in_order(self, sizes: NDArray[Any]) -> "Clustering":
        """Number clusters by size, the largest first, then by center: fits of nearly the same rows number alike."""
        order = np.lexsort((*self.centers.T[::-1], -sizes))
        number, last = np.argsort(order).astype(np.int32), self.assignment
        if last is not None:
            prices = None if last.prices is None else last.prices[order]
            last = replace(last, labels=number[last.labels], prices=prices)
        return replace(self, block_labels=number[self.block_labels], centers=self.centers[order], assignment=last)


def is_lower(new: float, old: float) -> bool:
    """Whether one objective is below another by more than rounding."""
    return new < old - SAME_OBJECTIVE * abs(old)
