"""Engine for several sums per cluster: resources and shares, together with links, sizes and unequal demand.

Prices for all rules give a bound and labels (`resource_search.py`); at the optimum of the linear program at most one
row per price is undecided, so what is left is a small core that HiGHS proves (`prove.py`).
"""

import numpy as np

from konstrain.assignment.coupled import refuse_impossible_sums
from konstrain.assignment.free_blocks import has_own_amounts
from konstrain.assignment.problem import Assignment, AssignmentProblem
from konstrain.assignment.prove import prove
from konstrain.assignment.resource_search import ResourceSearch
from konstrain.assignment.resources import Resources
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.stop import NO_DEADLINE, Deadline

name = "priced"

# Choices beyond one per block above which a proof after few branchings is not to be hoped for.
MOST_CHOICES = 300
# Branchings with which cores find nothing where most blocks hold amounts of their own.
FEW_NODES = 10


def supports(problem: AssignmentProblem) -> bool:
    """Whatever bounds resources or shares."""
    return problem.has_resources


def solve(
    problem: AssignmentProblem, *, warm: Assignment | None = None, deadline: Deadline = NO_DEADLINE
) -> Assignment:
    """Bound by prices, repair, and prove with a core."""
    assert problem.resources is not None
    refuse_impossible_sums(problem)
    refuse_impossible_rules(problem.resources)
    search = ResourceSearch(problem, deadline)
    try:
        search.run(warm)
        if search.labels is None and warm is not None and warm.labels.shape == (problem.n_blocks,):
            # At other centers the bounds are the same: labels that kept them still do.
            search.offer(warm.labels)
        bound = search.bound
        # On the way good labels are enough: a core takes longer than many steps.
        is_enough = search.labels is not None and (deadline.is_brief or _is_beyond_cores(search))
        if not search.is_closed() and not is_enough:
            bound = prove(search, MOST_CHOICES)
    except UndecidedError:
        if search.labels is None:
            raise
        bound = search.bound
    if search.labels is None:
        raise UndecidedError(
            "no assignment that keeps all resources and shares was found within the time limit, and none was ruled "
            "out; raise time_limit"
        )
    return Assignment(
        labels=search.labels,
        cost=search.cost,
        lower_bound=min(bound, search.cost),
        proven=search.is_closed() if bound == search.bound else problem.closes_gap(search.cost, bound),
        engine=name,
        prices=None if search.best is None else search.best.prices,
    )


def _is_beyond_cores(search: ResourceSearch) -> bool:
    """Whether so few branchings are allowed that cores would find nothing, so many choices there are."""
    n_nodes = search.deadline.max_nodes
    return n_nodes is not None and n_nodes <= FEW_NODES and has_own_amounts(search.problem.costs, search.rules)


def refuse_impossible_rules(asked: Resources) -> None:
    """Raise when the bounds of some rule cannot add up, whatever the labels."""
    low, high = asked.widened
    total, slack = asked.totals
    for r in np.flatnonzero((low.sum(axis=0) > total + slack) | (high.sum(axis=0) < total - slack)):
        raise InfeasibleError(
            f"the bounds of rule {r} add up to {low[:, r].sum():g} at least and {high[:, r].sum():g} at most, but "
            f"all blocks together have {total[r]:g}; relax its bounds",
            reason="resources",
        )
    crossed = np.argwhere(low > high)
    if crossed.size:
        j, r = crossed[0]
        raise InfeasibleError(
            f"cluster {j} must have at least {low[j, r]:g} and at most {high[j, r]:g} of rule {r}; relax its bounds",
            reason="resources",
        )
