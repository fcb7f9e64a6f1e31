"""Engine for links without sizes: a search in C++ that adds links as they break, HiGHS where it gives up.

Cannot-links and soft links are one case: leaving a link out is a relaxation, whether or not it may break. `priced`
repeats the same search with the duals of its rules added to the costs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._messages import term
from konstrain.assignment.model import AssignmentModel
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget

name = "linked"


@dataclass(frozen=True)
class LinkedParams:
    """Effort of the searches over one component of linked blocks."""

    branchings: int = 100  # Of the quick search, which comes first; larger: a hopeless search lasts longer.
    # Of the search by cliques, half a millisecond each; larger: HiGHS is needed less often.
    clique_branchings: int = 10_000


PARAMS = LinkedParams()


def supports(problem: AssignmentProblem) -> bool:
    """Return whether there are links, hard or soft, and no bounds on sums."""
    return problem.has_links and not (problem.has_sizes or problem.has_resources)


def solve(problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED) -> Assignment:
    """Solve the components of broken links exactly until no other link is broken."""
    solution = solve_linked(problem, budget)
    return Assignment(
        labels=solution.labels,
        cost=solution.cost,
        lower_bound=solution.bound,
        proven=problem.closes_gap(solution.cost, solution.bound),
        engine=name,
    )


@dataclass(frozen=True, eq=False)
class LinkedSolution:
    """Labels that keep every hard link, their cost (penalties included) and a bound on it.

    `slack` returns per block how far its component's optimum lies above the sum of its blocks' least costs. Another
    cluster for a block raises the total by at least what the block then costs above its least cost, less this slack.
    """

    labels: NDArray[np.int32]
    cost: float
    bound: float
    slack: Callable[[], NDArray[np.float64]]


def solve_linked(problem: AssignmentProblem, budget: Budget) -> LinkedSolution:
    """Assign linked blocks at least cost, without any rule."""
    links = problem.graph
    if has_crowded_cliques(links, problem.n_clusters):
        return match_cliques(problem)
    search = _core.LinkedAssignment(
        problem.costs,
        links.indptr,
        links.indices,
        links.weights,
        PARAMS.branchings,
        PARAMS.clique_branchings,
        budget.remaining(),
    )
    search.run()
    while True:
        if search.clash.size:
            raise clash_error(search.clash, problem.n_clusters)
        still_open = search.open()
        if not still_open:
            break
        for index, component in enumerate(still_open):
            search.close(index, *_solve_by_highs(component, problem.n_clusters, budget))
        search.run()
    cost = search.cost
    return LinkedSolution(search.labels, cost, cost - search.doubt, search.slack)


def has_crowded_cliques(links: LinkGraph, n_clusters: int) -> bool:
    """Return whether links form disjoint cliques, of which one fills more than half of the clusters.

    Link by link, as in the lazy search, such a clique is a hard problem; as a whole it is an assignment problem.
    """
    largest = int(np.diff(links.indptr).max(initial=0)) + 1
    return 2 * largest > n_clusters and links.n_edges > 0 and links.is_hard and links.is_disjoint_cliques


def match_cliques(problem: AssignmentProblem) -> LinkedSolution:
    """Match each clique at least cost, and send free blocks to their cheapest cluster."""
    links, costs = problem.graph, problem.costs
    labels, cost, clash = _core.match_cliques(costs, links.indptr, links.indices)
    if clash.size:
        raise clash_error(clash, problem.n_clusters)

    def slack() -> NDArray[np.float64]:
        excess = costs[np.arange(labels.size), labels] - costs.min(axis=1)
        total: NDArray[np.float64] = excess + links.adjacency @ excess
        return total

    return LinkedSolution(labels, cost, cost, slack)


def _solve_by_highs(component: Any, n_clusters: int, budget: Budget) -> tuple[NDArray[np.int32], float]:
    """Solve one component with HiGHS; returns its labels and a bound on its cost."""
    blocks, costs, first, second, weight, labels, value, bound = component
    start = labels if np.isfinite(value) else None
    if start is not None and (budget.expired() or budget.limits_work):
        return start, bound  # with many components, building the models alone would take long
    model = AssignmentModel(costs.reshape(-1, n_clusters), links=(first, second, weight))
    solution = model.solve(budget=budget, start=start)
    if solution.status == "infeasible":
        raise clash_error(blocks, n_clusters)
    if solution.labels is not None:
        return solution.labels, max(bound, solution.bound)
    if start is None:
        raise UndecidedError(
            f"no assignment of {blocks.size} linked blocks to {n_clusters} clusters was found within the time limit, "
            f"and none was ruled out; raise {term('time_limit')}"
        )
    return start, max(bound, solution.bound)


def clash_error(blocks: NDArray[np.int32], n_clusters: int) -> InfeasibleError:
    """Return the error about blocks that cannot be kept apart."""
    shown = ", ".join(map(str, sorted(blocks.tolist())[:20])) + (", ..." if blocks.size > 20 else "")
    return InfeasibleError(
        f"the cannot-links among {blocks.size} blocks ({shown}) need more than {n_clusters} clusters; "
        "remove some of these links or allow more clusters",
        reason="too few clusters",
        witness={"blocks": np.sort(blocks)},
    )
