"""The search by annealing: starts without a graph, then moves of blocks to clusters of their neighbours in it.

Clusters stay in one piece of the graph, which is that of `connectivity`. Unequal demand in the plane or in space is
annealed as well, in a Delaunay triangulation: the best clusters are nearly cells of a power diagram, which are in one
piece of it. The kernel (`src/cpp/regions`) makes a run; this module decides where runs begin, how long they are and
what follows.
"""

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._messages import term
from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.constraints.connectivity import BlockParts, components_of
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.search import PARAMS as SEARCH
from konstrain.kmeans.search import Search, default_work, kernel_arguments
from konstrain.links import LinkGraph
from konstrain.stop import Budget


@dataclass(frozen=True)
class RegionParams:
    """Tunable numbers of the search for regions; those of a single run are in ``src/cpp/regions/anneal.h``."""

    # Annealing steps of a run per block, and least of a run: more, lower objectives and longer fits.
    steps_per_block: int = 2_000
    least_steps: int = 200_000
    # Runs in a row without a better map that end the search, and per cluster a start. Beyond the steps of all runs,
    # which without a map are all made, no run begins: larger, lower objectives and longer fits.
    patience: int = 6
    most_steps: float = 3e7


PARAMS = RegionParams()


@dataclass(eq=False)
class RegionSearch(Search):
    """A search for good clusterings of a problem with `connectivity`, or of one that `search.anneals`."""

    def __post_init__(self) -> None:
        self._is_free = self.steps.problem.connectivity is None
        self._began = time.perf_counter()
        self._ends: list[tuple[float, int]] = []  # Violation and number of runs of each search.

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best clustering that is found from these seeds; raise an `UndecidedError` where it is no map."""
        return self._with_map(super().best(seeds))

    def follow(self, labels: list[NDArray[np.int32]], seed: int, part: str) -> Clustering:
        """Return the best clustering reached from labels, in the first `part` from a start without the graph."""
        starts = [*labels, self._start_labels(seed)] if part == "first" else labels
        return self._with_map(self._best_from(starts, seed, None))

    def _search(self, seeds: list[int], n_runs: int | None) -> Clustering:
        seeds = seeds[:n_runs]
        return self._best_from([self._start_labels(seed) for seed in seeds], seeds[0], n_runs)

    def _best_from(self, starts: list[NDArray[np.int32]], seed: int, n_runs: int | None) -> Clustering:
        """Return the best clustering of runs from starts; its objective is infinite where it is no map."""
        problem = self.steps.problem
        arguments, offset = kernel_arguments(problem, self.steps.violation_cost)
        parts = _delaunay(problem) if self._is_free else problem.parts
        graph: dict[str, Any] = {"graph_start": parts.graph.indptr, "graph_to": parts.graph.indices}
        graph |= {"first_part": parts.first_part, "block_of": parts.block_of}
        kernel = _core.Search(**arguments, **graph, seed=seed)
        n_done, interrupted = 0, False
        try:
            for n_done in self._runs(kernel, starts, n_runs):  # noqa: B007
                pass
        except KeyboardInterrupt:
            if kernel.violation > 0:
                raise
            warn_caller(f"interrupted after {n_done} runs; the best clustering so far is returned", RuntimeWarning)
            interrupted = self._is_ended = True
        if self._is_free:
            kernel.improve(kernel.labels, self.max_iter, self.steps.budget.remaining())
            if kernel.violation > 0:
                self._find_labels(kernel, offset)
            return replace(self._clustering(kernel, offset), interrupted=interrupted)
        self._ends.append((kernel.violation, n_done))
        found = replace(self._best_of(kernel, offset), n_iter=n_done, converged=True, interrupted=interrupted)
        return found if kernel.violation == 0 else replace(found, objective=math.inf)

    def _runs(self, kernel: Any, starts: list[NDArray[np.int32]], n_runs: int | None) -> Iterator[int]:
        """Make runs; yield their number after each."""
        # Small problems have runs of a length at which the duals of their rules settle.
        n_steps = max(PARAMS.steps_per_block * self.steps.problem.n_blocks, PARAMS.least_steps)
        if self._is_free:
            n_steps = min(n_steps, int(PARAMS.most_steps))
        n_all, n_done, n_since_gain = n_runs or max(len(starts), int(PARAMS.most_steps) // n_steps), 0, 0
        for labels in starts if self._is_free else ():
            kernel.improve(labels, 0, self.steps.budget.remaining())
        while True:
            before = kernel.violation, kernel.cost
            # Further runs begin at the best map and at the starts in turn.
            at_best = n_done >= len(starts) and n_done % 2 == 0
            labels = kernel.labels if at_best else starts[n_done % len(starts)]
            kernel.anneal(labels, n_steps, self.steps.budget.remaining())
            n_done += 1
            n_since_gain = 0 if (kernel.violation, kernel.cost) < before else n_since_gain + 1
            yield n_done
            if self._reports_end(kernel, n_done, max(n_all, n_done), time.perf_counter() - self._began):
                return
            is_affordable = (n_done + 1) * n_steps <= PARAMS.most_steps
            gains = n_done < len(starts) or n_since_gain < PARAMS.patience
            if kernel.violation > 0:
                # Some runs in any case; without a graph the exact engines find labels where annealing does not.
                goes_on = n_done < PARAMS.patience or (is_affordable and (gains or not self._is_free))
            else:
                goes_on = is_affordable and gains and (n_runs is None or n_runs >= SEARCH.runs_per_search)
            if self.steps.budget.expired() or not (goes_on or n_done < (n_runs or 0)):
                return

    def _start_labels(self, seed: int) -> NDArray[np.int32]:
        """Return labels of a search that leaves the graph out, but for its components."""
        problem = _with_components_apart(self.steps.problem, is_given=self.start.is_given)
        arguments, offset = kernel_arguments(problem, self.steps.violation_cost)
        kernel = _core.Search(**arguments, seed=seed)
        centers = self.start.centers(replace(self.steps, problem=problem), seed)
        budget = self.steps.budget
        kernel.run_from(centers - offset, True, self.max_iter, self.tol, budget.remaining())
        n_done = n_to_gain = 1
        while (
            kernel.work < default_work(problem) / SEARCH.n_starts
            and n_done - n_to_gain < PARAMS.patience * (2 + problem.n_clusters)
            and not budget.expired()
        ):
            before = kernel.violation, kernel.cost
            kernel.relocate(n_done % 2 == 0, self.max_iter, self.tol, budget.remaining())
            n_done += 1
            n_to_gain = n_done if (kernel.violation, kernel.cost) < before else n_to_gain
        labels: NDArray[np.int32] = kernel.labels
        return labels

    def _with_map(self, found: Clustering) -> Clustering:
        """Raise for want of a map; where labels without the graph are soon proved impossible, for that reason."""
        if math.isfinite(found.objective):
            return found
        seconds = min(time.perf_counter() - self._began, self.steps.budget.remaining())
        with contextlib.suppress(UndecidedError):
            replace(self.steps, budget=Budget(seconds)).step(found.centers, None)
        raise UndecidedError(
            "no clustering was found that keeps all constraints with every cluster in one piece: the best of "
            f"{sum(n_runs for _, n_runs in self._ends)} runs misses them by {min(self._ends)[0]:.3g} (loads outside "
            "their bounds, in mean rows, plus broken cannot-links and extra pieces). That is no proof that none "
            f"exists: widen the bounds, add edges to {term('connectivity')}, or raise {term('n_init')}"
        )


def _delaunay(problem: Problem) -> BlockParts:
    """Return the graph of blocks whose means are next to each other in a Delaunay triangulation."""
    # Imported here: it takes long, and most fits do without.
    from scipy.spatial import Delaunay

    mean = problem.mean.toarray() if hasattr(problem.mean, "toarray") else problem.mean
    n = problem.n_blocks
    # Joggled input has a triangulation of all rows, also of equal ones and of rows on a line.
    corners = Delaunay(mean, qhull_options="QJ").simplices
    first, second = (corners[:, sides].ravel() for sides in np.triu_indices(corners.shape[1], 1))
    graph = LinkGraph.from_edges(n, first, second)
    return BlockParts.of(graph, np.arange(n, dtype=np.int32), n)


def _with_components_apart(problem: Problem, *, is_given: bool) -> Problem:
    """Return the problem with a feature more per component of the graph, so that no cluster gains by spanning two."""
    if problem.connectivity is None:
        return problem
    component = components_of(problem.connectivity)[problem.first_rows]
    if component.max() == 0 or is_given:
        return problem
    mean = np.asarray(problem.mean.toarray() if hasattr(problem.mean, "toarray") else problem.mean, dtype=np.float64)
    size = 10.0 * max(float(np.ptp(mean, axis=0).max(initial=0.0)), 1.0)
    apart = size * (component[:, None] == np.arange(1, component.max() + 1))
    return replace(problem, mean=np.ascontiguousarray(np.hstack([mean, apart])))
