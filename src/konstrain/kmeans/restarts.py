"""Runs of Lloyd's loop with exact steps: one run, restarts, and relocation of centers after the best."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from konstrain import stop
from konstrain._memory import KEPT_NUMBERS
from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.distances import block_costs, nearest_pass, own_costs
from konstrain.kmeans.loop import Loop, LoopFunction, lloyd, lloyd_with_momentum
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.kmeans.start import Start, rows_of_means
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.stop import Budget


@dataclass(frozen=True)
class RestartParams:
    """Runs of Lloyd's loop that "auto" makes."""

    runs: int = 10  # Most runs; larger: lower objectives, longer fits.
    iterations: int = 20  # Iterations of a run, as its work is estimated; larger: fewer runs of large problems.
    # Iterations that cut a cluster in two, and after which a relocation must have paid; larger: more relocations
    # succeed, slower.
    trial_steps: int = 4


PARAMS = RestartParams()


def draw_seeds(rng: np.random.RandomState, count: int) -> list[int]:
    """Draw one seed per run first, so that runs may be made in any order and anywhere."""
    seeds: list[int] = rng.randint(np.iinfo(np.int32).max, size=count).tolist()
    return seeds


@dataclass(frozen=True, eq=False)
class Run:
    """One run from a seed."""

    loop: Loop  # The loop it runs.
    start: Start  # Where it begins.

    def __call__(self, seed: int) -> Clustering:
        """Make the run; time or an interrupt end it with its last complete step, if there is one."""
        # What steps store is their own: runs may share a process.
        loop = replace(self.loop, steps=replace(self.loop.steps))
        return loop.run(self.start.centers(loop.steps, seed))


@dataclass(frozen=True)
class Progress:
    """Argument of a callback after each restart; a callback that returns True ends the search."""

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
    """Runs a method from several seeds and keeps the best clustering."""

    run: Callable[[int], Clustering]  # Makes one clustering from a seed.
    budget: Budget  # No restart begins after it.
    n_jobs: int | None = None  # Workers, in joblib's sense; any number gives the same result.
    verbose: int = 0  # 1: a line per run on standard error; 0: quiet.
    # Called with a `Progress` after each restart; ends the search by returning True.
    callback: Callable[[Progress], Any] | None = None

    def best(self, seeds: list[int]) -> Clustering:
        """Return the best run of these seeds."""
        n_init = len(seeds)
        started = time.perf_counter()
        best: Clustering | None = None
        n_done = 0
        try:
            # As many runs at a time as there are workers: time is checked between them.
            batch = effective_n_jobs(self.n_jobs)
            for begin in range(0, n_init, batch):
                for clustering in self._runs(seeds[begin : begin + batch]):
                    n_done += 0 if clustering.interrupted else 1
                    best = clustering if best is None else _better(best, clustering)
                    if clustering.interrupted:
                        raise KeyboardInterrupt
                    seconds = time.perf_counter() - started
                    if self._is_stopped(Progress(n_done, n_init, clustering.objective, best.objective, seconds)):
                        return best
        except UndecidedError:
            # Out of time within the first step of a run: the best of the others is the result.
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
        if len(seeds) == 1:
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


def plan_run(
    steps: Steps,
    start: Start,
    first_seed: int,
    *,
    max_iter: int = 300,
    tol: float = 0.0,
    violation_cost: float | str = "auto",
    search: bool | str = "auto",
) -> Run:
    """Return a run of the loop that suits a problem; `search` is `local_search` of `ConstrainedKMeans`.

    `violation_cost` becomes the cost of a soft link in `steps`, or a lower one where that makes no difference.
    Centers have momentum unless `search` is False.
    """
    problem = steps.problem
    # Good steps suffice before the last one, which `last_step.py` proves. In Lloyd's own loop from given centers each
    # step is worth a proof.
    is_plain = start.is_given and not search
    steps = replace(steps, step_work=stop.PARAMS.work if is_plain else stop.PARAMS.step_work)
    if problem.has_soft_links:
        # From the first restart's centers, for all restarts: they must minimise one and the same function.
        penalty = _mean_cost(steps, start, first_seed) if violation_cost == "auto" else float(violation_cost)
        # A penalty above all costs of rows together changes no labels, and hides these costs in rounding.
        enough = penalty if problem.links is None else problem.links.enough(penalty, _most_cost(problem))
        steps = replace(steps, violation_cost=enough)
    return Run(Loop(choose_loop(problem, search), steps, max_iter, tol), start)


def choose_loop(problem: Any, search: bool | str) -> LoopFunction:
    """Return momentum for constrained problems, Lloyd's own loop otherwise and without local search."""
    return lloyd_with_momentum if search and not problem.is_free else lloyd


def auto_runs(problem: Problem, start: Start) -> int:
    """Return the number of runs of Lloyd's loop for "auto"."""
    if start.is_given:
        return 1
    work = problem.n_blocks * problem.n_clusters * problem.mean.shape[1] * PARAMS.iterations
    return int(np.clip(stop.PARAMS.work // work, 1, PARAMS.runs))


def _mean_cost(steps: Steps, start: Start, seed: int) -> float:
    """Mean of all row-to-center costs at a start."""
    problem = steps.problem
    assert problem.scatter is not None
    centers = start.centers(steps, seed)
    # One cluster at a time: the costs of all blocks in all clusters would take much memory.
    everywhere = (np.full(problem.n_blocks, j, dtype=np.int32) for j in range(problem.n_clusters))
    total = sum(
        own_costs(problem.mean, problem.weight, labels, centers, n_threads=steps.n_threads) for labels in everywhere
    )
    total += problem.n_clusters * float(problem.scatter.sum())
    return total / (problem.n_samples * problem.n_clusters)


def _most_cost(problem: Problem) -> float:
    """What all rows cost together at most, at centers that lie between them: the diagonal of their bounding box.

    Rows and centers of length one are at most two apart.
    """
    if problem.unit_centers:
        return 4.0 * float(problem.weight.sum())
    mean = problem.mean
    low, high = (np.asarray(end.toarray() if hasattr(end, "toarray") else end) for end in (mean.min(0), mean.max(0)))
    return float(problem.weight.sum() * ((high.astype(np.float64) - low) ** 2).sum())


def relocate_centers(loop: Loop, best: Clustering, seed: int) -> Clustering:
    """Relocate centers one at a time where a gain is expected, for at most as many iterations as the clustering took.

    For problems too large for the search itself, and centers that are means.
    """
    steps, rng = loop.steps, np.random.default_rng(seed)
    n_left = min(best.n_iter, loop.max_iter - best.n_iter)
    problem = steps.problem
    is_large = problem.n_blocks * problem.n_clusters > KEPT_NUMBERS
    if problem.n_clusters < 2 or is_large or problem.unit_centers:
        return best
    while best.converged and n_left > 0 and not steps.budget.expired():
        centers = _relocated(steps, best, rng)
        if centers is None:
            break
        trial = replace(loop, max_iter=min(PARAMS.trial_steps, n_left)).run(centers, best.assignment)
        n_left -= trial.n_iter
        if trial.interrupted or not is_lower(trial.objective, best.objective):
            break
        best = replace(trial, n_iter=best.n_iter + trial.n_iter)
        if not best.converged and n_left > 0:
            found = replace(loop, max_iter=n_left).run(best.centers, best.assignment)
            n_left -= found.n_iter
            best = replace(found, n_iter=best.n_iter + found.n_iter)
    return best


def _relocated(steps: Steps, best: Clustering, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Return centers with one cluster dissolved and another cut in two; None where no gain is expected.

    Constraints are ignored: the blocks of a dissolved cluster go to their second nearest center.
    """
    problem, labels = steps.problem, best.block_labels
    costs = steps.costs(best.centers).copy()
    place = np.arange(labels.size), labels
    own = costs[place]
    costs[place] = np.inf
    loss = np.bincount(labels, np.maximum(costs.min(axis=1) - own, 0.0), problem.n_clusters)
    loss = np.minimum(loss, _merging(best.centers, steps.cluster_weights(labels)))
    total = float(own.sum())
    if not total > 0.0:
        return None
    sums = np.bincount(labels, own, problem.n_clusters)
    order = np.argsort(labels, kind="stable")
    inside = np.split(order, np.cumsum(np.bincount(labels, minlength=problem.n_clusters))[:-1])
    cuts = [_halves(steps, blocks, own[blocks], rng) for blocks in inside]
    gain = sums - np.array([cost for _, cost in cuts])
    # The best cluster to cut, with the cheapest other one to dissolve.
    first, second = np.argsort(loss, kind="stable")[:2]
    removed = np.where(np.arange(loss.size) == first, second, first)
    worth = gain - loss[removed]
    cut = int(worth.argmax())
    if not worth[cut] > 0.0:
        return None
    centers = best.centers.copy()
    centers[[cut, removed[cut]]] = cuts[cut][0]
    return centers


def _merging(centers: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what merging each cluster with its cheapest partner adds to the objective (Ward's distance)."""
    apart = block_costs(centers, None, centers)
    ward = apart * (weight[:, None] * weight / np.maximum(weight[:, None] + weight, np.finfo(float).tiny))
    np.fill_diagonal(ward, np.inf)
    least: NDArray[np.float64] = ward.min(axis=1)
    return least


def _halves(
    steps: Steps, inside: NDArray[np.intp], own: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Cut a cluster in two by a few iterations of Lloyd's loop; returns the two means and what the halves cost."""
    problem = steps.problem
    if not own.any():
        return np.zeros((2, problem.mean.shape[1])), 0.0
    weight, rows = problem.weight[inside], rows_of_means(problem, inside)
    drawn = rng.choice(inside.size, p=own / own.sum())
    centers = np.vstack([np.average(rows, axis=0, weights=weight), rows[drawn]])
    for _ in range(PARAMS.trial_steps):
        _, cost, sums, weights = nearest_pass(rows, weight, centers, n_threads=steps.n_threads)
        centers = centers_from(sums, weights, centers)
    return centers, cost
