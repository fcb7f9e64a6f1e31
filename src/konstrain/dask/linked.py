"""Constraints on rows that are elsewhere: bounds are checked by sums, rows with links or labels are gathered."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments, Constraints
from konstrain.constraints.feasibility import sum_findings
from konstrain.constraints.findings import (
    MustLinkPath,
    SizeSums,
    UncolorableRows,
    contradiction,
    listed_rows,
    too_few_clusters,
)
from konstrain.constraints.inputs import Links, read_links, read_sizes
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.problem import Overview, RemoteProblem, Tied
from konstrain.dask.rules import AskedRules, read_rules, refuse_impossible_rules, with_rules
from konstrain.exceptions import InfeasibleError

_NO_ROWS = np.zeros(0, dtype=np.int64)


def build_problem(
    partitions: Partitions, overview: Overview, n_clusters: int, asked: ConstraintArguments
) -> RemoteProblem:
    """Check the constraints, gather the rows with links, and raise if no clustering can satisfy them."""
    n = overview.n_samples
    must = read_links("must_link", asked.must_link, n)
    cannot = read_links("cannot_link", asked.cannot_link, n)
    resources = partitions.source.resources
    low, high = (None, None) if resources else read_sizes(asked.size_min, asked.size_max, n_clusters)
    rules = read_rules(partitions.source, n_clusters, asked)
    _refuse_sums(overview, n_clusters, asked, rules)
    has_bounds = low is not None or high is not None or rules.table is not None
    # Under bounds these could stand anywhere at no cost, so no prices tell where: they are placed here, by numbers.
    idle = partitions.ask(passes.without_weight, None).values if has_bounds and overview.weight.n_zero else _NO_ROWS
    tied = _gather(partitions, n_clusters, must, cannot, idle)
    if tied is not None:
        partitions.set_tied(tied.numbers)
        _refuse_large_blocks(tied, high)
    problem = RemoteProblem(overview, n_clusters, low, high, tied, asked.nonempty)
    return with_rules(partitions, problem, rules)


def _refuse_sums(overview: Overview, n_clusters: int, asked: ConstraintArguments, rules: AskedRules) -> None:
    """Raise when bounds cannot add up; of the demands only sum, least and kind are known."""
    sizes = ConstraintArguments(nonempty=asked.nonempty)
    if rules.amounts is None:
        sizes = replace(sizes, size_min=asked.size_min, size_max=asked.size_max)
    constraints = Constraints.read(overview.n_samples, n_clusters, sizes)
    refuse_impossible_rules(overview, constraints, rules)
    demand = overview.demand
    least = 0.0 if demand.n_zero else demand.least
    some = np.array([least, demand.total - least])
    if not (demand.are_equal and demand.first == 1.0):
        some = some if demand.are_whole else np.append(some, [0.5, -0.5])
        constraints = replace(constraints, demand=some)
    for finding in sum_findings(constraints, np.maximum(some, least)):
        raise finding.error()


def _gather(
    partitions: Partitions, n_clusters: int, must: Links, cannot: Links, idle: NDArray[np.int64]
) -> Tied | None:
    """Fetch the rows with links or labels, and those without weight, and merge and check these as in memory."""
    known = partitions.known_labels()
    numbers = np.unique(np.concatenate([must.pairs.ravel(), cannot.pairs.ravel(), known.numbers, idle]))
    if not numbers.size:
        return None
    rows = partitions.rows_at(numbers)
    links = {"must_link": _renumbered(must, numbers), "cannot_link": _renumbered(cannot, numbers)}
    labels = np.full(numbers.size, None, dtype=object)
    labels[np.searchsorted(numbers, known.numbers)] = known.labels
    try:
        problem = Problem.build(
            # They are few: means of blocks can be as exact as those of clusters.
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


def _renumbered(links: Links, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pairs by place among the gathered rows, each with its confidence."""
    confidence = np.concatenate([np.full(len(links.hard), np.inf), links.confidence])
    return np.column_stack([np.searchsorted(numbers, links.pairs), confidence])


def _in_numbers_of_rows(error: InfeasibleError, numbers: NDArray[np.int64]) -> InfeasibleError:
    """Say what clashes with the numbers that the rows have among all."""

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


def _refuse_large_blocks(tied: Tied, high: NDArray[np.float64] | None) -> None:
    if high is None:
        return
    block = int(tied.problem.demand.argmax())
    holds, room = float(tied.problem.demand[block]), float(high.max())
    if holds > room * (1 + 1e-9):
        rows = tied.numbers[tied.problem.rows_of(block)]
        raise InfeasibleError(
            f"the block of rows {listed_rows(rows)} (tied by must-links) counts {holds:g}, more than the largest "
            f"{term('size_max')} {room:g}; raise {term('size_max')} or split the block.",
            reason="sizes",
            witness=SizeSums(holds, room, tuple(rows.tolist())),
        )
