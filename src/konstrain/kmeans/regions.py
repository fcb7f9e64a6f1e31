"""The search by annealing: starts without a graph, then moves of blocks to clusters of their neighbours in it.

Clusters stay in one piece of the graph, which is that of `connectivity`. Unequal demand in the plane or in space is
annealed as well, in a Delaunay triangulation: the best clusters are nearly cells of a power diagram, which are in one
piece of it. The kernel (`src/cpp/regions`) makes a run; this module decides where runs begin, how long they are and
what follows.
"""

import contextlib
import time
from collections.abc import Iterable
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


@dataclass(frozen=True)
class RegionParams:
    """Tunable numbers of the search for regions; those of a single run are in ``src/cpp/regions/anneal.h``."""

    # Share of the work of a default search that a start without the graph has: more, better starts.
    start_work: float = 0.15
    # Annealing steps of a run per block: more, lower objectives and longer fits.
    steps_per_block: int = 2_000
    # Runs in a row without a better map that end the search, and per cluster a start; once there is a map no run ends
    # beyond this many steps of all runs: larger, lower objectives and longer fits.
    patience: int = 6
    most_steps: float = 3e7


PARAMS = RegionParams()


def n_seeds(n_runs: int | None) -> int:
    """Return the number of seeds that `RegionSearch.best` needs."""
    return SEARCH.n_starts if n_runs is None else n_runs


@dataclass(eq=False)
class RegionSearch(Search):
    """A search for good clusterings of a problem with `connectivity`, or of one that `search.anneals`."""

    def __post_init__(self) -> None:
        self._n_done = 0
        self._is_free = self.steps.problem.connectivity is None

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best clustering that is found from these seeds.

        Raises
        ------
        UndecidedError
            When no clustering was found that keeps all constraints with every cluster in one piece.
        """
        return self._best_from((self._start_labels(seed) for seed in seeds), seeds[0])

    def follow(self, labels: list[NDArray[np.int32]], seed: int, part: str) -> Clustering:
        """Return the best clustering reached from labels, in the first `part` from a start without the graph."""
        return self._best_from([*labels, self._start_labels(seed)] if part == "first" else labels, seed)

    def _best_from(self, starts: Iterable[NDArray[np.int32]], seed: int) -> Clustering:
        problem = self.steps.problem
        arguments, offset = kernel_arguments(problem, self.steps.violation_cost)
        parts = _delaunay(problem) if self._is_free else problem.parts
        graph: dict[str, Any] = {"graph_start": parts.graph.indptr, "graph_to": parts.graph.indices}
        graph |= {"first_part": parts.first_part, "block_of": parts.block_of}
        kernel = _core.Search(**arguments, **graph, seed=seed)
        interrupted = False
        try:
            self._run(kernel, list(starts))
        except KeyboardInterrupt:
            if kernel.violation > 0:
                raise
            warn_caller(
                f"interrupted after {self._n_done} runs; the best clustering so far is returned", RuntimeWarning
            )
            interrupted = True
        if self._is_free:
            kernel.improve(kernel.labels, self.max_iter, self.steps.budget.remaining())
            if kernel.violation > 0:
                self._find_labels(kernel, offset)
            return replace(self._clustering(kernel, offset), interrupted=interrupted)
        found = self._best_of(kernel, offset)
        if kernel.violation > 0:
            self._refuse(found, kernel.violation)
        return replace(found, n_iter=self._n_done, converged=True, interrupted=interrupted)

    def _run(self, kernel: Any, starts: list[NDArray[np.int32]]) -> None:
        n_steps = PARAMS.steps_per_block * self.steps.problem.n_blocks
        if self._is_free:
            n_steps = min(n_steps, int(PARAMS.most_steps))
        n_all = self.n_runs or max(len(starts), int(PARAMS.most_steps) // n_steps)
        began, n_since_gain = time.perf_counter(), 0
        for labels in starts if self._is_free else ():
            kernel.improve(labels, 0, self.steps.budget.remaining())
        while not self._is_over(kernel, n_steps) and (self._n_done < len(starts) or n_since_gain < PARAMS.patience):
            before = kernel.violation, kernel.cost
            # Further runs begin at the best map and at the starts in turn.
            at_best = self._n_done >= len(starts) and self._n_done % 2 == 0
            labels = kernel.labels if at_best else starts[self._n_done % len(starts)]
            kernel.anneal(labels, n_steps, self.steps.budget.remaining())
            self._n_done += 1
            n_since_gain = 0 if (kernel.violation, kernel.cost) < before else n_since_gain + 1
            if self._reports_end(kernel, self._n_done, max(n_all, self._n_done), time.perf_counter() - began):
                return

    def _is_over(self, kernel: Any, n_steps: int) -> bool:
        """Return whether no further run is affordable; some are made in any case until there is a map."""
        if self._n_done == 0:
            return False
        if self.steps.budget.expired():
            return True
        if kernel.violation > 0 and self._n_done < PARAMS.patience:
            return False
        if self.n_runs is not None:
            return self._n_done >= self.n_runs
        return (self._n_done + 1) * n_steps > PARAMS.most_steps

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
            kernel.work < PARAMS.start_work * default_work(problem)
            and n_done - n_to_gain < PARAMS.patience * (2 + problem.n_clusters)
            and not budget.expired()
        ):
            before = kernel.violation, kernel.cost
            kernel.relocate(n_done % 2 == 0, self.max_iter, self.tol, budget.remaining())
            n_done += 1
            n_to_gain = n_done if (kernel.violation, kernel.cost) < before else n_to_gain
        labels: NDArray[np.int32] = kernel.labels
        return labels

    def _refuse(self, found: Clustering, violation: float) -> None:
        """Raise for want of a map; where even labels without the graph are impossible, that is the reason given."""
        with contextlib.suppress(UndecidedError):
            self.steps.step(found.centers, None)
        raise UndecidedError(
            "no clustering was found that keeps all constraints with every cluster in one piece: the best of "
            f"{self._n_done} runs misses them by {violation:.3g} (loads outside their bounds, in mean rows, "
            "plus broken cannot-links and extra pieces). That is no proof that none exists: widen the bounds, add "
            f"edges to {term('connectivity')}, or raise {term('n_init')}"
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
