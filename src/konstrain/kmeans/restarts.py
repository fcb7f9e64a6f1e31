"""Restarts: seeds drawn first, runs anywhere, one best kept whole."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from konstrain._tolerances import SAME_OBJECTIVE
from konstrain._warnings import warn_caller
from konstrain.assignment import Assignment
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Iterations, Loop, LoopFunction
from konstrain.kmeans.result import Clustering, is_lower
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
    time_share : float
        Part of the time that is left when it begins, which it may take; the rest is for other runs.
    """

    loop: Loop
    start: Start
    way: Way | None = None
    time_share: float = 1.0

    def __call__(self, seed: int) -> Clustering:
        """Make the run; time or an interrupt end it with the best that a loop of it has found, if any has."""
        deadline = self.loop.steps.deadline
        if self.time_share < 1.0:
            try:
                return self._until(deadline.share(self.time_share), seed)
            except UndecidedError:
                # No labels at all yet: all the time that is left may go into finding some.
                return self._until(deadline, seed)
        return self._until(deadline, seed)

    def _until(self, deadline: Deadline, seed: int) -> Clustering:
        kept = _Kept(self.loop.function)
        # What steps remember is their own: runs may share a process.
        loop = replace(self.loop, steps=replace(self.loop.steps, deadline=deadline), function=kept)
        centers = self.start.centers(loop.steps, seed)
        try:
            return loop.run(centers) if self.way is None else self.way(loop, centers, seed)
        except (KeyboardInterrupt, UndecidedError) as error:
            if kept.best is None:
                raise
            return replace(kept.best, interrupted=isinstance(error, KeyboardInterrupt))


class _Kept:
    """A loop that remembers the best clustering it ended with, for what follows it may be interrupted."""

    def __init__(self, function: LoopFunction) -> None:
        self.function = function
        self.best: Clustering | None = None

    def __call__(
        self, steps: Steps, centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None
    ) -> Clustering:
        found = self.function(steps, centers, iterations, warm)
        if self.best is None or is_lower(found.objective, self.best.objective):
            self.best = found
        if iterations.interrupted:
            raise KeyboardInterrupt
        return found


@dataclass(frozen=True)
class RestartPlan:
    """How many runs to make, and when fewer are enough.

    Counts decide and never the clock: one seed gives one answer on any machine.

    Parameters
    ----------
    most : int
        Runs at most.
    agreeing : int
        Runs as good as the best after which no other is made.
    least : int
        Runs after which the search may end because it has stopped paying: when it has made at least twice as many as
        led to the last gain.
    worth : float
        What counts as a gain, relative to the objective; runs that are worse by less are as good as the best.
    """

    most: int
    agreeing: int
    least: int
    worth: float = SAME_OBJECTIVE

    @classmethod
    def exactly(cls, n_runs: int) -> Self:
        """Make this many runs, whatever they find."""
        return cls(n_runs, n_runs + 1, n_runs)


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

    def best(self, seeds: list[int], plan: RestartPlan) -> Clustering:
        """Return the best run of these seeds; not all of them are made where the plan says that fewer are enough."""
        n_init = len(seeds)
        started = time.perf_counter()
        found = _Found(plan)
        try:
            for begin in range(0, n_init, BATCH):
                for clustering in self._runs(seeds[begin : begin + BATCH]):
                    best = found.take(clustering)
                    if clustering.interrupted:
                        raise KeyboardInterrupt
                    if self._told_to_stop(
                        Progress(
                            found.n_done, n_init, clustering.objective, best.objective, time.perf_counter() - started
                        )
                    ):
                        return best
                if found.is_enough() or self.deadline.expired():
                    break
        except UndecidedError:
            # Out of time within the first step of a run: what the others found stands.
            if found.best is None:
                raise
        except KeyboardInterrupt:
            if found.best is None:
                raise
            warn_caller(
                f"interrupted after {found.n_done} of {n_init} restarts; the best clustering so far is returned",
                RuntimeWarning,
            )
            return replace(found.best, interrupted=True)
        assert found.best is not None
        return found.best

    def _runs(self, seeds: list[int]) -> Any:
        if effective_n_jobs(self.n_jobs) == 1 or len(seeds) == 1:
            return map(self.run, seeds)
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self.run)(seed) for seed in seeds
        )

    def _told_to_stop(self, progress: Progress) -> bool:
        if self.verbose:
            from rich.console import Console

            Console(stderr=True).print(
                f"restart {progress.n_done}/{progress.n_init}  objective {progress.objective:.6g}  "
                f"best {progress.best_objective:.6g}  {progress.seconds:.1f} s",
                highlight=False,
            )
        if self.callback is not None and self.callback(progress):
            return True
        return self.deadline.expired()


class _Found:
    """The best run so far, and whether more of them would pay."""

    def __init__(self, plan: RestartPlan) -> None:
        self.plan = plan
        self.best: Clustering | None = None
        self.n_done = 0
        self._objectives: list[float] = []  # of the runs that break as few links as the best
        self._last_gain = 0  # the run that led to it
        self._gained = np.inf  # the best objective then

    def take(self, new: Clustering) -> Clustering:
        """Count a run in; returns the best of all."""
        self.n_done += 0 if new.interrupted else 1
        if self.best is None or new.n_violations < self.best.n_violations:
            self.best, self._objectives, self._gained = new, [], np.inf
        elif new.n_violations > self.best.n_violations:
            return self.best
        elif is_lower(new.objective, self.best.objective):
            # Rounding alone may lower the objective of the same partition: then the first one found stays.
            self.best = new
        self._objectives.append(new.objective)
        if self._is_worth(self.best.objective, self._gained):
            self._last_gain, self._gained = self.n_done, self.best.objective
        return self.best

    def is_enough(self) -> bool:
        """Whether enough runs agree, or the last ones gained nothing for as long as it took to get there."""
        if self.best is None:
            return False
        best = self.best.objective
        n_agreeing = sum(not self._is_worth(best, objective) for objective in self._objectives)
        return n_agreeing >= self.plan.agreeing or self.n_done >= max(self.plan.least, 2 * self._last_gain)

    def _is_worth(self, lower: float, higher: float) -> bool:
        return lower < higher - self.plan.worth * abs(lower)
