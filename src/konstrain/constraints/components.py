"""Components of the graph of `connectivity`: no cluster spans two of them, so each has to hold whole clusters."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import listed, term
from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.conflicts import must_link_paths
from konstrain.constraints.findings import Finding, GraphComponents, contradiction, listed_rows
from konstrain.stop import Budget

Bounds = tuple[str, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def component_findings(constraints: Constraints, blocks: Blocks, budget: Budget) -> Iterator[Finding]:
    """Yield what the components of the graph rule out, the plainest first."""
    assert constraints.connectivity is not None
    component = constraints.connectivity.components()
    n_components = int(component.max(initial=0)) + 1
    if n_components == 1:
        return
    yield from _too_many(constraints, component, n_components)
    yield from _links_across(constraints, blocks, component, budget)
    yield from _shares(constraints, component, n_components)
    if n_components <= constraints.n_clusters:
        yield from _whole_clusters(constraints, blocks, component, n_components)


def _components_message(component: NDArray[np.int32], held: NDArray[np.float64], what: str) -> str:
    """Return the start of a message: the components, what they hold, and a row of each."""
    first = np.unique(component, return_index=True)[1]
    amounts = listed((f"{amount:.10g}" for amount in held), ", ")
    return (
        f"the graph of {term('connectivity')} has {held.size} components ({what} {amounts}; with rows "
        f"{listed_rows(first)}), and no cluster can span two"
    )


def _way_out() -> str:
    return f"add edges between the components, or pass {term('join_components', True)}"


def _rows_held(component: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.bincount(component).astype(np.float64)


def _witness(component: NDArray[np.int32], held: NDArray[np.float64], which: int | None) -> GraphComponents:
    first = np.unique(component, return_index=True)[1]
    return GraphComponents(tuple(held.tolist()), tuple(first.tolist()), which)


def _too_many(constraints: Constraints, component: NDArray[np.int32], n_components: int) -> Iterator[Finding]:
    if n_components <= constraints.n_clusters:
        return
    held = _rows_held(component)
    alone = np.flatnonzero((held == 1)[component])
    lonely = f" (without neighbours: {listed_rows(alone)})" if alone.size else ""
    message = (
        f"{_components_message(component, held, 'rows')}, but {term('n_clusters', constraints.n_clusters)}{lonely}; "
        f"{_way_out()}, or ask for at least {n_components} clusters."
    )
    yield Finding("components", message, _witness(component, held, None))


def _links_across(
    constraints: Constraints, blocks: Blocks, component: NDArray[np.int32], budget: Budget
) -> Iterator[Finding]:
    first = blocks.first_rows[blocks.block_of]
    across = np.flatnonzero(component != component[first])
    _, one_per_block = np.unique(blocks.block_of[across], return_index=True)
    broken = [("connectivity", int(first[row]), int(row)) for row in across[one_per_block]]
    if broken:
        for path in must_link_paths(constraints, blocks, broken, budget):
            yield replace(contradiction(constraints, path), reason="components")


def _shares(constraints: Constraints, component: NDArray[np.int32], n_components: int) -> Iterator[Finding]:
    held = _rows_held(component)
    for attribute in constraints.attributes:
        if not attribute.is_bounded:
            continue
        for v in range(len(attribute.values)):
            share = np.bincount(component, attribute.codes == v, n_components) / held
            low, high = attribute.low[v] * (1 - TOTAL_RELATIVE), attribute.high[v] * (1 + TOTAL_RELATIVE)
            for which in np.flatnonzero((share < low) | (share > high))[:1]:
                message = (
                    f"{_components_message(component, held, 'rows')}: {share[which]:.3g} of the rows of component "
                    f"{which + 1} are {attribute.shown(v)}, and the share of these in every cluster is to be "
                    f"between {attribute.low[v]:.3g} and {attribute.high[v]:.3g}; {_way_out()}, or relax the shares."
                )
                yield Finding("components", message, _witness(component, held, int(which)))


def _whole_clusters(
    constraints: Constraints, blocks: Blocks, component: NDArray[np.int32], n_components: int
) -> Iterator[Finding]:
    """Each component takes a number of clusters; bounds on what clusters hold limit it from both sides."""
    k = constraints.n_clusters
    n_blocks = np.bincount(component[blocks.first_rows], minlength=n_components)
    for what, amounts, low, high in _bounded(constraints):
        held = np.bincount(component, amounts, n_components).astype(np.float64)
        fewest, most = _numbers_of_clusters(held, low, high)
        most = np.minimum(most, n_blocks)
        graph = _components_message(component, held, what)
        for which in np.flatnonzero(most < 1)[:1]:
            least = f"{term('size_min')} {low.min():.10g}"
            message = f"{graph}: component {which + 1} is below the least {least}; {_way_out()}."
            yield Finding("components", message, _witness(component, held, int(which)))
            return
        for which in np.flatnonzero(fewest > most)[:1]:
            message = (
                f"{graph}: component {which + 1} needs at least {fewest[which]} clusters of {term('size_max')} "
                f"{high.max():.10g} and fills at most {most[which]} of {term('size_min')} {low.min():.10g}; "
                f"{_way_out()}, or widen the bounds."
            )
            yield Finding("components", message, _witness(component, held, int(which)))
            return
        if not fewest.sum() <= k <= most.sum():
            needed = f"need at least {fewest.sum()} clusters" if fewest.sum() > k else f"fill at most {most.sum()}"
            message = (
                f"{graph}: together they {needed}, but {term('n_clusters', k)}; {_way_out()}, or widen the bounds."
            )
            yield Finding("components", message, _witness(component, held, None))
            return


def _bounded(constraints: Constraints) -> Iterator[Bounds]:
    """Yield each amount that is bounded, with its least and largest sum per cluster."""
    k, held = constraints.n_clusters, constraints.amounts
    if constraints.size_min is not None or constraints.size_max is not None:
        amounts = np.ones(constraints.n_samples) if constraints.demand is None else constraints.demand
        low = np.zeros(k) if constraints.size_min is None else constraints.size_min
        high = np.full(k, np.inf) if constraints.size_max is None else constraints.size_max
        yield "rows" if constraints.demand is None else "demand", amounts, low, high
    if held is not None:
        for r, name in enumerate(held.names):
            yield name, held.values[:, r], np.maximum(held.low[:, r], 0.0), held.high[:, r]


def _numbers_of_clusters(
    held: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the largest number of clusters that a component can fill: those of the widest bounds."""
    largest = np.cumsum(np.sort(np.minimum(high, held.sum()))[::-1]) * (1 + TOTAL_RELATIVE)
    least = np.cumsum(np.sort(low)) * (1 - TOTAL_RELATIVE)
    fewest = np.maximum(1, np.searchsorted(largest, held) + 1)
    return fewest, np.searchsorted(least, held, side="right")
