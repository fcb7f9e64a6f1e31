"""Shares of groups and several resources: read, written as rules, and the reasons why they cannot be kept."""

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import share_of_text, term
from konstrain._tolerances import SHARE_SUM
from konstrain.constraints.inputs import Resources, membership_values, refuse_lazy

# Values named in a message.
_SHOWN: Final = 6


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of the rows, such as sex, with the share of a cluster that each of its values may take."""

    name: str  # The column's name; ``"category"`` for a plain list of values.
    values: list[Any]  # The values that occur, in order.
    codes: NDArray[np.int32]  # (n_samples,): which of them each row has.
    # `low` and `high`: (n_values,): least and largest share, 0 and 1 where there is no bound.
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each value."""
        return np.bincount(self.codes, minlength=len(self.values))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each value in all rows."""
        counts = self.counts
        found: NDArray[np.float64] = counts / max(int(counts.sum()), 1)
        return found

    def shares_in(self, labels: NDArray[Any], n_clusters: int) -> NDArray[np.float64]:
        """Share of each value in each cluster, shape (n_clusters, n_values); NaN in an empty one."""
        cells = labels.astype(np.int64) * len(self.values) + self.codes
        counts = np.bincount(cells, minlength=n_clusters * len(self.values)).reshape(n_clusters, -1)
        return _shares_in(counts)

    @property
    def is_bounded(self) -> bool:
        """Whether any share is bounded."""
        return bool((self.low > 0).any() or (self.high < 1).any())

    def shown(self, value: int) -> str:
        """Name a value for a message: alone where the attribute has no name of its own."""
        return str(self.values[value]) if self.name == "category" else f"{self.name}={self.values[value]}"


@dataclass(frozen=True, eq=False)
class CountedAttribute(Attribute):
    """An attribute of rows that are elsewhere: instead of the value of each row, how many rows have each value."""

    n_of: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each value."""
        return self.n_of


def shares_by_group(attributes: tuple[Attribute, ...], labels: NDArray[np.int32], n_clusters: int) -> dict[Any, Any]:
    """Share of each group in each cluster, by group; by attribute and group where there are several attributes."""
    return _by_group(attributes, [attribute.shares_in(labels, n_clusters) for attribute in attributes])


def shares_of_counts(attributes: tuple[Attribute, ...], counts: NDArray[np.float64]) -> dict[Any, Any]:
    """Return the same from what each cluster holds of each value of each attribute."""
    cuts = np.cumsum([len(attribute.values) for attribute in attributes])[:-1]
    return _by_group(attributes, [_shares_in(part) for part in np.split(counts, cuts, axis=1)] if attributes else [])


def _shares_in(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Shares of a cluster, shape (n_clusters, n_values); NaN in an empty one."""
    size = counts.sum(axis=1, keepdims=True)
    found: NDArray[np.float64] = np.divide(counts, size, out=np.full(counts.shape, np.nan), where=size > 0)
    return found


def _by_group(attributes: tuple[Attribute, ...], shares: list[NDArray[np.float64]]) -> dict[Any, Any]:
    by_attribute = {
        attribute.name: dict(zip(attribute.values, found.T, strict=True))
        for attribute, found in zip(attributes, shares, strict=True)
    }
    return next(iter(by_attribute.values())) if len(by_attribute) == 1 else by_attribute


def read_shares(
    category: Any, share_min: Any, share_max: Any, share_tolerance: Any, n_samples: int
) -> tuple[Attribute, ...]:
    """Return the attributes with their bounds; raise a ValueError of one line for what is malformed."""
    attributes = tuple(_attribute(name, column, n_samples) for name, column in columns_of(category))
    return bounded(attributes, share_min, share_max, share_tolerance)


def bounded(
    attributes: tuple[Attribute, ...], share_min: Any, share_max: Any, share_tolerance: Any
) -> tuple[Attribute, ...]:
    """Return attributes with the bounds on their shares."""
    low = _bounds("share_min", share_min, attributes, 0.0)
    high = _bounds("share_max", share_max, attributes, 1.0)
    tolerance = _tolerance(share_tolerance)
    read = []
    for attribute, least, most in zip(attributes, low, high, strict=True):
        if tolerance is not None:
            least = np.maximum(least, (1.0 - tolerance) * attribute.shares)
            most = np.minimum(most, np.minimum(attribute.shares / (1.0 - tolerance), 1.0))
        read.append(replace(attribute, low=least, high=most))
        _refuse_crossed(read[-1])
    return tuple(read)


def columns_of(category: Any) -> list[tuple[str, Any]]:
    """Names and values of the attributes, whatever table they come in."""
    refuse_lazy("category", category)
    if isinstance(category, Mapping):
        return [(str(name), column) for name, column in category.items()]
    names = getattr(category, "column_names", None) or getattr(category, "columns", None)
    if names is not None and not callable(names):
        return [(str(name), category[name]) for name in names]
    values = membership_values(category)
    if values.ndim == 2:
        return [(str(at), values[:, at]) for at in range(values.shape[1])]
    return [(str(getattr(category, "name", None) or "category"), values)]


def plain_category(category: Any) -> dict[str, NDArray[Any]] | None:
    """Return the attributes as arrays by name, whatever table they come in; None where there are none."""
    if category is None:
        return None
    return {name: membership_values(column) for name, column in columns_of(category)}


def _attribute(name: str, column: Any, n_samples: int) -> Attribute:
    values = membership_values(column)
    if values.shape != (n_samples,):
        raise ValueError(f"{name} must have one value per row, shape ({n_samples},), got {values.shape}")
    missing = first_missing(values)
    if missing is not None:
        raise ValueError(
            f"{name} has no value in row {missing}: give every row a group, or one of its own to rows without"
        )
    codes, found = coded(values)
    return Attribute(name, found, codes, np.zeros(len(found)), np.ones(len(found)))


def coded(values: NDArray[Any]) -> tuple[NDArray[np.int32], list[Any]]:
    """Return which of the values that occur each row has, and these values, in order."""
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(value, len(seen)) for value in values], dtype=np.int32)
        found = list(seen)
        order = sorted(range(len(found)), key=lambda at: str(found[at]))
        rank = np.empty(len(found), dtype=np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        return rank[codes], [found[at] for at in order]
    unique, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int32), unique.tolist()


def first_missing(values: NDArray[Any]) -> int | None:
    """Return the first row without a value; None: all have one."""
    if values.dtype.kind == "O":
        return next((at for at, value in enumerate(values) if value is None or _differs_from_itself(value)), None)
    wrong = np.flatnonzero(values != values)
    return int(wrong[0]) if wrong.size else None


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True


def _tolerance(value: Any) -> float | None:
    if value is None:
        return None
    share = share_of_text("share_tolerance", value) if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0.0 <= float(share) < 1.0:
        raise ValueError(f"{term('share_tolerance')} must be a number from 0 to below 1, got {value!r}")
    return float(share)


def _bounds(name: str, given: Any, attributes: tuple[Attribute, ...], default: float) -> list[NDArray[np.float64]]:
    """One bound per value of each attribute."""
    bounds = [np.full(len(attribute.values), default) for attribute in attributes]
    if given is None:
        return bounds
    if not isinstance(given, Mapping):
        share = _share(name, given)
        return [np.full(bound.size, share) for bound in bounds]
    by_name = {attribute.name: at for at, attribute in enumerate(attributes)}
    for key, value in given.items():
        if isinstance(value, Mapping):
            if key not in by_name:
                known = ", ".join(repr(attribute.name) for attribute in attributes)
                raise ValueError(f"{term(name)} names {key!r}, which is no attribute; category has {known}")
            at = by_name[key]
            for inner, share in value.items():
                bounds[at][_value(name, inner, attributes[at])] = _share(f"{term(name)}[{key!r}][{inner!r}]", share)
        elif len(attributes) == 1:
            bounds[0][_value(name, key, attributes[0])] = _share(f"{term(name)}[{key!r}]", value)
        else:
            raise ValueError(
                f"{term(name)}[{key!r}]: category has {len(attributes)} attributes, so name one, as in "
                f"{{{attributes[0].name!r}: {{{attributes[0].values[0]!r}: {value!r}}}}}"
            )
    return bounds


def _value(name: str, key: Any, attribute: Attribute) -> int:
    matches = [at for at, value in enumerate(attribute.values) if value == key or str(value) == str(key)]
    if not matches:
        known = ", ".join(repr(value) for value in attribute.values[:_SHOWN])
        more = ", ..." if len(attribute.values) > _SHOWN else ""
        raise ValueError(
            f"{term(name)} names {key!r}, but no row of {attribute.name} has it; there are {known}{more}"
        )
    return matches[0]


def _share(name: str, value: Any) -> float:
    share = share_of_text(name, value) if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0.0 <= float(share) <= 1.0:
        raise ValueError(f"{name} is {value!r}; a share is a number from 0 to 1")
    return float(share)


def _refuse_crossed(attribute: Attribute) -> None:
    """Refuse shares that no cluster could have, whatever the rows are."""
    crossed = np.flatnonzero(attribute.low > attribute.high)
    if crossed.size:
        at = int(crossed[0])
        low, high = attribute.low[at], attribute.high[at]
        raise ValueError(
            f"the least share {low:g} of {attribute.shown(at)} is larger than its largest share {high:g}"
        )
    least, most = math.fsum(attribute.low), math.fsum(attribute.high)
    if least > 1.0 + SHARE_SUM:
        raise ValueError(f"the least shares of {attribute.name} add up to {least:g}, more than a whole cluster")
    if most < 1.0 - SHARE_SUM:
        raise ValueError(f"the largest shares of {attribute.name} add up to {most:g}, less than a whole cluster")


@dataclass(frozen=True)
class RuleName:
    """What a rule bounds, as messages name it: ``"share of F"`` or ``"revenue"``, and which share."""

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
    def of(cls, n_clusters: int, amounts: Resources | None, attributes: tuple[Attribute, ...]) -> "RuleTable | None":
        """Return the rules; None where there are no such bounds."""
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
                names.append(RuleName(f"share of {attribute.shown(value)}", share, side))
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


def _share_rules(attribute: Attribute) -> Iterator[tuple[int, float, str]]:
    """Yield value, share and side of each bound that could rule anything out."""
    low, high = attribute.low, attribute.high
    values = range(len(attribute.values))
    if len(attribute.values) == 2:
        # Of two groups the least share of one is the largest of the other: rules about one of them suffice.
        low = np.maximum(low, 1.0 - high[::-1])
        high = np.minimum(high, 1.0 - attribute.low[::-1])
        values = range(1)
    for value in values:
        if low[value] > 0.0:
            yield value, float(low[value]), "min"
        if high[value] < 1.0:
            yield value, float(high[value]), "max"
