"""One run of an estimator: where it starts, and how it gets from there to a clustering."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain.kmeans.lloyd import Lloyd
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start

# From centers to a clustering, by a loop and a seed.
Way = Callable[[Lloyd, NDArray[np.float64], int], Clustering]


def run_plainly(lloyd: Lloyd, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Run the loop, no more."""
    return lloyd.run(centers)


@dataclass(frozen=True, eq=False)
class Run:
    """One run from a seed."""

    lloyd: Lloyd
    start: Start
    way: Way = run_plainly

    def __call__(self, seed: int) -> Clustering:
        """Make the run."""
        lloyd = replace(self.lloyd)  # what it remembers is its own: runs may share a process
        return self.way(lloyd, self.start.centers(lloyd, seed), seed)
