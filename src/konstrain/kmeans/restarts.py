"""Restarts: seeds drawn first, runs anywhere, one best kept whole."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from konstrain._warnings import warn_caller
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.start import Start
from konstrain.stop import Budget

# Restarts that are handed to workers at a time; the clock is read between them.
BATCH = 8


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
    """

    loop: Loop
    start: Start

    def __call__(self, seed: int) -> Clustering:
        """Make the run; time or an interrupt end it with its last complete step, if there is one."""
        # What steps store is their own: runs may share a process.
        loop = replace(self.loop, steps=replace(self.loop.steps))
        return loop.run(self.start.centers(loop.steps, seed))


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each restart; returning True ends the search."""

    n_done: int
    n_init: int
    objective: float
    best_objective: float
    seconds: float

    def show(self) -> None:
        """Print a line on standard error."""
        from rich.console import Console

        Console(stderr=True).print(
            f"restart {self.n_done}/{self.n_init}  objective {self.objective:.6g}  "
            f"best {self.best_objective:.6g}  {self.seconds:.1f} s",
            highlight=False,
        )


@dataclass(eq=False)
class Restarts:
    """Runs a method from several seeds and keeps the best clustering.

    Parameters
    ----------
    run : callable
        Makes one clustering from a seed.
    budget : Budget
        No restart begins after it.
    n_jobs : int or None
        Workers, in joblib's sense; any number gives the same answer.
    verbose : int
        1: a line per batch on standard error; 0: quiet.
    callback : callable or None
        Told a `Progress` after each restart; ends the search by returning True.
    """

    run: Callable[[int], Clustering]
    budget: Budget
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Progress], Any] | None = None

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best run of these seeds."""
        n_init = len(seeds)
        started = time.perf_counter()
        best: Clustering | None = None
        n_done = 0
        try:
            for begin in range(0, n_init, BATCH):
                for clustering in self._runs(seeds[begin : begin + BATCH]):
                    n_done += 0 if clustering.interrupted else 1
                    best = clustering if best is None else _better(best, clustering)
                    if clustering.interrupted:
                        raise KeyboardInterrupt
                    seconds = time.perf_counter() - started
                    if self._is_stopped(Progress(n_done, n_init, clustering.objective, best.objective, seconds)):
                        return best
        except UndecidedError:
            # Out of time within the first step of a run: what the others found stands.
            if best is None:
                raise
        except KeyboardInterrupt:
            if best is None:
                raise
            warn_caller(
                f"interrupted after {n_done} of {n_init} restarts; the best clustering so far is returned",
                RuntimeWarning,
            )
            return replace(best, interrupted=True)
        assert best is not None
        return best

    def _runs(self, seeds: list[int]) -> Any:
        if effective_n_jobs(self.n_jobs) == 1 or len(seeds) == 1:
            return map(self.run, seeds)
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self.run)(seed) for seed in seeds
        )

    def _is_stopped(self, progress: Progress) -> bool:
        if self.verbose:
            progress.show()
        if self.callback is not None and self.callback(progress):
            return True
        return self.budget.expired()


def _better(best: Clustering, new: Clustering) -> Clustering:
    """Return the clustering that breaks fewer links, or else the lower one; the first of equals."""
    if new.n_violations != best.n_violations:
        return new if new.n_violations < best.n_violations else best
    # Rounding alone may lower the objective of the same partition: then the first one found stays.
    return new if is_lower(new.objective, best.objective) else best
