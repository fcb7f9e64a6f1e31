"""The assignment problem that every engine solves, and the one form of its solution."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import PROOF_RELATIVE, SUM_RELATIVE
from konstrain.assignment.rules import Rules
from konstrain.exceptions import InfeasibleError
from konstrain.links import LinkGraph
from konstrain.rounding import demand_rounding, widened
from konstrain.stop import UNLIMITED, Budget


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Which block goes to which cluster, at least total cost.

    The fields are trusted: a k-means loop makes one problem per iteration and must not pay for checks. Use
    `AssignmentProblem.checked` for arrays that come from outside.

    Parameters
    ----------
    costs : ndarray of float64, shape (n_blocks, n_clusters), C-contiguous
        Finite cost of each block in each cluster. Nothing is squared, scaled or rounded by any engine.
    links : LinkGraph or None
        Cannot-links between blocks and soft links with their penalties, in the unit of `costs`.
    demand : ndarray of float64, shape (n_blocks,), or None
        What each block counts towards the size of its cluster; None: 1 each.
    size_min, size_max : ndarray of float64, shape (n_clusters,), or None
        Bounds on the sum of demands in each cluster.
    nonempty : bool
        Whether every cluster must receive at least one block.
    resources : Rules or None
        Bounds on further sums per cluster: several resources, shares of groups.

    Examples
    --------
    >>> import numpy as np
    >>> problem = AssignmentProblem.checked([[0.0, 9.0], [1.0, 3.0]], size_max=1)
    >>> problem.n_blocks, problem.n_clusters, problem.has_sizes
    (2, 2, True)
    """

    costs: NDArray[np.float64]
    links: LinkGraph | None = None
    demand: NDArray[np.float64] | None = None
    size_min: NDArray[np.float64] | None = None
    size_max: NDArray[np.float64] | None = None
    nonempty: bool = False
    resources: Rules | None = None

    @classmethod
    def checked(
        cls,
        costs: Any,
        *,
        links: LinkGraph | None = None,
        demand: Any = None,
        size_min: Any = None,
        size_max: Any = None,
        nonempty: bool = False,
        resources: Rules | None = None,
    ) -> Self:
        """Return a problem from array-likes; raise for those that no engine could solve."""
        costs = np.ascontiguousarray(costs, dtype=np.float64)
        if costs.ndim != 2 or costs.shape[1] == 0:
            raise ValueError(f"costs must have shape (n_blocks, n_clusters), got {costs.shape}")
        if not np.isfinite(costs).all():
            row, column = np.argwhere(~np.isfinite(costs))[0]
            raise ValueError(f"costs[{row}, {column}] is {costs[row, column]}; every cost must be finite")
        if links is not None and links.n_blocks != costs.shape[0]:
            raise ValueError(f"links are over {links.n_blocks} blocks, costs over {costs.shape[0]}")
        if resources is not None and (resources.amounts.shape[0], resources.n_clusters) != costs.shape:
            given = (resources.amounts.shape[0], resources.n_clusters)
            raise ValueError(f"resources are over {given} blocks and clusters, costs over {costs.shape}")
        return cls(
            costs=costs,
            links=links,
            demand=_demand_vector(demand, costs.shape[0]),
            size_min=_size_vector("size_min", size_min, costs.shape[1]),
            size_max=_size_vector("size_max", size_max, costs.shape[1]),
            nonempty=nonempty,
            resources=resources,
        )

    @property
    def n_blocks(self) -> int:
        """Number of blocks to assign."""
        return int(self.costs.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters to choose from."""
        return int(self.costs.shape[1])

    @cached_property
    def graph(self) -> LinkGraph:
        """The links, as a graph without edges when there are none."""
        return LinkGraph.without_edges(self.n_blocks) if self.links is None else self.links

    @property
    def has_links(self) -> bool:
        """Whether any two blocks are linked."""
        return self.links is not None and self.links.n_edges > 0

    @cached_property
    def total_demand(self) -> float:
        """What all clusters hold together."""
        return float(self.n_blocks if self.demand is None else self.demand.sum())

    @cached_property
    def has_sizes(self) -> bool:
        """Whether a size bound or non-emptiness could rule any labels out."""
        low = self.size_min is not None and bool((self.size_min > 0).any())
        high = self.size_max is not None and bool((self.size_max < self.total_demand).any())
        return low or high or self.nonempty

    @cached_property
    def has_resources(self) -> bool:
        """Whether a bound on a resource or a share could rule any labels out."""
        rules = self.resources
        return rules is not None and bool(np.isfinite(rules.low).any() or np.isfinite(rules.high).any())

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper size of each cluster, with 0 and the total demand where there is no bound."""
        low = np.zeros(self.n_clusters) if self.size_min is None else np.maximum(self.size_min, 0.0)
        high = np.full(self.n_clusters, self.total_demand)
        return low, high if self.size_max is None else np.minimum(self.size_max, high)

    @cached_property
    def demand_rounding(self) -> float:
        """By how much a sum of demands may miss a bound, as a share of that bound: rounding only."""
        return demand_rounding(self.demand, self.n_blocks)

    @cached_property
    def widened_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds as sizes are compared with them: each gives way by rounding at its own magnitude."""
        return widened(*self.bounds, self.demand_rounding)

    @cached_property
    def rules(self) -> Rules:
        """All bounds on sums per cluster as rules, rounded to whole numbers where sums are whole."""
        return self.rules_as_given.tightened

    @cached_property
    def rules_as_given(self) -> Rules:
        """All bounds on sums per cluster as rules: resources and shares, then sizes, then non-empty clusters."""
        rules = Rules.none(*self.costs.shape) if self.resources is None else self.resources
        ones = np.ones(self.n_blocks)
        demand = ones if self.demand is None else self.demand
        low, high = self.widened_bounds
        least = float(demand.min(initial=np.inf))
        if self.nonempty and 0.0 < least < np.inf:
            low = np.maximum(low, least * (1.0 - self.demand_rounding))
        has_low, has_high = low > 0.0, high < self.total_demand
        if has_low.any() or has_high.any():
            rules = rules.with_rule(demand, np.where(has_low, low, -np.inf), np.where(has_high, high, np.inf))
        if self.nonempty and not 0.0 < least < np.inf:
            # Blocks without demand fill a cluster too.
            rules = rules.with_rule(ones, np.ones(self.n_clusters), np.full(self.n_clusters, np.inf))
        return rules.compared

    def sizes(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Sum of demands in each cluster."""
        return np.bincount(labels, weights=self.demand, minlength=self.n_clusters).astype(np.float64)

    def own_costs(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Cost of each block in its cluster, without links."""
        # Places in all costs, one row after the other: take_along_axis takes three times as long.
        own: NDArray[np.float64] = self.costs.take(np.arange(0, self.costs.size, self.n_clusters) + labels)
        return own

    def cost_of(self, labels: NDArray[np.int32]) -> float:
        """Total cost of labels, penalties included; infinite when a hard link is broken."""
        cost = float(self.own_costs(labels).sum())
        return cost + (self.links.penalty(labels) if self.links is not None else 0.0)

    def is_feasible(self, labels: NDArray[np.int32]) -> bool:
        """Whether labels break no hard link and keep every size, resource and share within its bounds."""
        if not self.rules.are_kept_by(labels):
            return False
        return self.links is None or bool(np.isfinite(self.links.penalty(labels)))

    def closes_gap(self, cost: float, bound: float) -> bool:
        """Whether a bound this near to a cost proves it optimal: they differ by rounding only."""
        difference = cost - bound
        if not np.isfinite(difference):
            return False
        # The first is less than what follows, and needs no costs.
        if difference <= SUM_RELATIVE * self.n_blocks * abs(cost):
            return True
        return difference <= max(PROOF_RELATIVE * self.excess(cost), self.rounding(cost))

    def excess(self, cost: float) -> float:
        """Cost of labels beyond the least cost of each block, which all labels pay."""
        return max(0.0, cost - float(self.least_costs.sum()))

    def rounding(self, cost: float) -> float:
        """By how much two sums of the costs of the same labels may differ."""
        return SUM_RELATIVE * self.n_blocks * (float(np.abs(self.least_costs).sum()) + self.excess(cost))

    @cached_property
    def least_costs(self) -> NDArray[np.float64]:
        """Least cost of each block."""
        return self.own_costs(_core.nearest(self.costs)[0])


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels of all blocks with the evidence of how good they are.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_blocks,)
        Cluster of each block; always feasible.
    cost : float
        Total cost of these labels, penalties of soft links included.
    lower_bound : float
        No feasible labels cost less.
    proven : bool
        Whether cost and bound are equal up to rounding: these labels are optimal.
    engine : str
        Name of the engine that solved the problem.
    prices : ndarray of float64, shape (n_clusters,) or (n_clusters, n_rules), or None
        What one more unit of demand in each cluster costs, when sizes were bounded, or one more of each rule of the
        problem's resources (sizes last, where both are bounded); a start for the next call.

    Examples
    --------
    >>> from konstrain import assign
    >>> solution = assign(AssignmentProblem.checked([[0.0, 9.0], [1.0, 3.0]], size_max=1))
    >>> solution.labels.tolist(), solution.cost, solution.lower_bound, solution.proven
    ([0, 1], 3.0, 3.0, True)
    """

    labels: NDArray[np.int32]
    cost: float
    lower_bound: float
    proven: bool
    engine: str
    prices: NDArray[np.float64] | None = None

    @property
    def gap(self) -> float:
        """How far the cost may be from the best possible, relative to the cost."""
        difference = max(0.0, self.cost - self.lower_bound)
        return 0.0 if self.proven or difference == 0.0 else difference / max(abs(self.cost), 1e-300)


def infeasible_combination(problem: AssignmentProblem) -> InfeasibleError:
    """Return the error for a problem that no labels solve; it names the constraints."""
    total = problem.total_demand
    low, high = problem.bounds
    kept = ["all links"] if problem.has_links else []
    kept += ["all sizes"] if (low > 0).any() or (high < total).any() else []
    kept += ["all resources and shares"] if problem.has_resources else []
    kept += ["every cluster filled"] if problem.nonempty or not kept else []
    relax = {"all sizes": "relax a size bound", "all resources and shares": "relax a bound on resources or shares"}
    remedies = [relax[kind] for kind in kept if kind in relax] + ["remove links where there are any"]
    return InfeasibleError(
        f"no assignment of {problem.n_blocks} blocks to {problem.n_clusters} clusters keeps {' and '.join(kept)}; "
        f"{', or '.join(remedies)}",
        reason="combination",
    )


def warm_start(duals: NDArray[np.float64] | None) -> Assignment:
    """Return a solution of which nothing but the duals is known: a start for other calls."""
    return Assignment(np.zeros(0, dtype=np.int32), np.inf, -np.inf, False, "", duals)


def start_duals(problem: AssignmentProblem, warm: Assignment | None) -> NDArray[np.float64] | None:
    """Return the duals of a similar problem's solution, if there is a finite one for each cluster of this problem."""
    if warm is None or warm.prices is None or warm.prices.shape != (problem.n_clusters,):
        return None
    return np.ascontiguousarray(warm.prices, dtype=np.float64) if np.isfinite(warm.prices).all() else None


class Engine(Protocol):
    """Interface of an engine of `assign`."""

    name: str

    def supports(self, problem: AssignmentProblem) -> bool:
        """Whether this engine solves the problem exactly, given time."""
        ...

    def solve(
        self, problem: AssignmentProblem, *, warm: Assignment | None = None, budget: Budget = UNLIMITED
    ) -> Assignment:
        """Solve it within the budget; `warm` is the solution of a similar problem."""
        ...


def _demand_vector(demand: Any, n_blocks: int) -> NDArray[np.float64] | None:
    if demand is None:
        return None
    vector: NDArray[np.float64] = np.ascontiguousarray(demand, dtype=np.float64)
    if vector.shape != (n_blocks,):
        raise ValueError(f"demand must have one value per block, shape ({n_blocks},), got {vector.shape}")
    bad = ~(np.isfinite(vector) & (vector >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"demand[{row}] is {vector[row]}; every demand must be finite and not negative")
    return vector


def _size_vector(name: str, value: Any, n_clusters: int) -> NDArray[np.float64] | None:
    if value is None:
        return None
    vector: NDArray[np.float64] = np.asarray(value, dtype=np.float64)
    if vector.ndim == 0:
        vector = np.full(n_clusters, float(vector))
    if vector.shape != (n_clusters,):
        raise ValueError(f"{name} must be a number or one per cluster, shape ({n_clusters},), got {vector.shape}")
    if np.isnan(vector).any():
        raise ValueError(f"{name}[{int(np.flatnonzero(np.isnan(vector))[0])}] is NaN")
    return vector
