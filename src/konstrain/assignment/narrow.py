"""A large coupled problem without the blocks that no price nearby could move, and without links that hold anyway.

At some prices most blocks prefer their cluster by far more than prices still change. They stay where they are, and
links that nobody breaks are left aside; what remains is small. Afterwards the prices reached say by how much a block
that was left out would have raised the cost, had it gone elsewhere: mostly enough to prove that it was right to leave
it out. Links that turn out to be broken are taken up, and all begins again; leaving links out is a relaxation, so its
answer is the answer once no link is broken.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import SINGLE_GUARD
from konstrain.assignment.problem import AssignmentProblem
from konstrain.assignment.split import most_common_demand
from konstrain.links import LinkGraph

# Problems with fewer costs, or a smaller share of blocks that count the same and break no link, are solved whole.
MIN_COSTS = 1_000_000
MIN_EVEN = 0.5
# Share of these blocks that is kept: those that prefer their cluster least. So many for each that is in a wrong
# place, for the more there are, the further prices will move; at least and at most these shares.
PER_MISPLACED = 64
LEAST_NEAR = 1 / 32
MOST_NEAR = 1 / 2
# By how much more is left when what was left did not suffice.
WIDEN = 4.0
# Share of the blocks that may be in a wrong place; with more, other prices have to be found first.
MOST_MISPLACED = 1 / 64


@dataclass(frozen=True, eq=False)
class Look:
    """Every block in the cluster it prefers at some prices, all of them priced as if of the most common demand.

    Parameters
    ----------
    problem : AssignmentProblem
        With sizes.
    prices : ndarray of float64, shape (n_clusters,)
        The prices.
    is_even : ndarray of bool, shape (n_blocks,)
        Which blocks have the most common demand.
    unit : float
        That demand.
    labels : ndarray of int32, shape (n_blocks,)
        The cluster each block prefers.
    gaps : ndarray of float32, shape (n_blocks,)
        By how much it prefers it.
    """

    problem: AssignmentProblem
    prices: NDArray[np.float64]
    is_even: NDArray[np.bool_]
    unit: float
    labels: NDArray[np.int32]
    gaps: NDArray[np.float32]

    @classmethod
    def at(cls, problem: AssignmentProblem, prices: NDArray[np.float64]) -> Self:
        """Look where all blocks go."""
        is_even, unit = most_common_demand(problem.demand, np.ones(problem.n_blocks, dtype=bool))
        return cls(problem, prices, is_even, unit, *_core.price_rows(problem.costs, unit * prices))

    @cached_property
    def misplaced(self) -> float:
        """Share of the demand that is beyond the upper sizes or missing to the lower ones, whichever is more."""
        problem, odd, labels = self.problem, np.flatnonzero(~self.is_even), self.labels
        if problem.demand is not None:
            labels = labels.copy()
            labels[odd] = (problem.costs[odd] + problem.demand[odd, None] * self.prices).argmin(axis=1)
        sizes, (low, high) = problem.sizes(labels), problem.bounds
        too_many, missing = np.maximum(sizes - high, 0.0), np.maximum(low - sizes, 0.0)
        return float(max(too_many.sum(), missing.sum())) / max(problem.total_demand, 1e-300)

    @property
    def is_balanced(self) -> bool:
        """Whether so few blocks are too many or missing that those which are left can make up for it."""
        return self.misplaced <= MOST_MISPLACED


@dataclass(frozen=True, eq=False)
class Narrowed:
    """What is left of a problem, and what was left out.

    Parameters
    ----------
    problem : AssignmentProblem
        The blocks that are left, with the sizes that the others leave them.
    blocks : ndarray of int64
        Which blocks these are.
    is_taken : ndarray of bool, shape (n_edges of the whole,)
        Which links are among them.
    labels : ndarray of int32, shape (n_blocks of the whole,)
        Cluster of each block that was left out.
    whole : AssignmentProblem
        With all blocks.
    left_out : ndarray of int64
        Which blocks were left out.
    prices : ndarray of float64, shape (n_clusters,)
        The prices at which they prefer it.
    margin : float
        Per unit of demand, how much each of them prefers it at least.
    unit : float
        Demand of each of them.
    """

    problem: AssignmentProblem
    blocks: NDArray[np.intp]
    is_taken: NDArray[np.bool_]
    labels: NDArray[np.int32]
    whole: AssignmentProblem
    left_out: NDArray[np.intp]
    prices: NDArray[np.float64]
    margin: float
    unit: float

    @classmethod
    def of(cls, look: Look, is_taken: NDArray[np.bool_], width: float = 1.0) -> Self | None:
        """Leave out what clearly prefers its cluster at the prices of a look; None when that would not pay.

        `is_taken` says which links count beside those that blocks break at these prices; `width` multiplies the
        number of blocks that are kept.
        """
        problem, labels = look.problem, look.labels
        is_taken = is_taken | broken_links(problem, labels)
        is_even = look.is_even.copy()
        u, v, _ = problem.graph.edges
        is_even[u[is_taken]] = is_even[v[is_taken]] = False
        even = np.flatnonzero(is_even)
        if even.size < MIN_EVEN * problem.n_blocks:
            return None
        share = width * min(max(PER_MISPLACED * look.misplaced, LEAST_NEAR), MOST_NEAR)
        if share >= WIDEN * MOST_NEAR:
            return None  # the last look left that much already, and it did not suffice
        n_near = int(min(share, MOST_NEAR) * even.size)
        gaps = look.gaps[even]
        margin = np.partition(gaps, n_near)[n_near]
        if not margin > 0:
            return None  # so many cost the same elsewhere that nothing tells who may be left out
        near, far = even[gaps < margin], even[gaps >= margin]
        held = look.unit * np.bincount(labels[far], minlength=problem.n_clusters).astype(np.float64)
        if problem.nonempty and not (held + problem.bounds[0]).all():
            return None  # which clusters still need a block would be a constraint of another kind
        # Those alike stand first, so that who works with them alone need not copy their costs.
        blocks = np.concatenate([near, np.flatnonzero(~is_even)])
        return cls(
            problem=restricted(problem, blocks, held, is_taken),
            blocks=blocks,
            is_taken=is_taken,
            labels=labels,
            whole=problem,
            left_out=far,
            prices=look.prices,
            margin=float(margin) * (1.0 - SINGLE_GUARD) / look.unit,
            unit=look.unit,
        )

    @property
    def cost(self) -> float:
        """What the blocks that were left out cost where they are; most looks end without asking."""
        return float(self.whole.own_costs(self.labels)[self.left_out].sum())

    def joined(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of the whole, given those of the blocks that are left."""
        whole = self.labels.copy()
        whole[self.blocks] = labels
        return whole

    def rise(self, prices: NDArray[np.float64]) -> float:
        """By how much the bound at these prices rises when a block that was left out goes elsewhere; at least.

        Negative when one of them may prefer another cluster by now.
        """
        moved = prices - self.prices
        return self.unit * (self.margin - float(moved.max() - moved.min()))


def is_large(problem: AssignmentProblem) -> bool:
    """Whether leaving blocks out may pay."""
    return problem.costs.size >= MIN_COSTS


def broken_links(problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which links these labels pay for."""
    u, v, weights = problem.graph.edges
    broken: NDArray[np.bool_] = (labels[u] == labels[v]) == (weights > 0)
    return broken


def restricted(
    problem: AssignmentProblem, blocks: NDArray[np.intp], held: NDArray[np.float64], is_taken: NDArray[np.bool_]
) -> AssignmentProblem:
    """Return the problem of these blocks and links, with what the other blocks hold taken off the sizes."""
    low, high = problem.widened_bounds
    u, v, weights = problem.graph.edges
    position = np.zeros(problem.n_blocks, dtype=np.int32)
    position[blocks] = np.arange(blocks.size, dtype=np.int32)
    ends = position[u[is_taken]], position[v[is_taken]]
    return AssignmentProblem(
        costs=problem.costs.take(blocks, axis=0),
        links=LinkGraph.from_edges(blocks.size, *ends, None if problem.graph.is_hard else weights[is_taken]),
        demand=None if problem.demand is None else problem.demand[blocks],
        size_min=low - held,
        size_max=high - held,
    )
