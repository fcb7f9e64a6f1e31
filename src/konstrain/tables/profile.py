"""What the clusters of a table are like in the units of its columns: centers, what sets each apart, a typical row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain.tables.columns import Columns
from konstrain.tables.plan import Kind, TablePlan
from konstrain.tables.transformers import Days, day_of

# Traits of a cluster in one line of a report.
N_TRAITS: Final = 3
# Standard deviations from which a difference counts: what Cohen (1988) calls a small effect.
SMALL_EFFECT: Final = 0.2
# Columns of the printed table of centers, which has the width of a terminal; the page and the JSON have all.
PRINTED_COLUMNS: Final = 8


@dataclass(frozen=True)
class Trait:
    """What a cluster's mean is in one column, and how far that is from all rows, in standard deviations.

    `value` is a value of text, whose share the mean then is; `text` is the mean as it is printed: 41.5, 81%, a day.
    """

    column: str
    mean: float
    text: str
    difference: float
    value: str | None = None

    @property
    def name(self) -> str:
        """The column, with the value if it is about one."""
        return self.column if self.value is None else f"{self.column}={self.value}"


@dataclass(frozen=True)
class ClusterProfile:
    """One cluster in the units of the table.

    `center` has one trait per column: the mean, the mean day, or the commonest value of text and its share; `traits`
    are what sets it apart most from all rows, and `typical` is the row nearest to its center, None without rows.
    """

    cluster: int
    n_rows: int
    center: tuple[Trait, ...]
    traits: tuple[Trait, ...]
    typical: int | None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        # Faster than `asdict`, which copies each value of what may be very many columns.
        center, traits = ([dict(vars(trait)) for trait in found] for found in (self.center, self.traits))
        return {**vars(self), "center": center, "traits": traits}


@dataclass(frozen=True, eq=False)
class _Features:
    """Columns of numbers that clusters have means in, one row of `values` each; a value of text is one of 0 and 1."""

    column: Sequence[str]
    kind: Kind
    values: NDArray[np.float64]
    value: Sequence[str | None]

    def traits(self, clusters: Sequence[NDArray[np.intp]]) -> Iterator[list[Trait]]:
        """Yield the traits of each cluster; `clusters` are the rows of each."""
        # The unit is a power of two, which rounds nothing: sums and squares of large numbers are no numbers.
        unit = 2.0 ** (np.frexp(np.nanmax(np.abs(self.values), axis=1))[1] - 1)
        values = self.values / unit[:, None]
        of_all, spread = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
        spread[spread == 0] = np.inf
        for members in clusters:
            some = values[:, members]
            known = ~np.isnan(some)
            n_known = known.sum(axis=1)
            total = np.where(known, some, 0.0).sum(axis=1)
            mean = np.divide(total, n_known, out=np.full(len(total), np.nan), where=n_known > 0)
            differences = np.nan_to_num((mean - of_all) / spread)
            yield [
                Trait(column, mean, self._text(mean), difference, value)
                for column, mean, difference, value in zip(
                    self.column, (mean * unit).tolist(), differences.tolist(), self.value, strict=True
                )
            ]

    def _text(self, mean: float) -> str:
        if mean != mean:
            return "unknown"
        if self.kind == Kind.CATEGORY:
            return f"{mean:.0%}"
        if self.kind == Kind.PLACE:
            return f"{mean:.4f}"  # ten metres
        return day_of(mean) if self.kind == Kind.DATE else number_text(mean)


def number_text(value: float) -> str:
    """A number as people read it: four digits that count, thousands apart."""
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e15 else f"{value:.4g}"


def profile_clusters(
    columns: Columns,
    plan: TablePlan,
    labels: NDArray[Any],
    n_clusters: int,
    distances: NDArray[np.float64],
) -> tuple[ClusterProfile, ...]:
    """Describe each cluster; `distances` are those of the rows to the centers of their clusters."""
    members = [np.flatnonzero(labels == cluster) for cluster in range(n_clusters)]
    filled = [cluster for cluster in range(n_clusters) if members[cluster].size]
    # By cluster, column and value: values of text are traits of one column.
    traits: dict[int, dict[str, list[Trait]]] = {cluster: {name: [] for name in plan.names} for cluster in filled}
    for features in _features(columns, plan):
        for cluster, found in zip(filled, features.traits([members[cluster] for cluster in filled]), strict=True):
            for trait in found:
                traits[cluster][trait.column].append(trait)
    return tuple(
        _profile(cluster, members[cluster], list(traits[cluster].values()), distances)
        if cluster in traits
        else ClusterProfile(cluster, 0, (), (), None)
        for cluster in range(n_clusters)
    )


def _profile(
    cluster: int, members: NDArray[np.intp], traits: Sequence[list[Trait]], distances: NDArray[np.float64]
) -> ClusterProfile:
    # Of the values of one text only the most telling is reported.
    telling = [max(of_column, key=lambda trait: abs(trait.difference)) for of_column in traits]
    telling = sorted(telling, key=lambda trait: -abs(trait.difference))[:N_TRAITS]
    return ClusterProfile(
        cluster,
        len(members),
        tuple(max(of_column, key=lambda trait: trait.mean) for of_column in traits),
        tuple(trait for trait in telling if abs(trait.difference) >= SMALL_EFFECT),
        int(members[np.argmin(distances[members])]),
    )


def _features(columns: Columns, plan: TablePlan) -> Iterator[_Features]:
    for kind in (Kind.NUMBER, Kind.PLACE):
        for names, values in columns.blocks(plan.of_kind(kind)):
            yield _Features(names, kind, values, [None] * len(names))
    for column in plan.columns:
        if column.kind == Kind.DATE:
            days = Days([column.format]).fit_transform(columns.texts[column.name][:, None])
            yield _Features([column.name], column.kind, days.T, [None])
        elif column.kind == Kind.CATEGORY:
            cells = columns.texts[column.name]
            counts = Counter(cell for cell in cells if cell is not None).most_common()
            place = {value: i for i, (value, _) in enumerate(counts)}
            places = np.array([np.nan if cell is None else place[cell] for cell in cells])
            for value, i in place.items():
                has_it = np.where(np.isnan(places), np.nan, places == i)
                yield _Features([column.name], column.kind, has_it[None], [value])


def profile_lines(profiles: Sequence[ClusterProfile], name_of: Any = str) -> Iterator[str]:
    """Yield lines about the clusters for people; `name_of` returns the name of a row."""
    filled = [profile for profile in profiles if profile.typical is not None]
    if len(filled) > 1 and any(profile.traits for profile in filled):
        yield "what sets each cluster apart: its mean, and how many standard deviations that is from all rows"
        for profile in filled:
            traits = [f"{trait.name} {trait.text} ({trait.difference:+.1f})" for trait in profile.traits]
            yield f"{profile.cluster:>7}  {', '.join(traits) or 'nothing much'}; typical: {name_of(profile.typical)}"
    if filled and len(filled[0].center) <= PRINTED_COLUMNS:
        yield ""
        yield from _center_lines(filled)


def center_text(trait: Trait) -> str:
    """The center in one column: a number, a day, or the commonest value with its share."""
    return trait.text if trait.value is None or np.isnan(trait.mean) else f"{trait.value} {trait.text}"


def _center_lines(profiles: Sequence[ClusterProfile]) -> Iterator[str]:
    """The centers as a table, in the units of the columns."""
    titles = [trait.column for trait in profiles[0].center]
    rows = [[center_text(trait) for trait in profile.center] for profile in profiles]
    widths = [max(map(len, (title, *cells))) for title, *cells in zip(titles, *rows, strict=True)]
    yield " center  " + "  ".join(title.rjust(width) for title, width in zip(titles, widths, strict=True))
    for profile, cells in zip(profiles, rows, strict=True):
        yield f"{profile.cluster:>7}  " + "  ".join(c.rjust(width) for c, width in zip(cells, widths, strict=True))
