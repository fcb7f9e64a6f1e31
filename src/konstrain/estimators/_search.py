"""What may follow Lloyd's loop: moves of single blocks and relocation of centers, thoroughly or briefly."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain import local_search
from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.estimators._lloyd import Lloyd
from konstrain.local_search import LocalSearchResult
from konstrain.result import Clustering


@dataclass(frozen=True, eq=False)
class ThoroughSearch:
    """Alternate local search, relocation of centers and Lloyd's loop until none of them finds anything."""

    # Relocations of a center tried in a row without success; on data with more blocks x clusters x features than the
    # second number only those whose estimated gain is positive.
    relocations: int = 10
    relocate_anyway: int = 100_000
    # Passes of the local search: to the end on small problems (blocks x clusters), else only the first, which bring
    # most.
    passes_to_the_end: int = 1000
    first_passes: int = 10
    small_problem: int = 100_000

    def __call__(self, lloyd: Lloyd, clustering: Clustering, seed: int) -> Clustering:
        """Go on from where Lloyd's loop ended."""
        return self._relocate(lloyd, self._polish(lloyd, clustering, seed), seed)

    def _polish(self, lloyd: Lloyd, clustering: Clustering, seed: int) -> Clustering:
        """Alternate local search and Lloyd's loop until neither finds anything."""
        is_small = lloyd.problem.n_blocks * lloyd.problem.n_clusters <= self.small_problem
        max_passes = self.passes_to_the_end if is_small else self.first_passes
        while not lloyd.deadline.expired():
            found = _moved(lloyd, clustering, seed, max_passes)
            if found.n_moves == 0:
                break
            better = lloyd.run(lloyd.centers_of(found.labels, clustering.centers), clustering.assignment)
            if not _is_lower(better.objective, clustering.objective):
                break
            clustering = replace(better, n_iter=clustering.n_iter + better.n_iter)
        return clustering

    def _relocate(self, lloyd: Lloyd, best: Clustering, seed: int) -> Clustering:
        """Dissolve one cluster and cut another in two, as long as that leads somewhere better."""
        problem = lloyd.problem
        anyway = problem.n_clusters * problem.mean.size <= self.relocate_anyway
        improved = problem.n_clusters > 1
        while improved:
            improved = False
            for centers in _relocated(lloyd, best, seed, self.relocations, -np.inf if anyway else 0.0):
                if lloyd.deadline.expired():
                    return best
                found = self._polish(lloyd, lloyd.run(centers, best.assignment), seed)
                if _is_lower(found.objective, best.objective):
                    best, improved = replace(found, n_iter=best.n_iter + found.n_iter), True
                    break
        return best


def _moved(lloyd: Lloyd, clustering: Clustering, seed: int, max_passes: int) -> LocalSearchResult:
    """Labels after some passes of local search."""
    problem = lloyd.problem
    return local_search.improve(
        problem.mean,
        problem.weight,
        clustering.block_labels,
        problem.n_clusters,
        links=problem.conflicts if lloyd.violation_cost is None else problem.links_at(lloyd.violation_cost),
        demand=problem.demand,
        size_min=problem.size_min,
        size_max=problem.size_max,
        nonempty=problem.nonempty,
        max_passes=max_passes,
        time_limit=lloyd.remaining_seconds(),
        seed=seed,
    )


def _relocated(
    lloyd: Lloyd, clustering: Clustering, seed: int, n_candidates: int, least_gain: float
) -> list[NDArray[np.float64]]:
    """Centers of which one has gone elsewhere, most promising first."""
    problem = lloyd.problem
    return local_search.relocation_candidates(
        problem.mean,
        problem.weight,
        clustering.block_labels,
        problem.n_clusters,
        n_candidates,
        seed,
        least_gain=least_gain,
    )


def _is_lower(new: float, old: float) -> bool:
    return new < old - SAME_OBJECTIVE * abs(old)
