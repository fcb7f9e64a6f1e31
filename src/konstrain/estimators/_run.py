"""One run of an estimator: Lloyd's loop, then local search and relocation of centers while they pay."""

from dataclasses import dataclass, replace

import numpy as np

from konstrain import local_search
from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.estimators._lloyd import Lloyd
from konstrain.estimators._start import Start
from konstrain.result import Clustering

# Relocations of a center tried in a row without success; on data with more blocks x clusters x features than the
# second number only those whose estimated gain is positive.
RELOCATIONS = 10
RELOCATE_ANYWAY = 100_000
# Passes of the local search: to the end on small problems (blocks x clusters), else only the first, which bring most.
PASSES_TO_THE_END = 1000
FIRST_PASSES = 10
SMALL_PROBLEM = 100_000


@dataclass(frozen=True, eq=False)
class Run:
    """One run from a seed: Lloyd's loop, then local search and relocation of centers while they pay."""

    lloyd: Lloyd
    start: Start
    search: bool

    def __call__(self, seed: int) -> Clustering:
        """Make the run."""
        lloyd = replace(self.lloyd)  # its buffer is its own: runs may share a process
        best = lloyd.run(self.start.centers(lloyd, seed))
        if self.search:
            best = _polish(lloyd, best, seed)
            best = _relocate(lloyd, best, seed)
        return best


def _polish(lloyd: Lloyd, clustering: Clustering, seed: int) -> Clustering:
    """Alternate local search and Lloyd's loop until neither finds anything."""
    problem = lloyd.problem
    links = problem.conflicts if lloyd.violation_cost is None else problem.links_at(lloyd.violation_cost)
    is_small = problem.n_blocks * problem.n_clusters <= SMALL_PROBLEM
    while not lloyd.deadline.expired():
        remaining = lloyd.deadline.remaining()
        found = local_search.improve(
            problem.mean,
            problem.weight,
            clustering.block_labels,
            problem.n_clusters,
            links=links,
            demand=problem.demand,
            size_min=problem.size_min,
            size_max=problem.size_max,
            nonempty=problem.nonempty,
            max_passes=PASSES_TO_THE_END if is_small else FIRST_PASSES,
            time_limit=remaining if np.isfinite(remaining) else None,
            seed=seed,
        )
        if found.n_moves == 0:
            break
        better = lloyd.run(lloyd.centers_of(found.labels, clustering.centers), clustering.assignment)
        if not _is_lower(better.objective, clustering.objective):
            break
        clustering = replace(better, n_iter=clustering.n_iter + better.n_iter)
    return clustering


def _relocate(lloyd: Lloyd, best: Clustering, seed: int) -> Clustering:
    """Dissolve one cluster and cut another in two, as long as that leads somewhere better."""
    problem = lloyd.problem
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
            if lloyd.deadline.expired():
                return best
            found = _polish(lloyd, lloyd.run(centers, best.assignment), seed)
            if _is_lower(found.objective, best.objective):
                best, improved = replace(found, n_iter=best.n_iter + found.n_iter), True
                break
    return best


def _is_lower(new: float, old: float) -> bool:
    return new < old - SAME_OBJECTIVE * abs(old)
