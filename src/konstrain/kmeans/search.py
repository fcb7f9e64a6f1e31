"""The search of `ConstrainedKMeans`: runs of Lloyd's loop under duals, repair and polish, within one budget of work.

The kernel (`src/cpp/search`) makes a run; this module decides where runs begin and when they end.
"""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from konstrain import _core, stop
from konstrain._memory import MOST_NUMBERS
from konstrain._tolerances import PROOF_RELATIVE, SAME_OBJECTIVE
from konstrain._warnings import warn_caller
from konstrain.assignment import Rules
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.restarts import PARAMS as RESTARTS
from konstrain.kmeans.restarts import Progress
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps, is_hard


@dataclass(frozen=True)
class SearchParams:
    """Tunable numbers of the search; those of a single run are in ``src/cpp/search/problem.h``."""

    # Runs that begin at drawn centers; later ones begin at the best clustering with one center relocated.
    n_starts: int = 4
    # Multiply-adds of a default search, per block, cluster and feature, at least `stop.PARAMS.work` and at most a
    # largest total: more work, lower objectives and longer fits. Where that is too little for a run, and exact steps
    # are fast, a single run of these is all.
    work: float = 2_500.0
    most_work: float = 2e9
    # The search ends after this many runs per cluster, and as many as led to the last gain, without a gain.
    patience: int = 60
    # Runs that one search makes at least where many are asked for; the searches are independent and may go to several
    # workers.
    runs_per_search: int = 100


PARAMS = SearchParams()


def suits(problem: Problem, start: Start, local_search: bool | str) -> bool:
    """Return whether a problem goes through the search; otherwise Lloyd's loop with exact steps is all.

    Raises
    ------
    ValueError
        When a search is asked for and the rows are sparse and too many to be made dense.
    """
    if not local_search:
        return False
    n_entries = problem.n_blocks * problem.mean.shape[1]
    is_dense = isinstance(problem.mean, np.ndarray)
    if local_search != "auto":
        if not is_dense and n_entries > MOST_NUMBERS:
            raise ValueError(
                f"local_search=True needs dense rows, and {problem.n_blocks} x {problem.mean.shape[1]} sparse ones "
                f"are more than {MOST_NUMBERS} numbers; leave local_search out, or reduce the features"
            )
        return True
    if start.is_given and not is_hard(problem):
        return False  # users of scikit-learn's KMeans expect Lloyd's own run from given centers
    if not is_dense and n_entries > MOST_NUMBERS:
        return False
    if is_hard(problem):
        return True
    # Steps of these kinds are exact, threaded and fast: one run of them where a search has no work for one.
    return bool(RESTARTS.iterations * _work_of_pass(problem) <= PARAMS.most_work)


# Dimensions in which a Delaunay triangulation is quick and has few edges per row.
TRIANGULATED: Final = (2, 3)


def anneals(problem: Problem) -> bool:
    """Return whether `regions.RegionSearch` serves a problem: places, and bounds that unequal demand hardly fits.

    Such bounds leave Lloyd's loop in local optima from which moves across boundaries escape. Where the size of a
    cluster may vary by as many mean blocks as there are clusters, both searches end alike, and annealing is slower,
    as under cannot-links.
    """
    n_blocks, n_features = problem.mean.shape
    has_sizes = problem.size_min is not None or problem.size_max is not None
    is_alone = problem.resources is None and problem.links is None
    is_placed = n_features in TRIANGULATED and n_blocks > n_features + 1
    if not (has_sizes and is_alone and is_placed) or problem.has_unit_demand or problem.unit_centers:
        return False
    k, total = problem.n_clusters, float(problem.demand.sum())
    low = np.zeros(k) if problem.size_min is None else problem.size_min
    high = np.full(k, total) if problem.size_max is None else np.minimum(problem.size_max, total)
    # What the others leave to a cluster, at least and at most.
    least, most = np.maximum(low, total - (high.sum() - high)), np.minimum(high, total - (low.sum() - low))
    return bool((most - least).mean() < k * total / n_blocks)


@dataclass(eq=False)
class Search:
    """A search for good clusterings of a problem."""

    steps: Steps  # The problem, the price of soft links, the budget and the threads.
    start: Start  # Where the first runs begin.
    max_iter: int = 300  # Most iterations of a run: those of Lloyd's loop and passes of polish together.
    tol: float = 0.0  # Squared movement of all centers together that ends Lloyd's loop.
    n_runs: int | None = None  # Runs to make; None: as many as the budget of work allows.
    # Workers for independent searches, in joblib's sense; the answer does not depend on it.
    n_jobs: int | None = None
    verbose: int = 0  # 1: a line per run on standard error.
    # Called with a `Progress` after each run; ends the search by returning True.
    callback: Callable[[Progress], Any] | None = None
    _is_ended: bool = field(default=False, init=False)  # By the callback or an interrupt.

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best clustering that is found from these seeds, `n_seeds` of them, with the gap of its step."""
        counts = _runs_of_searches(self.n_runs)
        each = [seeds[i : i + PARAMS.n_starts] for i in range(0, len(seeds), PARAMS.n_starts)][: len(counts)]
        if len(counts) == 1:
            return self._search(each[0], counts[0])
        # No search begins once one has been ended.
        searches = (
            delayed(self._search)(of_search, count)
            for of_search, count in zip(each, counts, strict=True)
            if not self._is_ended
        )
        found: list[Clustering] = Parallel(n_jobs=self.n_jobs, prefer="threads")(searches)
        best = min(found, key=lambda clustering: clustering.objective)
        return replace(best, interrupted=any(clustering.interrupted for clustering in found))

    def _search(self, seeds: list[int], n_runs: int | None) -> Clustering:
        problem = self.steps.problem
        # Of many runs asked for, a search makes its share and what a default search would make: it is never worse.
        is_open = n_runs is None or n_runs >= PARAMS.runs_per_search
        budget = self.steps.budget.part(1.0, work=default_work(problem) if is_open else None)
        arguments, offset = kernel_arguments(problem, self.steps.violation_cost)
        kernel = _core.Search(**arguments, seed=seeds[0])
        n_starts = 1 if self.start.is_given else PARAMS.n_starts
        least, most = n_runs or 0, math.inf if is_open else n_runs or 0
        began, n_done, n_to_gain, interrupted = time.perf_counter(), 0, 0, False
        limits = (self.max_iter, self.tol)
        try:
            while n_done < most:
                before = kernel.cost if kernel.violation == 0 else math.inf
                priced = n_done % 2 == 0
                work_before = kernel.work
                if n_done < n_starts or kernel.violation > 0:
                    centers = self._first_centers(seeds[n_done % n_starts])
                    kernel.run_from(centers - offset, priced, *limits, budget.remaining())
                else:
                    kernel.relocate(priced, *limits, budget.remaining())
                n_done += 1
                budget.spend(kernel.work - work_before)
                if kernel.violation > 0 and n_done >= min(n_starts, most):
                    self._find_labels(kernel, offset)
                if kernel.cost < before * (1.0 - SAME_OBJECTIVE):
                    n_to_gain = n_done
                n_all = n_runs or 0
                if is_open:
                    n_all = max(n_done, n_all, round(n_done * default_work(problem) / max(kernel.work, 1.0)))
                if self._reports_end(kernel, n_done, n_all, time.perf_counter() - began):
                    break
                may_gain = n_done - n_to_gain <= PARAMS.patience * (2 + problem.n_clusters) + n_to_gain
                if n_done >= least and not (budget.affords(0.0) and may_gain):
                    break
                if budget.expired():
                    break
        except KeyboardInterrupt:
            if kernel.violation > 0:
                raise
            warn_caller(f"interrupted after {n_done} runs; the best clustering so far is returned", RuntimeWarning)
            interrupted = self._is_ended = True
        if kernel.violation > 0:
            self._find_labels(kernel, offset)
        return replace(self._clustering(kernel, offset), interrupted=interrupted)

    def follow(self, labels: list[NDArray[np.int32]], seed: int, part: str) -> Clustering:
        """Return the best clustering reached from labels, first from centers as well; the last has its gap."""
        arguments, offset = kernel_arguments(self.steps.problem, self.steps.violation_cost)
        kernel, budget = _core.Search(**arguments, seed=seed), self.steps.budget
        if part == "first":
            centers = self.start.centers(self.steps, seed)
            kernel.run_from(centers - offset, True, self.max_iter, self.tol, budget.remaining())
            # Where rows that move cost much, an exact step moves the fewest; under rules it may take forever.
            exact = replace(self.steps, budget=budget.part(1.0, work=stop.PARAMS.work))
            with contextlib.suppress(UndecidedError):
                if kernel.violation > 0 or not budget.expired():
                    labels = [*labels, exact.step(centers, None).labels]
        for given in labels:
            kernel.improve(given, self.max_iter, budget.remaining())
        if kernel.violation > 0:
            self._find_labels(kernel, offset)
        return self._clustering(kernel, offset) if part == "last" else self._best_of(kernel, offset)

    def _first_centers(self, seed: int) -> NDArray[np.float64]:
        """Return centers of a start; drawn ones in the order in which their clusters fit the bounds best."""
        centers, rules = self.start.centers(self.steps, seed), self.steps.problem.rules
        if self.start.is_given or rules is None or self.steps.problem.has_like_clusters:
            return centers
        # Imported here: it takes long, and most fits have the same bounds for all clusters.
        from scipy.optimize import linear_sum_assignment

        labels, _ = distances.nearest_distances(self.steps.problem.mean, centers, n_threads=self.steps.n_threads)
        load = rules.values(labels)[:, None, :]
        misses = np.maximum(np.maximum(load - rules.high, rules.low - load), 0.0) / rules.units
        natural, bounds = linear_sum_assignment(misses.sum(axis=2))
        matched: NDArray[np.float64] = centers[natural[np.argsort(bounds)]]
        return matched

    def _find_labels(self, kernel: Any, offset: NDArray[np.float64]) -> None:
        """Let the exact engines find labels that keep all constraints, or prove that there are none."""
        centers = kernel.centers.reshape(self.steps.problem.n_clusters, -1) + offset
        answer = self.steps.step(centers, None)
        kernel.improve(answer.labels, self.max_iter, self.steps.budget.remaining())

    def _reports_end(self, kernel: Any, n_done: int, n_all: int, seconds: float) -> bool:
        """Report a run to the user; True: the callback asks for the end."""
        if not self.verbose and self.callback is None:
            return False
        assert self.steps.problem.scatter is not None
        objective = kernel.cost + float(self.steps.problem.scatter.sum()) + self.steps.constant_penalty
        objective = objective if kernel.violation == 0 else math.inf
        progress = Progress(n_done, n_all, objective, objective, seconds)
        if self.verbose:
            progress.show()
        self._is_ended |= self.callback is not None and bool(self.callback(progress))
        return self._is_ended

    def _clustering(self, kernel: Any, offset: NDArray[np.float64]) -> Clustering:
        """Return the best labels of the kernel with the gap of the last step."""
        found = self._best_of(kernel, offset)
        is_asked = self.steps.budget.is_timed
        if is_hard(self.steps.problem):
            found = self._with_bound(kernel, found)
            if not is_asked:
                return found  # A proof takes HiGHS: only within a time limit.
        if not found.proven:
            found = self._with_exact_step(kernel, offset, found)
        return found if is_asked or found.proven else replace(found, proven=None)

    def _best_of(self, kernel: Any, offset: NDArray[np.float64]) -> Clustering:
        """Return the best labels of the kernel."""
        steps, labels = self.steps, kernel.labels
        means = steps.centers_of(labels, kernel.centers.reshape(steps.problem.n_clusters, -1) + offset)
        found = steps.clustering(labels, means, kernel.n_iterations, converged=kernel.has_converged)
        return replace(found, proven=None, step_gap=None)

    def _with_bound(self, kernel: Any, found: Clustering) -> Clustering:
        """Add the gap of the last step by the bound of the duals, which proves the labels where it is closed."""
        cost = self.steps.cost_of(found.block_labels, found.centers)
        gap = max(0.0, cost - kernel.step_bound()) / cost if cost > 0 else 0.0
        is_closed = gap <= PROOF_RELATIVE
        return replace(found, proven=True if is_closed else None, step_gap=0.0 if is_closed else gap)

    def _with_exact_step(self, kernel: Any, offset: NDArray[np.float64], found: Clustering) -> Clustering:
        """Solve the last step exactly; as long as that finds better labels, polish goes on from them."""
        steps, answer = self.steps, None
        while True:
            try:
                answer = steps.step(found.centers, answer)
            except UndecidedError:  # out of time: the labels stay, with the bound of their duals
                return found if found.step_gap is not None else self._with_bound(kernel, found)
            cost = steps.cost_of(found.block_labels, found.centers)
            gap = max(0.0, cost - answer.lower_bound) / cost if cost > 0 else 0.0
            if not is_lower(answer.cost, cost):
                gap = 0.0 if answer.proven else min(gap, found.step_gap or gap)
                return replace(found, proven=answer.proven, step_gap=gap, assignment=answer)
            kernel.improve(answer.labels, self.max_iter, steps.budget.remaining())
            better = self._best_of(kernel, offset)
            if not is_lower(better.objective, found.objective):
                return replace(found, proven=False, step_gap=gap, assignment=answer)
            found = better


def n_seeds(n_runs: int | None) -> int:
    """Return the number of seeds that `Search.best` needs: one for each drawn start of each independent search."""
    return PARAMS.n_starts * len(_runs_of_searches(n_runs))


def _runs_of_searches(n_runs: int | None) -> list[int | None]:
    """Return the number of runs that each independent search is asked for; None: as many as the budget allows."""
    if n_runs is None or n_runs <= PARAMS.runs_per_search:
        return [n_runs]
    full, rest = divmod(n_runs, PARAMS.runs_per_search)
    return [*[PARAMS.runs_per_search] * full, *[rest] * (rest > 0)]


def default_work(problem: Problem) -> float:
    """Return the multiply-adds of a default search."""
    return float(np.clip(PARAMS.work * _work_of_pass(problem), stop.PARAMS.work, PARAMS.most_work))


def _work_of_pass(problem: Problem) -> float:
    """Return the multiply-adds of an iteration: distances of all blocks to all centers, and what follows them."""
    n_rules = 0 if problem.rules is None else problem.rules.n_rules
    return float(problem.n_blocks * problem.n_clusters * (problem.mean.shape[1] + 10 + 2 * n_rules))


def kernel_arguments(problem: Problem, violation_cost: float | None) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return the arrays that describe a problem to a kernel, and what was taken off the rows: their mean.

    Nothing is taken off where directions count.
    """
    mean = problem.mean.toarray() if hasattr(problem.mean, "toarray") else problem.mean
    rows = np.ascontiguousarray(mean, dtype=np.float64)
    # Without any weight, as in proofs, all clusterings cost nothing.
    offset = np.zeros(rows.shape[1])
    if not problem.unit_centers:
        offset = np.average(rows, axis=0, weights=problem.weight if problem.weight.any() else None)
    links, rules = problem.links_at(violation_cost), problem.rules
    rules = Rules.none(problem.n_blocks, problem.n_clusters) if rules is None else rules.tightened
    low, high = rules.widened
    arguments = {
        "means": rows - offset,
        "weight": problem.weight,
        "amounts": rules.added,
        "low": np.ascontiguousarray(low),
        "high": np.ascontiguousarray(high),
        "unit": rules.units,
        "link_start": None if links is None else links.indptr,
        "link_to": None if links is None else links.indices,
        "link_penalty": None if links is None else links.penalties,
        "homes": None if problem.homes is None else problem.homes.entries(),
        "nonempty": problem.nonempty,
        "unit_centers": problem.unit_centers,
    }
    return arguments, offset
