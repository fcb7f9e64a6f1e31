"""Several resources and shares of groups over rows that are elsewhere: what was asked, and the rules workers get."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain.assignment.rules import widened_rules
from konstrain.constraints.arguments import ConstraintArguments, Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.feasibility import resource_findings, sums_of_resource
from konstrain.constraints.findings import SizeSums
from konstrain.constraints.inputs import Resources, read_resource_bounds
from konstrain.constraints.shares import Attribute, RuleTable, bounded, bounded_attributes
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import Rules
from konstrain.dask.prices import Bounds
from konstrain.dask.problem import Overview, RemoteProblem, RemoteRules
from konstrain.dask.rows import Source
from konstrain.exceptions import InfeasibleError


@dataclass(frozen=True, eq=False)
class AskedRules:
    """What was asked of resources and shares; `amounts` has bounds and names, and no rows."""

    amounts: Resources | None
    attributes: tuple[Attribute, ...]
    table: RuleTable | None

    def columns(self) -> NDArray[np.intp]:
        """Which of the columns that rows hold the rules are about: resources, and groups with bounds."""
        first = 0 if self.amounts is None else len(self.amounts.names)
        places, bound = list(range(first)), bounded_attributes(self.attributes)
        for attribute in self.attributes:
            if attribute in bound:
                places += range(first, first + len(attribute.values))
            first += len(attribute.values)
        return np.array(places, dtype=np.intp)


def read_rules(source: Source, n_clusters: int, asked: ConstraintArguments) -> AskedRules:
    """Read the bounds on resources and shares; one line says what is wrong with any of them."""
    amounts = None
    if source.resources:
        bounds = read_resource_bounds(asked.size_min, asked.size_max, n_clusters, len(source.resources))
        amounts = Resources(np.zeros((0, len(source.resources))), *bounds, source.resources)
    attributes: tuple[Attribute, ...] = ()
    if source.category is None:
        asked.refuse_shares()
    else:
        attributes = bounded(tuple(group.attribute for group in source.groups), **asked.shares)
    return AskedRules(amounts, attributes, RuleTable.of(n_clusters, amounts, attributes))


def refuse_impossible_rules(overview: Overview, constraints: Constraints, rules: AskedRules) -> None:
    """Raise when resources or shares cannot add up, whatever the labels."""
    nobody = Blocks.merge(Constraints.read(1, 1, ConstraintArguments(nonempty=False)))
    for finding in resource_findings(replace(constraints, attributes=rules.attributes), nobody):
        raise finding.error()
    held = rules.amounts
    for r, name in enumerate(() if held is None else held.names):
        assert held is not None
        for finding in sums_of_resource(held, r, overview.held[r].total):
            raise finding.error()
        most, room = overview.held[r], float(held.high[:, r].max())
        if most.largest > room:
            raise InfeasibleError(
                f"row {most.where} holds {most.largest:g} of {name}, more than the largest {term('size_max')} "
                f"{room:g}; "
                "raise it or leave the row out",
                reason="resources",
                witness=SizeSums(most.largest, room, (most.where,)),
            )


def with_rules(partitions: Partitions, problem: RemoteProblem, asked: AskedRules) -> RemoteProblem:
    """Return the problem with what was asked as rules, sizes among them."""
    problem = replace(problem, amounts=asked.amounts, attributes=asked.attributes)
    if asked.table is None:
        return problem
    k, n_held = problem.n_clusters, len(problem.overview.held)
    weights = np.zeros((len(asked.table.names), n_held + 2))
    weights[:, asked.columns()] = asked.table.weights
    low, high = asked.table.low, asked.table.high
    if problem.has_sizes:
        weights = np.vstack([weights, np.eye(n_held + 2)[n_held]])
        low, high = np.column_stack([low, problem.bounds.low]), np.column_stack([high, problem.bounds.high])
    rules = _remote(partitions, problem.overview, weights, low, high)
    if not problem.nonempty:
        return replace(problem, resources=rules)
    filled = _remote(
        partitions,
        problem.overview,
        np.vstack([weights, np.eye(n_held + 2)[n_held + 1]]),
        np.column_stack([low, np.ones(k)]),
        np.column_stack([high, np.full(k, np.inf)]),
    )
    return replace(problem, resources=rules, filling=filled)


def _remote(
    partitions: Partitions,
    overview: Overview,
    weights: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> RemoteRules:
    unit = np.abs(weights) @ overview.totals / overview.n_samples
    rules = Rules(weights, np.where(unit > 0, unit, 1.0))
    wide = widened_rules(weights, low, high, overview.totals, overview.amounts_rounding)
    least: passes.Least = partitions.ask(passes.least_scale, rules)
    return RemoteRules(rules, Bounds(*wide), least.value)
