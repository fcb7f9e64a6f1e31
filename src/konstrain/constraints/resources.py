"""Resources and shares: the rules that assignment engines keep, and the words for what cannot be kept."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.assignment.rules import Rules
from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks
from konstrain.constraints.explain import listed_rows
from konstrain.constraints.inputs import Amounts
from konstrain.constraints.shares import Attribute
from konstrain.constraints.witness import Finding, SizeSums


@dataclass(frozen=True)
class RuleName:
    """What a rule is about, in words: ``"share of F"`` or ``"revenue"``, and which share it bounds."""

    about: str
    share: float | None = None
    side: str = ""


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Rules without the rows they are about: weights of amounts, the bounds of each cluster, and names.

    The amounts are the resources, then a count of rows for each value of each attribute whose shares are bounded.
    """

    weights: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: tuple[RuleName, ...]

    @classmethod
    def of(cls, n_clusters: int, amounts: Amounts | None, attributes: tuple[Attribute, ...]) -> "RuleTable | None":
        """Write down the rules; None where nothing of the kind is asked."""
        n_columns = 0 if amounts is None else len(amounts.names)
        rules: list[tuple[dict[int, float], NDArray[np.float64], NDArray[np.float64]]] = []
        names: list[RuleName] = []
        if amounts is not None:
            for r, name in enumerate(amounts.names):
                rules.append(({r: 1.0}, amounts.low[:, r], amounts.high[:, r]))
                names.append(RuleName(name))
        for attribute in bounded_attributes(attributes):
            values = range(len(attribute.values))
            for value, share, side in _share_rules(attribute):
                weights = {n_columns + v: (v == value) - share for v in values}
                low, high = (0.0, np.inf) if side == "min" else (-np.inf, 0.0)
                rules.append((weights, np.full(n_clusters, low), np.full(n_clusters, high)))
                names.append(RuleName(f"share of {attribute.words(value)}", share, side))
            n_columns += len(values)
        if not rules:
            return None
        matrix = np.zeros((len(rules), n_columns))
        for r, (weights, _, _) in enumerate(rules):
            for column, weight in weights.items():
                matrix[r, column] = weight
        least = np.ascontiguousarray(np.column_stack([rule[1] for rule in rules]))
        most = np.ascontiguousarray(np.column_stack([rule[2] for rule in rules]))
        return cls(matrix, least, most, tuple(names))


def bounded_attributes(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    """Attributes whose shares are bounded."""
    return tuple(attribute for attribute in attributes if attribute.is_bounded)


def rules_of(constraints: Constraints, blocks: Blocks) -> tuple[Rules | None, tuple[RuleName, ...]]:
    """Return the rules over blocks with their names; None where nothing of the kind is asked."""
    held = constraints.amounts
    table = RuleTable.of(constraints.n_clusters, held, constraints.attributes)
    if table is None:
        return None, ()
    columns = [] if held is None else [blocks.total(column) for column in held.values.T]
    for attribute in bounded_attributes(constraints.attributes):
        columns += [blocks.total((attribute.codes == v).astype(np.float64)) for v in range(len(attribute.values))]
    return Rules(np.column_stack(columns), table.weights, table.low, table.high), table.names


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
    counts, shares = attribute.counts, attribute.shares
    n = int(counts.sum())
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


def sums_of_resource(held: Amounts, resource: int, total: float) -> Iterator[Finding]:
    """Yield what the bounds of all clusters add up to, where that does not fit what all rows hold."""
    name, n_clusters = held.names[resource], held.low.shape[0]
    least, most = float(np.maximum(held.low[:, resource], 0.0).sum()), float(held.high[:, resource].sum())
    if least > total * (1.0 + TOTAL_RELATIVE):
        message = (
            f"size_min of {name} adds up to {least:g} over {n_clusters} clusters, but all rows hold "
            f"{total:g}; lower it or ask for fewer clusters."
        )
        yield Finding("resources", message, SizeSums(least, total))
    if most < total * (1.0 - TOTAL_RELATIVE):
        message = (
            f"size_max of {name} adds up to {most:g} over {n_clusters} clusters, but all rows hold "
            f"{total:g}; raise it or ask for more clusters."
        )
        yield Finding("resources", message, SizeSums(total, most))


def _amounts(constraints: Constraints, blocks: Blocks) -> Iterator[Finding]:
    held = constraints.amounts
    if held is None:
        return
    for r, name in enumerate(held.names):
        yield from sums_of_resource(held, r, float(held.values[:, r].sum()))
        amount, room = blocks.total(held.values[:, r]), float(held.high[:, r].max())
        block = int(amount.argmax())
        if amount[block] > room * (1.0 + TOTAL_RELATIVE):
            rows = blocks.rows_of(block)
            message = (
                f"the block of rows {listed_rows(rows)} holds {amount[block]:g} of {name}, more than the largest "
                f"size_max {room:g}; raise it or split the block."
            )
            yield Finding("resources", message, SizeSums(float(amount[block]), room, tuple(rows.tolist())))
