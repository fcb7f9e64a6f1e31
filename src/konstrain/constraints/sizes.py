"""Whether cluster sizes, demands and non-empty clusters can add up; sums a reader can check by hand."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.explain import listed_rows
from konstrain.constraints.witness import Finding, SizeSums


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


def _total_words(constraints: Constraints) -> str:
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
    """Yield what the sums of the bounds say; of the demands only the least and whether all are whole matters here."""
    total = constraints.total_demand
    slack = constraints.demand_rounding * total
    low, high = whole_sizes(constraints, demand)
    if low is not None and low.sum() > total + slack:
        message = (
            f"size_min adds up to {low.sum():g} over {low.size} clusters, but {_total_words(constraints)}; lower "
            "size_min or ask for fewer clusters."
        )
        yield Finding(_reason(constraints), message, SizeSums(float(low.sum()), total))
    least = np.zeros(constraints.n_clusters) if low is None else low
    # Without a size_min there is nothing to lower: more clusters than blocks are told by `_empty_clusters`.
    if constraints.nonempty and least.any() and least.sum() <= total + slack < np.maximum(least, demand.min()).sum():
        needed = float(np.maximum(least, demand.min()).sum())
        message = (
            f"size_min adds up to {least.sum():g} and leaves too little for clusters that must not be empty: "
            f"{needed:g} are needed, but {_total_words(constraints)}; lower size_min or ask for fewer clusters."
        )
        yield Finding("non-empty", message, SizeSums(needed, total))
    if high is not None and high.sum() < total - slack:
        message = (
            f"size_max adds up to {high.sum():g} over {high.size} clusters, but {_total_words(constraints)}; raise "
            "size_max or ask for more clusters."
        )
        yield Finding(_reason(constraints), message, SizeSums(total, float(high.sum())))


def _clusters_without_a_block(constraints: Constraints, demand: NDArray[np.float64]) -> Iterator[Finding]:
    high = constraints.size_max
    if high is None:
        return
    low = np.zeros(high.size) if constraints.size_min is None else constraints.size_min
    smallest = float(demand[demand > 0].min(initial=np.inf))
    least = np.where(low > 0, smallest, float(demand.min()) if constraints.nonempty else 0.0)
    for j in np.flatnonzero(high < least * (1 - constraints.demand_rounding)):
        message = (
            f"cluster {j} must not be empty, but its size_max is {high[j]:g} and the smallest block counts "
            f"{least[j]:g}; raise its size_max or ask for fewer clusters."
        )
        yield Finding(_reason(constraints), message, SizeSums(float(least[j]), float(high[j])))


def _large_blocks(constraints: Constraints, blocks: Blocks, demand: NDArray[np.float64]) -> Iterator[Finding]:
    """Blocks above half the largest size_max never share a cluster: match them with clusters, largest first."""
    _, high = whole_sizes(constraints, demand)
    if high is None:
        return
    room = np.sort(high)[::-1]
    wide = room * (1 + constraints.demand_rounding)
    order = np.argsort(-demand, kind="stable")
    order = order[demand[order] > wide[0] / 2]
    too_large = order[demand[order] > wide[0]]
    for block in too_large[:1]:
        rows = blocks.rows_of(int(block))
        counts = f"counts {demand[block]:g}" if constraints.demand is not None else f"has {rows.size} rows"
        tied = " (tied by must-links)" if rows.size > 1 else ""
        message = (
            f"the block of rows {listed_rows(rows)}{tied} {counts}, more than the largest size_max {room[0]:g}; "
            "raise size_max or split the block."
        )
        yield Finding(_reason(constraints), message, SizeSums(float(demand[block]), float(room[0]), _rows(rows)))
    order = order[too_large.size :]
    fits = np.zeros(order.size, dtype=bool)
    count = min(order.size, room.size)
    fits[:count] = demand[order[:count]] <= wide[:count]
    if not fits.all():
        last = int(np.flatnonzero(~fits)[0])
        group, least = order[: last + 1], demand[order[last]]
        enough = int((wide >= least).sum())
        message = (
            f"{last + 1} blocks (of rows {listed_rows(blocks.first_rows[group])}) count at least {least:g} each, so "
            f"no two of them share a cluster of size_max {room[0]:g}, but only {enough} clusters can hold one; raise "
            "size_max or ask for more clusters."
        )
        yield Finding(_reason(constraints), message, SizeSums(last + 1, enough, _rows(blocks.first_rows[group])))


def _rows(rows: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(rows.tolist())
