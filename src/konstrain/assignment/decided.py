"""A coupled problem without the blocks that its labels and its bound decide together.

What a block would lose by another cluster at the best prices (its regret) is what the bound rises by if it goes
there. Where that is more than the gap to the labels known, no better labels put it there; a block with one cluster
left stays, whatever prices are tried afterwards. Of a large problem with a small gap little remains, on which steps
that close the gap cost next to nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from konstrain import _core
from konstrain._tolerances import SINGLE_GUARD
from konstrain.assignment.lagrangian import Lagrangian
from konstrain.assignment.narrow import restricted
from konstrain.assignment.problem import AssignmentProblem
from konstrain.assignment.prove import reach
from konstrain.assignment.split import most_common_demand

# Problems with fewer blocks, or of which a larger share remains, are finished as they are.
MIN_BLOCKS = 1000
MOST_LEFT = 1 / 2


@dataclass(frozen=True, eq=False)
class Undecided:
    """What remains of a problem.

    Parameters
    ----------
    problem : AssignmentProblem
        The blocks that may still go elsewhere, with the sizes that the others leave them.
    blocks : ndarray of int64
        Which blocks these are.
    labels : ndarray of int32, shape (n_blocks of the whole,)
        The labels known; no better ones have a decided block elsewhere.
    cost : float
        What the decided blocks cost.
    """

    problem: AssignmentProblem
    blocks: NDArray[np.intp]
    labels: NDArray[np.int32]
    cost: float

    @classmethod
    def of(cls, search: Lagrangian) -> Self | None:
        """Leave out what is decided; None when there are no labels yet, or when that would not pay."""
        problem = search.problem
        is_small = problem.n_blocks < MIN_BLOCKS or problem.n_clusters < 2
        if search.labels is None or is_small or not problem.graph.is_hard:
            return None
        is_open = _whole_components(problem, _may_move(search))
        if is_open.sum() > MOST_LEFT * problem.n_blocks:
            return None
        blocks, decided = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        labels = search.labels
        demand = None if problem.demand is None else problem.demand[decided]
        held = np.bincount(labels[decided], weights=demand, minlength=problem.n_clusters).astype(np.float64)
        if problem.nonempty and not (held + problem.bounds[0]).all():
            return None  # which clusters still need a block would be a constraint of another kind
        u, v, _ = problem.graph.edges
        return cls(
            problem=restricted(problem, blocks, held, is_open[u] & is_open[v]),
            blocks=blocks,
            labels=labels,
            cost=float(problem.own_costs(labels)[decided].sum()),
        )

    def searched_from(self, search: Lagrangian) -> Lagrangian:
        """Begin a search among what remains where the search of the whole has come to."""
        assert search.best is not None
        inner = Lagrangian(self.problem, search.deadline)
        inner.offer(self.labels[self.blocks])
        inner.evaluate(search.best.prices)
        return inner

    def joined(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of the whole, given those of the blocks that remain."""
        whole = self.labels.copy()
        whole[self.blocks] = labels
        return whole


def _may_move(search: Lagrangian) -> NDArray[np.bool_]:
    """Which blocks have another cluster within reach of labels cheaper than the known ones."""
    assert search.best is not None
    assert search.labels is not None
    problem, prices = search.problem, search.best.prices
    is_even, unit = most_common_demand(problem.demand, np.ones(problem.n_blocks, dtype=bool))
    preferred, gaps = _core.price_rows(problem.costs, unit * prices)
    odd = np.flatnonzero(~is_even)
    if problem.demand is not None and odd.size:
        priced = problem.costs[odd] + problem.demand[odd, None] * prices
        preferred[odd] = priced.argmin(axis=1)
        gaps[odd] = np.diff(np.partition(priced, 1, axis=1)[:, :2]).ravel()
    may_move: NDArray[np.bool_] = (gaps * (1.0 - SINGLE_GUARD) <= reach(search)) | (preferred != search.labels)
    return may_move


def _whole_components(problem: AssignmentProblem, is_open: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Open every block that is linked, over however many others, with one that is."""
    if not problem.has_links:
        return is_open
    graph = problem.graph
    shape = (problem.n_blocks, problem.n_blocks)
    neighbours = csr_array((np.ones(graph.indices.size, dtype=np.int8), graph.indices, graph.indptr), shape=shape)
    n_components, component = connected_components(neighbours, directed=False)
    has_open = np.bincount(component[is_open], minlength=n_components) > 0
    opened: NDArray[np.bool_] = has_open[component]
    return opened
