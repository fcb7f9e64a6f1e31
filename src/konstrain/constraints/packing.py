"""Whether blocks, sizes and conflicts fit together: a quick attempt first, then the assignment engines."""

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import AssignmentProblem, assign_by
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.resources import rules_of
from konstrain.constraints.sizes import whole_sizes
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.links import LinkGraph
from konstrain.rounding import widened
from konstrain.stop import Deadline

# The attempt looks at every cluster for every block.
_MAX_STEPS = 20_000


def fit_together(constraints: Constraints, blocks: Blocks, graph: LinkGraph, deadline: Deadline) -> bool | None:
    """Whether some labels keep all sizes, resources, shares and conflicts; None: not decided.

    Each of them alone is possible.
    """
    resources, _ = rules_of(constraints, blocks)
    if resources is None and _fit_simply(constraints, blocks, graph):
        return True
    demand = blocks.total(constraints.demand)
    question = AssignmentProblem(
        costs=np.zeros((blocks.n_blocks, constraints.n_clusters)),
        links=graph,
        demand=None if (demand == 1.0).all() else demand,
        size_min=constraints.size_min,
        size_max=constraints.size_max,
        nonempty=constraints.nonempty,
        resources=resources,
    )
    try:
        assign_by(question, deadline=deadline)
    except InfeasibleError:
        return False
    except UndecidedError:
        return None
    return True


def _fit_simply(constraints: Constraints, blocks: Blocks, graph: LinkGraph) -> bool:
    """Whether a quick attempt already shows that sizes are possible; False means not known."""
    demand = blocks.total(constraints.demand)
    low, high = whole_sizes(constraints, demand)
    low_free = low is None or not bool((low > 0).any())
    high_free = high is None or not bool((high < constraints.total_demand).any())
    # Without size bounds a cluster that is left empty can take a block from one that has two.
    if low_free and high_free:
        return True
    low = np.zeros(constraints.n_clusters) if low is None else low
    high = np.full(constraints.n_clusters, constraints.total_demand) if high is None else high
    least = np.maximum(low, 1.0) if constraints.nonempty else low
    if graph.n_edges == 0 and bool((demand == 1.0).all()):
        # Single rows fill any sizes between the sums.
        return bool((least <= high).all() and least.sum() <= blocks.n_blocks <= high.sum())
    if blocks.n_blocks > _MAX_STEPS:
        return False
    low, high = widened(low, high, constraints.demand_rounding)
    return _pack(demand, low, high, graph, nonempty=constraints.nonempty)


def _pack(
    demand: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    graph: LinkGraph,
    *,
    nonempty: bool,
) -> bool:
    """Place blocks one by one, large and conflicting ones first, where most is missing or most room is left."""
    label = np.full(demand.size, -1, dtype=np.int32)
    room, missing = high.copy(), low.copy()
    for block in np.lexsort((-np.diff(graph.indptr), -demand)):
        neighbours = graph.indices[graph.indptr[block] : graph.indptr[block + 1]]
        allowed = room >= demand[block]
        taken = label[neighbours]
        allowed[taken[taken >= 0]] = False
        if not allowed.any():
            return False
        wish = np.where(missing > 0, missing + high.max() + 1.0, room)
        j = int(np.argmax(np.where(allowed, wish, -np.inf)))
        label[block] = j
        room[j] -= demand[block]
        missing[j] -= demand[block]
    filled = not nonempty or np.unique(label).size == low.size
    return bool((missing <= 0).all()) and filled
