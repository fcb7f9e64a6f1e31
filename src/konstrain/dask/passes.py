"""What workers run: one partition of the rows in, something small out. Nothing here knows of Dask."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.kmeans import distances

# Rows whose costs in all clusters are in memory at a time: few enough to stay in a cache.
CHUNK = 1 << 12
# Widths at which rows near a tie are counted, as shares of the widest: how fast sizes follow prices, near and far.
BANDS = (1.0, 1 / 4, 1 / 16, 1 / 64)

# Rows near a tie that a partition may always send.
LEAST_SENT = 1024

_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Rows:
    """One partition as the kernels take it.

    Parameters
    ----------
    values : ndarray of float64 or float32, shape (n_rows, n_features), C-contiguous
        The rows.
    weight, demand : ndarray of float64, shape (n_rows,), or None
        What each row counts in costs, and towards the size of its cluster; None: 1 each.
    held : ndarray of float64 or uint8, shape (n_rows, n_held), or None
        What each row holds of several resources, and for each group whose share is bounded whether it is of that
        group; None: nothing of the kind is bounded.
    """

    values: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    demand: NDArray[np.float64] | None = None
    held: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __sizeof__(self) -> int:
        # Dask decides by this what to move to disk.
        arrays = (self.values, self.weight, self.demand, self.held)
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays if array is not None)

    def at(self, places: NDArray[np.intp]) -> "Rows":
        """Return some of the rows."""
        return Rows(
            np.ascontiguousarray(self.values[places]),
            None if self.weight is None else self.weight[places],
            None if self.demand is None else self.demand[places],
            None if self.held is None else self.held[places],
        )

    def amounts(self, part: slice = slice(None)) -> NDArray[np.float64]:
        """What each row adds to the sums that rules are about: what it holds, its demand, and 1."""
        demand = self.demands()[part]
        held = np.zeros((demand.size, 0)) if self.held is None else self.held[part]
        return np.column_stack([held, demand, np.ones(demand.size)])

    def weights(self) -> NDArray[np.float64]:
        """Weight of each row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def demands(self) -> NDArray[np.float64]:
        """Demand of each row."""
        return np.ones(len(self)) if self.demand is None else self.demand


@dataclass(frozen=True, eq=False)
class Rules:
    """Which sums per cluster have prices, where these are not the sizes alone.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_rules, n_amounts)
        Weights of a row's amounts (`Rows.amounts`) in each bounded sum.
    unit : ndarray of float64, shape (n_rules,)
        What a row adds to each of them on average: by these, gaps of rows and changes of prices are compared.
    """

    weights: NDArray[np.float64]
    unit: NDArray[np.float64]

    def of(self, rows: Rows, part: slice = slice(None)) -> NDArray[np.float64]:
        """What each row adds to each rule."""
        added: NDArray[np.float64] = rows.amounts(part) @ self.weights.T
        return added

    def scale(self, added: NDArray[np.float64]) -> NDArray[np.float64]:
        """How many units each row adds at most: by this a change of prices concerns it more than others."""
        most: NDArray[np.float64] = (np.abs(added) / self.unit).max(axis=1)
        return most


def span(rules: Rules | None, moved: NDArray[np.float64]) -> float:
    """By how much a change of prices makes one cluster dearer than another at most, per unit that a row counts."""
    if rules is None:
        return float(np.ptp(moved))
    by_unit = moved * rules.unit
    return max(float(np.abs(by_unit - one).sum(axis=1).max()) for one in by_unit)


@dataclass(frozen=True, eq=False)
class Question:
    """What a pass over all rows asks; the same for every partition.

    Parameters
    ----------
    centers : ndarray of float64, shape (n_clusters, n_features)
        Centers of the clusters.
    prices : ndarray of float64, shape (n_clusters,) or (n_clusters, n_rules)
        What a unit of demand, or of each rule, pays in each cluster.
    near_gap : float
        Rows that prefer their cluster by no more than this, per unit of demand, are sent; negative: none.
    most_near : float
        Share of a partition's rows that is sent at most.
    width : float
        Per unit of demand, by how little rows must prefer their cluster to be kept, and counted in `Sums.pairs`; 0:
        none is.
    rules : Rules or None
        What prices are for; None: for sizes.
    """

    centers: NDArray[np.float64]
    prices: NDArray[np.float64]
    near_gap: float = -1.0
    most_near: float = 1.0
    width: float = 0.0
    rules: Rules | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """Where a partition lies among all rows, and which of its rows the client places (by their places in it)."""

    number: int
    first_row: int
    n_rows: int = 0
    tied: NDArray[np.int64] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, eq=False)
class Near:
    """Rows that prefer their cluster least, by their numbers among all rows."""

    numbers: NDArray[np.int64]
    rows: Rows
    labels: NDArray[np.int32]
    gaps: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: "list[Near]") -> "Near":
        """Put the rows of several partitions together."""
        return cls(
            np.concatenate([part.numbers for part in parts]),
            joined_rows([part.rows for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.gaps for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Sums:
    """What a pass returns of a partition, or of several: small, however many rows they hold.

    Parameters
    ----------
    sums, weights
        Weighted sum of the rows of each cluster, and its weight.
    counts, sizes
        Rows of each cluster, and their demand.
    cost : float
        Weighted squared distances of all rows to the centers of their clusters.
    paid : float
        Prices that all rows pay, at their demand.
    digest : int
        A sum over rows and their labels by which two labelings of all rows are told apart; see `digest_of`.
    near : Near
        Rows near a tie.
    reach : float
        Every row that is not among these prefers its cluster by at least this, per unit of demand.
    pairs : dict from (cluster, second-best cluster, band) to float or ndarray of shape (n_rules, n_rules)
        Demand of the rows that prefer their cluster by less than each of the bands; of rules the sums of products of
        what a row adds to two of them, per unit that it counts.
    amounts : ndarray of float64, shape (n_clusters, n_amounts)
        What clusters hold of each amount, where prices are for rules.
    """

    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    sizes: NDArray[np.float64]
    cost: float
    paid: float
    digest: int
    near: Near
    reach: float
    pairs: dict[int, Any]
    amounts: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: "list[Sums]") -> "Sums":
        """Add up several partitions, always in the order in which they are given."""
        pairs: dict[int, Any] = {}
        for part in parts:
            for key, demand in part.pairs.items():
                pairs[key] = pairs.get(key, 0.0) + demand
        return cls(
            sums=_total([part.sums for part in parts]),
            weights=_total([part.weights for part in parts]),
            counts=_total([part.counts for part in parts]),
            sizes=_total([part.sizes for part in parts]),
            cost=sum(part.cost for part in parts),
            paid=sum(part.paid for part in parts),
            digest=sum(part.digest for part in parts) % 2**64,
            near=Near.joined([part.near for part in parts]),
            reach=min(part.reach for part in parts),
            pairs=pairs,
            amounts=_total([part.amounts for part in parts]),
        )


def _total(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def joined_rows(parts: list[Rows]) -> Rows:
    """Put rows together; all have weights, demands and holdings, or none has."""
    return Rows(
        np.concatenate([part.values for part in parts]),
        _joined_if_any([part.weight for part in parts]),
        _joined_if_any([part.demand for part in parts]),
        _joined_if_any([part.held for part in parts]),
    )


def _joined_if_any(arrays: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [array for array in arrays if array is not None]
    return np.concatenate(given) if given else None


def priced_labels(
    rows: Rows, centers: NDArray[np.float64], prices: NDArray[np.float64], rules: Rules | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the cheapest cluster of each row at these prices, and per unit it counts how much dearer the second is.

    Rows that count nothing pay no prices and never change their minds: by as much as can be. Rows without weight go
    to the nearest center.
    """
    labels, gaps = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
    scale = _cost_per_demand(rows) if rules is None else rows.weight
    costs = np.empty((min(CHUNK, len(rows)), len(centers)))
    per_unit = np.ones(len(rows))
    for begin in range(0, len(rows), CHUNK):
        part = slice(begin, min(begin + CHUNK, len(rows)))
        weight = None if scale is None else scale[part]
        some = distances.block_costs(rows.values[part], weight, centers, out=costs[: part.stop - begin])
        if rules is None:
            labels[part], gaps[part] = _core.price_rows(some, prices)
            continue
        added = rules.of(rows, part)
        some += added @ prices.T
        labels[part], gaps[part] = _core.price_rows(some, np.zeros(len(centers)))
        per_unit[part] = rules.scale(added)
    if rules is not None:
        np.divide(gaps, per_unit, out=gaps, where=per_unit > 0)
    counts = rows.demand if rules is None else per_unit
    _place_idle(rows, counts, centers, labels, gaps)
    return labels, gaps


def _cost_per_demand(rows: Rows) -> NDArray[np.float64] | None:
    """Return what distances are multiplied by to be costs per unit of demand; None: 1 each."""
    if rows.demand is None:
        return rows.weight
    return np.divide(rows.weights(), rows.demand, out=np.ones(len(rows)), where=rows.demand > 0)


def _place_idle(
    rows: Rows,
    counts: NDArray[np.float64] | None,
    centers: NDArray[np.float64],
    labels: NDArray[np.int32],
    gaps: NDArray[np.float64],
) -> None:
    """Put rows that prices do not concern, for they count nothing or cost nothing, where they are nearest."""
    idle = np.zeros(len(rows), dtype=bool)
    if counts is not None:
        idle |= counts == 0
    if rows.weight is not None:
        idle |= rows.weight == 0
    if idle.any():
        labels[idle] = distances.nearest_pass(np.ascontiguousarray(rows.values[idle]), None, centers)[0]
        gaps[idle] = np.inf


def sum_up(question: Question, rows: Rows, place: Place) -> Sums:
    """Put each row into its cheapest cluster and add up what the clusters hold; tied rows are left aside."""
    labels, gaps = priced_labels(rows, question.centers, question.prices, question.rules)
    gaps[place.tied] = np.inf
    numbers = place.first_row + np.arange(len(rows), dtype=np.int64)
    return _added_up(question, rows, numbers, labels, gaps, place.tied, len(rows))


@dataclass(frozen=True, eq=False)
class Kept:
    """A partition as far as prices nearby concern it: what stays where it is, added up, and the rows that may move.

    Parameters
    ----------
    far : Sums
        Of the rows that prefer their cluster by more than `far.reach`.
    rows, numbers
        All other rows, but for tied ones, and their numbers.
    prices : ndarray of float64, shape (n_clusters,)
        The prices at which it is so.
    """

    far: Sums
    rows: Rows
    numbers: NDArray[np.int64]
    prices: NDArray[np.float64]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.rows.__sizeof__() + self.numbers.nbytes + self.far.sums.nbytes


def keep(question: Question, rows: Rows, place: Place) -> Kept:
    """Put each row into its cheapest cluster and keep those that prefer it by no more than `question.width`."""
    labels, gaps = priced_labels(rows, question.centers, question.prices, question.rules)
    gaps[place.tied] = np.inf
    numbers = place.first_row + np.arange(len(rows), dtype=np.int64)
    kept = np.flatnonzero((gaps <= question.width) & np.isfinite(gaps))
    left_out = np.concatenate([place.tied, kept])
    gaps[left_out] = np.inf
    nothing = replace(question, near_gap=-1.0, width=0.0)
    return Kept(
        _added_up(nothing, rows, numbers, labels, gaps, left_out, 0), rows.at(kept), numbers[kept], question.prices
    )


def look_again(question: Question, kept: Kept, place: Place) -> Sums:
    """Add up a partition at prices no further from those it was kept at than `far.reach`."""
    labels, gaps = priced_labels(kept.rows, question.centers, question.prices, question.rules)
    near = _added_up(question, kept.rows, kept.numbers, labels, gaps, _NOTHING, place.n_rows)
    reach = kept.far.reach - span(question.rules, question.prices - kept.prices)
    far = replace(kept.far, reach=reach, paid=_paid(question, kept.far.sizes, kept.far.amounts))
    return Sums.joined([far, near])


def _added_up(
    question: Question,
    rows: Rows,
    numbers: NDArray[np.int64],
    labels: NDArray[np.int32],
    gaps: NDArray[np.float64],
    left_out: NDArray[np.int64],
    n_rows: int,
) -> Sums:
    """Add up all rows but some, whose gaps are infinite; `n_rows` is what the share of rows to send is of."""
    n_clusters = len(question.centers)
    weight, demand = rows.weight, rows.demand
    if left_out.size:
        weight, demand = rows.weights().copy(), rows.demands().copy()
        weight[left_out] = demand[left_out] = 0.0
    sums, weights = distances.center_sums(rows.values, weight, labels, n_clusters)
    sizes = np.bincount(labels, demand, n_clusters).astype(np.float64)
    amounts = np.zeros((n_clusters, 0))
    if rows.held is not None:
        amounts = amounts_in(rows, labels, n_clusters, left_out)
    near, reach = _nearest_to_a_tie(gaps, question.near_gap, max(LEAST_SENT, int(question.most_near * n_rows)))
    digest = digest_of(numbers, labels) - digest_of(numbers[left_out], labels[left_out])
    return Sums(
        sums=sums,
        weights=weights,
        counts=np.bincount(labels, minlength=n_clusters) - np.bincount(labels[left_out], minlength=n_clusters),
        sizes=sizes,
        cost=distances.own_costs(rows.values, weight, labels, question.centers),
        paid=_paid(question, sizes, amounts),
        digest=digest % 2**64,
        near=Near(numbers[near], rows.at(near), labels[near], gaps[near]),
        reach=reach,
        pairs=_count_pairs(rows, question, labels, gaps) if question.width > 0 else {},
        amounts=amounts,
    )


def _paid(question: Question, sizes: NDArray[np.float64], amounts: NDArray[np.float64]) -> float:
    if question.rules is None:
        return float(sizes @ question.prices)
    return float(((amounts @ question.rules.weights.T) * question.prices).sum())


def amounts_in(
    rows: Rows, labels: NDArray[np.int32], n_clusters: int, left_out: NDArray[np.int64] = _NOTHING
) -> NDArray[np.float64]:
    """What clusters hold of each amount, some rows left out."""
    amounts = rows.amounts()
    amounts[left_out] = 0.0
    return np.column_stack([np.bincount(labels, column, n_clusters) for column in amounts.T])


def _nearest_to_a_tie(gaps: NDArray[np.float64], gap: float, most: int) -> tuple[NDArray[np.intp], float]:
    """Return the rows of no more than this gap, in their order, and the least gap of all others."""
    is_near = (gaps <= gap) & np.isfinite(gaps)
    if np.count_nonzero(is_near) > most:
        is_near[:] = False
        is_near[np.argpartition(gaps, most)[:most]] = True
    return np.flatnonzero(is_near), float(gaps[~is_near].min(initial=np.inf))


def _count_pairs(
    rows: Rows, question: Question, labels: NDArray[np.int32], gaps: NDArray[np.float64]
) -> dict[int, Any]:
    """Add up what rows near a tie count by their two cheapest clusters, for each of the bands."""
    n_clusters = len(question.centers)
    near = np.flatnonzero((gaps <= question.width) & np.isfinite(gaps))
    found: dict[int, Any] = {}
    if not near.size or n_clusters == 1:
        return found
    some = rows.at(near)
    second = _second_best(some, question, labels[near])
    for band, share in enumerate(BANDS):
        inside = np.flatnonzero(gaps[near] <= share * question.width)
        codes = (labels[near[inside]].astype(np.int64) * n_clusters + second[inside]) * len(BANDS) + band
        values, where = np.unique(codes, return_inverse=True)
        found.update(zip(values.tolist(), _counted(some.at(inside), where, question.rules), strict=True))
    return found


def _second_best(rows: Rows, question: Question, labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the cheapest cluster of each row but its own."""
    second = np.empty(len(rows), dtype=np.int64)
    for begin in range(0, len(rows), CHUNK):
        at = np.arange(begin, min(begin + CHUNK, len(rows)))
        some = rows.at(at)
        scale = _cost_per_demand(some) if question.rules is None else some.weight
        costs = distances.block_costs(some.values, scale, question.centers)
        costs += question.prices if question.rules is None else question.rules.of(some) @ question.prices.T
        costs[np.arange(len(costs)), labels[at]] = np.inf
        second[at] = costs.argmin(axis=1)
    return second


def _counted(rows: Rows, where: NDArray[np.intp], rules: Rules | None) -> list[Any]:
    """Add up by place how fast sums change with prices: demands, or products of what rows add to two rules."""
    if rules is None:
        totals: list[Any] = np.bincount(where, rows.demands()).tolist()
        return totals
    added = rules.of(rows)
    scale = rules.scale(added)[:, None]
    by_place = [np.flatnonzero(where == place) for place in range(int(where.max(initial=-1)) + 1)]
    return [(added[at] / scale[at]).T @ added[at] for at in by_place]


def digest_of(numbers: NDArray[np.int64], labels: NDArray[np.int32]) -> int:
    """Sum up random-looking numbers of rows and their labels: equal for equal labels, else hardly ever.

    The digest of two sets of rows is the sum of theirs, modulo 2^64, however rows are cut into partitions.

    Examples
    --------
    >>> rows, labels = np.arange(3), np.array([0, 1, 1], dtype=np.int32)
    >>> together = digest_of(rows, labels)
    >>> together == (digest_of(rows[:1], labels[:1]) + digest_of(rows[1:], labels[1:])) % 2**64
    True
    """
    return int((_scrambled(numbers) * _scrambled(labels.astype(np.int64) + 1)).sum(dtype=np.uint64))


def _scrambled(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Steele, Lea and Flood's mix of 64 bits (SplitMix, 2014), made odd: no factor of a digest vanishes."""
    bits = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))) | np.uint64(1)


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels of all rows in few numbers: the cheapest cluster at these prices, but for some rows.

    Parameters
    ----------
    centers, prices
        As in `Question`.
    numbers : ndarray of int64
        Rows that stand elsewhere, or where rounding could decide, ascending.
    labels : ndarray of int32
        Where these are.
    rules : Rules or None
        As in `Question`.
    """

    centers: NDArray[np.float64]
    prices: NDArray[np.float64]
    numbers: NDArray[np.int64]
    labels: NDArray[np.int32]
    rules: Rules | None = None

    def of(self, rows: Rows, first_row: int) -> NDArray[np.int32]:
        """Return the labels of one partition."""
        labels, _ = priced_labels(rows, self.centers, self.prices, self.rules)
        begin, end = np.searchsorted(self.numbers, [first_row, first_row + len(rows)])
        labels[self.numbers[begin:end] - first_row] = self.labels[begin:end]
        return labels


def labels_of(rows: Rows, labelling: Labelling, place: Place) -> NDArray[np.int32]:
    """Return the labels of one partition."""
    return labelling.of(rows, place.first_row)


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows become candidates in a round of k-means||: more likely the further they are from those drawn.

    Parameters
    ----------
    candidates : ndarray of float64, shape (n_candidates, n_features)
        Those drawn so far.
    per_cost : float
        How likely a row is drawn, for each unit of its weighted squared distance to them.
    seed : int
        Of this round.
    """

    candidates: NDArray[np.float64]
    per_cost: float
    seed: int


@dataclass(frozen=True, eq=False)
class Listed:
    """Something of some rows, in the order of the rows: their numbers, or their values."""

    values: NDArray[Any]

    @classmethod
    def joined(cls, parts: "list[Listed]") -> "Listed":
        """Put the rows of several partitions together."""
        return cls(np.concatenate([part.values for part in parts]))


def draw_candidates(draw: Draw, rows: Rows, place: Place) -> Listed:
    """Draw rows by their numbers and the seed, so that the draw does not depend on the partitions."""
    costs = np.empty(len(rows))
    weights = rows.weights()
    for begin in range(0, len(rows), CHUNK):
        part = slice(begin, begin + CHUNK)
        costs[part] = distances.block_costs(rows.values[part], weights[part], draw.candidates).min(axis=1)
    numbers = place.first_row + np.arange(len(rows), dtype=np.int64)
    chance = _scrambled(_scrambled(numbers).view(np.int64) ^ np.int64(draw.seed)) / 2.0**64
    return Listed(rows.values[chance < draw.per_cost * costs].astype(np.float64))


def nearest_labels(rows: Rows, centers: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the nearest center of each row."""
    return distances.nearest_pass(rows.values, None, centers)[0]


def pick(rows: Rows, places: NDArray[np.int64]) -> Rows:
    """Return some rows of a partition."""
    return rows.at(places)


def refuse_other_shape(name: str, values: NDArray[Any], place: Place) -> None:
    """Raise when what is given for each row is cut otherwise than the rows."""
    if values.shape != (place.n_rows,):
        raise ValueError(
            f"partition {place.number} of {name} has shape {values.shape}, but X has {place.n_rows} rows there; cut "
            "both into the same partitions"
        )


def without_weight(_: None, rows: Rows, place: Place) -> Listed:
    """Return the rows of a partition that cost nothing wherever they are, and count towards sizes."""
    counts = rows.demands() > 0
    if rows.held is not None:
        counts |= rows.held.any(axis=1)
    is_idle = (rows.weights() == 0) & counts
    return Listed(place.first_row + np.flatnonzero(is_idle))


def costs_of(asked: tuple[Labelling, NDArray[np.float64]], rows: Rows, place: Place) -> "Total":
    """Return what the rows of a partition cost by their labels, at other centers."""
    labelling, centers = asked
    labels = labelling.of(rows, place.first_row)
    return Total(distances.own_costs(rows.values, rows.weight, labels, centers))


def costs_everywhere(centers: NDArray[np.float64], rows: Rows, place: Place) -> "Total":
    """Return what the rows of a partition cost in all clusters together."""
    pieces = (slice(i, i + CHUNK) for i in range(0, len(rows), CHUNK))
    weights = rows.weights()
    return Total(sum(float(distances.block_costs(rows.values[at], weights[at], centers).sum()) for at in pieces))


@dataclass(frozen=True)
class Total:
    """A sum over partitions."""

    value: float

    @classmethod
    def joined(cls, parts: "list[Total]") -> "Total":
        """Add up."""
        return cls(sum(part.value for part in parts))


@dataclass(frozen=True)
class Least:
    """The least of something over partitions."""

    value: float

    @classmethod
    def joined(cls, parts: "list[Least]") -> "Least":
        """Return the least of all."""
        return cls(min(part.value for part in parts))


def least_scale(rules: Rules, rows: Rows, _: Place) -> Least:
    """Return how many units of the rules a row of a partition adds at least, if it adds any."""
    scale = rules.scale(rules.of(rows)) if len(rows) else np.zeros(0)
    return Least(float(scale[scale > 0].min(initial=np.inf)))


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of a partition when it is first looked at."""

    n_rows: int
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]  # sum of squared differences to the mean, per feature
    largest: float
    bad: tuple[int, int, float] | None  # row, feature and value of the first that is not a finite number
    weight: "Amounts"
    demand: "Amounts"
    held: "tuple[Amounts, ...]" = ()


@dataclass(frozen=True)
class Amounts:
    """What is seen of weights or demands: their sum, the least positive one, and what kinds there are."""

    total: float
    least: float
    n_zero: int
    are_whole: bool
    first: float
    are_equal: bool
    bad: tuple[int, float] | None
    largest: float = 0.0
    where: int = 0  # the row of the largest

    @classmethod
    def of(cls, amounts: NDArray[np.float64]) -> "Amounts":
        """Look at the weights or demands of a partition."""
        wrong = np.flatnonzero(~(np.isfinite(amounts) & (amounts >= 0)))
        return cls(
            total=float(amounts.sum()),
            least=float(amounts[amounts > 0].min(initial=np.inf)),
            n_zero=int((amounts == 0).sum()),
            are_whole=bool((amounts == np.floor(amounts)).all()),
            first=float(amounts[0]) if amounts.size else np.nan,
            are_equal=bool((amounts == amounts[:1]).all()),
            bad=(int(wrong[0]), float(amounts[wrong[0]])) if wrong.size else None,
            largest=float(amounts.max(initial=0.0)),
            where=int(amounts.argmax()) if amounts.size else 0,
        )


def look_at(rows: Rows) -> Seen:
    """Look at a partition for the first time: how many rows, how they vary, and whether all are numbers."""
    values = rows.values
    n_rows, n_features = values.shape
    mean, spread, largest, bad = np.zeros(n_features), np.zeros(n_features), 0.0, None
    with np.errstate(all="ignore"):
        if n_rows:
            mean = values.mean(axis=0, dtype=np.float64)
            largest = max(float(values.max()), -float(values.min()))
        for begin in range(0, n_rows, CHUNK):
            spread += ((values[begin : begin + CHUNK] - mean) ** 2).sum(axis=0)
    if not np.isfinite(mean).all():
        wrong = np.argwhere(~np.isfinite(values))
        if wrong.size:
            row, column = wrong[0]
            bad = (int(row), int(column), float(values[row, column]))
    held = () if rows.held is None else tuple(Amounts.of(column.astype(np.float64)) for column in rows.held.T)
    return Seen(n_rows, mean, spread, largest, bad, Amounts.of(rows.weights()), Amounts.of(rows.demands()), held)
