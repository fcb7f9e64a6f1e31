"""New rows for a saved model: read, prepared as they were for the fit, with the constraints on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.cli.given import refuse_negative
from konstrain.cli.given_bounds import read_bounds
from konstrain.cli.given_links import read_links
from konstrain.cli.options import ConstraintOptions
from konstrain.cli.predict_options import NewRows
from konstrain.cli.preparing import kept_columns, kept_names
from konstrain.cli.results import reading_of
from konstrain.cli.running import note
from konstrain.files import RowNames, read_table
from konstrain.files.sources import Source
from konstrain.files.table_files import as_source
from konstrain.tables.columns import Columns
from konstrain.tables.missing import Missing
from konstrain.tables.models import SavedModel

# Values that a message names at most.
NAMED_VALUES = 3


@dataclass(frozen=True, eq=False)
class NewGiven:
    """New rows and the constraints on them; `kept` marks those of the file that are among them, None: all.

    `demands` are the columns of what rows count, by name.
    """

    X: NDArray[Any]
    rows: RowNames
    kept: NDArray[np.bool_] | None
    constraints: dict[str, Any]
    demands: dict[str, NDArray[np.float64]]
    source: Source


def read_new(rows: NewRows, constraints: ConstraintOptions, model: SavedModel, *, quiet: bool) -> NewGiven:
    """Read new rows and what options say of them; columns that the fit used must be there."""
    asked = read_bounds(constraints, len(model.estimator.cluster_centers_))
    reading, (decimal, na) = model.reading, reading_of(rows)
    source = as_source(rows.data, rows.encoding, usual_encoding=reading.encoding)
    # Files of links are written as the table is.
    encoding = reading.encoding if source.encoding == reading.encoding else rows.encoding
    table = read_table(
        source,
        columns=model.plan.names,
        id=rows.id,
        numeric=asked.demands,
        other=[name for name in (constraints.group, *asked.categories) if name is not None],
        mixed=True,
        text=model.texts,
        decimal=decimal or reading.decimal,
        na=na or reading.na,
        usual_id=reading.id,
    )
    model.refuse_other_kinds(source, table.texts)
    refuse_negative(source, table, asked.demands)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    missing = model.missing if rows.missing is None else Missing(rows.missing.value)
    columns, kept = kept_columns(missing, source, table, model.plan, asked.demands, quiet=quiet)
    _note_unseen(model, columns, quiet=quiet)

    def column(name: str) -> NDArray[Any]:
        values = table.extra[name]
        return values if kept is None else values[kept]

    found = {
        **read_links(table, constraints, kept, encoding=encoding, quiet=quiet),
        **asked.with_columns(column),
    }
    return NewGiven(
        X=model.rows_of(columns),
        rows=kept_names(table.rows, kept),
        kept=kept,
        constraints={name: value for name, value in found.items() if value is not None},
        demands={name: column(name) for name in asked.demands},
        source=source,
    )


def _note_unseen(model: SavedModel, columns: Columns, *, quiet: bool) -> None:
    for name, values in model.unseen(columns).items():
        named = ", ".join(map(repr, sorted(values)[:NAMED_VALUES])) + (", ..." if len(values) > NAMED_VALUES else "")
        note(f"column {name!r}: the fit never saw {named}; such rows have no value there", quiet=quiet)
