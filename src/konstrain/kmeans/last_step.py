"""The last step of a search, proved to the end: the steps before it need only be good."""

from dataclasses import replace

from konstrain._warnings import warn_caller
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.result import Clustering, is_lower


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
        `proven` tells whether its last step is: no labels are better at its centers.
    """
    exact = replace(loop.steps, max_nodes=None)
    try:
        while not (best.proven or best.interrupted or loop.steps.max_nodes is None or exact.deadline.expired()):
            answer = exact.step(best.centers, best.assignment)
            means = exact.centers_of(answer.labels, best.centers)
            better = exact.clustering(answer.labels, means, 1, converged=True, proven=False, warm=answer)
            if not is_lower(better.objective, best.objective):
                return replace(best, proven=answer.proven)
            # The loop's own first step may miss what the exact one found: then that is where to go on.
            further = loop.run(means, answer)
            found = further if is_lower(further.objective, better.objective) else better
            best = replace(found, n_iter=best.n_iter + further.n_iter)
    except UndecidedError:
        pass  # out of time within the step: what was found before stands, unproved
    except KeyboardInterrupt:
        warn_caller("interrupted while the last step was proved; the best clustering is returned", RuntimeWarning)
        best = replace(best, interrupted=True)
    return best
