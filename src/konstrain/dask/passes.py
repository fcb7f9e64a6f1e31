"""Functions of workers: one partition of the rows in, a small result out. Nothing here depends on Dask."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._memory import chunks
from konstrain.kmeans import distances

Reals = NDArray[np.float64]

_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """One partition as the kernels take it."""

    values: NDArray[Any]  # (n_rows, n_features): the rows.
    # (n_rows,): what each row counts in costs, and towards the size of its cluster; None: 1 each.
    weight: Reals | None = None
    demand: Reals | None = None
    # (n_rows, n_held): what each row holds of several resources, and for each group whose share is bounded whether it
    # is of that group; None: nothing of the kind is bounded.
    held: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __sizeof__(self) -> int:
        # Dask moves partitions to disk by their sizes.
        arrays = (self.values, self.weight, self.demand, self.held)
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays if array is not None)

    @classmethod
    def joined(cls, parts: "list[PartitionRows]") -> "PartitionRows":
        """Concatenate partitions; all have weights, demands and holdings, or none has."""

        def together(name: str) -> NDArray[Any] | None:
            given = [array for array in (getattr(part, name) for part in parts) if array is not None]
            return np.concatenate(given) if given else None

        values = np.concatenate([part.values for part in parts])
        return cls(values, together("weight"), together("demand"), together("held"))

    def at(self, places: NDArray[np.intp]) -> "PartitionRows":
        """Return some of the rows."""
        return PartitionRows(
            np.ascontiguousarray(self.values[places]),
            None if self.weight is None else self.weight[places],
            None if self.demand is None else self.demand[places],
            None if self.held is None else self.held[places],
        )

    def amounts(self, part: slice = slice(None)) -> Reals:
        """Return what each row adds to the sums that rules bound: what it holds, its demand, and 1."""
        demand = self.demands()[part]
        held = np.zeros((demand.size, 0)) if self.held is None else self.held[part]
        return np.column_stack([held, demand, np.ones(demand.size)])

    def weights(self) -> Reals:
        """Return the weight of each row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def demands(self) -> Reals:
        """Return the demand of each row."""
        return np.ones(len(self)) if self.demand is None else self.demand


@dataclass(frozen=True, eq=False)
class RuleTerms:
    """The part of `konstrain.assignment.Rules` that workers need: terms without rows and bounds."""

    weights: Reals  # (n_rules, n_amounts): weights of a row's amounts (`PartitionRows.amounts`) in each bounded sum.
    # (n_rules,): what a row adds to each on average, the unit of gaps of rows and of changes of duals.
    units: Reals

    def of(self, rows: PartitionRows, part: slice = slice(None)) -> Reals:
        """Return what each row adds to each rule."""
        added: Reals = rows.amounts(part) @ self.weights.T
        return added

    def scale(self, added: Reals) -> Reals:
        """Return how many units each row adds at most: a change of duals concerns it by this factor."""
        most: Reals = (np.abs(added) / self.units).max(axis=1)
        return most

    def span(self, moved: Reals) -> float:
        """Return by how much a change of duals moves two clusters apart at most, per unit that a row adds."""
        by_unit = moved * self.units
        return max(float(np.abs(by_unit - one).sum(axis=1).max()) for one in by_unit)


@dataclass(frozen=True, eq=False)
class Scan:
    """Arguments of a pass over all rows, the same for every partition."""

    centers: Reals  # (n_clusters, n_features): centers of the clusters.
    duals: Reals  # (n_clusters, n_rules): dual of each rule in each cluster.
    rules: RuleTerms  # The rules that have duals; without any, every row goes to its nearest center.
    near_gap: float = -1.0  # Rows that prefer their cluster by no more than this, per unit, are sent; negative: none.
    near_share: float = 1.0  # Share of a partition's rows that is sent at most.

    @classmethod
    def nearest(cls, centers: Reals) -> "Scan":
        """Return a pass without rules."""
        return cls(centers, np.zeros((len(centers), 0)), RuleTerms(np.zeros((0, 0)), np.zeros(0)))


@dataclass(frozen=True, eq=False)
class Place:
    """Where a partition lies among all rows, and which of its rows the client places (by their places in it)."""

    number: int
    first_row: int
    n_rows: int = 0
    tied: NDArray[np.int64] = field(default_factory=lambda: _NO_ROWS)


@dataclass(frozen=True, eq=False)
class Near:
    """Rows with the smallest gaps, by their numbers among all rows."""

    numbers: NDArray[np.int64]
    rows: PartitionRows
    labels: NDArray[np.int32]
    gaps: Reals

    @classmethod
    def joined(cls, parts: "list[Near]") -> "Near":
        """Concatenate the rows of several partitions."""
        return cls(
            np.concatenate([part.numbers for part in parts]),
            PartitionRows.joined([part.rows for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.gaps for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums per cluster: weighted rows, weights, and each of the amounts, of which demand and count come last."""

    sums: Reals
    weights: Reals
    amounts: Reals

    @classmethod
    def of(
        cls, rows: PartitionRows, labels: NDArray[np.int32], n_clusters: int, left_out: NDArray[np.int64] = _NO_ROWS
    ) -> "Totals":
        """Add up rows by their labels, some left out."""
        weight = rows.weight
        if left_out.size:
            weight = rows.weights().copy()
            weight[left_out] = 0.0
        return cls(
            *distances.center_sums(rows.values, weight, labels, n_clusters),
            amounts_in(rows, labels, n_clusters, left_out),
        )

    def plus(self, other: "Totals", sign: float = 1.0) -> "Totals":
        """Return these sums with others added, or taken off."""
        return Totals(
            self.sums + sign * other.sums, self.weights + sign * other.weights, self.amounts + sign * other.amounts
        )

    @property
    def sizes(self) -> Reals:
        """Demand of the rows of each cluster."""
        sizes: Reals = self.amounts[:, -2]
        return sizes

    @property
    def counts(self) -> Reals:
        """Rows of each cluster."""
        counts: Reals = self.amounts[:, -1]
        return counts


def amounts_in(
    rows: PartitionRows, labels: NDArray[np.int32], n_clusters: int, left_out: NDArray[np.int64] = _NO_ROWS
) -> Reals:
    """Return what clusters hold of each amount, some rows left out."""
    counts = np.bincount(labels, minlength=n_clusters) - np.bincount(labels[left_out], minlength=n_clusters)

    def total(column: NDArray[Any] | None) -> NDArray[Any]:
        if column is None:
            return counts
        if left_out.size:
            column = column.copy()
            column[left_out] = 0
        return np.bincount(labels, column, n_clusters)

    held = () if rows.held is None else tuple(rows.held.T)
    return np.column_stack([total(column) for column in (*held, rows.demand, None)]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Sums:
    """Result of a pass over one or several partitions, small for any number of rows."""

    totals: Totals  # What clusters hold.
    cost: float  # Weighted squared distances of all rows to the centers of their clusters.
    # A sum over rows and their labels by which two labelings of all rows are distinguished; see `digest_of`.
    digest: int
    near: Near  # Rows near a tie.
    reach: float  # Every row that is not among these has at least this gap per unit.

    @classmethod
    def joined(cls, parts: "list[Sums]") -> "Sums":
        """Add up several partitions, always in the order in which they are given."""
        totals = parts[0].totals
        for part in parts[1:]:
            totals = totals.plus(part.totals)
        return cls(
            totals=totals,
            cost=sum(part.cost for part in parts),
            digest=sum(part.digest for part in parts) % 2**64,
            near=Near.joined([part.near for part in parts]),
            reach=min(part.reach for part in parts),
        )


def reduced_labels(
    rows: PartitionRows, centers: Reals, duals: Reals, rules: RuleTerms
) -> tuple[NDArray[np.int32], Reals]:
    """Return the cluster of least reduced cost of each row, and per unit that it adds the gap to the second.

    Rows that add nothing or cost nothing go to the nearest center and have an infinite gap, as have all rows where
    there are no rules.
    """
    if not rules.units.size:
        return nearest_labels(rows, centers), np.full(len(rows), np.inf)
    labels, gaps, units = np.empty(len(rows), dtype=np.int32), np.empty(len(rows)), np.empty(len(rows))
    nothing = np.zeros(len(centers))
    # Without demand and holdings all rows add the same: one charge per cluster.
    same = rules.weights.sum(axis=1)[None] if rows.demand is None and rows.held is None else None
    for part in chunks(len(rows), len(centers)):
        weight = None if rows.weight is None else rows.weight[part]
        some = distances.block_costs(rows.values[part], weight, centers)
        added = rules.of(rows, part) if same is None else same
        charges = added @ duals.T
        if same is None:
            some += charges
        labels[part], gaps[part] = _core.price_rows(some, nothing if same is None else charges[0])
        units[part] = rules.scale(added)
    np.divide(gaps, units, out=gaps, where=units > 0)
    idle = units == 0 if rows.weight is None else (units == 0) | (rows.weight == 0)
    if idle.any():
        labels[idle] = distances.nearest_pass(np.ascontiguousarray(rows.values[idle]), None, centers)[0]
        gaps[idle] = np.inf
    return labels, gaps


def sum_up(scan: Scan, rows: PartitionRows, place: Place) -> Sums:
    """Assign each row at least reduced cost and add up the clusters, without the tied rows."""
    labels, gaps = reduced_labels(rows, scan.centers, scan.duals, scan.rules)
    tied = place.tied
    gaps[tied] = np.inf
    near, reach = _nearest_to_a_tie(gaps, scan.near_gap, int(np.ceil(scan.near_share * len(rows))))
    weight = rows.weight
    if tied.size:
        weight = rows.weights().copy()
        weight[tied] = 0.0
    numbers = place.first_row + np.arange(len(rows), dtype=np.int64)
    return Sums(
        totals=Totals.of(rows, labels, len(scan.centers), tied),
        cost=distances.own_costs(rows.values, weight, labels, scan.centers),
        digest=(digest_of(numbers, labels) - digest_of(numbers[tied], labels[tied])) % 2**64,
        near=Near(numbers[near], rows.at(near), labels[near], gaps[near]),
        reach=reach,
    )


def _nearest_to_a_tie(gaps: Reals, gap: float, most: int) -> tuple[NDArray[np.intp], float]:
    """Return the rows of no more than this gap, in their order, and the least gap of all others."""
    is_near = (gaps <= gap) & np.isfinite(gaps)
    if np.count_nonzero(is_near) > most:
        is_near[:] = False
        is_near[np.argpartition(gaps, most)[:most]] = True
    return np.flatnonzero(is_near), float(gaps[~is_near].min(initial=np.inf))


def digest_of(numbers: NDArray[np.int64], labels: NDArray[np.int32]) -> int:
    """Return a sum, modulo 2^64, of hashed rows and labels: equal for equal labels, else hardly ever.

    The digest of two sets of rows is the sum of theirs, however rows are cut into partitions.
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
    """Labels of all rows in compressed form: the least reduced cost at these duals, except for listed rows."""

    # As in `Scan`.
    centers: Reals
    duals: Reals
    rules: RuleTerms
    numbers: NDArray[np.int64]  # Rows with other labels, or where rounding could decide, ascending.
    labels: NDArray[np.int32]  # The labels of these.

    def of(self, rows: PartitionRows, first_row: int) -> NDArray[np.int32]:
        """Return the labels of one partition."""
        labels, _ = reduced_labels(rows, self.centers, self.duals, self.rules)
        begin, end = np.searchsorted(self.numbers, [first_row, first_row + len(rows)])
        labels[self.numbers[begin:end] - first_row] = self.labels[begin:end]
        return labels


def labels_of(rows: PartitionRows, labelling: Labelling, place: Place) -> NDArray[np.int32]:
    """Return the labels of one partition."""
    return labelling.of(rows, place.first_row)


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows become candidates in a round of k-means||: more likely the further they are from those drawn."""

    candidates: Reals  # (n_candidates, n_features): those drawn so far.
    per_cost: float  # Probability of a row to be drawn, for each unit of its weighted squared distance to them.
    seed: int  # Of this round.


def draw_candidates(draw: Draw, rows: PartitionRows, place: Place) -> Reals:
    """Draw rows by their numbers and the seed, so that the draw does not depend on the partitions."""
    costs = np.empty(len(rows))
    weights = rows.weights()
    for part in chunks(len(rows), len(draw.candidates)):
        costs[part] = distances.block_costs(rows.values[part], weights[part], draw.candidates).min(axis=1)
    numbers = place.first_row + np.arange(len(rows), dtype=np.int64)
    chance = _scrambled(_scrambled(numbers).view(np.int64) ^ np.int64(draw.seed)) / 2.0**64
    drawn: Reals = rows.values[chance < draw.per_cost * costs].astype(np.float64)
    return drawn


def nearest_labels(rows: PartitionRows, centers: Reals) -> NDArray[np.int32]:
    """Return the nearest center of each row."""
    return distances.nearest_pass(rows.values, None, centers)[0]


def pick(rows: PartitionRows, places: NDArray[np.int64]) -> PartitionRows:
    """Return some rows of a partition."""
    return rows.at(places)


def refuse_other_shape(name: str, values: NDArray[Any], place: Place) -> None:
    """Raise when what is given for each row is cut otherwise than the rows."""
    if values.shape != (place.n_rows,):
        raise ValueError(
            f"partition {place.number} of {name} has shape {values.shape}, but X has {place.n_rows} rows there; cut "
            "both into the same partitions"
        )


def without_weight(_: None, rows: PartitionRows, place: Place) -> NDArray[np.int64]:
    """Return the rows of a partition that cost nothing wherever they are, and count towards sizes."""
    counts = rows.demands() > 0
    if rows.held is not None:
        counts |= rows.held.any(axis=1)
    return place.first_row + np.flatnonzero((rows.weights() == 0) & counts)


def costs_of(given: tuple[Labelling, Reals], rows: PartitionRows, place: Place) -> float:
    """Return what the rows of a partition cost by their labels, at other centers."""
    labelling, centers = given
    labels = labelling.of(rows, place.first_row)
    return distances.own_costs(rows.values, rows.weight, labels, centers)


def costs_everywhere(centers: Reals, rows: PartitionRows, place: Place) -> float:
    """Return what the rows of a partition cost in all clusters together."""
    weights = rows.weights()
    pieces = chunks(len(rows), len(centers))
    return sum(float(distances.block_costs(rows.values[at], weights[at], centers).sum()) for at in pieces)


def least_scale(rules: RuleTerms, rows: PartitionRows, _: Place) -> float:
    """Return how many units of the rules a row of a partition adds at least, if it adds any."""
    scale = rules.scale(rules.of(rows)) if len(rows) else np.zeros(0)
    return float(scale[scale > 0].min(initial=np.inf))


@dataclass(frozen=True)
class ColumnSummary:
    """What is known of a column of weights or demands."""

    total: float
    least: float  # of the positive ones
    n_zero: int
    are_whole: bool
    first: float
    are_equal: bool
    bad: tuple[int, float] | None
    largest: float = 0.0
    where: int = 0  # the row of the largest

    @classmethod
    def of(cls, amounts: Reals) -> "ColumnSummary":
        """Summarize the weights or demands of a partition."""
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

    @classmethod
    def joined(cls, parts: "list[ColumnSummary]") -> "ColumnSummary":
        """Summarize several partitions."""
        most = max(parts, key=lambda part: part.largest)
        return cls(
            total=sum(part.total for part in parts),
            least=min(part.least for part in parts),
            n_zero=sum(part.n_zero for part in parts),
            are_whole=all(part.are_whole for part in parts),
            first=parts[0].first,
            are_equal=all(part.are_equal and part.first == parts[0].first for part in parts),
            bad=None,
            largest=most.largest,
            where=most.where,
        )


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """Summary of a partition after a first pass."""

    n_rows: int
    mean: Reals
    spread: Reals  # sum of squared differences to the mean, per feature
    largest: float
    bad: tuple[int, int, float] | None  # row, feature and value of the first that is not a finite number
    weight: ColumnSummary
    demand: ColumnSummary
    held: tuple[ColumnSummary, ...] = ()


def summarize(rows: PartitionRows) -> PartitionSummary:
    """Return number, mean and spread of the rows of a partition, and the first value that is no number."""
    values = rows.values
    n_rows, n_features = values.shape
    mean, spread, largest, bad = np.zeros(n_features), np.zeros(n_features), 0.0, None
    with np.errstate(all="ignore"):
        if n_rows:
            mean = values.mean(axis=0, dtype=np.float64)
            largest = max(float(values.max()), -float(values.min()))
        for part in chunks(n_rows, n_features):
            spread += ((values[part] - mean) ** 2).sum(axis=0)
    if not np.isfinite(mean).all():
        wrong = np.argwhere(~np.isfinite(values))
        if wrong.size:
            row, column = wrong[0]
            bad = (int(row), int(column), float(values[row, column]))
    weight, demand = ColumnSummary.of(rows.weights()), ColumnSummary.of(rows.demands())
    held = () if rows.held is None else tuple(ColumnSummary.of(column.astype(np.float64)) for column in rows.held.T)
    return PartitionSummary(n_rows, mean, spread, largest, bad, weight, demand, held)
