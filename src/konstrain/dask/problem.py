"""The problem of a fit whose rows are elsewhere: bounds, and the rows with links, which are few and here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import DEMAND_RELATIVE, DEMAND_TERMS
from konstrain.constraints import Problem, inputs
from konstrain.constraints.shares import Attribute
from konstrain.dask.passes import Amounts, Rows, Rules, Seen
from konstrain.dask.prices import Bounds
from konstrain.links import LinkGraph
from konstrain.rounding import LARGEST_EXACT


@dataclass(frozen=True, eq=False)
class Tied:
    """Rows with links, gathered once: blocks and conflicts as in memory.

    Parameters
    ----------
    problem : Problem
        Of these rows alone, without sizes.
    numbers : ndarray of int64
        Which rows these are, ascending.
    must_link, cannot_link : ndarray of float64, shape (n_pairs, 3)
        The links by place among these rows, each with its confidence.
    held : ndarray of shape (n_rows, n_held), or None
        What these rows hold, as in `Rows`.
    """

    problem: Problem
    numbers: NDArray[np.int64]
    must_link: NDArray[np.float64]
    cannot_link: NDArray[np.float64]
    held: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class Overview:
    """What is known of all rows together after a first look at each partition."""

    n_samples: int
    mean: NDArray[np.float64]
    mean_variance: float
    weight: Amounts
    demand: Amounts
    held: tuple[Amounts, ...] = ()

    @classmethod
    def of(cls, seen: list[Seen]) -> "Overview":
        """Put the looks at all partitions together."""
        n_samples, mean, spread = 0, np.zeros_like(seen[0].mean), np.zeros_like(seen[0].spread)
        held = []
        for part in (part for part in seen if part.n_rows):
            held.append([replace(column, where=n_samples + column.where) for column in part.held])
            # Chan, Golub and LeVeque (1979): variances of parts add up without large numbers cancelling.
            total = n_samples + part.n_rows
            apart = part.mean - mean
            spread = spread + part.spread + apart**2 * (n_samples * part.n_rows / total)
            mean = mean + apart * (part.n_rows / total)
            n_samples = total
        variance = float(spread.sum()) / max(1, n_samples * mean.size)
        return cls(
            n_samples,
            mean,
            variance,
            _together([part.weight for part in seen if part.n_rows]),
            _together([part.demand for part in seen if part.n_rows]),
            tuple(
                _together(list(column)) for column in zip(*(part.held for part in seen if part.n_rows), strict=True)
            ),
        )

    @property
    def totals(self) -> NDArray[np.float64]:
        """What all rows together have of each amount of `Rows.amounts`."""
        return np.array(
            [*(column.total for column in self.held), self.demand.total, self.n_samples], dtype=np.float64
        )

    @property
    def amounts_rounding(self) -> float:
        """By how much sums of amounts may miss a bound, as a share of it."""
        return _rounding((*self.held, self.demand), self.n_samples)


def _rounding(columns: Sequence[Amounts], n_samples: int) -> float:
    """By how much sums may miss a bound, as a share of it; as `rounding.demand_rounding` has it."""
    is_whole = all(column.are_whole for column in columns) and sum(c.total for c in columns) <= LARGEST_EXACT
    return DEMAND_RELATIVE * (DEMAND_TERMS if is_whole else max(DEMAND_TERMS, n_samples))


def _together(parts: list[Amounts]) -> Amounts:
    return Amounts(
        total=sum(part.total for part in parts),
        least=min((part.least for part in parts), default=np.inf),
        n_zero=sum(part.n_zero for part in parts),
        are_whole=all(part.are_whole for part in parts),
        first=parts[0].first if parts else np.nan,
        are_equal=all(part.are_equal and part.first == parts[0].first for part in parts),
        bad=None,
        largest=max((part.largest for part in parts), default=0.0),
        where=max(parts, key=lambda part: part.largest).where if parts else 0,
    )


@dataclass(frozen=True, eq=False)
class RemoteRules:
    """Bounds on several sums per cluster, of amounts that are where the rows are.

    Parameters
    ----------
    rules : Rules
        Which sums.
    bounds : Bounds
        Their bounds in each cluster, as sums are compared with them.
    least : float
        How many units of the rules a row adds at least, if it adds any.
    """

    rules: Rules
    bounds: Bounds
    least: float


@dataclass(frozen=True, eq=False)
class RemoteProblem:
    """What a k-means loop asks of a `Problem`, for rows that are elsewhere."""

    overview: Overview
    n_clusters: int
    size_min: NDArray[np.float64] | None
    size_max: NDArray[np.float64] | None
    tied: Tied | None
    nonempty: bool = True
    # Several resources and shares, with sizes among them; and the same with clusters that must not be empty.
    resources: RemoteRules | None = None
    filling: RemoteRules | None = None
    # What these are about; resources have bounds and names here, and no rows.
    amounts: inputs.Resources | None = None
    attributes: tuple[Attribute, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.overview.n_samples

    @property
    def n_blocks(self) -> int:
        """Number of blocks; rows without links are blocks of their own."""
        merged = 0 if self.tied is None else self.tied.problem.n_samples - self.tied.problem.n_blocks
        return self.n_samples - merged

    @property
    def has_sizes(self) -> bool:
        """Whether sizes are bounded."""
        return self.size_min is not None or self.size_max is not None

    @property
    def has_bounds(self) -> bool:
        """Whether what clusters hold is bounded: sizes, resources or shares."""
        return self.has_sizes or self.resources is not None

    @property
    def is_free(self) -> bool:
        """Whether every row may go where it likes."""
        return self.tied is None and not self.has_bounds

    @property
    def has_soft_links(self) -> bool:
        """Whether some link may be broken at a price."""
        return self.tied is not None and self.tied.problem.has_soft_links

    @property
    def has_unit_demand(self) -> bool:
        """Whether every block counts 1."""
        is_unit = self.overview.demand.are_equal and self.overview.demand.first == 1.0
        return is_unit and (self.tied is None or self.tied.problem.has_unit_demand)

    @property
    def constant_penalty(self) -> float:
        """Confidences of soft links that every clustering breaks."""
        return 0.0 if self.tied is None else self.tied.problem.constant_penalty

    @property
    def links(self) -> LinkGraph | None:
        """Links among the tied blocks, by their confidences."""
        return None if self.tied is None else self.tied.problem.links

    def links_at(self, violation_cost: float | None) -> LinkGraph | None:
        """Links among the tied blocks."""
        return None if self.tied is None else self.tied.problem.links_at(violation_cost)

    @property
    def bounds(self) -> Bounds:
        """Bounds as sizes are compared with them."""
        low = np.zeros(self.n_clusters) if self.size_min is None else self.size_min
        high = np.full(self.n_clusters, np.inf) if self.size_max is None else self.size_max
        rounding = _rounding((self.overview.demand,), self.n_samples)
        # A least size of nothing is none.
        return Bounds(np.where(low > 0, low * (1.0 - rounding), -np.inf), high * (1.0 + rounding))


def blocks_of(tied: Tied | None, n_features: int, n_held: int) -> Rows:
    """Return the tied blocks as if each were a row: means, weights, demands, and what they hold."""
    if tied is None:
        return Rows(np.zeros((0, n_features)), np.zeros(0), np.zeros(0), np.zeros((0, n_held)))
    problem = tied.problem
    held = np.zeros((problem.n_blocks, n_held))
    for place, column in enumerate(() if tied.held is None else tied.held.T):
        held[:, place] = problem.blocks.total(column.astype(np.float64))
    return Rows(problem.mean, problem.weight, problem.demand, held)
