"""Relocation of centers after Lloyd's loop with exact steps, where the search itself would take too long."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from konstrain.kmeans.distances import nearest_pass
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.start import rows_of_means
from konstrain.kmeans.steps import Steps, centers_from

# Costs of all blocks in all clusters beyond which relocations are not estimated: they take memory for all of them.
MOST_COSTS = 5_000_000
# Iterations that cut a cluster in two: more of them, better estimates.
HALVING_STEPS = 4


def relocate_centers(loop: Loop, best: Clustering, seed: int) -> Clustering:
    """Follow relocations that promise a gain, one at a time, for as many iterations as led to a clustering."""
    steps, rng = loop.steps, np.random.default_rng(seed)
    n_left = best.n_iter
    problem = steps.problem
    if problem.n_clusters < 2 or problem.n_blocks * problem.n_clusters > MOST_COSTS:
        return best
    while best.converged and n_left > 0 and not steps.budget.expired():
        centers = _relocated(steps, best, rng)
        if centers is None:
            break
        further = loop.after(best)
        found = further.run(centers, best.assignment)
        n_left -= found.n_iter
        if found.interrupted or not is_lower(found.objective, best.objective):
            break
        best = replace(found, n_iter=best.n_iter + found.n_iter)
    return best


def _relocated(steps: Steps, best: Clustering, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Return centers with one cluster dissolved and another cut in two; None where that promises no gain.

    Constraints are left aside: the blocks of a dissolved cluster go to their second nearest center.
    """
    problem, labels = steps.problem, best.block_labels
    costs = steps.costs(best.centers).copy()
    place = np.arange(labels.size), labels
    own = costs[place]
    costs[place] = np.inf
    loss = np.bincount(labels, np.maximum(costs.min(axis=1) - own, 0.0), problem.n_clusters)
    total = float(own.sum())
    if not total > 0.0:
        return None
    centers, gain = best.centers, -np.inf
    for block in rng.choice(labels.size, 2 + int(math.log(problem.n_clusters)), p=own / total):
        cut = int(labels[block])
        inside = np.flatnonzero(labels == cut)
        halves, cost = _halves(steps, inside, block)
        others = np.where(np.arange(loss.size) == cut, np.inf, loss)
        removed = int(others.argmin())
        worth = float(own[inside].sum()) - cost - float(others[removed])
        if worth > gain:
            gain, centers = worth, best.centers.copy()
            centers[[cut, removed]] = halves
    return centers if gain > 0.0 else None


def _halves(steps: Steps, inside: NDArray[np.intp], block: int) -> tuple[NDArray[np.float64], float]:
    """Cut a cluster in two by a few iterations of Lloyd's loop; returns the two means and what the halves cost."""
    problem = steps.problem
    weight, rows = problem.weight[inside], rows_of_means(problem, inside)
    centers = np.vstack([np.average(rows, axis=0, weights=weight), rows_of_means(problem, np.array([block]))])
    for _ in range(HALVING_STEPS):
        _, cost, sums, weights = nearest_pass(rows, weight, centers, n_threads=steps.n_threads)
        centers = centers_from(sums, weights, centers)
    return centers, cost
