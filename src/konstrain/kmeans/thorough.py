"""More than Lloyd's loop: moves of single blocks and relocation of centers, thoroughly or briefly."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.constraints import Problem
from konstrain.kmeans import local_search
from konstrain.kmeans.lloyd import Lloyd
from konstrain.kmeans.local_search import LocalSearchResult
from konstrain.kmeans.result import Clustering

# Thorough: relocations of a center tried in a row without success; on data with more blocks x clusters x features
# than the second number only those whose estimated gain is positive.
RELOCATIONS = 10
RELOCATE_ANYWAY = 100_000
# Passes of the local search: to the end on small problems (blocks x clusters), else only the first, which bring most.
PASSES_TO_THE_END = 1000
FIRST_PASSES = 10
SMALL_PROBLEM = 100_000

# Brief: iterations before a first look at relocations; none is taken where sizes leave less room (in mean sizes).
EARLY_LOOK = 6
LITTLE_ROOM = 0.2
# Iterations between two looks at whether relocated centers lead anywhere, and for how many times the last fall
# of the objective they are trusted to go on falling.
PROBE = 1
PATIENCE = 2.0
# What estimating relocations and moving blocks cost, in iterations.
ESTIMATE_COST = 3
MOVES_COST = 4
# Passes over the blocks that gain by moving, and the relative gain at which to end.
FEW_PASSES = 5
LEAST_GAIN = 1e-6


def run_thoroughly(lloyd: Lloyd, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Alternate Lloyd's loop, local search and relocation of centers until none of them finds anything."""
    return _relocate(lloyd, _polish(lloyd, lloyd.run(centers), seed), seed)


def run_briefly(lloyd: Lloyd, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Run Lloyd's loop, then relocate centers and move single blocks for about as many iterations as it took."""
    clustering = _run_with_an_early_look(lloyd, centers, seed)
    if not clustering.converged:
        return clustering  # whoever allowed Lloyd's loop no more wants no more after it
    brief = _BriefSearch(lloyd, seed, n_left=clustering.n_iter)
    return brief.move_blocks(brief.relocate_centers(clustering))


def _run_with_an_early_look(lloyd: Lloyd, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Run to the end, but relocate centers after a few iterations if that already promises something."""
    if lloyd.max_iter <= EARLY_LOOK or _are_sizes_fixed(lloyd.problem):
        return lloyd.run(centers)
    early = replace(lloyd, max_iter=EARLY_LOOK).run(centers)
    rest = replace(lloyd, max_iter=lloyd.max_iter - EARLY_LOOK)
    if not early.converged:
        early = _BriefSearch(rest, seed, n_left=EARLY_LOOK).relocate_centers(early)
    if early.converged or early.n_iter >= lloyd.max_iter:
        return early
    end = rest.run(early.centers, early.assignment)
    return replace(end, n_iter=early.n_iter + end.n_iter)


def _are_sizes_fixed(problem: Problem) -> bool:
    """Whether bounds leave clusters hardly any room: estimates that leave sizes aside then mislead early runs."""
    if problem.size_min is None or problem.size_max is None:
        return False
    room = (problem.size_max - problem.size_min).min()
    return bool(room * problem.n_clusters <= LITTLE_ROOM * problem.demand.sum())


def _polish(lloyd: Lloyd, clustering: Clustering, seed: int) -> Clustering:
    """Alternate local search and Lloyd's loop until neither finds anything."""
    is_small = lloyd.problem.n_blocks * lloyd.problem.n_clusters <= SMALL_PROBLEM
    while not lloyd.deadline.expired():
        found = _moved(lloyd, clustering, seed, PASSES_TO_THE_END if is_small else FIRST_PASSES)
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


@dataclass(eq=False)
class _BriefSearch:
    """A search that counts its iterations; `n_left` of them are left."""

    lloyd: Lloyd
    seed: int
    n_left: int

    def relocate_centers(self, best: Clustering) -> Clustering:
        """Relocate all centers that promise a gain at once, or half of them, or one, as long as that helps."""
        problem = self.lloyd.problem
        improved = problem.n_clusters > 1
        while improved and self._affords(ESTIMATE_COST):
            improved = False
            for centers in local_search.joint_relocations(
                problem.mean,
                problem.weight,
                best.block_labels,
                problem.n_clusters,
                self.seed,
                costs=self.lloyd.costs(best.centers),
            ):
                found = self._follow(centers, best)
                if _is_lower(found.objective, best.objective):
                    best, improved = replace(found, n_iter=best.n_iter + found.n_iter), True
                if improved or not self._affords(0):
                    break
        return best

    def _follow(self, centers: NDArray[np.float64], best: Clustering) -> Clustering:
        """Lloyd's loop from here, given up when it looks as if it would not end below the best."""
        probe = replace(self.lloyd, max_iter=PROBE)
        found = self._counted(probe.run(centers, best.assignment))
        while not found.converged and not _is_lower(found.objective, best.objective):
            before = found
            found = self._continued(probe, before)
            fall = before.objective - found.objective
            hopeless = not _is_lower(found.objective - PATIENCE * fall, best.objective)
            if hopeless or self.lloyd.deadline.expired():
                return found
        return found if found.converged else self._continued(self.lloyd, found)

    def move_blocks(self, best: Clustering) -> Clustering:
        """Alternate moves of single blocks with Lloyd's loop until the gain is small."""
        gain = np.inf
        while gain > LEAST_GAIN * best.objective and self._affords(MOVES_COST):
            moved = _moved(self.lloyd, best, self.seed, FEW_PASSES, _gaining(self.lloyd, best))
            if moved.n_moves == 0:
                break
            centers = self.lloyd.centers_of(moved.labels, best.centers)
            found = self._counted(self.lloyd.run(centers, best.assignment))
            gain = best.objective - found.objective
            if _is_lower(found.objective, best.objective):
                best = replace(found, n_iter=best.n_iter + found.n_iter)
        return best

    def _continued(self, lloyd: Lloyd, clustering: Clustering) -> Clustering:
        further = self._counted(lloyd.run(clustering.centers, clustering.assignment))
        return replace(further, n_iter=clustering.n_iter + further.n_iter)

    def _counted(self, clustering: Clustering) -> Clustering:
        self.n_left -= clustering.n_iter
        return clustering

    def _affords(self, cost: int) -> bool:
        """Whether time and iterations are left for this, which is then taken off."""
        if self.n_left <= cost or self.lloyd.deadline.expired():
            return False
        self.n_left -= cost
        return True


def _gaining(lloyd: Lloyd, clustering: Clustering) -> NDArray[np.int32]:
    """Blocks that would lower the sum of squares by moving alone, constraints left aside: Hartigan's test."""
    costs, labels, weight = lloyd.costs(clustering.centers), clustering.block_labels, lloyd.problem.weight
    cluster_weight = np.bincount(labels, weight, costs.shape[1])
    home = (np.arange(labels.size), labels)
    rest = cluster_weight[labels] - weight
    gain = np.divide(costs[home] * cluster_weight[labels], rest, out=np.zeros(labels.size), where=rest > 0)
    # The heaviest block's factor for all: where weights differ a few more blocks are looked at, none is missed.
    entry = costs * (cluster_weight / (cluster_weight + weight.max()))
    entry[home] = np.inf
    return np.flatnonzero(entry.min(axis=1) < gain).astype(np.int32)


def _moved(
    lloyd: Lloyd, clustering: Clustering, seed: int, max_passes: int, movable: NDArray[np.int32] | None = None
) -> LocalSearchResult:
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
        movable=movable,
    )


def _is_lower(new: float, old: float) -> bool:
    return new < old - SAME_OBJECTIVE * abs(old)
