"""Restarts: seeds drawn first, runs anywhere, one best kept whole."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from rich.console import Console

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain._warnings import warn_caller
from konstrain.assignment import Assignment
from konstrain.kmeans.loop import Iterations, Loop, LoopFunction
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Deadline

# Restarts between two looks at whether to go on. Fixed, so that the answer does not depend on the number of workers.
BATCH = 8


# From a loop and centers to a clustering, by a seed: the loop, and what follows it.
Way = Callable[[Loop, NDArray[np.float64], int], Clustering]


def draw_seeds(rng: np.random.RandomState, count: int) -> list[int]:
    """Draw one seed per run first, so that runs may be made in any order and anywhere."""
    seeds: list[int] = rng.randint(np.iinfo(np.int32).max, size=count).tolist()
    return seeds


@dataclass(frozen=True, eq=False)
class Run:
    """One run from a seed.

    Parameters
    ----------
    loop : Loop
        The loop it runs.
    start : Start
        Where it begins.
    way : callable or None
        How it gets from its start to a clustering; None: by the loop, and no more.
    """

    loop: Loop
    start: Start
    way: Way | None = None

    def __call__(self, seed: int) -> Clustering:
        """Make the run; an interrupt ends it with the best that a loop of it has found, if any has."""
        kept = _Kept(self.loop.function)
        # What steps remember is their own: runs may share a process.
        loop = replace(self.loop, steps=replace(self.loop.steps), function=kept)
        centers = self.start.centers(loop.steps, seed)
        try:
            return loop.run(centers) if self.way is None else self.way(loop, centers, seed)
        except KeyboardInterrupt:
            if kept.best is None:
                raise
            return replace(kept.best, interrupted=True)


class _Kept:
    """A loop that remembers the best clustering it ended with, for what follows it may be interrupted."""

    def __init__(self, function: LoopFunction) -> None:
        self.function = function
        self.best: Clustering | None = None

    def __call__(
        self, steps: Steps, centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None
    ) -> Clustering:
        found = self.function(steps, centers, iterations, warm)
        self.best, _ = _better(self.best, found, 0)
        if iterations.interrupted:
            raise KeyboardInterrupt
        return found


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each restart; returning True ends the search."""

    n_done: int
    n_init: int
    objective: float
    best_objective: float
    seconds: float


@dataclass(eq=False)
class Restarts:
    """Runs a method from several seeds and keeps the best clustering.

    Parameters
    ----------
    run : callable
        Makes one clustering from a seed.
    deadline : Deadline
        No restart begins after it.
    n_jobs : int or None
        Workers, in joblib's sense; any number gives the same answer.
    verbose : int
        1: a line per batch on standard error; 0: quiet.
    callback : callable or None
        Told a `Progress` after each restart; ends the search by returning True.
    """

    run: Callable[[int], Clustering]
    deadline: Deadline
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Progress], Any] | None = None

    def best(self, seeds: list[int], n_agreeing: int) -> Clustering:
        """Return the best run of these seeds; ends early once `n_agreeing` of them found the same best."""
        n_init = len(seeds)
        started = time.perf_counter()
        best: Clustering | None = None
        agreeing = n_done = 0
        try:
            for begin in range(0, n_init, BATCH):
                for clustering in self._runs(seeds[begin : begin + BATCH]):
                    best, agreeing = _better(best, clustering, agreeing)
                    if clustering.interrupted:
                        raise KeyboardInterrupt
                    n_done += 1
                    if self._told_to_stop(
                        Progress(n_done, n_init, clustering.objective, best.objective, time.perf_counter() - started)
                    ):
                        return best
                if best is not None and (agreeing >= n_agreeing or self.deadline.expired()):
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            warn_caller(
                f"interrupted after {n_done} of {n_init} restarts; the best clustering so far is returned",
                RuntimeWarning,
            )
            best = replace(best, interrupted=True)
        assert best is not None
        return best

    def _runs(self, seeds: list[int]) -> Any:
        if effective_n_jobs(self.n_jobs) == 1 or len(seeds) == 1:
            return map(self.run, seeds)
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self.run)(seed) for seed in seeds
        )

    def _told_to_stop(self, progress: Progress) -> bool:
        if self.verbose:
            Console(stderr=True).print(
                f"restart {progress.n_done}/{progress.n_init}  objective {progress.objective:.6g}  "
                f"best {progress.best_objective:.6g}  {progress.seconds:.1f} s",
                highlight=False,
            )
        if self.callback is not None and self.callback(progress):
            return True
        return self.deadline.expired()


def _better(best: Clustering | None, new: Clustering, agreeing: int) -> tuple[Clustering, int]:
    """Keep the better of two, and count how often the best was found."""
    if best is None:
        return new, 1
    if new.n_violations != best.n_violations:
        return (new, 1) if new.n_violations < best.n_violations else (best, agreeing)
    tolerance = SAME_OBJECTIVE * max(abs(best.objective), abs(new.objective))
    if new.objective < best.objective - tolerance:
        return new, 1
    # Rounding alone may lower the objective of the same partition: the first one found stays.
    return best, agreeing + (new.objective <= best.objective + tolerance)
