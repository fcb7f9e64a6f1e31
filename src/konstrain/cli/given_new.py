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
    """New rows and the constraints on them; `kept` marks those of the file that are among them, None: all."""

    X: NDArray[Any]
    rows: RowNames
    kept: NDArray[np.bool_] | None
    constraints: dict[str, Any]
    source: Source


def read_new(rows: NewRows, constraints: ConstraintOptions, model: SavedModel, *, quiet: bool) -> NewGiven:
    """Read new rows and what options say of them; columns that the fit used must be there."""
    asked = read_bounds(constraints, len(model.estimator.cluster_centers_))
    source = as_source(rows.data, rows.encoding)
    table = read_table(
        source,
        columns=model.plan.names,
        id=rows.id,
        numeric=asked.demands,
        other=[name for name in (constraints.group, *asked.categories) if name is not None],
        mixed=True,
        text=model.texts,
        decimal=None if rows.decimal is None else rows.decimal.value,
    )
    model.refuse_other_kinds(source, table.texts)
    refuse_negative(source, table, asked.demands)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    missing = model.missing if rows.missing is None else Missing(rows.missing.value)
    columns, kept = kept_columns(missing, source, table, model.plan, asked.demands, quiet=quiet)
    _note_unseen(model, columns, quiet=quiet)
    found = {
        **read_links(table, constraints, kept, encoding=rows.encoding, quiet=quiet),
        **asked.with_columns(lambda name: table.extra[name] if kept is None else table.extra[name][kept]),
    }
    return NewGiven(
        X=model.rows_of(columns),
        rows=kept_names(table.rows, kept),
        kept=kept,
        constraints={name: value for name, value in found.items() if value is not None},
        source=source,
    )


def _note_unseen(model: SavedModel, columns: Columns, *, quiet: bool) -> None:
    for name, values in model.unseen(columns).items():
        named = ", ".join(map(repr, sorted(values)[:NAMED_VALUES])) + (", ..." if len(values) > NAMED_VALUES else "")
        note(f"column {name!r}: the fit never saw {named}; such rows have no value there", quiet=quiet)
