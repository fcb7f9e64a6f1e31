"""The problem of a fit to rows on a cluster: bounds are checked by sums, rows with links are gathered."""

import math
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain._tolerances import DEMAND_RELATIVE, DEMAND_TERMS, TOTAL_RELATIVE
from konstrain.assignment.rules import Rules, widened_rules
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments, Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.feasibility import block_finding, resource_findings, sum_findings, sums_of_resource
from konstrain.constraints.findings import MustLinkPath, UncolorableRows, contradiction, too_few_clusters
from konstrain.constraints.inputs import Links, Resources, read_links, read_resource_bounds, read_sizes
from konstrain.constraints.shares import Attribute, RuleTable, bounded, bounded_attributes
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import ColumnSummary, PartitionRows, PartitionSummary, RuleTerms
from konstrain.dask.rows import RowSource
from konstrain.exceptions import InfeasibleError
from konstrain.links import LinkGraph
from konstrain.rounding import LARGEST_EXACT

Reals = NDArray[np.float64]

_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Tied:
    """Rows with links, gathered once: blocks and conflicts as in memory."""

    problem: Problem  # Of these rows alone, without sizes.
    numbers: NDArray[np.int64]  # Which rows these are, ascending.
    # (n_pairs, 3): the links by place among these rows, each with its confidence.
    must_link: Reals
    cannot_link: Reals
    held: NDArray[Any] | None = None  # (n_rows, n_held): what these rows hold, as in `PartitionRows`.


@dataclass(frozen=True, eq=False)
class Overview:
    """Summary of all rows after a first pass over each partition."""

    n_samples: int
    mean: Reals
    mean_variance: float
    weight: ColumnSummary
    demand: ColumnSummary
    held: tuple[ColumnSummary, ...] = ()

    @classmethod
    def of(cls, summaries: list[PartitionSummary]) -> "Overview":
        """Combine the summaries of all partitions."""
        n_samples, mean, spread = 0, np.zeros_like(summaries[0].mean), np.zeros_like(summaries[0].spread)
        parts = [part for part in summaries if part.n_rows] or summaries[:1]
        held = []
        for part in parts:
            held.append([replace(column, where=n_samples + column.where) for column in part.held])
            # Chan, Golub and LeVeque (1979): variances of parts add up without large numbers cancelling.
            total = max(1, n_samples + part.n_rows)
            apart = part.mean - mean
            spread = spread + part.spread + apart**2 * (n_samples * part.n_rows / total)
            mean = mean + apart * (part.n_rows / total)
            n_samples += part.n_rows
        return cls(
            n_samples,
            mean,
            float(spread.sum()) / max(1, n_samples * mean.size),
            ColumnSummary.joined([part.weight for part in parts]),
            ColumnSummary.joined([part.demand for part in parts]),
            tuple(ColumnSummary.joined(list(column)) for column in zip(*held, strict=True)),
        )

    @property
    def totals(self) -> Reals:
        """What all rows together have of each amount of `PartitionRows.amounts`."""
        return np.array(
            [*(column.total for column in self.held), self.demand.total, self.n_samples], dtype=np.float64
        )

    @property
    def rounding(self) -> float:
        """Share of a bound by which sums of amounts may miss it, as in `rounding.demand_rounding`."""
        columns = (*self.held, self.demand)
        is_whole = all(column.are_whole for column in columns) and sum(c.total for c in columns) <= LARGEST_EXACT
        return DEMAND_RELATIVE * (DEMAND_TERMS if is_whole else max(DEMAND_TERMS, self.n_samples))


@dataclass(frozen=True, eq=False)
class RemoteRules:
    """Rules over rows on a cluster."""

    rules: Rules  # Weights of the amounts, and bounds as sums are compared with them; no blocks.
    units: Reals  # (n_rules,): what a row adds to each rule on average.
    least: float  # How many units a row adds at least, if it adds any.
    is_size: bool  # Whether the only rule bounds sizes: engines for sizes then apply.

    @property
    def terms(self) -> RuleTerms:
        """What workers need of the rules."""
        return RuleTerms(self.rules.weights, self.units)

    def values(self, amounts: Reals) -> Reals:
        """Return what clusters have of each rule, by what they hold of each amount."""
        values: Reals = amounts @ self.rules.weights.T
        return values

    def over(self, amounts: Reals, others: Reals | float = 0.0) -> dict[str, Any]:
        """Return bounds for rows of these amounts, less what others hold, as arguments of a problem."""
        weights, held = self.rules.weights, self.values(others) if isinstance(others, np.ndarray) else others
        low, high = self.rules.low - held, self.rules.high - held
        if self.is_size:
            return {"size_min": low[:, 0], "size_max": high[:, 0]}
        used = weights.any(axis=0)
        few = np.ascontiguousarray(amounts[:, used]), np.ascontiguousarray(weights[:, used])
        return {"resources": Rules(*few, low, high)}

    def from_engine(self, duals: Reals) -> Reals:
        """Return duals that an engine returned, one per cluster and rule; of sizes it returns one per cluster."""
        return duals.reshape(self.rules.low.shape)

    def for_engine(self, duals: Reals) -> Reals:
        """Return duals as an engine takes them."""
        return np.ascontiguousarray(duals[:, 0]) if self.is_size else duals


@dataclass(frozen=True, eq=False)
class RemoteProblem:
    """The part of a `Problem` that a k-means loop reads, for rows on a cluster.

    `rules` are all bounds on sums per cluster, `filled` the same with clusters that must not be empty; bounds on
    resources and attributes are kept as given, without rows.
    """

    overview: Overview
    n_clusters: int
    size_min: Reals | None
    size_max: Reals | None
    tied: Tied | None
    nonempty: bool = True
    amounts: Resources | None = None
    attributes: tuple[Attribute, ...] = ()
    rules: RemoteRules | None = None
    filled: RemoteRules | None = None
    # Rows on a cluster have no earlier clustering, and centers of any length.
    homes: None = None
    unit_centers: bool = False

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.overview.n_samples

    @property
    def n_blocks(self) -> int:
        """Number of blocks; rows without links are blocks of their own."""
        merged = 0 if self.tied is None else self.tied.problem.n_samples - self.tied.problem.n_blocks
        return self.n_samples - merged

    @property
    def resources(self) -> Rules | None:
        """Rules other than sizes."""
        return None if self.rules is None or self.rules.is_size else self.rules.rules

    @property
    def is_free(self) -> bool:
        """Whether nothing constrains any row."""
        return self.tied is None and self.rules is None

    @property
    def has_soft_links(self) -> bool:
        """Whether some link may be broken at a cost."""
        return self.tied is not None and self.tied.problem.has_soft_links

    @property
    def has_unit_demand(self) -> bool:
        """Whether every block counts 1."""
        is_unit = self.overview.demand.are_equal and self.overview.demand.first == 1.0
        return is_unit and (self.tied is None or self.tied.problem.has_unit_demand)

    @property
    def constant_penalty(self) -> float:
        """Confidences of soft links that every clustering breaks."""
        return 0.0 if self.tied is None else self.tied.problem.constant_penalty

    @property
    def links(self) -> LinkGraph | None:
        """Links among the tied blocks, by their confidences."""
        return None if self.tied is None else self.tied.problem.links

    def links_at(self, violation_cost: float | None) -> LinkGraph | None:
        """Links among the tied blocks."""
        return None if self.tied is None else self.tied.problem.links_at(violation_cost)

    @cached_property
    def blocks(self) -> PartitionRows:
        """The tied blocks as if each were a row: means, weights, demands, and what they hold."""
        n_held = len(self.overview.held)
        if self.tied is None:
            return PartitionRows(
                np.zeros((0, self.overview.mean.size)), np.zeros(0), np.zeros(0), np.zeros((0, n_held))
            )
        problem, held = self.tied.problem, np.zeros((self.tied.problem.n_blocks, n_held))
        for place, column in enumerate(() if self.tied.held is None else self.tied.held.T):
            held[:, place] = problem.blocks.total(column.astype(np.float64))
        return PartitionRows(problem.mean, problem.weight, problem.demand, held)


def overview_of(partitions: Partitions, n_clusters: int) -> Overview:
    """Return the summary of all rows; raise, with partition and column, where a value is no number."""
    _refuse_bad(partitions)
    _refuse_too_large(partitions)
    overview = Overview.of(partitions.summaries)
    if overview.n_samples < n_clusters:
        raise ValueError(f"n_samples={overview.n_samples} should be >= {term('n_clusters', n_clusters)}.")
    if not overview.weight.total > 0:
        raise ValueError(f"{term('sample_weight')} is zero for every row; at least one row must count")
    return overview


def _refuse_bad(partitions: Partitions) -> None:
    features = partitions.source.features
    for number, (part, first) in enumerate(zip(partitions.summaries, partitions.first_rows, strict=True)):
        if part.bad is not None:
            row, column, value = part.bad
            name = str(column) if features is None else repr(features[column])
            what = "a missing value" if math.isnan(value) else "infinity"
            raise ValueError(
                f"X has {what} in partition {number}, row {row} of it (row {first + row} of all), column {name}; "
                "fill it in (X.fillna), or leave the row out (X.dropna)"
            )
        columns = [("sample_weight", part.weight), ("demand", part.demand)]
        for name, amounts in [*columns, *(("demand", held) for held in part.held)]:
            if amounts.bad is not None:
                row, value = amounts.bad
                raise ValueError(
                    f"{name} is {value} in partition {number}, row {row} of it (row {first + row} of all); it must "
                    "be finite and not negative"
                )


def _refuse_too_large(partitions: Partitions) -> None:
    """Raise where squared distances, summed over all rows, could exceed the largest number there is."""
    most = math.sqrt(sys.float_info.max / 4.0 / max(1, partitions.n_samples * partitions.source.n_features))
    for number, part in enumerate(partitions.summaries):
        if not part.largest <= most:
            raise ValueError(
                f"X has {part.largest:.3g} in partition {number}, too large to be squared and summed; divide all "
                "rows by a number"
            )


def build_problem(
    partitions: Partitions, overview: Overview, n_clusters: int, arguments: ConstraintArguments
) -> RemoteProblem:
    """Check the constraints, gather the rows with links, and raise if no clustering can satisfy them."""
    n, source = overview.n_samples, partitions.source
    must = read_links("must_link", arguments.must_link, n)
    cannot = read_links("cannot_link", arguments.cannot_link, n)
    low, high = None, None
    if not source.resources:
        demand = overview.demand
        counts_rows = demand.are_equal and demand.first == 1.0
        low, high = read_sizes(arguments.sizes, n_clusters, demand.total, counts_rows=counts_rows)
    amounts, attributes = _read_amounts(overview, source, n_clusters, arguments), _read_attributes(source, arguments)
    _refuse_sums(
        overview,
        n_clusters,
        ConstraintArguments(size_min=low, size_max=high, nonempty=arguments.nonempty),
        amounts,
        attributes,
    )
    table = RuleTable.of(n_clusters, amounts, attributes)
    idle = _NO_ROWS
    if overview.weight.n_zero and not (low is None and high is None and table is None):
        # Under bounds these cost nothing anywhere, so duals cannot place them: the client does.
        idle = partitions.run(passes.without_weight, None, join=np.concatenate)
    tied = _gather(partitions, n_clusters, must, cannot, idle)
    if tied is not None:
        partitions.set_tied(tied.numbers)
        _refuse_large_blocks(tied, high)
    problem = RemoteProblem(overview, n_clusters, low, high, tied, arguments.nonempty, amounts, attributes)
    return _with_rules(partitions, problem, table)


def _read_amounts(
    overview: Overview, source: RowSource, n_clusters: int, arguments: ConstraintArguments
) -> Resources | None:
    """Read the bounds on several resources."""
    if not source.resources:
        return None
    totals = np.array([column.total for column in overview.held])
    bounds = read_resource_bounds(arguments.sizes, n_clusters, source.resources, totals)
    return Resources(np.zeros((0, totals.size)), *bounds, source.resources)


def _read_attributes(source: RowSource, arguments: ConstraintArguments) -> tuple[Attribute, ...]:
    """Read the bounds on shares of groups."""
    if source.category is None:
        arguments.refuse_shares()
        return ()
    return bounded(tuple(group.attribute for group in source.groups), **arguments.shares)


def _refuse_sums(
    overview: Overview,
    n_clusters: int,
    sizes: ConstraintArguments,
    amounts: Resources | None,
    attributes: tuple[Attribute, ...],
) -> None:
    """Raise when bounds cannot add up; of the demands only sum, least and kind are known."""
    constraints = Constraints.read(overview.n_samples, n_clusters, sizes)
    no_blocks = Blocks.merge(Constraints.read(1, 1, ConstraintArguments(nonempty=False)))
    for finding in resource_findings(replace(constraints, attributes=attributes), no_blocks):
        raise finding.error()
    if amounts is not None:
        _refuse_resources(overview, amounts)
    demand = overview.demand
    least = 0.0 if demand.n_zero else demand.least
    some = np.array([least, demand.total - least])
    if not (demand.are_equal and demand.first == 1.0):
        some = some if demand.are_whole else np.append(some, [0.5, -0.5])
        constraints = replace(constraints, demand=some)
    for finding in sum_findings(constraints, np.maximum(some, least)):
        raise finding.error()


def _refuse_resources(overview: Overview, amounts: Resources) -> None:
    """Raise when a resource cannot add up, or one row holds more of it than any cluster may."""
    for r, name in enumerate(amounts.names):
        column, capacity = overview.held[r], float(amounts.high[:, r].max())
        for finding in sums_of_resource(amounts, r, column.total):
            raise finding.error()
        if column.largest > capacity:
            holds, row = f"holds {column.largest:g} of {name}", np.array([column.where])
            raise block_finding("resources", row, column.largest, capacity, holds).error()


def _gather(
    partitions: Partitions, n_clusters: int, must: Links, cannot: Links, idle: NDArray[np.int64]
) -> Tied | None:
    """Fetch the rows with links or labels, and those without weight, and merge and check these as in memory."""
    known = partitions.partial_labels()
    numbers = np.unique(np.concatenate([must.pairs.ravel(), cannot.pairs.ravel(), known.numbers, idle]))
    if not numbers.size:
        return None
    rows = partitions.rows_at(numbers)
    links = {"must_link": _renumbered(must, numbers), "cannot_link": _renumbered(cannot, numbers)}
    labels = np.full(numbers.size, None, dtype=object)
    labels[np.searchsorted(numbers, known.numbers)] = known.labels
    try:
        problem = Problem.build(
            # In double precision: they are few.
            rows.values.astype(np.float64),
            n_clusters,
            sample_weight=rows.weight,
            demand=rows.demand,
            nonempty=False,
            labels=labels,
            must_link=links["must_link"],
            cannot_link=links["cannot_link"],
        )
    except InfeasibleError as error:
        raise _in_numbers_of_rows(error, numbers) from None
    return Tied(problem, numbers, **links, held=rows.held)


def _renumbered(links: Links, numbers: NDArray[np.int64]) -> Reals:
    """Pairs by place among the gathered rows, each with its confidence."""
    confidence = np.concatenate([np.full(len(links.hard), np.inf), links.confidence])
    return np.column_stack([np.searchsorted(numbers, links.pairs), confidence])


def _in_numbers_of_rows(error: InfeasibleError, numbers: NDArray[np.int64]) -> InfeasibleError:
    """Return the error with the numbers that the rows have among all."""

    def named(*rows: int) -> tuple[Any, ...]:
        return tuple(numbers[list(rows)].tolist())

    found: Any = error.witness
    nothing = Constraints.read(1, 1, ConstraintArguments(nonempty=False))
    if isinstance(found, MustLinkPath):
        hops = tuple(replace(hop, rows=named(*hop.rows)) for hop in found.hops)
        path = replace(found, pair=named(*found.pair), rows=named(*found.rows), hops=hops)
        return contradiction(nothing, path).error()
    if isinstance(found, UncolorableRows):
        witness = replace(
            found,
            rows=named(*found.rows),
            pairs=tuple((*named(a, b), source) for a, b, source in found.pairs),
            conflicts=tuple(named(*pair) for pair in found.conflicts),
        )
        return too_few_clusters(nothing, witness).error()
    return error


def _refuse_large_blocks(tied: Tied, high: Reals | None) -> None:
    if high is None:
        return
    block = int(tied.problem.demand.argmax())
    holds, capacity = float(tied.problem.demand[block]), float(high.max())
    if holds > capacity * (1 + TOTAL_RELATIVE):
        rows = tied.numbers[tied.problem.rows_of(block)]
        raise block_finding("sizes", rows, holds, capacity, f"counts {holds:g}").error()


def _with_rules(partitions: Partitions, problem: RemoteProblem, table: RuleTable | None) -> RemoteProblem:
    """Return the problem with all bounds on sums as rules: resources, shares, sizes."""
    k, n_held = problem.n_clusters, len(problem.overview.held)
    demand, count = np.eye(n_held + 2)[-2:]
    weights, low, high = np.zeros((0, n_held + 2)), np.zeros((k, 0)), np.zeros((k, 0))
    if table is not None:
        weights, low, high = np.zeros((len(table.names), n_held + 2)), table.low, table.high
        weights[:, _columns(problem)] = table.weights
    has_sizes = problem.size_min is not None or problem.size_max is not None
    if has_sizes or table is None:
        least = np.full(k, -np.inf) if problem.size_min is None else problem.size_min
        most = np.full(k, np.inf) if problem.size_max is None else problem.size_max
        weights = np.vstack([weights, demand])
        # A least size of zero bounds nothing.
        low, high = np.column_stack([low, np.where(least > 0, least, -np.inf)]), np.column_stack([high, most])
    if table is None:
        # A cluster with demand is not empty.
        filling = min(problem.overview.demand.least, high.min()) if problem.nonempty else -np.inf
        rules = _remote_rules(problem.overview, weights, np.maximum(low, filling), high, is_size=True)
        return replace(problem, rules=rules if has_sizes else None, filled=rules)
    rules = _remote_rules(problem.overview, weights, low, high)
    rules = replace(rules, least=partitions.run(passes.least_scale, rules.terms, join=min))
    low, high = np.column_stack([low, np.ones(k)]), np.column_stack([high, np.full(k, np.inf)])
    filled = _remote_rules(problem.overview, np.vstack([weights, count]), low, high)
    return replace(problem, rules=rules, filled=filled if problem.nonempty else None)


def _columns(problem: RemoteProblem) -> list[int]:
    """Return which of the columns that rows hold have rules: resources, and groups whose shares are bounded."""
    first = 0 if problem.amounts is None else len(problem.amounts.names)
    places, with_bounds = list(range(first)), bounded_attributes(problem.attributes)
    for attribute in problem.attributes:
        if attribute in with_bounds:
            places += range(first, first + len(attribute.values))
        first += len(attribute.values)
    return places


def _remote_rules(
    overview: Overview, weights: Reals, low: Reals, high: Reals, *, is_size: bool = False
) -> RemoteRules:
    """Return rules to which a row adds at least its demand, or 1."""
    units = np.abs(weights) @ overview.totals / overview.n_samples
    units = np.where(units > 0, units, 1.0)
    wide = widened_rules(weights, low, high, overview.totals, overview.rounding)
    rules = Rules(np.zeros((0, weights.shape[1])), weights, *wide, is_compared=True)
    return RemoteRules(rules, units, overview.demand.least / units[0] if is_size else 1.0, is_size)
