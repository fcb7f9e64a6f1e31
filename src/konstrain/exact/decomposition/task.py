"""One part of a bound by parts: a small problem that any process or machine can bound by itself."""

import hashlib
import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.problem import Problem
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.spectral import one_blas_thread_always
from konstrain.stop import Deadline

# Whatever changes the bounds of parts changes this: bounds kept in files are then computed again.
VERSION = 2
# Restarts in search of a better clustering of the part, beside the one from the clusters of the whole.
N_RESTARTS = 2
# A part has a better clustering than the one it was given when it costs less by this share.
BETTER = 1e-9


class _Best(NamedTuple):
    """A clustering of the part: its cost, its centers unless it is the one the part was given, labels if known."""

    cost: float
    centers: NDArray[np.float64] | None = None
    labels: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class PartAnswer:
    """What is proved about one part.

    Parameters
    ----------
    lower_bound : float
        No clustering of the part costs less.
    upper_bound : float
        Cost of the best clustering of the part that was found.
    is_finished : bool
        Whether the bound ended by itself and not at a limit.
    work : float
        Iterations times the cube of the blocks: what it took, whatever the machine.
    seconds, elapsed : float
        Processor time it took, and time on the clock, which is what limits are about.
    centers : ndarray of shape (n_clusters, n_features) or None
        Centers of a clustering better than the one the part was given.
    """

    lower_bound: float
    upper_bound: float
    is_finished: bool
    work: float
    seconds: float
    centers: NDArray[np.float64] | None = None
    elapsed: float = 0.0


@dataclass(frozen=True, eq=False)
class PartTask:
    """A part to bound.

    Parameters
    ----------
    problem : Problem
        The blocks of the part as rows.
    centers : ndarray of shape (n_clusters, n_features)
        Centers of the clustering of the whole.
    cost : float
        What that clustering costs in the part.
    gap : float
        The bound ends when it is so near the best clustering of the part: more would not help the sum.
    seconds : float or None
        Time the part may take.
    until : float or None
        When to end at the latest, as `time.time` counts: the part may have to wait for its turn.
    """

    problem: Problem
    centers: NDArray[np.float64]
    cost: float
    gap: float
    seconds: float | None = None
    until: float | None = None

    @cached_property
    def key(self) -> str:
        """Name of the part: the same blocks, constraints, start and gap have the same."""
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

    def run(self) -> PartAnswer:
        """Look for a better clustering of the part, then bound it."""
        began, clock = time.process_time(), time.perf_counter()
        deadline = self._deadline()
        # One thread: the last digits must not depend on how many there are.
        with one_blas_thread_always():
            best = self._improved(_Best(self.cost), deadline, self.centers, 1)
            bound = SdpBound(self.problem, deadline)
            if best.labels is not None:
                bound.start_at(best.labels)
            result = bound.run(best.cost, self.gap, max_rounds=1)
            if result.status == "stalled":
                # Not closed at once: perhaps because the part has a better clustering.
                best = self._improved(best, deadline, None, N_RESTARTS)
                result = bound.run(best.cost, self.gap)
        if result.interrupted:
            raise KeyboardInterrupt
        return PartAnswer(
            lower_bound=min(result.lower_bound, best.cost),
            upper_bound=best.cost,
            is_finished=result.status != "limit",
            work=float(bound.n_iterations) * self.problem.n_blocks**3,
            seconds=time.process_time() - began,
            centers=best.centers,
            elapsed=time.perf_counter() - clock,
        )

    def _deadline(self) -> Deadline:
        if self.seconds is None or self.until is None:
            return Deadline(self.seconds)
        return Deadline(min(self.seconds, max(0.0, self.until - time.time())))

    def _improved(self, best: _Best, deadline: Deadline, start: NDArray[np.float64] | None, n_init: int) -> _Best:
        """Return the best of a clustering and of one that is looked for."""
        if self.problem.n_blocks <= self.problem.n_clusters:
            return best
        found = find_clustering(self.problem.mean, self.problem, deadline, centers=start, n_init=n_init)
        if found is None:
            return best
        if found.inertia >= best.cost * (1 - BETTER):
            # As good, most often the same one: its labels are a start all the same.
            return best if best.labels is not None else best._replace(labels=found.block_labels)
        return _Best(found.inertia, found.centers, found.block_labels)
