"""The last step of a search, proved to the end: the steps before it need only be good."""

import math
from dataclasses import replace

from konstrain._warnings import warn_caller
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower
from konstrain.stop import Deadline, Looks

# Without a time limit a proof may take hours where sizes meet soft links or unequal demand. It ends when the solver's
# looks at whether to go on, times the square of the choices (blocks and links, in each cluster), reach this: about
# what its linear programs cost between two looks, and, unlike time, the same on every machine.
LAST_WORK = 200_000_000
# The same for resources and shares, counted in branchings: gaps of these are narrowed by many small cores.
RULES_WORK = 40_000_000
# Cores are asked about resources and shares no more often than this, and beyond this many choices not at all.
LAST_ROUNDS = 2
MOST_CHOICES = 100_000


def prove_last_step(loop: Loop, best: Clustering) -> Clustering:
    """Solve the assignment at the centers of a clustering exactly; where that finds better labels, go on from them.

    Parameters
    ----------
    loop : Loop
        The loop that led here, whose steps ended after a limited number of branchings.
    best : Clustering
        Where it ended.

    Returns
    -------
    Clustering
        `proven` tells whether its last step is: no labels are better at its centers; else `step_gap` tells by how
        much some might be, unless time ended before any bound.
    """
    steps = loop.steps
    exact = replace(steps, max_nodes=None, deadline=work_limit(steps.problem, steps.violation_cost, steps.deadline))
    n_left = LAST_ROUNDS if steps.problem.resources is not None and exact.deadline.max_nodes is not None else math.inf
    while not (best.proven or best.interrupted or steps.max_nodes is None or exact.deadline.expired() or n_left <= 0):
        n_left -= 1
        try:
            answer = exact.step(best.centers, best.assignment)
            means = exact.centers_of(answer.labels, best.centers)
            better = exact.clustering(answer.labels, means, 1, converged=True, proven=False, warm=answer)
            if not is_lower(better.objective, best.objective):
                return replace(best, proven=answer.proven, step_gap=answer.gap)
            rest = loop.after(best)
            if rest.max_iter <= 0:
                # The exact labels take the place of those of the last iteration.
                best = replace(better, n_iter=best.n_iter, converged=False)
                continue
            # The loop's own first step may miss what the exact one found: then that is where to go on.
            further = rest.run(means, answer)
        except UndecidedError:
            return best  # out of time within the step: what was found before stands, unproved
        except KeyboardInterrupt:
            warn_caller("interrupted while the last step was proved; the best clustering is returned", RuntimeWarning)
            return replace(best, interrupted=True)
        found = further if is_lower(further.objective, better.objective) else better
        best = replace(found, n_iter=best.n_iter + further.n_iter, interrupted=further.interrupted)
    return best


def work_limit(problem: Problem, violation_cost: float | None, deadline: Deadline) -> Deadline:
    """Return the time that is left for a proof; where no limit was set and it could be endless, most work."""
    is_easy = problem.has_unit_demand and not problem.has_soft_links and problem.resources is None
    if is_easy or math.isfinite(deadline.remaining()):
        return deadline
    links = problem.links_at(violation_cost)
    choices = (problem.n_blocks + (0 if links is None else links.n_edges)) * problem.n_clusters
    if problem.resources is None:
        return Deadline(None, looks=Looks(max(1, LAST_WORK // choices**2)))
    return Deadline(None, max_nodes=max(1, RULES_WORK // choices**2), is_brief=choices > MOST_CHOICES)
