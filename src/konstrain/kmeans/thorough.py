"""The thorough way: Lloyd's loop, moves of single blocks and relocation of centers, until none finds anything."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from konstrain.kmeans import local_search, relaxed
from konstrain.kmeans.following import follow
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower

# Relocations of a center tried in a row without success; on data with more blocks x clusters x features than the
# second number only those whose estimated gain is positive.
RELOCATIONS = 10
RELOCATE_ANYWAY = 100_000
# Passes of the local search: to the end on small problems (blocks x clusters), else only the first, which bring most.
PASSES_TO_THE_END = 1000
FIRST_PASSES = 10
SMALL_PROBLEM = 100_000
# Blocks x clusters beyond which single moves that must keep resources and shares mostly cost more than they bring:
# half of the time of a run, for ends that are seldom lower (perf/README.md).
RULED_SEARCH = 100_000
# Under resources and shares, steps whose labels may be this far above the best, relatively, are rough: differences
# below a quarter of that are as much luck as gain, and not worth another round of relocations. Steps are dear, too:
# every so many iterations relocated centers are given up unless they promise to lead below the best.
ROUGH_GAP = 1e-4
WORTH = 0.25
PROBE = 2


def run_thoroughly(loop: Loop, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Alternate the loop, local search and relocation of centers until none of them finds anything."""
    if relaxed.supports(loop.steps):
        return _polish(loop, loop.run(relaxed.led_by_shares(loop.steps, centers, seed)), seed)
    return _relocate(loop, _polish(loop, loop.run(centers), seed), seed)


def _polish(loop: Loop, clustering: Clustering, seed: int) -> Clustering:
    """Alternate local search and the loop until neither finds anything."""
    n_costs = loop.steps.problem.n_blocks * loop.steps.problem.n_clusters
    if loop.steps.problem.resources is not None and n_costs > RULED_SEARCH:
        return clustering
    max_passes = PASSES_TO_THE_END if n_costs <= SMALL_PROBLEM else FIRST_PASSES
    while not loop.steps.deadline.expired():
        found = local_search.improve_clustering(loop.steps, clustering, seed, max_passes)
        if found.n_moves == 0:
            break
        better = loop.run(loop.steps.centers_of(found.labels, clustering.centers), clustering.assignment)
        if not is_lower(better.objective, clustering.objective):
            break
        is_worth_more = _is_worth(loop, better, clustering)
        clustering = replace(better, n_iter=clustering.n_iter + better.n_iter)
        if not is_worth_more:
            break
    return clustering


def _relocate(loop: Loop, best: Clustering, seed: int) -> Clustering:
    """Dissolve one cluster and cut another in two, as long as that leads somewhere better."""
    problem = loop.steps.problem
    anyway = problem.n_clusters * problem.mean.size <= RELOCATE_ANYWAY
    improved = problem.n_clusters > 1
    while improved:
        improved = False
        for centers in local_search.relocation_candidates(
            problem.mean,
            problem.weight,
            best.block_labels,
            problem.n_clusters,
            RELOCATIONS,
            seed,
            least_gain=-np.inf if anyway else 0.0,
        ):
            if loop.steps.deadline.expired():
                return best
            found = _follow(loop, centers, best, seed)
            if is_lower(found.objective, best.objective):
                improved = _is_worth(loop, found, best)
                best = replace(found, n_iter=best.n_iter + found.n_iter)
                if improved:
                    break
    return best


def _follow(loop: Loop, centers: NDArray[np.float64], best: Clustering, seed: int) -> Clustering:
    """Run the loop and local search from relocated centers; where steps are rough, only while that promises gain."""
    if not _is_rough(loop, best):
        return _polish(loop, loop.run(centers, best.assignment), seed)
    found, is_promising = follow(loop, centers, best, PROBE)
    if not is_promising:
        return found
    if not found.converged:
        further = loop.run(found.centers, found.assignment)
        found = replace(further, n_iter=found.n_iter + further.n_iter)
    return _polish(loop, found, seed)


def _is_rough(loop: Loop, clustering: Clustering) -> bool:
    return loop.steps.problem.resources is not None and _step_gap(clustering) > ROUGH_GAP


def _is_worth(loop: Loop, found: Clustering, best: Clustering) -> bool:
    """Whether a lower objective is more than what rough steps leave to luck."""
    return not _is_rough(loop, best) or found.objective < best.objective * (1.0 - WORTH * _step_gap(best))


def _step_gap(clustering: Clustering) -> float:
    """How far above the best the labels of the last step may be, relatively; 0 where that is not known."""
    gap = 0.0 if clustering.assignment is None else clustering.assignment.gap
    return gap if np.isfinite(gap) else 0.0
