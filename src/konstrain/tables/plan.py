"""What becomes of each column of a table: a number, 0/1 columns of a text's values, days, or nothing."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from shlex import quote
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import MOST_NUMBERS
from konstrain._messages import Advised, as_typed, counted
from konstrain.exceptions import FileError
from konstrain.files.cells import is_number_somehow
from konstrain.tables.columns import Columns
from konstrain.tables.transformers import EXAMPLES, RADIUS, Kilometres, find_format

# Words of a column's name that say that its numbers are names.
_NAMES_ROWS = {"id", "ids", "uuid", "guid", "index", "unnamed", "rowname", "rownames", "ssn", "isbn", "ean", "sku"}
_NAMES_PLACES = {"zip", "zipcode", "postcode", "postal", "plz", "phone", "telephone", "fax"}
# The same without a sign between the words: customerid, but not paid, grid or humid.
_JOINED = re.compile(
    "accountid|caseid|clientid|customerid|employeeid|itemid|memberid|orderid|patientid|personid|productid|recordid"
    "|rowid|storeid|studentid|userid"
)


@dataclass(frozen=True)
class PlanParams:
    """What the plan of a table depends on."""

    # Distinct values that count as few. Larger: more text becomes 0/1 columns, fewer whole numbers are identifiers.
    few: int = 20
    # Share that counts as nearly all. Larger: fewer columns are identifiers or dominate the distances.
    nearly_all: float = 0.95
    # Share of empty cells above which a column is left out. Larger: emptier columns become features.
    mostly_empty: float = 0.5


PARAMS = PlanParams()
# As documented: ratio of spreads above which numbers are scaled, and error of distances on the flat map from which a
# note gives it.
SPREAD_RATIO: Final = 100
MAP_ERROR: Final = 0.01
# Words in columns of numbers that a message names at most as words for no value.
NAMED_WORDS: Final = 3


def is_identifier(name: str, values: NDArray[Any]) -> bool:
    """Whether the numbers of a column are names: they are whole and nearly all different, and it is called so."""
    values = values[~np.isnan(values)]
    if not values.size or (values != np.floor(values)).any():
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    n_different = np.unique(values).size
    if words & _NAMES_PLACES:
        return n_different > min(PARAMS.few, PARAMS.nearly_all * values.size)
    if words & _NAMES_ROWS or _JOINED.fullmatch(name.lower()):
        return n_different >= PARAMS.nearly_all * values.size and n_different > 1
    return values.size >= PARAMS.few and _counts_rows(values)


def _counts_rows(values: NDArray[Any]) -> bool:
    return values[0] in (0, 1) and bool((np.diff(values) == 1).all())


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
    """What becomes of a table."""

    columns: tuple[ColumnPlan, ...]  # The columns to cluster by.
    scaled: bool  # Whether numbers and days get mean 0 and variance 1.
    advised: bool = False  # Whether that is what the columns themselves speak for.
    notes: tuple[str, ...] = ()  # What becomes of columns and why, a line each.

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
        """Decide column by column; identifiers only count if there is nothing else."""
        numbers = [name for name in self.columns.numbers if self._has_values(name)]
        # A dict: there may be many columns.
        identifiers = dict.fromkeys(name for name in numbers if self._is_identifier(name))
        found = [ColumnPlan(name, Kind.NUMBER) for name in numbers if name not in identifiers]
        found += filter(None, map(self._text, self.columns.texts))
        if found:
            self.notes += [_identifier_note(name, self.columns.number(name)) for name in identifiers]
        else:
            found = [ColumnPlan(name, Kind.NUMBER) for name in identifiers]
        if not found:
            why = f": {'; '.join(self.notes)}" if self.notes else ""
            raise FileError(f"no column is left to cluster by{why}")
        return found

    def _has_values(self, name: str) -> bool:
        n_missing, n_rows = self.columns.n_missing(name), len(self.columns)
        if n_missing == n_rows:
            self.notes.append(f"column {name!r} has no values: left out")
            return False
        if n_missing > PARAMS.mostly_empty * n_rows and name not in self.asked:
            empty = f"column {name!r} is empty in {n_missing} of {n_rows} rows: left out"
            self.notes.append(Advised(empty, "--columns takes it as a feature"))
            return False
        return True

    def _is_identifier(self, name: str) -> bool:
        return name not in self.asked and is_identifier(name, self.columns.number(name))

    def _text(self, name: str) -> ColumnPlan | None:
        if not self._has_values(name):
            return None
        values = [value for value in self.columns.texts[name] if value is not None]
        n_different = len(set(values))
        if name in self.categorical:
            if n_different * len(self.columns) > MOST_NUMBERS:
                raise FileError(f"column {name!r} has {n_different} different values, too many for categories")
            return ColumnPlan(name, Kind.CATEGORY)
        way = find_format(values)
        if way is not None:
            self.notes.append(f"column {name!r} holds dates ({EXAMPLES[way]}): counted in days")
            return ColumnPlan(name, Kind.DATE, way)
        if n_different == 1:
            self.notes.append(f"column {name!r} holds {values[0]!r} everywhere: left out")
            return None
        if n_different > PARAMS.few or 2 * n_different > len(values):
            as_id = f", --id {quote(name)} names rows by it" if n_different == len(self.columns) else ""
            text = f"column {name!r} is text with {counted(n_different, 'different value')}: left out"
            self.notes.append(Advised(text, f"--categorical {as_typed(name)} takes it{as_id}{_na_advice(values)}"))
            return None
        return ColumnPlan(name, Kind.CATEGORY)


def plan_columns(
    columns: Columns,
    *,
    categorical: Collection[str] = (),
    asked: Collection[str] = (),
    standardize: bool | None = None,
) -> TablePlan:
    """Decide what becomes of each column; `asked` are features because someone said so, identifiers or not.

    By default numbers get mean 0 and variance 1 if their spreads differ by more than a factor of 100, or if there are
    categories or dates as well, which have no unit in common with them.
    """
    planner = _Planner(columns, frozenset(categorical), frozenset(asked))
    chosen = planner.decide()
    plan = TablePlan(tuple(chosen), False)
    notes = [*planner.notes, *_category_notes(plan.of_kind(Kind.CATEGORY))]
    spreads = _spreads(columns, plan)
    words = _why_scaled(plan, spreads)
    scaled = bool(words) if standardize is None else standardize
    if standardize is None and words:
        notes.append(words)
    if not scaled:
        notes += _dominance_notes(spreads)
    return TablePlan(tuple(chosen), scaled, bool(words), tuple(notes))


def plain_plan(columns: Columns, *, standardize: bool | None = None) -> TablePlan:
    """The plan of `--prepare none`: numbers as they are, unless they are to be standardised."""
    return TablePlan(tuple(ColumnPlan(name, Kind.NUMBER) for name in columns.numbers), bool(standardize))


def _spreads(columns: Columns, plan: TablePlan) -> dict[str, float]:
    """Standard deviations of the numbers that vary."""
    found: dict[str, float] = {}
    for names, values in columns.blocks(plan.of_kind(Kind.NUMBER)):
        units = np.nanmax(np.abs(values), axis=1)
        units[units == 0] = 1
        spreads = units * np.nanstd(values / units[:, None], axis=1)
        found.update((name, spread) for name, spread in zip(names, spreads.tolist(), strict=True) if spread > 0)
    return found


def _why_scaled(plan: TablePlan, spreads: dict[str, float]) -> str:
    """Return why numbers are to be scaled; nothing if they need not be."""
    others = [*plan.of_kind(Kind.CATEGORY), *plan.of_kind(Kind.DATE)]
    scaled, advice = "each number gets mean 0 and variance 1", "--no-standardize leaves them"
    if spreads:
        small, large = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
        if spreads[large] > SPREAD_RATIO * spreads[small]:
            why = (
                f"spreads differ by more than {SPREAD_RATIO} ({large!r} {spreads[large]:.3g}, {small!r} "
                f"{spreads[small]:.3g})"
            )
            return Advised(f"{why}: {scaled}", advice)
    if others and (spreads or plan.of_kind(Kind.DATE)):
        return Advised(f"there are numbers and text or dates: {scaled}", advice)
    return ""


def _identifier_note(name: str, values: NDArray[Any]) -> str:
    as_id = f"--id {quote(name)} names rows by it, " if np.unique(values).size == values.size else ""
    text = f"column {name!r} seems to be an identifier (whole numbers, many different ones): left out"
    return Advised(text, f"{as_id}--columns takes it as a feature")


def _na_advice(values: Sequence[str]) -> str:
    """Say how text would be numbers, if it is but for a few words that may mean that none is known."""
    words = [value for value in values if not is_number_somehow(value)]
    different = list(dict.fromkeys(words))
    if 2 * len(words) > len(values) or not 0 < len(different) <= NAMED_WORDS:
        return ""
    return f"; --na {as_typed(*different)} takes the others as numbers"


def _category_notes(names: Sequence[str]) -> Iterator[str]:
    if names:
        listed = ", ".join(map(repr, names))
        yield f"text with few values as 0/1 columns, one per value: {listed}"


def _dominance_notes(spreads: dict[str, float]) -> Iterator[str]:
    largest = max(spreads.values(), default=1.0)
    # In units of the largest: squares of large numbers are no numbers.
    squares = {name: (spread / largest) ** 2 for name, spread in spreads.items()}
    total = sum(squares.values())
    for name, square in squares.items():
        if len(squares) > 1 and square > PARAMS.nearly_all * total:
            share = f"column {name!r} makes up {100 * square / total:.0f}% of all squared distances"
            yield Advised(f"{share}: the others hardly count", "--standardize gives each number the same weight")


def plan_places(columns: Columns, names: Sequence[str]) -> TablePlan:
    """Plan to cluster by places alone, from columns of latitude and longitude; refuse what are no degrees."""
    for name, most in zip(names, (90.0, 360.0), strict=True):
        if name in columns.texts:
            raise FileError(f"column {name!r} holds no numbers; --geo takes latitude and longitude in degrees")
        values = columns.number(name)
        wrong = np.flatnonzero(np.abs(values) > most)
        if wrong.size:
            raise FileError(
                f"row {wrong[0]}, column {name!r} is {values[wrong[0]]:g}, beyond {most:g} degrees; --geo takes "
                "latitude first, then longitude"
            )
    notes = [f"distances in kilometres, from latitude {names[0]!r} and longitude {names[1]!r}"]
    places = np.column_stack([columns.number(name) for name in names])
    known = places[~np.isnan(places).any(axis=1)]
    if len(known):
        notes += _map_error_notes(float(np.linalg.norm(Kilometres().fit_transform(known), axis=1).max()))
    return TablePlan(tuple(ColumnPlan(name, Kind.PLACE) for name in names), False, notes=tuple(notes))


def _map_error_notes(farthest: float) -> list[str]:
    """Say how wrong distances are at most, where that counts; `farthest` is the distance to the middle, in km."""
    angle = farthest / RADIUS
    stretch = angle / np.sin(angle) - 1 if angle else 0.0
    if stretch <= MAP_ERROR:
        return []
    words = f"places lie up to {farthest:,.0f} km from their middle: on a flat map distances out there are up to"
    return [f"{words} {stretch:.0%} too long"]
