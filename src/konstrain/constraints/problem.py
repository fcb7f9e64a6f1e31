"""The problem every method works on: weighted blocks, their conflicts and the bounds, made once per fit."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, sparray

from konstrain._messages import term
from konstrain.assignment.problem import AssignmentProblem
from konstrain.assignment.rules import Rules
from konstrain.constraints.arguments import (
    ConstraintArguments,
    ConstraintKeywords,
    Constraints,
    takes_constraints,
)
from konstrain.constraints.closure import Blocks, Conflicts, SoftLinks
from konstrain.constraints.connectivity import BlockParts
from konstrain.constraints.feasibility import find_clashes
from konstrain.constraints.inputs import Resources, is_sparse, read_time_limit
from konstrain.constraints.previous import Homes
from konstrain.constraints.shares import Attribute, RuleName, RuleTable, bounded_attributes
from konstrain.links import LinkGraph
from konstrain.rounding import demand_rounding, unit_exponent, widened
from konstrain.stop import Budget


@dataclass(frozen=True, eq=False)
class Problem:
    """Blocks of rows that stay together, the links between blocks, and the bounds on cluster sizes.

    Made by `Problem.build`, which checks everything; the arrays are read-only.

    Parameters
    ----------
    n_samples, n_clusters : int
        Number of rows and of clusters.
    block_of : ndarray of int32, shape (n_samples,)
        Block of each row; blocks are numbered in the order of their first rows.
    block_indptr : ndarray of int64, shape (n_blocks + 1,)
        Where the rows of each block start in `block_rows`.
    block_rows : ndarray of int32, shape (n_samples,)
        Rows of the blocks, ascending within a block.
    weight : ndarray of float64, shape (n_blocks,)
        Number of rows, or sum of their sample weights.
    mean : ndarray or sparse array of shape (n_blocks, n_features), or None
        Weighted mean of each block, in the precision of X; a view of X itself when every block is one row.
    scatter : ndarray of float64, shape (n_blocks,), or None
        Weighted squared distances of the rows to their block's mean: a constant of every clustering.
    demand : ndarray of float64, shape (n_blocks,)
        What each block counts towards the size of its cluster.
    conflicts : LinkGraph or None
        The hard cannot-links between blocks.
    links : LinkGraph or None
        Hard and soft links together, at one unit of cost per unit of confidence; see `links_at`.
    constant_penalty : float
        Confidences of soft links that every clustering breaks: hard links, or stronger soft links on the same
        blocks, speak against them.
    size_min, size_max : ndarray of float64, shape (n_clusters,), or None
        Bounds on the sum of demands in each cluster.
    nonempty : bool
        Whether every cluster must receive at least one block.
    colorable : bool or None
        Whether the conflicts are proved to allow n_clusters clusters; None: not known in time.
    sample_weight : ndarray of float64, shape (n_samples,), or None
        Weight of each row, for methods that need the rows of blocks; None: 1 each.
    resources : Rules or None
        Bounds on several resources and on shares of groups, over blocks; sizes are not among them.
    rule_names : tuple of RuleName
        What each of its rules is about.
    amounts : Resources or None
        Several resources as they were given, by row.
    attributes : tuple of Attribute
        The groups whose shares are bounded, by row.
    connectivity : LinkGraph or None
        Which rows are neighbours, where every cluster is to be in one piece.
    homes : Homes or None
        Which clusters of an earlier clustering the rows of blocks were in.
    previous : ndarray of int32, shape (n_samples,), or None
        The earlier cluster of each row, -1: a new row.
    unit_centers : bool
        Whether centers have length one, as rows then do: the directions of the weighted sums of their rows.

    Examples
    --------
    >>> problem = Problem.build([[0.0], [2.0], [5.0], [6.0]], 2, must_link=[(0, 1)], cannot_link=[(1, 3)])
    >>> problem.n_blocks, problem.block_of.tolist(), problem.mean.ravel().tolist()
    (3, [0, 0, 1, 2], [1.0, 5.0, 6.0])
    >>> problem.conflicts.n_edges, problem.scatter.tolist()
    (1, [2.0, 0.0, 0.0])
    """

    n_samples: int
    n_clusters: int
    block_of: NDArray[np.int32]
    block_indptr: NDArray[np.int64]
    block_rows: NDArray[np.int32]
    weight: NDArray[np.float64]
    mean: Any
    scatter: NDArray[np.float64] | None
    demand: NDArray[np.float64]
    conflicts: LinkGraph | None = None
    links: LinkGraph | None = None
    constant_penalty: float = 0.0
    size_min: NDArray[np.float64] | None = None
    size_max: NDArray[np.float64] | None = None
    nonempty: bool = True
    colorable: bool | None = True
    sample_weight: NDArray[np.float64] | None = None
    resources: Rules | None = None
    rule_names: tuple[RuleName, ...] = ()
    amounts: Resources | None = None
    attributes: tuple[Attribute, ...] = ()
    connectivity: LinkGraph | None = None
    homes: Homes | None = None
    previous: NDArray[np.int32] | None = None
    unit_centers: bool = False
    _scaled: dict[float, LinkGraph | None] = field(default_factory=dict, repr=False)

    @classmethod
    @takes_constraints()
    def build(
        cls,
        X_or_n: Any,
        n_clusters: int,
        *,
        labels: Any = None,
        nonempty: bool = True,
        time_limit: float | None = 1.0,
        **arguments: Unpack[ConstraintKeywords],
    ) -> Self:
        """Check the constraints, merge them, and raise if no clustering can satisfy them.

        Parameters
        ----------
        X_or_n : array-like or sparse matrix of shape (n_samples, n_features), or int
            The rows, or only their number: then there are no means and no distance limits.
        n_clusters : int
            Number of clusters.
        time_limit : float or None, default=1.0
            Seconds to find out whether the conflicts allow n_clusters clusters, which is hard in general; when they
            end it stays open and `colorable` is None.

        Returns
        -------
        Problem

        Raises
        ------
        ValueError
            When an argument is malformed; names the row or pair and the value.
        InfeasibleError
            When no clustering satisfies the constraints; with `reason` and `witness`.
        """
        return cls.of(
            X_or_n,
            n_clusters,
            ConstraintArguments(labels=labels, nonempty=nonempty, **arguments),
            time_limit=time_limit,
        )

    @classmethod
    def of(
        cls, X_or_n: Any, n_clusters: int, arguments: ConstraintArguments, *, time_limit: float | None = 1.0
    ) -> Self:
        """Build the problem from the constraints in one object; see `build`."""
        seconds = read_time_limit(time_limit)
        constraints = Constraints.read(X_or_n, n_clusters, arguments)
        blocks = Blocks.merge(constraints)
        conflicts = Conflicts.find(constraints, blocks, cap=1)
        found, coloring = find_clashes(constraints, blocks, conflicts, Budget(seconds), cap=1)
        if found:
            raise found[0].error()
        return cls._assemble(constraints, blocks, conflicts.graph, colorable=None if coloring.n_undecided else True)

    @classmethod
    def _assemble(cls, constraints: Constraints, blocks: Blocks, graph: LinkGraph, *, colorable: bool | None) -> Self:
        conflicts = graph if graph.n_edges else None
        links, constant = conflicts, 0.0
        if constraints.soft_must[1].size or constraints.soft_cannot[1].size:
            soft = SoftLinks.find(constraints, blocks, graph)
            links, constant = soft.graph if soft.graph.n_edges else None, soft.constant_penalty
        mean, scatter = _means(constraints, blocks)
        has_rules = constraints.amounts is not None or bool(constraints.attributes)
        resources, names = rules_of(constraints, blocks) if has_rules else (None, ())
        homes = None
        if constraints.previous is not None:
            homes = Homes.of(constraints.previous, blocks.block_of, blocks.n_blocks, constraints.n_clusters)
        return cls(
            n_samples=constraints.n_samples,
            n_clusters=constraints.n_clusters,
            block_of=blocks.block_of,
            block_indptr=blocks.indptr,
            block_rows=blocks.rows,
            weight=blocks.total(constraints.sample_weight),
            mean=mean,
            scatter=scatter,
            demand=blocks.total(constraints.demand),
            conflicts=conflicts,
            links=links,
            constant_penalty=constant,
            size_min=constraints.size_min,
            size_max=constraints.size_max,
            nonempty=constraints.nonempty,
            colorable=colorable,
            sample_weight=constraints.sample_weight,
            resources=resources,
            rule_names=names,
            amounts=constraints.amounts,
            attributes=constraints.attributes,
            connectivity=constraints.connectivity,
            homes=homes,
            previous=constraints.previous,
        )

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if isinstance(value, LinkGraph):
                _freeze(value.indptr, value.indices, value.weights)
            _freeze(value)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"_scaled": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come back from a pickle writeable.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.weight.size

    @cached_property
    def has_soft_links(self) -> bool:
        """Whether some link may be broken at a cost, or is broken by every clustering."""
        return self.constant_penalty > 0 or (self.links is not None and not self.links.is_hard)

    @cached_property
    def is_free(self) -> bool:
        """Whether no constraint holds, except that clusters must not be empty."""
        return self.links is None and not self.has_bounds and self.homes is None

    @cached_property
    def has_bounds(self) -> bool:
        """Whether what clusters hold is bounded: sizes, resources or shares."""
        return self.size_min is not None or self.size_max is not None or self.resources is not None

    @cached_property
    def blocks(self) -> Blocks:
        """The rows of the blocks as one object."""
        return Blocks(self.block_of, self.block_indptr, self.block_rows)

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """The first row of each block."""
        return self.blocks.first_rows

    def rows_of(self, block: int) -> NDArray[np.int32]:
        """Rows of one block, ascending."""
        return self.blocks.rows_of(block)

    def links_at(self, violation_cost: float | None) -> LinkGraph | None:
        """Return all links, soft ones at this cost per unit of confidence; without a cost the hard ones alone."""
        if violation_cost is None:
            return self.conflicts
        if not (np.isfinite(violation_cost) and violation_cost >= 0):
            raise ValueError(f"{term('violation_cost')} must be finite and not negative, got {violation_cost!r}")
        if self.links is None or self.links.is_hard or violation_cost == 1.0:
            return self.links
        if violation_cost == 0.0:
            return self.conflicts
        if violation_cost not in self._scaled:
            assert self.links.weights is not None
            # One entry: a k-means loop needs the same one in every iteration.
            self._scaled.clear()
            scaled = self.links.weights * violation_cost
            self._scaled[violation_cost] = LinkGraph(self.links.indptr, self.links.indices, scaled)
        return self._scaled[violation_cost]

    def assignment_problem(
        self, costs: NDArray[np.float64], violation_cost: float | None = None
    ) -> AssignmentProblem:
        """Return the assignment problem at these costs.

        Parameters
        ----------
        costs : ndarray of float64, shape (n_blocks, n_clusters), C-contiguous
            Cost of each block in each cluster, but for rows that move; not checked.
        violation_cost : float or None
            What breaking a soft link of confidence 1 costs, in the unit of `costs`; needed when there are soft links.
        """
        if violation_cost is None and self.has_soft_links:
            raise ValueError(
                f"there are soft links: give {term('violation_cost')}, the price of breaking one of confidence 1"
            )
        demand, size_min, size_max = self._assigned_sizes
        return AssignmentProblem(
            costs=costs if self.homes is None else self.homes.add_costs(costs),
            links=self.links_at(violation_cost),
            demand=demand,
            size_min=size_min,
            size_max=size_max,
            nonempty=self.nonempty,
            resources=self.resources,
        )

    @cached_property
    def rules(self) -> Rules | None:
        """All bounded sums over clusters as rules: several resources and shares, then sizes; None without any."""
        if self.size_min is None and self.size_max is None:
            return self.resources
        demand, low, high = self._assigned_sizes
        rules = Rules.none(self.n_blocks, self.n_clusters) if self.resources is None else self.resources
        return rules.with_rule(
            np.ones(self.n_blocks) if demand is None else demand,
            np.full(self.n_clusters, -np.inf) if low is None else low,
            np.full(self.n_clusters, np.inf) if high is None else high,
        )

    @property
    def has_like_clusters(self) -> bool:
        """Whether no constraint speaks of one cluster by its number."""
        bounds = () if self.rules is None else (self.rules.low, self.rules.high)
        return self.homes is None and all((bound == bound[0]).all() for bound in bounds)

    @cached_property
    def widened_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds as sizes are compared with them, 0 and infinity where there is no bound.

        Each gives way by what adding up the demands of all rows may round, at its own magnitude.
        """
        low = np.zeros(self.n_clusters) if self.size_min is None else self.size_min
        high = np.full(self.n_clusters, np.inf) if self.size_max is None else self.size_max
        return widened(low, high, demand_rounding(self.demand, self.n_samples))

    @cached_property
    def _assigned_sizes(self) -> tuple[NDArray[np.float64] | None, ...]:
        """Demand of blocks and bounds on it as assignments get them: in a unit in which duals stay finite."""
        given = (None if self.has_unit_demand else self.demand, *self._block_bounds)
        exponent = unit_exponent(self.demand)
        if exponent == 0:
            return given
        with np.errstate(over="ignore"):  # a bound far above all demands may become infinite
            return tuple(None if values is None else np.ldexp(values, -exponent) for values in given)

    @cached_property
    def _block_bounds(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Bounds for sums over blocks: widened where adding up the rows of blocks has rounded already."""
        bounds = (self.size_min, self.size_max)
        if demand_rounding(self.demand, self.n_samples) <= demand_rounding(self.demand, self.n_blocks):
            return bounds
        low, high = (None if given is None else wide for given, wide in zip(bounds, self.widened_bounds, strict=True))
        return low, high

    @cached_property
    def has_unit_weight(self) -> bool:
        """Whether every block weighs 1, so that weights can be left out of all sums."""
        return bool((self.weight == 1.0).all())

    @cached_property
    def has_unit_demand(self) -> bool:
        """Whether every block counts 1 towards the size of its cluster."""
        return bool((self.demand == 1.0).all())

    @cached_property
    def parts(self) -> BlockParts:
        """The graph of `connectivity` over connected parts of blocks."""
        assert self.connectivity is not None
        return BlockParts.of(self.connectivity, self.block_of, self.n_blocks)

    def expand(self, block_labels: NDArray[Any]) -> NDArray[Any]:
        """Return the label of each row, given one per block."""
        labels = np.asarray(block_labels)
        if labels.shape != (self.n_blocks,):
            raise ValueError(
                f"block_labels must have one label per block, shape ({self.n_blocks},), got {labels.shape}"
            )
        return labels[self.block_of]


def _freeze(*arrays: Any) -> None:
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


def _means(constraints: Constraints, blocks: Blocks) -> tuple[Any, NDArray[np.float64] | None]:
    """Mean and scatter of each block; X itself, seen through a read-only view, when blocks are single rows."""
    X = constraints.X
    if X is None:
        return None, None
    if blocks.n_blocks == constraints.n_samples:
        return X if is_sparse(X) else X.view(), np.zeros(blocks.n_blocks)
    weight = np.ones(len(blocks.block_of)) if constraints.sample_weight is None else constraints.sample_weight
    # Rows of a block without weight, and rows that are blocks of their own, count 1 each.
    is_weighted = (blocks.total(weight) > 0) & (blocks.sizes > 1)
    pull = np.where(is_weighted[blocks.block_of], weight, 1.0)
    return (_sparse_means if is_sparse(X) else _dense_means)(X, blocks, weight, pull)


def _dense_means(
    X: NDArray[Any], blocks: Blocks, weight: NDArray[np.float64], pull: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return means of rows that count `pull` in them, and weighted squared distances to them; sums in double."""
    mean, scatter = np.empty((blocks.n_blocks, X.shape[1]), dtype=X.dtype), np.zeros(blocks.n_blocks)
    pulled = blocks.total(pull)
    for place, column in enumerate(X.T):
        means = blocks.total(pull * column) / pulled
        scatter += blocks.total(weight * (column - means[blocks.block_of]) ** 2)
        mean[:, place] = means
    return mean, scatter


def _sparse_means(
    X: Any, blocks: Blocks, weight: NDArray[np.float64], pull: NDArray[np.float64]
) -> tuple[Any, NDArray[np.float64]]:
    """Do the same for compressed rows."""
    n_columns = X.shape[1]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    block_of = blocks.block_of[rows]
    # One cell of the means for each block and column that some row of the block stores.
    cells, cell = np.unique(block_of * np.int64(n_columns) + X.indices, return_inverse=True)
    of_cell, column = np.divmod(cells, n_columns)
    means = np.bincount(cell, pull[rows] * X.data, cells.size) / blocks.total(pull)[of_cell]
    scatter: NDArray[np.float64] = np.zeros(blocks.n_blocks)
    scatter += np.bincount(block_of, weight[rows] * (X.data - means[cell]) ** 2, blocks.n_blocks)
    # Columns that a row does not store are zeros: their squares are the mean's, once per missing weight.
    missing = blocks.total(weight)[of_cell] - np.bincount(cell, weight[rows], cells.size)
    scatter += np.bincount(of_cell, np.maximum(missing, 0.0) * means**2, blocks.n_blocks)
    scatter[blocks.sizes == 1] = 0.0
    indptr = np.searchsorted(of_cell, np.arange(blocks.n_blocks + 1))
    make: Any = csr_array if isinstance(X, sparray) else csr_matrix
    shape = (blocks.n_blocks, n_columns)
    return make((means.astype(X.dtype), column.astype(np.int32), indptr), shape=shape), scatter


def rules_of(constraints: Constraints, blocks: Blocks) -> tuple[Rules | None, tuple[RuleName, ...]]:
    """Return the rules over blocks with their names; None where there are no such bounds."""
    held = constraints.amounts
    table = RuleTable.of(constraints.n_clusters, held, constraints.attributes)
    if table is None:
        return None, ()
    columns = [] if held is None else [blocks.total(column) for column in held.values.T]
    for attribute in bounded_attributes(constraints.attributes):
        columns += [blocks.total((attribute.codes == v).astype(np.float64)) for v in range(len(attribute.values))]
    return Rules(np.column_stack(columns), table.weights, table.low, table.high), table.names
