"""The search of `ConstrainedKMeans`: runs of Lloyd's loop under duals, repair and polish, within one budget of work.

The kernel (`src/cpp/search`) makes a run; this module decides where runs begin and when they end.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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

    # Runs that begin at drawn centers, all of them made whatever they cost; later ones begin at the best clustering
    # with one center relocated.
    n_starts: int = 4
    # Multiply-adds of a default search, per block, cluster and feature, at least `stop.PARAMS.work` and at most a
    # largest total: more work, lower objectives and longer fits. Where that is too little for two runs, a single run
    # with exact steps is all.
    work: float = 2_500.0
    most_work: float = 2e9
    # The search ends after this many runs per cluster, and as many as led to the last gain, without a gain.
    patience: int = 60
    # Exact last steps, each of which found better labels, before the search ends unproved.
    exact_steps: int = 10
    # Runs of one search where many are asked for; the searches are independent and may go to several workers.
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
    # Steps of these kinds are exact, threaded and fast: one run of them where a search has no work for two.
    return bool(2 * RESTARTS.iterations * n_entries * problem.n_clusters <= PARAMS.most_work)


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

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best clustering that is found from these seeds, `n_seeds` of them, with the gap of its step."""
        counts = _runs_of_searches(self.n_runs)
        each = [seeds[i : i + PARAMS.n_starts] for i in range(0, len(seeds), PARAMS.n_starts)][: len(counts)]
        if len(counts) == 1:
            return self._search(each[0], counts[0])
        searches = (delayed(self._search)(of_search, count) for of_search, count in zip(each, counts, strict=True))
        found: list[Clustering] = Parallel(n_jobs=self.n_jobs, prefer="threads")(searches)
        return min(found, key=lambda clustering: clustering.objective)

    def _search(self, seeds: list[int], n_runs: int | None) -> Clustering:
        problem = self.steps.problem
        budget = self.steps.budget.part(1.0, work=default_work(problem) if n_runs is None else None)
        arguments, offset = kernel_arguments(problem, self.steps.violation_cost)
        kernel = _core.Search(**arguments, seed=seeds[0])
        n_starts = 1 if self.start.is_given else PARAMS.n_starts
        most = math.inf if n_runs is None else n_runs
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
                if self._reports_end(kernel, n_done, n_runs, time.perf_counter() - began):
                    break
                if n_done > PARAMS.n_starts and (
                    not budget.affords(0.0)
                    or n_done - n_to_gain > PARAMS.patience * (2 + problem.n_clusters) + n_to_gain
                ):
                    break
                if budget.expired():
                    break
        except KeyboardInterrupt:
            if kernel.violation > 0:
                raise
            warn_caller(f"interrupted after {n_done} runs; the best clustering so far is returned", RuntimeWarning)
            interrupted = True
        if kernel.violation > 0:
            self._find_labels(kernel, offset)
        return replace(self._clustering(kernel, offset), interrupted=interrupted)

    def _first_centers(self, seed: int) -> NDArray[np.float64]:
        """Return centers of a start; drawn ones in the order in which their clusters fit the bounds best."""
        centers, rules = self.start.centers(self.steps, seed), self.steps.problem.rules
        if (
            self.start.is_given
            or rules is None
            or ((rules.low == rules.low[0]) & (rules.high == rules.high[0])).all()
        ):
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

    def _reports_end(self, kernel: Any, n_done: int, n_runs: int | None, seconds: float) -> bool:
        """Report a run to the user; True: the callback asks for the end."""
        if not self.verbose and self.callback is None:
            return False
        assert self.steps.problem.scatter is not None
        objective = kernel.cost + float(self.steps.problem.scatter.sum()) + self.steps.constant_penalty
        expected = n_runs
        if expected is None:
            expected = max(n_done, round(n_done * default_work(self.steps.problem) / max(kernel.work, 1.0)))
        progress = Progress(n_done, expected, objective, objective, seconds)
        if self.verbose:
            progress.show()
        return bool(self.callback is not None and self.callback(progress))

    def _clustering(self, kernel: Any, offset: NDArray[np.float64]) -> Clustering:
        """Return the best labels of the kernel with the gap of the last step."""
        found = self._best_of(kernel, offset)
        is_asked = self.steps.budget.is_timed
        if is_hard(self.steps.problem) and not is_asked:
            return found  # a proof takes HiGHS: only where a time limit says how long that may take
        if not found.proven:
            found = self._with_exact_step(kernel, offset, found)
        return found if is_asked or found.proven else replace(found, proven=None)

    def _best_of(self, kernel: Any, offset: NDArray[np.float64]) -> Clustering:
        steps, labels = self.steps, kernel.labels
        means = steps.centers_of(labels, kernel.centers.reshape(steps.problem.n_clusters, -1) + offset)
        found = steps.clustering(labels, means, kernel.n_iterations, converged=kernel.has_converged)
        return with_step_gap(found, steps.cost_of(labels, means), kernel.step_bound())

    def _with_exact_step(self, kernel: Any, offset: NDArray[np.float64], found: Clustering) -> Clustering:
        """Solve the last step exactly; while that finds better labels, polish goes on from them."""
        steps = self.steps
        for _ in range(PARAMS.exact_steps):
            try:
                answer = steps.step(found.centers, None)
            except UndecidedError:
                return replace(found, proven=False)  # out of time: the labels stay, with the bound of their duals
            cost = steps.cost_of(found.block_labels, found.centers)
            if not is_lower(answer.cost, cost):
                gap = 0.0 if answer.proven else max(0.0, cost - answer.lower_bound) / cost if cost > 0 else 0.0
                return replace(found, proven=answer.proven, step_gap=min(gap, found.step_gap or gap))
            kernel.improve(answer.labels, self.max_iter, steps.budget.remaining())
            better = self._best_of(kernel, offset)
            if not is_lower(better.objective, found.objective):
                return replace(found, proven=False)
            found = better
        return replace(found, proven=False)


def with_step_gap(found: Clustering, cost: float, bound: float) -> Clustering:
    """Return a clustering with the gap of its last step, which cost this much; proved where the bound closes it."""
    gap = max(0.0, cost - bound) / cost if cost > 0 else 0.0
    is_closed = gap <= PROOF_RELATIVE
    return replace(found, proven=True if is_closed else None, step_gap=0.0 if is_closed else gap)


def n_seeds(n_runs: int | None) -> int:
    """Return the number of seeds that `Search.best` needs: one for each drawn start of each independent search."""
    return PARAMS.n_starts * len(_runs_of_searches(n_runs))


def _runs_of_searches(n_runs: int | None) -> list[int | None]:
    """Return the number of runs of each independent search; None: as many as the budget allows."""
    if n_runs is None or n_runs <= PARAMS.runs_per_search:
        return [n_runs]
    full, rest = divmod(n_runs, PARAMS.runs_per_search)
    return [*[PARAMS.runs_per_search] * full, *[rest] * (rest > 0)]


def default_work(problem: Problem) -> float:
    """Return the multiply-adds of a default search."""
    n_rules = 0 if problem.rules is None else problem.rules.n_rules
    cells = problem.n_blocks * problem.n_clusters * (problem.mean.shape[1] + 10 + 2 * n_rules)
    return float(np.clip(PARAMS.work * cells, stop.PARAMS.work, PARAMS.most_work))


def kernel_arguments(problem: Problem, violation_cost: float | None) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return the arrays that describe a problem to a kernel, and what was taken off the rows: their mean."""
    mean = problem.mean.toarray() if hasattr(problem.mean, "toarray") else problem.mean
    rows = np.ascontiguousarray(mean, dtype=np.float64)
    # Without any weight, as in proofs, all clusterings cost nothing.
    offset = np.average(rows, axis=0, weights=problem.weight if problem.weight.any() else None)
    links, rules = problem.links_at(violation_cost), problem.rules
    rules = Rules.none(problem.n_blocks, problem.n_clusters) if rules is None else rules.tightened
    low, high = rules.widened
    penalties = None
    if links is not None:
        penalties = np.full(links.indices.size, np.inf) if links.weights is None else links.weights
    arguments = {
        "means": rows - offset,
        "weight": problem.weight,
        "amounts": rules.added,
        "low": np.ascontiguousarray(low),
        "high": np.ascontiguousarray(high),
        "unit": rules.units,
        "link_start": None if links is None else links.indptr,
        "link_to": None if links is None else links.indices,
        "link_penalty": penalties,
        "nonempty": problem.nonempty,
    }
    return arguments, offset
