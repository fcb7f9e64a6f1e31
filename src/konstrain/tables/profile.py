"""What the clusters of a table are like in the units of its columns: centers, what sets each apart, a typical row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain.tables.columns import Columns
from konstrain.tables.plan import ColumnPlan, Kind, TablePlan
from konstrain.tables.transformers import Days, day_of


@dataclass(frozen=True)
class ProfileParams:
    """How much of a profile is reported."""

    # Traits of a cluster at most. Larger: longer lines.
    n_traits: int = 3
    # Standard deviations from which a difference counts. Larger: fewer traits.
    min_difference: float = 0.2


PARAMS = ProfileParams()
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

    Parameters
    ----------
    cluster, n_rows : int
        Its number, and how many rows it has.
    center : tuple of Trait
        One for each column: the mean, the mean day, or the commonest value of text and its share.
    traits : tuple of Trait
        What sets it apart most from all rows, largest difference first.
    typical : int or None
        The row nearest to its center; None where it has no rows.
    """

    cluster: int
    n_rows: int
    center: tuple[Trait, ...]
    traits: tuple[Trait, ...]
    typical: int | None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column of numbers that clusters have means in; a value of text is one of 0 and 1."""

    column: str
    values: NDArray[np.float64]
    kind: Kind
    value: str | None = None

    def trait(self, members: NDArray[np.bool_]) -> Trait:
        unit, values, of_all, spread = self._scaled
        mean = float(np.nanmean(values[members]))
        difference = (mean - of_all) / spread if spread > 0 else 0.0
        return Trait(self.column, mean * unit, self._text(mean * unit), difference, self.value)

    @cached_property
    def _scaled(self) -> tuple[float, NDArray[np.float64], float, float]:
        """A unit, the values in it, their mean and their standard deviation.

        The unit is a power of two, which rounds nothing: sums and squares of large numbers are no numbers.
        """
        unit = 2.0 ** (int(np.frexp(np.nanmax(np.abs(self.values)))[1]) - 1)
        values = self.values / unit
        return unit, values, float(np.nanmean(values)), float(np.nanstd(values))

    def _text(self, mean: float) -> str:
        if self.kind == Kind.CATEGORY:
            return f"{mean:.0%}"
        return day_of(mean) if self.kind == Kind.DATE else number_text(mean)


def number_text(value: float) -> str:
    """A number as people read it: four digits that count, thousands apart.

    Examples
    --------
    >>> [number_text(value) for value in (120103.4, 41.5, 0.01234, 1234.56)]
    ['120,103', '41.5', '0.01234', '1,235']
    """
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e15 else f"{value:.4g}"


def profile_clusters(
    columns: Columns,
    plan: TablePlan,
    labels: NDArray[Any],
    n_clusters: int,
    distances: NDArray[np.float64],
) -> tuple[ClusterProfile, ...]:
    """Describe each cluster.

    Parameters
    ----------
    columns : Columns
        The table, in its own units.
    plan : TablePlan
        The columns it was clustered by.
    labels : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters : int
        Number of clusters.
    distances : ndarray of shape (n_samples,)
        Distance of each row to the center of its cluster.

    Examples
    --------
    >>> from konstrain.tables.plan import plan_columns
    >>> columns = Columns(np.array([[20.0], [22.0], [60.0]]), ("age",), {})
    >>> plan, labels = plan_columns(columns), np.array([0, 0, 1])
    >>> young, old = profile_clusters(columns, plan, labels, 2, np.array([1.0, 1.0, 0.0]))
    >>> young.traits[0].text, round(young.traits[0].difference, 2), old.typical
    ('21', -0.71, 2)
    """
    features = [list(_features(columns, column)) for column in plan.columns]
    found = []
    for cluster in range(n_clusters):
        members = labels == cluster
        if not members.any():
            found.append(ClusterProfile(cluster, 0, (), (), None))
            continue
        traits = [[feature.trait(members) for feature in of_column] for of_column in features]
        # Of the values of one text only the most telling is reported.
        telling = [max(of_column, key=lambda trait: abs(trait.difference)) for of_column in traits]
        telling = sorted(telling, key=lambda trait: -abs(trait.difference))[: PARAMS.n_traits]
        nearest = np.flatnonzero(members)[np.argmin(distances[members])]
        found.append(
            ClusterProfile(
                cluster,
                int(members.sum()),
                tuple(max(of_column, key=lambda trait: trait.mean) for of_column in traits),
                tuple(trait for trait in telling if abs(trait.difference) >= PARAMS.min_difference),
                int(nearest),
            )
        )
    return tuple(found)


def _features(columns: Columns, column: ColumnPlan) -> Iterator[_Feature]:
    if column.kind in (Kind.NUMBER, Kind.PLACE):
        yield _Feature(column.name, columns.number(column.name).astype(np.float64), column.kind)
        return
    cells = columns.texts[column.name]
    if column.kind == Kind.DATE:
        days = Days([column.format]).fit_transform(cells[:, None])[:, 0]
        yield _Feature(column.name, days, column.kind)
        return
    for value, _ in Counter(cell for cell in cells if cell is not None).most_common():
        has_it = np.array([np.nan if cell is None else float(cell == value) for cell in cells])
        yield _Feature(column.name, has_it, column.kind, value)


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
    return trait.text if trait.value is None else f"{trait.value} {trait.text}"


def _center_lines(profiles: Sequence[ClusterProfile]) -> Iterator[str]:
    """The centers as a table, in the units of the columns."""
    titles = [trait.column for trait in profiles[0].center]
    rows = [[center_text(trait) for trait in profile.center] for profile in profiles]
    widths = [max(map(len, (title, *cells))) for title, *cells in zip(titles, *rows, strict=True)]
    yield " center  " + "  ".join(title.rjust(width) for title, width in zip(titles, widths, strict=True))
    for profile, cells in zip(profiles, rows, strict=True):
        yield f"{profile.cluster:>7}  " + "  ".join(c.rjust(width) for c, width in zip(cells, widths, strict=True))
