"""All constraints of one fit, read and checked, each remembering where it came from."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.arguments import ConstraintArguments, refuse_unknown
from konstrain.constraints.geometry import pairs_beyond_diameter, pairs_within_separation
from konstrain.constraints.inputs import (
    Amounts,
    Membership,
    read_amounts,
    read_limit,
    read_links,
    read_membership,
    read_n_clusters,
    read_resources,
    read_rows,
    read_sizes,
    refuse_too_heavy,
)
from konstrain.constraints.pairs import representatives
from konstrain.constraints.shares import Attribute, read_shares
from konstrain.rounding import demand_rounding


@dataclass(frozen=True, eq=False)
class Source:
    """Hard pairs that came in by one door: the argument's name, and its value where that is one number."""

    name: str
    pairs: NDArray[np.int32]
    value: float | None = None


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a user asked for, before anything is derived from it.

    Hard pairs are kept by source, so that an explanation can name the argument; groups and labels stay one code
    per row instead of all their pairs.
    """

    n_samples: int
    n_clusters: int
    X: Any
    must: tuple[Source, ...]
    cannot: tuple[Source, ...]
    soft_must: tuple[NDArray[np.int32], NDArray[np.float64]]
    soft_cannot: tuple[NDArray[np.int32], NDArray[np.float64]]
    groups: Membership | None
    labels: Membership | None
    size_min: NDArray[np.float64] | None
    size_max: NDArray[np.float64] | None
    demand: NDArray[np.float64] | None
    sample_weight: NDArray[np.float64] | None
    nonempty: bool
    amounts: Amounts | None = None
    attributes: tuple[Attribute, ...] = ()

    @classmethod
    def read(
        cls,
        X_or_n: Any,
        n_clusters: Any,
        *,
        nonempty: bool,
        **asked: Unpack[ConstraintArguments],
    ) -> Self:
        """Check every argument; what is wrong with one is a ValueError that names the row and the value."""
        refuse_unknown(asked)
        k = read_n_clusters(n_clusters)
        n, X = read_rows(X_or_n)
        must = read_links("must_link", asked.get("must_link"), n)
        cannot = read_links("cannot_link", asked.get("cannot_link"), n)
        group_of = read_membership("groups", asked.get("groups"), n)
        label_of = read_membership("labels", asked.get("labels"), n)
        sizes, demand = (asked.get("size_min"), asked.get("size_max")), asked.get("demand")
        amounts = read_resources(demand, *sizes, n, k)
        low, high = read_sizes(*sizes, k) if amounts is None else (None, None)
        demands = read_amounts("demand", _single_column(demand), n) if amounts is None else None
        shares = asked.get("share_min"), asked.get("share_max"), asked.get("share_tolerance")
        attributes = read_shares(asked.get("category"), *shares, n)
        weights = read_amounts("sample_weight", asked.get("sample_weight"), n)
        refuse_too_heavy(X, weights)
        diameter = read_limit("diameter_max", asked.get("diameter_max"))
        separation = read_limit("separation_min", asked.get("separation_min"))
        if X is None and (diameter is not None or separation is not None):
            name = "diameter_max" if diameter is not None else "separation_min"
            raise ValueError(f"{name} needs the rows themselves: give X instead of their number {n}")
        # All arguments are fine; only now the work of measuring distances begins.
        return cls(
            n_samples=n,
            n_clusters=k,
            X=X,
            must=_not_empty(Source("must_link", must.hard), _from_limit("separation_min", separation, X)),
            cannot=_not_empty(
                Source("cannot_link", cannot.hard),
                _from_limit("diameter_max", diameter, X),
                None if label_of is None else Source("labels", _label_pairs(label_of, k)),
            ),
            soft_must=(must.soft, must.confidence),
            soft_cannot=(cannot.soft, cannot.confidence),
            groups=group_of,
            labels=label_of,
            size_min=low,
            size_max=high,
            demand=demands,
            sample_weight=weights,
            nonempty=bool(nonempty),
            amounts=amounts,
            attributes=attributes,
        )

    @property
    def total_demand(self) -> float:
        """What all clusters hold together."""
        return float(self.n_samples if self.demand is None else self.demand.sum())

    @cached_property
    def demand_rounding(self) -> float:
        """By how much a sum of demands may miss a bound, as a share of that bound: rounding only."""
        return demand_rounding(self.demand, self.n_samples)


def _not_empty(*sources: Source | None) -> tuple[Source, ...]:
    return tuple(source for source in sources if source is not None and source.pairs.shape[0])


def _single_column(demand: Any) -> Any:
    """One resource in a table of one column is the same as in a list."""
    return np.asarray(demand)[:, 0] if np.ndim(demand) == 2 and np.shape(demand)[1] == 1 else demand


def _from_limit(name: str, limit: float | None, X: Any) -> Source | None:
    if limit is None:
        return None
    find = pairs_beyond_diameter if name == "diameter_max" else pairs_within_separation
    return Source(name, find(X, limit), limit)


def _label_pairs(labels: Membership, n_clusters: int) -> NDArray[np.int32]:
    # More labels than clusters cannot work, and n_clusters + 1 of them already show it.
    return representatives(labels, min(len(labels.names), n_clusters + 1))
