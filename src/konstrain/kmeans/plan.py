"""Runs of Lloyd's loop with exact steps: which loop, what soft links cost, how many runs, how long a step."""

from dataclasses import replace
from typing import Any

import numpy as np

from konstrain import stop
from konstrain.constraints import Problem
from konstrain.kmeans.distances import block_costs
from konstrain.kmeans.lloyd import lloyd
from konstrain.kmeans.loop import Loop, LoopFunction
from konstrain.kmeans.momentum import lloyd_with_momentum
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps

# Runs of Lloyd's loop that "auto" makes, unless they take more elementary steps (blocks x clusters x features x
# iterations) than this: then fewer, one at least.
AUTO_RUNS = 10
AUTO_ITERATIONS = 20
# Blocks whose costs at the centers are in memory at a time.
CHUNK = 1 << 12


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
    """Choose the loop of a problem and its steps.

    Parameters
    ----------
    steps : Steps
        What an iteration is made of, but for the price of soft links.
    start : Start
        Where runs begin.
    first_seed : int
        Seed of the first run.
    max_iter, tol
        Limits of the loop, as in `Iterations`.
    violation_cost : float or "auto"
        The price of a soft link; see `ConstrainedKMeans`. The steps get a lower one where that makes no difference.
    search : bool or "auto"
        `local_search` of `ConstrainedKMeans`: centers have momentum unless it is False.
    """
    problem = steps.problem
    # Good steps are enough on the way; `last_step.py` proves the last one.
    steps = replace(steps, step_work=stop.PARAMS.step_work)
    if problem.has_soft_links:
        # From the first restart's centers, for all restarts: they must minimise one and the same function.
        price = _mean_cost(steps, start, first_seed) if violation_cost == "auto" else float(violation_cost)
        # A price beyond all that rows could cost changes nothing but that their costs are lost in rounding.
        enough = price if problem.links is None else problem.links.enough(price, _most_cost(problem))
        steps = replace(steps, violation_cost=enough)
    return Run(Loop(choose_loop(problem, search), steps, max_iter, tol), start)


def choose_loop(problem: Any, search: bool | str) -> LoopFunction:
    """Choose the loop; `problem` says whether it is free."""
    # Without constraints, users of scikit-learn's KMeans expect Lloyd's own loop; without local search, all do.
    return lloyd_with_momentum if search and not problem.is_free else lloyd


def auto_runs(problem: Problem, start: Start) -> int:
    """Return the number of runs of Lloyd's loop that "auto" means."""
    if start.is_given:
        return 1
    work = problem.n_blocks * problem.n_clusters * problem.mean.shape[1] * AUTO_ITERATIONS
    return int(np.clip(stop.PARAMS.work // work, 1, AUTO_RUNS))


def _mean_cost(steps: Steps, start: Start, seed: int) -> float:
    """Mean of all row-to-center costs at a start."""
    problem = steps.problem
    assert problem.scatter is not None
    centers = start.centers(steps, seed)
    # In pieces: costs of all blocks in all clusters, of which only the sum is needed, can be large.
    pieces = (slice(i, i + CHUNK) for i in range(0, problem.n_blocks, CHUNK))
    total = sum(
        float(block_costs(problem.mean[at], problem.weight[at], centers, n_threads=steps.n_threads).sum())
        for at in pieces
    )
    total += problem.n_clusters * float(problem.scatter.sum())
    return total / (problem.n_samples * problem.n_clusters)


def _most_cost(problem: Problem) -> float:
    """What all rows cost together at most, at centers that lie between them: the diagonal of their bounding box."""
    mean = problem.mean
    low, high = (np.asarray(end.toarray() if hasattr(end, "toarray") else end) for end in (mean.min(0), mean.max(0)))
    return float(problem.weight.sum() * ((high.astype(np.float64) - low) ** 2).sum())
