"""Resources and shares: the rules that assignment engines keep, and the words for what cannot be kept."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.assignment.resources import Resources
from konstrain.constraints.closure import Blocks
from konstrain.constraints.constraints import Constraints
from konstrain.constraints.explain import listed_rows
from konstrain.constraints.shares import Attribute
from konstrain.constraints.witness import Finding, SizeSums


@dataclass(frozen=True)
class RuleName:
    """What a rule is about, in words: ``"share of F"`` or ``"revenue"``, and which share it bounds."""

    about: str
    share: float | None = None
    side: str = ""


def rules_of(constraints: Constraints, blocks: Blocks) -> tuple[Resources | None, tuple[RuleName, ...]]:
    """Return the rules over blocks with their names; None where nothing of the kind is asked."""
    k = constraints.n_clusters
    columns: list[NDArray[np.float64]] = []
    rules: list[tuple[dict[int, float], NDArray[np.float64], NDArray[np.float64]]] = []
    names: list[RuleName] = []
    held = constraints.amounts
    if held is not None:
        for r, name in enumerate(held.names):
            columns.append(blocks.total(held.values[:, r]))
            rules.append(({r: 1.0}, held.low[:, r], held.high[:, r]))
            names.append(RuleName(name))
    for attribute in constraints.attributes:
        if not attribute.is_bounded:
            continue
        first = len(columns)
        columns += [blocks.total((attribute.codes == v).astype(np.float64)) for v in range(len(attribute.values))]
        for value, share, side in _share_rules(attribute):
            weights = {first + v: (v == value) - share for v in range(len(attribute.values))}
            low, high = (0.0, np.inf) if side == "min" else (-np.inf, 0.0)
            rules.append((weights, np.full(k, low), np.full(k, high)))
            names.append(RuleName(f"share of {attribute.words(value)}", share, side))
    if not rules:
        return None, ()
    matrix = np.zeros((len(rules), len(columns)))
    for r, (weights, _, _) in enumerate(rules):
        for column, weight in weights.items():
            matrix[r, column] = weight
    least = np.ascontiguousarray(np.column_stack([rule[1] for rule in rules]))
    most = np.ascontiguousarray(np.column_stack([rule[2] for rule in rules]))
    resources = Resources(np.column_stack(columns), matrix, least, most)
    return resources, tuple(names)


def _share_rules(attribute: Attribute) -> Iterator[tuple[int, float, str]]:
    """Value, share and side of each bound that could rule anything out."""
    low, high = attribute.low, attribute.high
    values = range(len(attribute.values))
    if len(attribute.values) == 2:
        # What one of two groups must have at least, the other has at most: rules about one of them say it all.
        low = np.maximum(low, 1.0 - high[::-1])
        high = np.minimum(high, 1.0 - attribute.low[::-1])
        values = range(1)
    for value in values:
        if low[value] > 0.0:
            yield value, float(low[value]), "min"
        if high[value] < 1.0:
            yield value, float(high[value]), "max"


def resource_findings(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    """Yield every necessary condition on resources and shares that fails, the plainest first."""
    for attribute in constraints.attributes:
        yield from _overall_shares(attribute)
        yield from _too_few_of_a_group(constraints, attribute)
    yield from _amounts(constraints, blocks)


def _overall_shares(attribute: Attribute) -> Iterator[Finding]:
    n, counts, shares = attribute.codes.size, attribute.counts, attribute.shares
    for v in range(len(attribute.values)):
        told = f"{counts[v]} of {n} rows are {attribute.words(v)} ({shares[v]:.3g} of them)"
        if shares[v] < attribute.low[v] * (1.0 - TOTAL_RELATIVE):
            message = (
                f"{told}: clusters that each hold a share of at least {attribute.low[v]:.4g} cannot hold all rows; "
                "lower share_min."
            )
            yield Finding("shares", message, SizeSums(attribute.low[v] * n, float(counts[v])))
        if shares[v] > attribute.high[v] * (1.0 + TOTAL_RELATIVE):
            message = (
                f"{told}: clusters that each hold a share of at most {attribute.high[v]:.4g} cannot hold all of them;"
                " raise share_max."
            )
            yield Finding("shares", message, SizeSums(float(counts[v]), attribute.high[v] * n))


def _too_few_of_a_group(constraints: Constraints, attribute: Attribute) -> Iterator[Finding]:
    """Clusters need whole rows: so many of the group in each, given how small the clusters may be."""
    n, k = constraints.n_samples, constraints.n_clusters
    least = np.full(k, 1.0 if constraints.nonempty else 0.0)
    if constraints.size_min is not None and constraints.demand is None:
        least = np.maximum(least, np.ceil(constraints.size_min * (1.0 - TOTAL_RELATIVE)))
    smallest = int(least.min())
    for v in range(len(attribute.values)):
        for share, having, words in (
            (float(attribute.low[v]), int(attribute.counts[v]), f"are {attribute.words(v)}"),
            (1.0 - float(attribute.high[v]), n - int(attribute.counts[v]), f"are not {attribute.words(v)}"),
        ):
            needed = sum(math.ceil(share * size * (1.0 - TOTAL_RELATIVE)) for size in least)
            if needed > having >= share * n * (1.0 - TOTAL_RELATIVE):
                hold = f"hold {share:.3g} of these"
                message = (
                    f"{having} of {n} rows {words}: {k} clusters of at least {smallest} rows cannot each {hold}, for "
                    f"that takes {needed}; relax the shares or ask for fewer clusters."
                )
                yield Finding("shares", message, SizeSums(float(needed), float(having)))


def _amounts(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    held = constraints.amounts
    if held is None:
        return
    for r, name in enumerate(held.names):
        total = float(held.values[:, r].sum())
        least, most = float(np.maximum(held.low[:, r], 0.0).sum()), float(held.high[:, r].sum())
        if least > total * (1.0 + TOTAL_RELATIVE):
            message = (
                f"size_min of {name} adds up to {least:g} over {constraints.n_clusters} clusters, but all rows hold "
                f"{total:g}; lower it or ask for fewer clusters."
            )
            yield Finding("resources", message, SizeSums(least, total))
        if most < total * (1.0 - TOTAL_RELATIVE):
            message = (
                f"size_max of {name} adds up to {most:g} over {constraints.n_clusters} clusters, but all rows hold "
                f"{total:g}; raise it or ask for more clusters."
            )
            yield Finding("resources", message, SizeSums(total, most))
        amount, room = blocks.total(held.values[:, r]), float(held.high[:, r].max())
        block = int(amount.argmax())
        if amount[block] > room * (1.0 + TOTAL_RELATIVE):
            rows = blocks.rows_of(block)
            message = (
                f"the block of rows {listed_rows(rows)} holds {amount[block]:g} of {name}, more than the largest "
                f"size_max {room:g}; raise it or split the block."
            )
            yield Finding("resources", message, SizeSums(float(amount[block]), room, tuple(rows.tolist())))
