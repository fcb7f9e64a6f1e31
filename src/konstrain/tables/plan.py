"""What becomes of each column of a table: a number, 0/1 columns of a text's values, days, or nothing."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import as_typed, counted
from konstrain.exceptions import FileError
from konstrain.files.decimals import looks_like_a_number
from konstrain.tables.columns import Columns
from konstrain.tables.dates import LOOKS, find_format
from konstrain.tables.identifiers import looks_like_identifier

# Text has few values if there are no more than this, and each stands in two rows on average.
MOST_VALUES = 20
# Numbers whose spreads differ by more than this factor have no unit in common.
SPREADS_DIFFER = 100.0
# One feature with more than this share of all squared distances leaves the others without a say.
DROWNS = 0.95
# A column that is empty in more than this share of the rows says more about who filled it in than about the rows.
MOSTLY_EMPTY = 0.5
# A column of more values than this, though asked for, would make more features than anyone reads.
MOST_CATEGORIES = 1_000
# Words beside numbers, up to this many different ones, may mean that a number is not known.
FEW_WORDS = 3


class Kind(StrEnum):
    """What a column is taken as."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    PLACE = "place"


@dataclass(frozen=True)
class ColumnPlan:
    """One column and what it is taken as; `format` is how dates are written."""

    name: str
    kind: Kind
    format: str = ""


@dataclass(frozen=True)
class TablePlan:
    """What becomes of a table.

    Parameters
    ----------
    columns : tuple of ColumnPlan
        The columns to cluster by.
    scaled : bool
        Whether numbers and days get mean 0 and variance 1.
    advised : bool
        Whether that is what the columns themselves speak for.
    notes : tuple of str
        What was decided, a line each.
    """

    columns: tuple[ColumnPlan, ...]
    scaled: bool
    advised: bool = False
    notes: tuple[str, ...] = ()

    def of_kind(self, kind: Kind) -> list[str]:
        """The columns of a kind, by name."""
        return [column.name for column in self.columns if column.kind == kind]

    @property
    def names(self) -> list[str]:
        """All columns, by name."""
        return [column.name for column in self.columns]

    @property
    def is_plain(self) -> bool:
        """Whether rows are clustered by the numbers as they stand."""
        return not self.scaled and all(column.kind == Kind.NUMBER for column in self.columns)


@dataclass
class _Planner:
    columns: Columns
    categorical: Collection[str]
    asked: Collection[str]
    notes: list[str] = field(default_factory=list)

    def decide(self) -> list[ColumnPlan]:
        """Decide column by column; those that look like identifiers only count if there is nothing else."""
        numbers = [name for name in self.columns.numbers if self._has_values(name)]
        # A dict: there may be many columns.
        identifiers = dict.fromkeys(name for name in numbers if self._is_identifier(name))
        found = [ColumnPlan(name, Kind.NUMBER) for name in numbers if name not in identifiers]
        found += filter(None, map(self._text, self.columns.texts))
        if found:
            self.notes += [_words_for_identifier(name, self.columns.number(name)) for name in identifiers]
        else:
            found = [ColumnPlan(name, Kind.NUMBER) for name in identifiers]
        if not found:
            why = f": {'; '.join(self.notes)}" if self.notes else ""
            raise FileError(f"no column is left to cluster by{why}")
        return found

    def _has_values(self, name: str) -> bool:
        gaps = self.columns.missing(name)
        if gaps.all():
            self.notes.append(f"column {name!r} has no values: left out")
            return False
        if gaps.mean() > MOSTLY_EMPTY and name not in self.asked:
            words = f"column {name!r} is empty in {int(gaps.sum())} of {len(gaps)} rows: left out"
            self.notes.append(f"{words}; --columns takes it as a feature")
            return False
        return True

    def _is_identifier(self, name: str) -> bool:
        return name not in self.asked and looks_like_identifier(name, self.columns.number(name))

    def _text(self, name: str) -> ColumnPlan | None:
        if not self._has_values(name):
            return None
        values = [value for value in self.columns.texts[name] if value is not None]
        n_different = len(set(values))
        if name in self.categorical:
            if n_different > MOST_CATEGORIES:
                raise FileError(f"column {name!r} has {n_different} different values, too many for categories")
            return ColumnPlan(name, Kind.CATEGORY)
        way = find_format(values)
        if way is not None:
            self.notes.append(f"column {name!r} holds dates ({LOOKS[way]}): counted in days")
            return ColumnPlan(name, Kind.DATE, way)
        if n_different == 1:
            self.notes.append(f"column {name!r} holds {values[0]!r} everywhere: left out")
            return None
        if n_different > MOST_VALUES or 2 * n_different > len(values):
            as_id = f", --id {quote(name)} names rows by it" if n_different == len(self.columns) else ""
            self.notes.append(
                f"column {name!r} is text with {counted(n_different, 'different value')}: left out; "
                f"--categorical {as_typed(name)} takes it{as_id}{_words_for_numbers(values)}"
            )
            return None
        return ColumnPlan(name, Kind.CATEGORY)


def plan_columns(
    columns: Columns,
    *,
    categorical: Collection[str] = (),
    asked: Collection[str] = (),
    standardize: bool | None = None,
) -> TablePlan:
    """Decide what becomes of each column.

    Parameters
    ----------
    columns : Columns
        The table.
    categorical : collection of str
        Columns of text to take as categories, however many values they have.
    asked : collection of str
        Columns that are features because someone said so, though they may look like identifiers.
    standardize : bool, optional
        Whether numbers get mean 0 and variance 1; default: if their spreads differ by more than a factor of 100, or
        if there are categories or dates beside them, which have no unit in common with them.

    Returns
    -------
    TablePlan

    Examples
    --------
    >>> plans = np.array(["gold", "free", "free", "gold"], dtype=object)
    >>> plan = plan_columns(Columns(np.array([[41.0], [23.0], [35.0], [29.0]]), ("age",), {"plan": plans}))
    >>> [(column.name, column.kind.value) for column in plan.columns], plan.scaled
    ([('age', 'number'), ('plan', 'category')], True)
    """
    planner = _Planner(columns, categorical, asked)
    chosen = planner.decide()
    plan = TablePlan(tuple(chosen), False)
    notes = [*planner.notes, *_words_for_categories(plan.of_kind(Kind.CATEGORY))]
    spreads = _spreads(columns, plan)
    words = _why_scaled(plan, spreads)
    scaled = bool(words) if standardize is None else standardize
    if standardize is None and words:
        notes.append(words)
    if not scaled:
        notes += _words_for_drowning(spreads)
    return TablePlan(tuple(chosen), scaled, bool(words), tuple(notes))


def plain_plan(columns: Columns, *, standardize: bool | None = None) -> TablePlan:
    """The plan of `--prepare none`: numbers as they are, unless they are to be standardised."""
    return TablePlan(tuple(ColumnPlan(name, Kind.NUMBER) for name in columns.numbers), bool(standardize))


def _spreads(columns: Columns, plan: TablePlan) -> dict[str, float]:
    """Standard deviations of the numbers that vary."""
    found = {}
    for name in plan.of_kind(Kind.NUMBER):
        values = columns.number(name)
        unit = float(np.nanmax(np.abs(values)))
        spread = float(np.nanstd(values / unit)) * unit if unit else 0.0
        if spread > 0:
            found[name] = spread
    return found


def _why_scaled(plan: TablePlan, spreads: dict[str, float]) -> str:
    """Say why numbers are to be scaled; nothing if they need not be."""
    beside = [*plan.of_kind(Kind.CATEGORY), *plan.of_kind(Kind.DATE)]
    words = "each number gets mean 0 and variance 1 (--no-standardize leaves them)"
    if spreads:
        small, large = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
        if spreads[large] > SPREADS_DIFFER * spreads[small]:
            return (
                f"spreads differ by more than {SPREADS_DIFFER:g} ({large!r} {spreads[large]:.3g}, {small!r} "
                f"{spreads[small]:.3g}): {words}"
            )
    if beside and (spreads or plan.of_kind(Kind.DATE)):
        return f"numbers stand beside text or dates: {words}"
    return ""


def _words_for_identifier(name: str, values: NDArray[Any]) -> str:
    as_id = f"--id {quote(name)} names rows by it, " if np.unique(values).size == values.size else ""
    return (
        f"column {name!r} looks like an identifier (whole numbers, many different ones): left out; "
        f"{as_id}--columns takes it as a feature"
    )


def _words_for_numbers(values: Sequence[str]) -> str:
    """Say how text would be numbers, if it is but for a few words that may mean that none is known."""
    words = [value for value in values if not looks_like_a_number(value)]
    different = list(dict.fromkeys(words))
    if 2 * len(words) > len(values) or not 0 < len(different) <= FEW_WORDS:
        return ""
    return f"; --na {as_typed(*different)} takes the others as numbers"


def _words_for_categories(names: Sequence[str]) -> Iterator[str]:
    if names:
        listed = ", ".join(map(repr, names))
        yield f"text with few values as 0/1 columns, one per value: {listed}"


def _words_for_drowning(spreads: dict[str, float]) -> Iterator[str]:
    largest = max(spreads.values(), default=1.0)
    # In units of the largest: squares of large numbers are no numbers.
    squares = {name: (spread / largest) ** 2 for name, spread in spreads.items()}
    total = sum(squares.values())
    for name, square in squares.items():
        if len(squares) > 1 and square > DROWNS * total:
            yield (
                f"column {name!r} makes up {100 * square / total:.0f}% of all squared distances: the others "
                "hardly count; --standardize gives each number the same weight"
            )
