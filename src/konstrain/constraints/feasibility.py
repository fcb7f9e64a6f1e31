"""Necessary conditions on constraints, tested before any clustering; each that fails is a finding."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import term
from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks, Conflicts
from konstrain.constraints.components import component_findings
from konstrain.constraints.conflicts import ColoringVerdict, judge_coloring, must_link_paths
from konstrain.constraints.findings import Finding, SizeSums, contradiction, listed_rows
from konstrain.constraints.inputs import Resources
from konstrain.constraints.shares import Attribute
from konstrain.stop import Budget


def find_clashes(
    constraints: Constraints, blocks: Blocks, conflicts: Conflicts, budget: Budget, *, cap: int
) -> tuple[list[Finding], ColoringVerdict]:
    """Return at most `cap` findings of each kind (contradictions, sizes, resources, shares, components, colouring).

    With ``cap=1`` the search ends with the first finding: an error has no more than one.
    """
    found: list[Finding] = []
    if conflicts.broken:
        paths = must_link_paths(constraints, blocks, conflicts.broken[:cap], budget)
        found = [contradiction(constraints, path) for path in paths]
    if cap > 1 or not found:
        found += list(islice(size_findings(constraints, blocks), cap))
    if cap > 1 or not found:
        found += list(islice(resource_findings(constraints, blocks), cap))
    if constraints.connectivity is not None and (cap > 1 or not found):
        found += list(islice(component_findings(constraints, blocks, budget), cap))
    if not conflicts.graph.n_edges or (found and cap == 1):
        return found, ColoringVerdict([], 0, 0)
    coloring = judge_coloring(constraints, blocks, conflicts.graph, budget, cap=cap)
    return found + coloring.findings, coloring


def size_findings(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    """Yield every necessary condition on sizes that fails, the plainest first."""
    demand = blocks.total(constraints.demand)
    yield from _empty_clusters(constraints, blocks)
    yield from sum_findings(constraints, demand)
    yield from _clusters_without_a_block(constraints, demand)
    yield from _large_blocks(constraints, blocks, demand)


def whole_sizes(
    constraints: Constraints, demand: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the bounds a sum of these demands can meet: whole numbers when all demands are."""
    low, high, rounding = constraints.size_min, constraints.size_max, constraints.demand_rounding
    if bool((demand == np.floor(demand)).all()):
        low = None if low is None else np.ceil(low * (1 - rounding))
        high = None if high is None else np.floor(high * (1 + rounding))
    return low, high


def implied_sizes(
    constraints: Constraints, demand: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each cluster's bounds after the others have taken their least or most."""
    total, k = constraints.total_demand, constraints.n_clusters
    low, high = whole_sizes(constraints, demand)
    low = np.zeros(k) if low is None else low
    high = np.full(k, total) if high is None else np.minimum(high, total)
    if constraints.nonempty:
        low = np.maximum(low, float(demand.min(initial=np.inf)))
    return np.maximum(low, total - (high.sum() - high)), np.minimum(high, total - (low.sum() - low))


def _reason(constraints: Constraints) -> str:
    return "sizes" if constraints.demand is None else "demand"


def _total_message(constraints: Constraints) -> str:
    if constraints.demand is None:
        return f"there are {constraints.n_samples} rows"
    return f"the demands add up to {constraints.total_demand:g}"


def _empty_clusters(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    needed = constraints.n_clusters
    if not constraints.nonempty:
        needed = 0 if constraints.size_min is None else int((constraints.size_min > 0).sum())
    if needed <= blocks.n_blocks:
        return
    what = f"{needed} clusters must not be empty, but"
    if constraints.n_samples < needed:
        message = f"{what} there are only {constraints.n_samples} rows; ask for fewer clusters."
    else:
        largest = blocks.rows_of(int(np.argmax(blocks.sizes)))
        message = (
            f"{what} must-links leave only {blocks.n_blocks} blocks of {constraints.n_samples} rows (the largest has "
            f"{largest.size}: {listed_rows(largest)}); ask for fewer clusters or remove must-links."
        )
    yield Finding("non-empty", message, SizeSums(needed, blocks.n_blocks))


def sum_findings(constraints: Constraints, demand: NDArray[np.float64]) -> Iterator[Finding]:
    """Yield bounds whose sums do not fit; only the least demand and whether all are whole numbers matter."""
    total = constraints.total_demand
    slack = constraints.demand_rounding * total
    low, high = whole_sizes(constraints, demand)
    if low is not None and low.sum() > total + slack:
        yield _sum_finding(_reason(constraints), "size_min", low, total, _total_message(constraints))
    least = np.zeros(constraints.n_clusters) if low is None else low
    # Without a size_min there is nothing to lower: more clusters than blocks are a finding of `_empty_clusters`.
    if constraints.nonempty and least.any() and least.sum() <= total + slack < np.maximum(least, demand.min()).sum():
        needed = float(np.maximum(least, demand.min()).sum())
        message = (
            f"{term('size_min')} adds up to {least.sum():g} and leaves too little for clusters that must not be "
            f"empty: {needed:g} are needed, but {_total_message(constraints)}; lower {term('size_min')} or ask for "
            "fewer clusters."
        )
        yield Finding("non-empty", message, SizeSums(needed, total))
    # No larger than the total: sums of large bounds overflow.
    high = None if high is None else np.minimum(high, total)
    if high is not None and high.sum() < total - slack:
        yield _sum_finding(_reason(constraints), "size_max", high, total, _total_message(constraints))


def _sum_finding(
    reason: str, name: str, bounds: NDArray[np.float64], total: float, have: str, of: str = ""
) -> Finding:
    """Return that the bounds of all clusters add up to more, or less, than the total that the rows have."""
    change, number = ("lower", "fewer") if name == "size_min" else ("raise", "more")
    message = (
        f"{term(name)}{of} adds up to {bounds.sum():g} over {bounds.size} clusters, but {have}; {change} "
        f"{term(name)} or ask for {number} clusters."
    )
    available, needed = sorted((float(bounds.sum()), total))
    return Finding(reason, message, SizeSums(needed, available))


def _clusters_without_a_block(constraints: Constraints, demand: NDArray[np.float64]) -> Iterator[Finding]:
    high = constraints.size_max
    if high is None:
        return
    low = np.zeros(high.size) if constraints.size_min is None else constraints.size_min
    smallest = float(demand[demand > 0].min(initial=np.inf))
    least = np.where(low > 0, smallest, float(demand.min()) if constraints.nonempty else 0.0)
    for j in np.flatnonzero(high < least * (1 - constraints.demand_rounding)):
        message = (
            f"cluster {j} must not be empty, but its {term('size_max')} is {high[j]:g} and the smallest block counts "
            f"{least[j]:g}; raise its {term('size_max')} or ask for fewer clusters."
        )
        yield Finding(_reason(constraints), message, SizeSums(float(least[j]), float(high[j])))


def _large_blocks(constraints: Constraints, blocks: Blocks, demand: NDArray[np.float64]) -> Iterator[Finding]:
    """Match blocks above half the largest size_max, no two of which share a cluster, with clusters, largest first."""
    _, high = whole_sizes(constraints, demand)
    if high is None:
        return
    limits = np.sort(high)[::-1]
    wide = limits * (1 + constraints.demand_rounding)
    order = np.argsort(-demand, kind="stable")
    order = order[demand[order] > wide[0] / 2]
    too_large = order[demand[order] > wide[0]]
    for block in too_large[:1]:
        rows = blocks.rows_of(int(block))
        counts = f"counts {demand[block]:g}" if constraints.demand is not None else f"has {rows.size} rows"
        yield block_finding(_reason(constraints), rows, float(demand[block]), float(limits[0]), counts)
    order = order[too_large.size :]
    fits = np.zeros(order.size, dtype=bool)
    count = min(order.size, limits.size)
    fits[:count] = demand[order[:count]] <= wide[:count]
    if not fits.all():
        last = int(np.flatnonzero(~fits)[0])
        group, least = order[: last + 1], demand[order[last]]
        enough = int((wide >= least).sum())
        message = (
            f"{last + 1} blocks (of rows {listed_rows(blocks.first_rows[group])}) count at least {least:g} each, so "
            f"no two of them share a cluster of {term('size_max')} {limits[0]:g}, but only {enough} clusters can "
            f"hold one; raise {term('size_max')} or ask for more clusters."
        )
        first_rows = tuple(blocks.first_rows[group].tolist())
        yield Finding(_reason(constraints), message, SizeSums(last + 1, enough, first_rows))


def block_finding(reason: str, rows: NDArray[Any], amount: float, most: float, holds: str) -> Finding:
    """Return that a row, or the rows of one block, hold more than any cluster may."""
    who, remedy = f"row {listed_rows(rows)}", "leave the row out"
    if rows.size > 1:
        who, remedy = f"the block of rows {listed_rows(rows)} (tied by must-links)", "split the block"
    message = (
        f"{who} {holds}, more than the largest {term('size_max')} {most:g}; raise {term('size_max')} or {remedy}."
    )
    return Finding(reason, message, SizeSums(amount, most, tuple(rows.tolist())))


def resource_findings(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    """Yield every necessary condition on resources and shares that fails, the plainest first."""
    for attribute in constraints.attributes:
        yield from _overall_shares(attribute)
        yield from _too_few_of_a_group(constraints, attribute)
    yield from _amounts(constraints, blocks)


def _overall_shares(attribute: Attribute) -> Iterator[Finding]:
    counts, shares = attribute.counts, attribute.shares
    n = int(counts.sum())
    for v in range(len(attribute.values)):
        fact = f"{counts[v]} of {n} rows are {attribute.shown(v)} ({shares[v]:.3g} of them)"
        if shares[v] < attribute.low[v] * (1.0 - TOTAL_RELATIVE):
            message = (
                f"{fact}: clusters that each hold a share of at least {attribute.low[v]:.4g} cannot hold all rows; "
                f"lower {term('share_min')}."
            )
            yield Finding("shares", message, SizeSums(attribute.low[v] * n, float(counts[v])))
        if shares[v] > attribute.high[v] * (1.0 + TOTAL_RELATIVE):
            message = (
                f"{fact}: clusters that each hold a share of at most {attribute.high[v]:.4g} cannot hold all of them;"
                f" raise {term('share_max')}."
            )
            yield Finding("shares", message, SizeSums(float(counts[v]), attribute.high[v] * n))


def _too_few_of_a_group(constraints: Constraints, attribute: Attribute) -> Iterator[Finding]:
    """Yield groups of too few rows: each cluster needs a whole number, which follows from its least size."""
    n, k = constraints.n_samples, constraints.n_clusters
    least = np.full(k, 1.0 if constraints.nonempty else 0.0)
    if constraints.size_min is not None and constraints.demand is None:
        least = np.maximum(least, np.ceil(constraints.size_min * (1.0 - TOTAL_RELATIVE)))
    smallest = int(least.min())
    for v in range(len(attribute.values)):
        for share, having, group in (
            (float(attribute.low[v]), int(attribute.counts[v]), f"are {attribute.shown(v)}"),
            (1.0 - float(attribute.high[v]), n - int(attribute.counts[v]), f"are not {attribute.shown(v)}"),
        ):
            needed = sum(math.ceil(share * size * (1.0 - TOTAL_RELATIVE)) for size in least)
            if needed > having >= share * n * (1.0 - TOTAL_RELATIVE):
                hold = f"hold {share:.3g} of these"
                message = (
                    f"{having} of {n} rows {group}: {k} clusters of at least {smallest} rows cannot each {hold}, for "
                    f"that takes {needed}; relax the shares or ask for fewer clusters."
                )
                yield Finding("shares", message, SizeSums(float(needed), float(having)))


def sums_of_resource(held: Resources, resource: int, total: float) -> Iterator[Finding]:
    """Yield which bounds of a resource, added up over all clusters, do not fit what all rows hold."""
    have, of = f"all rows hold {total:g}", f" of {held.names[resource]}"
    least, most = np.maximum(held.low[:, resource], 0.0), held.high[:, resource]
    if least.sum() > total * (1.0 + TOTAL_RELATIVE):
        yield _sum_finding("resources", "size_min", least, total, have, of)
    if most.sum() < total * (1.0 - TOTAL_RELATIVE):
        yield _sum_finding("resources", "size_max", most, total, have, of)


def _amounts(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    held = constraints.amounts
    if held is None:
        return
    for r, name in enumerate(held.names):
        yield from sums_of_resource(held, r, float(held.values[:, r].sum()))
        amount, most = blocks.total(held.values[:, r]), float(held.high[:, r].max())
        block = int(amount.argmax())
        if amount[block] > most * (1.0 + TOTAL_RELATIVE):
            holds = f"holds {amount[block]:g} of {name}"
            yield block_finding("resources", blocks.rows_of(block), float(amount[block]), most, holds)


def match_sizes(
    sizes: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.int32] | None:
    """Return which bounds each size keeps, all bounds used once; None when that is impossible.

    An order that fits already stays. Else each size, from the smallest on, takes those of the bounds it has reached
    that end first: larger sizes have reached them too, so the rest suits them best (Glover's rule for convex graphs).
    """
    if ((low <= sizes) & (sizes <= high)).all():
        return np.arange(sizes.size, dtype=np.int32)
    chosen = np.full(sizes.size, -1, dtype=np.int32)
    end = np.array(high)
    for at in np.argsort(sizes, kind="stable"):
        reached = np.flatnonzero((low <= sizes[at]) & (end >= sizes[at]))
        if reached.size == 0:
            return None
        chosen[at] = reached[end[reached].argmin()]
        end[chosen[at]] = -np.inf  # taken
    return chosen
