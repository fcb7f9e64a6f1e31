"""Constraints as users write them (`ConstraintArguments`), then read and checked (`Constraints`)."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import Any, Self, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from konstrain._documentation import completed
from konstrain._messages import term
from konstrain.constraints.connectivity import by_row_number, join_components, read_connectivity
from konstrain.constraints.inputs import (
    Membership,
    Resources,
    SizeArguments,
    needs_totals,
    plain,
    read_amounts,
    read_limit,
    read_links,
    read_membership,
    read_n_clusters,
    read_resources,
    read_rows,
    read_sizes,
    refuse_too_heavy,
    without_percents,
)
from konstrain.constraints.pairs import pairs_beyond_diameter, pairs_within_separation, representatives
from konstrain.constraints.previous import read_previous
from konstrain.constraints.shares import Attribute, plain_category, read_shares
from konstrain.links import LinkGraph
from konstrain.rounding import demand_rounding

Function = TypeVar("Function", bound=Callable[..., Any])

# The constraints that are about the graph over rows.
CONNECTIVITY = ("connectivity", "join_components")
# The constraints that are about groups of rows.
SHARES = ("category", "share_min", "share_max", "share_tolerance")


class ConstraintKeywords(TypedDict, total=False):
    """Constraints as keyword arguments, for type checkers: ``**arguments: Unpack[ConstraintKeywords]``."""

    must_link: Any
    cannot_link: Any
    groups: Any
    size_min: Any
    size_max: Any
    size_tolerance: Any
    demand: Any
    category: Any
    share_min: Any
    share_max: Any
    share_tolerance: Any
    sample_weight: Any
    diameter_max: float | None
    separation_min: float | None
    connectivity: Any
    join_components: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstraintArguments:
    """Constraints as users write them, nothing checked yet. None: no such constraint.

    Estimators, `check`, `certify`, `predict`, Dask and the command line hand this one object on. Links that can be
    iterated over only once become lists.

    Parameters
    ----------
    must_link, cannot_link : pairs, optional
        Rows that must, or must not, share a cluster: a list of pairs, an array of shape (n_pairs, 2), a frame, or a
        sparse adjacency matrix. A third column, or a float matrix, is a confidence in (0, 1] and makes the link soft;
        inf: hard.
    groups : array-like of shape (n_samples,), optional
        Rows of the same group must share a cluster; -1, None or NaN: no group.
    labels : array-like of shape (n_samples,), optional
        Rows of the same label must share a cluster, rows of different labels must not; -1, None or NaN: unknown.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on what a cluster holds: rows, or units of `demand`; "12%" is that share of what all rows hold. Where
        `demand` has several resources, one bound for each by name, ``{"revenue": 400}``, or in order, shape
        (n_resources,), or one for each cluster and resource, shape (n_clusters, n_resources).
    size_tolerance : float or str, optional
        With 0.1 or "10%", every cluster holds within 10% of an equal part, of each resource; with rows alone, sizes
        that differ by one at most are always within. With `size_min` or `size_max` as well, the stricter bound
        counts.
    demand : array-like of shape (n_samples,) or (n_samples, n_resources), optional
        What each row counts towards the size of its cluster, or holds of each of several resources; default 1.
    category : array-like of shape (n_samples,), or table with a column per attribute, optional
        The group of each row; `share_min`, `share_max` and `share_tolerance` bound its share of every cluster.
    share_min, share_max : float, str or dict, optional
        Least and largest share of a cluster's rows that each group of `category` may take: ``{"F": "40%"}``; of
        several attributes ``{"sex": {"F": 0.4}}``; one share holds for every group. Shares count rows, not weights.
    share_tolerance : float or str, optional
        With t, 0.1 or "10%", and r the share of a group in all rows, its share of every cluster is from (1 - t) r to
        r / (1 - t). With `share_min` or `share_max` as well, the stricter bound counts.
    sample_weight : array-like of shape (n_samples,), optional
        What each row counts in centers and costs; default 1.
    diameter_max : float, optional
        Rows further apart than this must not share a cluster.
    separation_min : float, optional
        Rows closer than this must share a cluster.
    connectivity : sparse matrix, networkx graph, libpysal weights or array of shape (n_edges, 2), optional
        Which rows are neighbours; every cluster is then in one piece. Edges count in both directions; weights, and
        edges of a row to itself, do not count. Nodes are row numbers, or the names in the index of a DataFrame X.
    join_components : bool, default=False
        Whether edges between the nearest rows connect a graph of `connectivity` that is in several components. If
        not, no cluster spans two of them.
    previous : array-like of shape (n_samples,), optional
        Cluster of each row in an earlier clustering, 0 to n_clusters - 1; -1, None or NaN: a new row. Clusters keep
        their numbers, and rows that leave them cost.
    nonempty : bool, default=True
        Whether every cluster must receive at least one row.

    Examples
    --------
    >>> arguments = ConstraintArguments(must_link=iter([(0, 1)]), size_max=3)
    >>> arguments.given(), arguments.links
    ({'must_link': [(0, 1)], 'size_max': 3}, {'must_link': [(0, 1)], 'cannot_link': None})
    """

    must_link: Any = None
    cannot_link: Any = None
    groups: Any = None
    labels: Any = None
    size_min: Any = None
    size_max: Any = None
    size_tolerance: Any = None
    demand: Any = None
    category: Any = None
    share_min: Any = None
    share_max: Any = None
    share_tolerance: Any = None
    sample_weight: Any = None
    diameter_max: float | None = None
    separation_min: float | None = None
    connectivity: Any = None
    join_components: bool = False
    previous: Any = None
    nonempty: bool = True

    def __post_init__(self) -> None:
        for name, links in self.links.items():
            if isinstance(links, Iterator):
                object.__setattr__(self, name, list(links))

    @property
    def links(self) -> dict[str, Any]:
        """Links of both kinds by name, given or not."""
        return {"must_link": self.must_link, "cannot_link": self.cannot_link}

    @property
    def sizes(self) -> SizeArguments:
        """Bounds on what clusters hold, given or not."""
        return SizeArguments(self.size_min, self.size_max, self.size_tolerance)

    @property
    def shares(self) -> dict[str, Any]:
        """Bounds on shares of groups by name, given or not."""
        return {name: getattr(self, name) for name in SHARES[1:]}

    def with_numbers(self, n_samples: int, n_clusters: int | None = None) -> Self:
        """Return the same with sizes as numbers where they are percentages, by resource, or within a tolerance.

        Without `n_clusters` a tolerance stays.
        """
        if n_clusters is None:
            amounts = (
                np.ones(n_samples) if self.demand is None else np.asarray(_single_column(self.demand), dtype=float)
            )
            for name, sizes in vars(self.sizes.by_cluster(self.demand, 1)).items():
                if name != "size_tolerance":
                    given = sizes if sizes is getattr(self, name) else sizes[0]
                    self = replace(self, **{name: without_percents(name, given, amounts.sum(axis=0))})
            return replace(self, demand=_single_column(self.demand))
        if self.size_tolerance is None and not any(map(needs_totals, (self.size_min, self.size_max))):
            return self
        read = Constraints.read(
            n_samples, n_clusters, replace(ConstraintArguments(demand=self.demand), **vars(self.sizes))
        )
        low, high = read.size_min, read.size_max
        if read.amounts is not None:
            low, high = np.maximum(read.amounts.low, 0.0), read.amounts.high
        elif low is not None and self.demand is None:
            low = np.where(low < 1.0, np.ceil(low), low)
        return replace(self, size_min=low, size_max=high, size_tolerance=None)

    def refuse_shares(self) -> None:
        """Raise when shares are bounded: there are no groups."""
        for name, value in self.shares.items():
            if value is not None:
                raise ValueError(f"{term(name)} is about groups of rows: give category, one value per row")

    def given(self) -> dict[str, Any]:
        """Return the constraints that are given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {field.name: values[field.name] for field in fields(self) if values[field.name] is not field.default}

    def plain(self) -> dict[str, Any]:
        """Return the constraints that are given, with arrays in place of frames: what a fitted model keeps."""
        values = {name: plain(value) for name, value in self.given().items()}
        return values if self.category is None else {**values, "category": plain_category(self.category)}


def takes_constraints(*without: str) -> Callable[[Function], Function]:
    """Name constraints in the signature and docstring of a function of ``**arguments: Unpack[ConstraintKeywords]``.

    The constraints in `without`, and names that are no constraints, are refused.
    """

    def decorate(function: Function) -> Function:
        plain = inspect.signature(function)
        own = [p for p in plain.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        names = [name for name in ConstraintKeywords.__annotations__ if name not in without]
        keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(name)) for name in names]
        # A stable sort: parameters of the function's own come before constraints.
        signature = plain.replace(parameters=sorted([*own, *keywords], key=lambda parameter: parameter.kind))

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in signature.parameters:
                    raise TypeError(f"unexpected keyword argument {name!r}; constraints are {', '.join(names)}")
            return function(*args, **given)

        checked.__doc__ = completed(function.__doc__, signature.parameters, ConstraintArguments.__doc__)
        vars(checked)["__signature__"] = signature
        return cast(Function, checked)

    return decorate


def _default(name: str) -> Any:
    return getattr(ConstraintArguments, name)


@dataclass(frozen=True, eq=False)
class PairSource:
    """Hard pairs of one argument: its name, and its value where that is one number."""

    name: str
    pairs: NDArray[np.int32]
    value: float | None = None


@dataclass(frozen=True, eq=False)
class Constraints:
    """Arguments read and checked, before anything is derived from them.

    Hard pairs are kept by source, so that an explanation can name the argument; groups and labels stay one code
    per row instead of all their pairs.
    """

    n_samples: int
    n_clusters: int
    X: Any
    must: tuple[PairSource, ...]
    cannot: tuple[PairSource, ...]
    soft_must: tuple[NDArray[np.int32], NDArray[np.float64]]
    soft_cannot: tuple[NDArray[np.int32], NDArray[np.float64]]
    groups: Membership | None
    labels: Membership | None
    size_min: NDArray[np.float64] | None
    size_max: NDArray[np.float64] | None
    demand: NDArray[np.float64] | None
    sample_weight: NDArray[np.float64] | None
    nonempty: bool
    amounts: Resources | None = None
    attributes: tuple[Attribute, ...] = ()
    connectivity: LinkGraph | None = None
    previous: NDArray[np.int32] | None = None

    @classmethod
    def read(cls, X_or_n: Any, n_clusters: Any, arguments: ConstraintArguments) -> Self:
        """Check every argument; what is wrong with one is a ValueError that names the row and the value."""
        k = read_n_clusters(n_clusters)
        n, X = read_rows(X_or_n)
        must = read_links("must_link", arguments.must_link, n)
        cannot = read_links("cannot_link", arguments.cannot_link, n)
        group_of = read_membership("groups", arguments.groups, n)
        label_of = read_membership("labels", arguments.labels, n)
        amounts = read_resources(arguments.demand, arguments.sizes, n, k)
        low, high, demands = None, None, None
        if amounts is None:
            demands = read_amounts("demand", _single_column(arguments.demand), n)
            total = float(n if demands is None else demands.sum())
            low, high = read_sizes(
                arguments.sizes.by_cluster(arguments.demand, k), k, total, counts_rows=demands is None
            )
        if arguments.category is None:
            arguments.refuse_shares()
        attributes = (
            () if arguments.category is None else read_shares(arguments.category, **arguments.shares, n_samples=n)
        )
        weights = read_amounts("sample_weight", arguments.sample_weight, n)
        refuse_too_heavy(X, weights)
        diameter = read_limit("diameter_max", arguments.diameter_max)
        separation = read_limit("separation_min", arguments.separation_min)
        if X is None and (diameter is not None or separation is not None):
            name = "diameter_max" if diameter is not None else "separation_min"
            raise ValueError(f"{name} needs the rows themselves: give X instead of their number {n}")
        connectivity = None
        if arguments.connectivity is not None:
            connectivity = read_connectivity(by_row_number(arguments.connectivity, X_or_n), n)
        if connectivity is not None and arguments.join_components:
            connectivity = join_components(connectivity, X)
        # Only after all checks: measuring distances takes long.
        return cls(
            n_samples=n,
            n_clusters=k,
            X=X,
            must=_not_empty(PairSource("must_link", must.hard), _from_limit("separation_min", separation, X)),
            cannot=_not_empty(
                PairSource("cannot_link", cannot.hard),
                _from_limit("diameter_max", diameter, X),
                None if label_of is None else PairSource("labels", _label_pairs(label_of, k)),
            ),
            soft_must=(must.soft, must.confidence),
            soft_cannot=(cannot.soft, cannot.confidence),
            groups=group_of,
            labels=label_of,
            size_min=low,
            size_max=high,
            demand=demands,
            sample_weight=weights,
            nonempty=bool(arguments.nonempty),
            amounts=amounts,
            attributes=attributes,
            connectivity=connectivity,
            previous=None if arguments.previous is None else read_previous(arguments.previous, n, k),
        )

    @property
    def total_demand(self) -> float:
        """What all clusters hold together."""
        return float(self.n_samples if self.demand is None else self.demand.sum())

    @cached_property
    def demand_rounding(self) -> float:
        """By how much a sum of demands may miss a bound, as a share of that bound: rounding only."""
        return demand_rounding(self.demand, self.n_samples)


def _not_empty(*sources: PairSource | None) -> tuple[PairSource, ...]:
    return tuple(source for source in sources if source is not None and source.pairs.shape[0])


def _single_column(demand: Any) -> Any:
    """One resource in a table of one column is the same as in a list."""
    return np.asarray(demand)[:, 0] if np.ndim(demand) == 2 and np.shape(demand)[1] == 1 else demand


def _from_limit(name: str, limit: float | None, X: Any) -> PairSource | None:
    if limit is None:
        return None
    find = pairs_beyond_diameter if name == "diameter_max" else pairs_within_separation
    return PairSource(name, find(X, limit), limit)


def _label_pairs(labels: Membership, n_clusters: int) -> NDArray[np.int32]:
    # More labels than clusters cannot work, and n_clusters + 1 of them already show it.
    return representatives(labels, min(len(labels.names), n_clusters + 1))
