"""One part of a decomposition: a small problem that any process or machine can bound, and who runs them."""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain.constraints.problem import Problem
from konstrain.exact.columns.boxes import BoxColumnBound
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.spectral import one_blas_thread
from konstrain.exact.solve import is_for_boxes
from konstrain.stop import Budget

# Part of every key: a change to the bounds of parts changes it, so that bounds kept in files are computed again.
VERSION: Final = 5


class _Best(NamedTuple):
    """A clustering of the part: cost, centers unless it is the given one, labels if known."""

    cost: float
    centers: NDArray[np.float64] | None = None
    labels: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class PartResult:
    """Bound of one part."""

    lower_bound: float  # No clustering of the part costs less.
    upper_bound: float  # Cost of the best clustering of the part that was found.
    is_finished: bool  # Whether the bound ended by itself and not at a time limit.
    work: float  # Iterations times the cube of the number of blocks, the same on every machine.
    # `seconds` and `elapsed`: processor time, and time on the clock, to which time limits refer.
    seconds: float
    # (n_clusters, n_features): centers of a clustering of the part with a lower cost than the given one.
    centers: NDArray[np.float64] | None = None
    elapsed: float = 0.0


@dataclass(frozen=True, eq=False)
class PartTask:
    """Bound of one part, to be computed."""

    problem: Problem  # The blocks of the part as rows.
    centers: NDArray[np.float64]  # (n_clusters, n_features): centers of the clustering of the whole.
    cost: float  # Cost of that clustering in the part.
    gap: float  # Relative gap to the best clustering of the part at which the bound ends.
    seconds: float | None = None  # Time limit of the part.
    until: float | None = None  # Latest end, as `time.time` counts: the part may have to wait for a free worker.

    @cached_property
    def key(self) -> str:
        """Hash of everything that the bound depends on."""
        problem = self.problem
        digest = hashlib.sha256(f"{VERSION} {problem.n_clusters} {self.gap!r} {self.cost!r}".encode())
        arrays = [problem.mean, problem.weight, problem.scatter, problem.demand, self.centers]
        if problem.conflicts is not None:
            arrays += [problem.conflicts.indptr, problem.conflicts.indices]
        if problem.size_max is not None:
            arrays += [problem.size_max]
        for array in arrays:
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    def run(self) -> PartResult:
        """Search for a better clustering of the part, then bound it."""
        began, clock = time.process_time(), time.perf_counter()
        budget = self._budget()
        # One thread, so that the last digits do not depend on the number of threads.
        with one_blas_thread():
            best = self._improved(_Best(self.cost), budget, self.centers)
            bound = self._bound(best.labels)
            status = self._raise(bound, best.cost, budget, max_rounds=2)
            if status in ("stalled", "optimal"):
                # The bound did not close at once, perhaps because the part has a better clustering.
                best = self._improved(best, budget, None)
                status = self._raise(bound, best.cost, budget)
        return PartResult(
            lower_bound=min(bound.lower_bound, best.cost),
            upper_bound=best.cost,
            is_finished=status != "limit",
            work=float(bound.n_iterations) * self.problem.n_blocks**3,
            seconds=time.process_time() - began,
            centers=best.centers,
            elapsed=time.perf_counter() - clock,
        )

    def _bound(self, labels: NDArray[np.int32] | None) -> SdpBound | BoxColumnBound:
        """Return the bound that suits the part, to start at labels."""
        if is_for_boxes(self.problem):
            return BoxColumnBound(self.problem, labels)
        bound = SdpBound(self.problem)
        if labels is not None:
            bound.start_at(labels)
        return bound

    def _raise(self, bound: SdpBound | BoxColumnBound, cost: float, budget: Budget, **limits: int) -> str:
        """Raise a bound to a known cost, if it can; return why it ended."""
        if isinstance(bound, BoxColumnBound):
            return bound.run(cost, self.gap, budget)
        result = bound.run(cost, self.gap, budget, **limits)
        if result.interrupted:
            raise KeyboardInterrupt
        return result.status

    def _budget(self) -> Budget:
        if self.seconds is None or self.until is None:
            return Budget(self.seconds)
        return Budget(min(self.seconds, max(0.0, self.until - time.time())))

    def _improved(self, best: _Best, budget: Budget, start: NDArray[np.float64] | None) -> _Best:
        """Return the better of a clustering and the result of a search."""
        if self.problem.n_blocks <= self.problem.n_clusters:
            return best
        found = find_clustering(self.problem.mean, self.problem, budget, centers=start, n_init=1)
        if found is None:
            return best
        if found.inertia >= best.cost * (1 - SAME_OBJECTIVE):
            # Mostly the same clustering: its labels are a start for the bound.
            return best if best.labels is not None else best._replace(labels=found.block_labels)
        return _Best(found.inertia, found.centers, found.block_labels)


Numbered = tuple[int, PartResult]


def run_numbered(number: int, task: PartTask) -> Numbered:
    """Bound one part and return its number and result."""
    return number, task.run()


class Workers:
    """Run tasks in this process, in `n_jobs` on this machine, or on a Dask cluster, with the same results."""

    def __init__(self, n_jobs: int | None = None, client: Any = None) -> None:
        self._client = client
        self._n_jobs = n_jobs

    @property
    def count(self) -> int:
        """Number of parts that run at the same time."""
        if self._client is None:
            return int(effective_n_jobs(self._n_jobs))
        return max(1, sum(map(int, self._client.nthreads().values())))

    def run(self, tasks: Iterator[tuple[int, PartTask]]) -> Iterator[Numbered]:
        """Yield the results of tasks as they come; a task is drawn when a worker is free."""
        if self._client is not None:
            return self._on_cluster(tasks)
        if self.count == 1:
            return (run_numbered(number, task) for number, task in tasks)
        parallel = Parallel(n_jobs=self.count, return_as="generator_unordered")
        results: Iterator[Numbered] = parallel(delayed(run_numbered)(number, task) for number, task in tasks)
        return results

    def _on_cluster(self, tasks: Iterator[tuple[int, PartTask]]) -> Iterator[Numbered]:
        from distributed import as_completed

        first = [self._submit(*entry) for entry in islice(tasks, self.count)]
        waiting = as_completed(first)
        for future in waiting:
            yield future.result()
            following = next(tasks, None)
            if following is not None:
                waiting.add(self._submit(*following))

    def _submit(self, number: int, task: PartTask) -> Any:
        return self._client.submit(run_numbered, number, task, pure=False)
