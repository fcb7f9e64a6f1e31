"""From a table that was read to rows to cluster: what becomes of its columns, and of rows with empty cells."""

from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import LATITUDES, LONGITUDES, Advised, are_degrees, as_typed, counted
from konstrain.cli.options import DataOptions, names_in
from konstrain.cli.running import note
from konstrain.files import RowNames, Table
from konstrain.files.choice import refuse_text_columns
from konstrain.files.sources import Source
from konstrain.tables import Columns, Preparation, plan_columns, prepare
from konstrain.tables.columns import Missing, complete_rows, filled_words
from konstrain.tables.plan import Kind, TablePlan, plain_plan

# Columns of these names are seldom meant as features.
NAMES_ROWS = {"id", "index"}
SUSPICIOUS = NAMES_ROWS | {"label", "labels", "class", "target", "cluster"}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows to cluster and the columns they were made of.

    `kept` marks the rows of the file that are among them, None: all; `missing` is what was done about empty cells.
    """

    table: Table
    columns: Columns
    preparation: Preparation
    kept: NDArray[np.bool_] | None = None
    missing: Missing = Missing.ERROR

    def rows(self) -> RowNames:
        """What the rows are called: those left out keep their numbers for themselves."""
        return kept_names(self.table.rows, self.kept)

    def extra(self, name: str | None) -> NDArray[Any] | None:
        """A further column, of the rows that are kept."""
        values = None if name is None else self.table.extra[name]
        return values if values is None or self.kept is None else values[self.kept]


def feature_names(data: DataOptions) -> list[str] | None:
    """Return the columns that options name as features; None: all that have no other part."""
    if data.geo is None:
        return names_in("--columns", data.columns) or None
    given = [f"--{name}" for name in ("columns", "categorical") if getattr(data, name) is not None]
    if given or data.standardize:
        raise ValueError(f"--geo clusters by places alone, in kilometres; leave out {(*given, '--standardize')[0]}")
    names = names_in("--geo", data.geo)
    if len(names) != 2:
        raise ValueError(f"--geo {data.geo} names {counted(len(names), 'column')}; it takes two: latitude,longitude")
    return names


def prepare_table(data: DataOptions, source: Source, table: Table, numeric: list[str], *, quiet: bool) -> Prepared:
    """Carry out what the options, and the table itself, ask for; says each decision in one line."""
    columns = Columns(table.X, table.features, table.texts)
    asked = [*names_in("--columns", data.columns), *names_in("--categorical", data.categorical)]
    if data.geo is not None:
        from konstrain.tables.plan import plan_places

        plan = plan_places(columns, feature_names(data) or ())
    elif data.prepare == "none":
        refuse_text_columns(source, [name for name in table.texts if name not in asked], has_id=data.id is not None)
        plan = plain_plan(columns, standardize=data.standardize)
    else:
        plan = plan_columns(
            columns,
            categorical=names_in("--categorical", data.categorical),
            asked=asked,
            standardize=data.standardize,
        )
    for message in plan.notes:
        note(message, quiet=quiet)
    _note_suspicious(plan, asked, quiet=quiet)
    _note_degrees(plan, quiet=quiet)
    return carry_out(data, source, table, plan, numeric, quiet=quiet)


def carry_out(
    data: DataOptions, source: Source, table: Table, plan: TablePlan, numeric: list[str], *, quiet: bool
) -> Prepared:
    """Leave out rows if that is asked for, and make rows of numbers of the others."""
    missing = Missing(data.missing)
    columns, kept = kept_columns(missing, source, table, plan, numeric, quiet=quiet)
    return Prepared(table, columns, prepare(columns, plan), kept, missing)


def kept_columns(
    missing: Missing, source: Source, table: Table, plan: TablePlan, numeric: list[str], *, quiet: bool
) -> tuple[Columns, NDArray[np.bool_] | None]:
    """Return the columns of the rows that count, and which these are."""
    columns = Columns(table.X, table.features, table.texts)
    further = {name: table.extra[name] for name in numeric}
    kept = complete_rows(source, columns, plan.names, further, missing)
    if kept is None:
        filled = filled_words(columns, plan.names)
        if filled:
            note(filled, quiet=quiet)
        return columns, None
    note(f"{counted(int((~kept).sum()), 'row')} of {len(kept)} left out: values are missing", quiet=quiet)
    return columns.rows(kept), kept


def kept_names(rows: RowNames, kept: NDArray[np.bool_] | None) -> RowNames:
    """Names of the rows that are kept."""
    if kept is None:
        return rows
    names = [rows.name_of(row) for row in np.flatnonzero(kept).tolist()]
    return replace(rows, n_samples=len(names), ids=names)


def _note_suspicious(plan: TablePlan, asked: list[str], *, quiet: bool) -> None:
    for name in plan.names:
        if name.lower() in SUSPICIOUS and name not in asked:
            instead = f"--{'id' if name.lower() in NAMES_ROWS else 'label'} {quote(name)}"
            advice = f"if it is none: --ignore {as_typed(name)}, or {instead}"
            note(Advised(f"column {name!r} is used as a feature", advice), quiet=quiet)


def _note_degrees(plan: TablePlan, *, quiet: bool) -> None:
    numbers = plan.of_kind(Kind.NUMBER)
    pair = [name for names in (LATITUDES, LONGITUDES) for name in numbers if name.lower() in names]
    if len(pair) == 2 and are_degrees(*pair):
        text = (
            f"columns {pair[0]!r} and {pair[1]!r} are taken as plain numbers, and degrees are not kilometres: one of "
            "longitude is shorter than one of latitude"
        )
        note(Advised(text, f"--geo {as_typed(*pair)} measures kilometres"), quiet=quiet)
