"""Proof of the last step of a search: the steps before it need no proof."""

import math
from dataclasses import replace

from konstrain import stop
from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.stop import Budget


def prove_last_step(loop: Loop, best: Clustering) -> Clustering:
    """Solve the assignment at the centers of a clustering exactly; where that finds better labels, go on from them.

    `loop` led here, with limited work per step. Unless the result is `proven`, its `step_gap` bounds by how much
    labels at its centers might be better; None: time ended before any bound.
    """
    steps = loop.steps
    exact = replace(steps, step_work=None, budget=proof_budget(steps.problem, steps.budget))
    # Under resources and shares one exact step takes the work of many: where work is limited there is no second one.
    n_left = 1 if steps.problem.resources is not None and exact.budget.limits_work else math.inf
    while not (best.proven or best.interrupted or steps.step_work is None or n_left <= 0) and exact.budget.affords(
        0.0
    ):
        n_left -= 1
        try:
            solution = exact.step(best.centers, best.assignment)
            means = exact.centers_of(solution.labels, best.centers)
            better = exact.clustering(solution.labels, means, 1, converged=True, proven=False, warm=solution)
            if not is_lower(better.objective, best.objective):
                return replace(best, proven=solution.proven, step_gap=solution.gap)
            rest = loop.after(best)
            if rest.max_iter <= 0:
                # The exact labels take the place of those of the last iteration.
                best = replace(better, n_iter=best.n_iter, converged=False)
                # One more, for a proof: with better labels again there would be more than `max_iter` iterations.
                n_left = min(n_left, 1)
                continue
            # The loop's own first step may miss labels that the exact one found: go on from these.
            further = rest.run(means, solution)
        except UndecidedError:
            return best  # Out of time within the step: the result is the unproved one.
        except KeyboardInterrupt:
            warn_caller("interrupted while the last step was proved; the best clustering is returned", RuntimeWarning)
            return replace(best, interrupted=True)
        found = further if is_lower(further.objective, better.objective) else better
        best = replace(found, n_iter=best.n_iter + further.n_iter, interrupted=further.interrupted)
    return best


def proof_budget(problem: Problem, budget: Budget) -> Budget:
    """Return the budget for a proof: limited work where no time limit is given and the proof might take hours."""
    is_easy = problem.has_unit_demand and not problem.has_soft_links and problem.resources is None
    return budget if is_easy or budget.is_timed else budget.part(work=stop.PARAMS.work)
