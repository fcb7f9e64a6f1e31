"""The search for clusters that are each in one piece of a graph: starts without the graph, then annealing within it.

The kernel (`src/cpp/regions`) makes a run; this module decides where runs begin, how long they are and what follows.
"""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._messages import term
from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.constraints.connectivity import components_of
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.restarts import Progress
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.search import default_work, kernel_arguments, with_step_gap
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps


@dataclass(frozen=True)
class RegionParams:
    """Tunable numbers of the search for regions; those of a single run are in ``src/cpp/regions/regions.h``."""

    # Starts without the graph, each with this share of the work of a default search and until this many runs per
    # cluster bring no gain: more of each, better starts.
    n_starts: int = 4
    start_work: float = 0.15
    start_patience: int = 10
    # Annealing steps of a run per block: more, lower objectives and longer fits.
    steps_per_block: int = 2_000
    # The search ends after this many runs in a row without a better map, and no run but the first ends beyond this
    # many steps of all runs: larger, lower objectives and longer fits.
    patience: int = 6
    most_steps: float = 3e7


PARAMS = RegionParams()


def n_seeds(n_runs: int | None) -> int:
    """Return the number of seeds that `RegionSearch.best` needs."""
    return PARAMS.n_starts if n_runs is None else n_runs


@dataclass(frozen=True, eq=False)
class Map:
    """Labels in which every cluster is in one piece, or nearly."""

    labels: NDArray[np.int32]
    cost: float
    violation: float  # 0: all constraints are kept.

    def rank(self) -> tuple[float, float]:
        """Return what maps are sorted by."""
        return self.violation, self.cost


@dataclass(eq=False)
class RegionSearch:
    """A search for good clusterings of a problem with `connectivity`."""

    steps: Steps  # The problem, the price of soft links, the budget and the threads.
    start: Start  # Where the starts begin.
    max_iter: int = 300  # Most iterations of Lloyd's loop in a start.
    tol: float = 0.0
    n_runs: int | None = None  # Starts; None: as the size of the problem asks.
    verbose: int = 0  # 1: a line per run on standard error.
    callback: Callable[[Progress], Any] | None = None  # Called after each run; ends the search by returning True.

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        self._n_done = 0
        self._maps: list[Map] = []

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best clustering that is found from these seeds.

        Raises
        ------
        UndecidedError
            When no clustering was found that keeps all constraints with every cluster in one piece.
        """
        problem = self.steps.problem
        arguments, _ = kernel_arguments(problem, self.steps.violation_cost)
        parts = problem.parts
        kernel = _core.Regions(
            **arguments,
            seed=seeds[0],
            start=parts.graph.indptr,
            to=parts.graph.indices,
            first_part=parts.first_part,
            block_of=parts.block_of,
        )
        interrupted = False
        try:
            self._search(kernel, seeds)
        except KeyboardInterrupt:
            self._maps.append(_map_of(kernel))
            if min(found.violation for found in self._maps) > 0:
                raise
            warn_caller(
                f"interrupted after {self._n_done} runs; the best clustering so far is returned", RuntimeWarning
            )
            interrupted = True
        found = min(self._maps, key=Map.rank)
        if found.violation > 0:
            self._refuse(found)
        return replace(self._clustering(found, arguments, seeds[0]), interrupted=interrupted)

    def _search(self, kernel: Any, seeds: list[int]) -> None:
        n_steps = PARAMS.steps_per_block * self.steps.problem.n_blocks
        starts = [self._start_labels(seed) for seed in seeds]
        n_since_gain = 0
        while not self._is_over(n_steps) and (self._n_done < len(seeds) or n_since_gain < PARAMS.patience):
            best = min(self._maps, key=Map.rank, default=None)
            # Further runs begin at the best map and at the starts in turn.
            at_best = self._n_done >= len(seeds) and self._n_done % 2 == 0
            labels = starts[self._n_done % len(seeds)] if best is None or not at_best else best.labels
            kernel.run(labels, n_steps, self.steps.budget.remaining())
            self._maps.append(_map_of(kernel))
            self._n_done += 1
            is_better = best is None or self._maps[-1].rank() < best.rank()
            n_since_gain = 0 if is_better else n_since_gain + 1
            if self._reports_end(n_steps):
                return

    def _is_over(self, n_steps: int) -> bool:
        """Return whether no further run is affordable; one is made in any case."""
        if not self._maps:
            return False
        if self.n_runs is not None:
            return self._n_done >= self.n_runs or self.steps.budget.expired()
        return self.steps.budget.expired() or (self._n_done + 1) * n_steps > PARAMS.most_steps

    def _reports_end(self, n_steps: int) -> bool:
        """Report a run to the user; True: the callback asks for the end."""
        if not self.verbose and self.callback is None:
            return False
        assert self.steps.problem.scatter is not None
        constant = float(self.steps.problem.scatter.sum()) + self.steps.constant_penalty
        best = min(self._maps, key=Map.rank)
        last, lowest = ((found.cost if found.violation == 0 else math.inf) for found in (self._maps[-1], best))
        n_all = self.n_runs or max(self._n_done, int(PARAMS.most_steps) // n_steps)
        progress = Progress(
            self._n_done, n_all, last + constant, lowest + constant, time.perf_counter() - self._began
        )
        if self.verbose:
            progress.show()
        return bool(self.callback is not None and self.callback(progress))

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
            and n_done - n_to_gain < PARAMS.start_patience * (2 + problem.n_clusters)
            and not budget.expired()
        ):
            before = kernel.violation, kernel.cost
            kernel.relocate(n_done % 2 == 0, self.max_iter, self.tol, budget.remaining())
            n_done += 1
            n_to_gain = n_done if (kernel.violation, kernel.cost) < before else n_to_gain
        labels: NDArray[np.int32] = kernel.labels
        return labels

    def _refuse(self, found: Map) -> None:
        """Raise for want of a map; where even labels without the graph are impossible, that is the reason given."""
        with contextlib.suppress(UndecidedError):
            self.steps.step(self._means(found), None)
        raise UndecidedError(
            "no clustering was found that keeps all constraints with every cluster in one piece: the best of "
            f"{self._n_done} runs misses them by {found.violation:.3g} (loads outside their bounds, in mean rows, "
            "plus broken cannot-links and extra pieces). That is no proof that none exists: widen the bounds, add "
            f"edges to {term('connectivity')}, or raise {term('n_init')}"
        )

    def _means(self, found: Map) -> NDArray[np.float64]:
        problem = self.steps.problem
        return self.steps.centers_of(found.labels, np.zeros((problem.n_clusters, problem.mean.shape[1])))

    def _clustering(self, found: Map, arguments: dict[str, Any], seed: int) -> Clustering:
        """Return the labels with the gap of the last step, whose bound leaves the graph out."""
        steps = self.steps
        means = self._means(found)
        clustering = steps.clustering(found.labels, means, self._n_done, converged=True)
        kernel = _core.Search(**arguments, seed=seed)
        kernel.improve(found.labels, 0, math.inf)
        return with_step_gap(clustering, steps.cost_of(found.labels, means), kernel.step_bound())


def _map_of(kernel: Any) -> Map:
    return Map(kernel.labels, kernel.cost, kernel.violation)


def _with_components_apart(problem: Problem, *, is_given: bool) -> Problem:
    """Return the problem with a feature more per component of the graph, so that no cluster gains by spanning two."""
    assert problem.connectivity is not None
    component = components_of(problem.connectivity)[problem.first_rows]
    if component.max() == 0 or is_given:
        return problem
    mean = np.asarray(problem.mean.toarray() if hasattr(problem.mean, "toarray") else problem.mean, dtype=np.float64)
    size = 10.0 * max(float(np.ptp(mean, axis=0).max(initial=0.0)), 1.0)
    apart = size * (component[:, None] == np.arange(1, component.max() + 1))
    return replace(problem, mean=np.ascontiguousarray(np.hstack([mean, apart])))
