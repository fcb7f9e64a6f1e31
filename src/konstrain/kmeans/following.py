"""Relocated centers, followed as long as they may lead below the best clustering."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower

# How many times the last fall of the objective centers are trusted to go on falling.
PATIENCE = 2.0


def follow(loop: Loop, centers: NDArray[np.float64], best: Clustering, probe: int) -> tuple[Clustering, bool]:
    """Run the loop `probe` iterations at a time until it is below the best; says whether going on promises to be.

    Parameters
    ----------
    loop : Loop
        The loop.
    centers : ndarray of float64, shape (n_clusters, n_features)
        Where to begin.
    best : Clustering
        What is to be improved.
    probe : int
        Iterations between two looks at where it leads.
    """
    part = replace(loop, max_iter=probe)
    found = part.run(centers, best.assignment)
    while not found.converged and not is_lower(found.objective, best.objective):
        before, further = found, part.run(found.centers, found.assignment)
        found = replace(further, n_iter=before.n_iter + further.n_iter)
        promised = found.objective - PATIENCE * (before.objective - found.objective)
        if not is_lower(promised, best.objective) or loop.steps.deadline.expired():
            return found, False
    return found, True
