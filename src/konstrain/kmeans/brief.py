"""The brief way: after Lloyd's loop, relocate centers and move single blocks for about as long as it took."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.constraints import Problem
from konstrain.kmeans import local_search
from konstrain.kmeans.following import follow
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.steps import Steps

# Iterations before a first look at relocations; none is taken where sizes leave less room (in mean sizes).
EARLY_LOOK = 6
LITTLE_ROOM = 0.2
# Share of the clusters that are relocated at once, at most, where sizes leave no more room than that: estimates leave
# sizes aside, and centers of full clusters push each other on.
FEW_AT_ONCE = 0.05
# Part of the scatter that clusters explain where they overlap so much that it is luck where a run ends: two are made.
LITTLE_EXPLAINED = 0.1
# How many times as much a run must gain that goes on as it was, to be preferred to one with relocated centers.
CLEARLY_MORE = 2.0
# Iterations between two looks at whether relocated centers lead anywhere.
PROBE = 1
# What estimating relocations and moving blocks cost, in iterations.
ESTIMATE_COST = 3
MOVES_COST = 4
# Passes over the blocks that gain by moving, and the relative gain at which to end.
FEW_PASSES = 5
LEAST_GAIN = 1e-6


def run_briefly(loop: Loop, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Run the loop, then relocate centers and move single blocks for about as many iterations as it took."""
    clustering = _run_with_an_early_look(loop, centers, seed)
    if not clustering.converged:
        # `max_iter` or the time limit ended the loop itself: they leave nothing for a search after it.
        return clustering
    brief = _BriefSearch(loop, seed, n_left=clustering.n_iter)
    best = brief.relocate_centers(clustering)
    if not _are_sizes_fixed(loop.steps.problem) and _explained(loop.steps, best) < LITTLE_EXPLAINED:
        best = brief.start_again(centers, best)
    return brief.move_blocks(best)


def _run_with_an_early_look(loop: Loop, centers: NDArray[np.float64], seed: int) -> Clustering:
    """Run to the end, but relocate centers after a few iterations if that already promises something."""
    if loop.max_iter <= EARLY_LOOK or _are_sizes_fixed(loop.steps.problem):
        return loop.run(centers)
    # Plain steps: the first ones go far, and beyond them other clusters' blocks would draw centers away.
    early = replace(loop, max_iter=EARLY_LOOK, n_plain=EARLY_LOOK).run(centers)
    rest = replace(loop, max_iter=loop.max_iter - EARLY_LOOK)
    if not early.converged:
        early = _BriefSearch(rest, seed, n_left=EARLY_LOOK).relocate_centers(early)
    if early.converged or early.n_iter >= loop.max_iter:
        return early
    end = rest.run(early.centers, early.assignment)
    return replace(end, n_iter=early.n_iter + end.n_iter)


def _are_sizes_fixed(problem: Problem) -> bool:
    """Whether bounds leave clusters hardly any room: estimates that leave sizes aside then mislead early runs."""
    if problem.size_min is None or problem.size_max is None:
        return False
    room = (problem.size_max - problem.size_min).min()
    return bool(room * problem.n_clusters <= LITTLE_ROOM * problem.demand.sum())


def _explained(steps: Steps, clustering: Clustering) -> float:
    """Part of the scatter of all blocks that lies between the clusters, not within them."""
    weights = steps.cluster_weights(clustering.block_labels)
    middle = np.average(clustering.centers, axis=0, weights=weights)
    between = float(weights @ ((clustering.centers - middle) ** 2).sum(axis=1))
    return between / (between + clustering.inertia) if between > 0 else 0.0


@dataclass(eq=False)
class _BriefSearch:
    """A search that counts its iterations; `n_left` of them are left."""

    loop: Loop
    seed: int
    n_left: int

    def relocate_centers(self, best: Clustering) -> Clustering:
        """Relocate all centers that promise a gain at once, or half of them, or one, as long as that helps."""
        problem = self.loop.steps.problem
        most = max(1, int(FEW_AT_ONCE * problem.n_clusters)) if _are_sizes_fixed(problem) else None
        improved = problem.n_clusters > 1
        while improved and self._affords(ESTIMATE_COST):
            improved = False
            for centers in local_search.joint_relocations(
                problem.mean,
                problem.weight,
                best.block_labels,
                problem.n_clusters,
                self.seed,
                known=(best.centers, self.loop.steps.costs(best.centers)),
                most=most,
            ):
                found = self._follow(centers, best)
                if is_lower(found.objective, best.objective):
                    best, improved = replace(found, n_iter=best.n_iter + found.n_iter), True
                if improved or not self._affords(0):
                    break
        return best

    def start_again(self, centers: NDArray[np.float64], best: Clustering) -> Clustering:
        """Run from the first centers with momentum at once, which the run before had only after an early look."""
        if self.loop.steps.deadline.expired():
            return best
        found = self.loop.run(centers)
        is_better = found.converged and is_lower(found.objective, best.objective)
        return replace(found, n_iter=best.n_iter + found.n_iter) if is_better else best

    def _follow(self, centers: NDArray[np.float64], best: Clustering) -> Clustering:
        """Lloyd's loop from here, given up when it looks as if it would not end below the best."""
        found, is_promising = follow(self.loop, centers, best, PROBE)
        self._counted(found)
        if not is_promising or found.converged:
            return found
        if not best.converged and (rival := self._rival(found, best)) is not None:
            return rival
        return self._continued(self.loop, found)

    def _rival(self, found: Clustering, best: Clustering) -> Clustering | None:
        """Let the best go on as well for as many iterations; None unless that gains clearly more than relocating."""
        rival = self._counted(replace(self.loop, max_iter=found.n_iter).run(best.centers, best.assignment))
        gained = best.objective - found.objective
        return rival if best.objective - rival.objective > CLEARLY_MORE * gained else None

    def move_blocks(self, best: Clustering) -> Clustering:
        """Alternate moves of single blocks with Lloyd's loop until the gain is small."""
        gain = np.inf
        while gain > LEAST_GAIN * best.objective and self._affords(MOVES_COST):
            moved = local_search.improve_clustering(
                self.loop.steps, best, self.seed, FEW_PASSES, _gaining(self.loop.steps, best)
            )
            if moved.n_moves == 0:
                break
            centers = self.loop.steps.centers_of(moved.labels, best.centers)
            found = self._counted(self.loop.run(centers, best.assignment))
            gain = best.objective - found.objective
            if is_lower(found.objective, best.objective):
                best = replace(found, n_iter=best.n_iter + found.n_iter)
        return best

    def _continued(self, loop: Loop, clustering: Clustering) -> Clustering:
        further = self._counted(loop.run(clustering.centers, clustering.assignment))
        return replace(further, n_iter=clustering.n_iter + further.n_iter)

    def _counted(self, clustering: Clustering) -> Clustering:
        self.n_left -= clustering.n_iter
        return clustering

    def _affords(self, cost: int) -> bool:
        """Whether time and iterations are left for this, which is then taken off."""
        if self.n_left <= cost or self.loop.steps.deadline.expired():
            return False
        self.n_left -= cost
        return True


def _gaining(steps: Steps, clustering: Clustering) -> NDArray[np.int32]:
    """Blocks that would lower the sum of squares by moving alone, constraints left aside: Hartigan's test."""
    labels = clustering.block_labels
    costs, weights = steps.costs(clustering.centers), steps.cluster_weights(labels)
    found: NDArray[np.int32] = _core.gaining_blocks(costs, labels, steps.problem.weight, weights)
    return found
