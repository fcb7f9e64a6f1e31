"""`konstrain predict`: label new rows by a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.options import ConstraintOptions, Join, Json, Out, Quiet, sizes_in, spread
from konstrain.cli.predict_options import NewRows
from konstrain.cli.running import guarded, note

if TYPE_CHECKING:
    from konstrain.tables.columns import Columns
    from konstrain.tables.models import SavedModel

# Values that a message names at most.
NAMED_VALUES = 3


@spread
@guarded
def predict(
    rows: NewRows,
    constraints: ConstraintOptions,
    model: Annotated[Path, typer.Option(help="The model, as 'fit --save' writes it.", show_default=False)],
    trust: Annotated[
        bool, typer.Option("--trust", help="Open a .joblib file: only if you made it yourself, it may run anything.")
    ] = False,
    output: Out = None,
    join: Join = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label new rows by a model that 'fit --save' wrote: columns are prepared as they were for the fit.

    Each row goes to its nearest center; with sizes or links all rows are assigned together, at least cost.

    Example: konstrain predict new.csv --model customers.skops -o labels.csv
    """
    import numpy as np

    from konstrain._words import counted
    from konstrain.cli.given import distances_to_centers, refuse_overwriting
    from konstrain.cli.given_links import read_links
    from konstrain.cli.preparing import kept_columns, kept_names
    from konstrain.cli.results import LabelsFile
    from konstrain.cli.running import interrupts, print_result, progress, rows_named
    from konstrain.files import read_table
    from konstrain.files.table_files import as_source
    from konstrain.tables.missing import Missing
    from konstrain.tables.models import load_model

    if constraints.weight is not None:
        raise ValueError("--weight is about centers, which stay where the fit put them; leave it out")
    labels_file = LabelsFile(output, join)
    labels_file.refuse_impossible()
    refuse_overwriting([output] if output else [], [rows.data, model])
    known = load_model(model, trust=trust)
    source = as_source(rows.data, rows.encoding)
    numeric = [name for name in (constraints.demand,) if name is not None]
    table = read_table(
        source,
        columns=known.plan.names,
        id=rows.id,
        numeric=numeric,
        other=[constraints.group] if constraints.group else [],
        mixed=True,
        text=known.texts,
        decimal=None if rows.decimal is None else rows.decimal.value,
    )
    known.refuse_other_kinds(source, table.texts)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    missing = known.missing if rows.missing is None else Missing(rows.missing.value)
    columns, kept = kept_columns(missing, source, table, known.plan, numeric, quiet=quiet)
    _note_unseen(known, columns, quiet=quiet)
    X, names = known.rows_of(columns), kept_names(table.rows, kept)
    n_clusters = len(known.estimator.cluster_centers_)
    asked: dict[str, Any] = {
        **read_links(table, constraints, kept, encoding=rows.encoding, quiet=quiet),
        **{
            name: sizes_in(f"--{name.replace('_', '-')}", getattr(constraints, name), n_clusters)
            for name in ("size_min", "size_max")
        },
    }
    if constraints.demand is not None:
        demand = table.extra[constraints.demand]
        asked["demand"] = demand if kept is None else demand[kept]
    asked = {name: value for name, value in asked.items() if value is not None}
    with rows_named(names), progress("labelling ...", quiet=quiet):
        labels = known.estimator.predict(X, **asked)
    distances = distances_to_centers(X, labels, known.estimator.cluster_centers_)
    interrupts.end_here()
    labels_file.write(source, names, labels, distances, kept)
    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    lines = [f"{counted(len(labels), 'row')} in {counted(n_clusters, 'cluster')} of {model}", "", "cluster      rows"]
    lines += [f"{j:>7}{size:>10}" for j, size in enumerate(sizes)]
    if interrupts.written:
        lines += ["", f"wrote {output}"]
    values = {"n_samples": len(labels), "features": list(known.features), "sizes": sizes, "files": interrupts.written}
    print_result("\n".join(lines), values, as_json=json, beside_output=labels_file.is_standard_output)


def _note_unseen(model: "SavedModel", columns: "Columns", *, quiet: bool) -> None:
    for name, values in model.unseen(columns).items():
        named = ", ".join(map(repr, sorted(values)[:NAMED_VALUES])) + (", ..." if len(values) > NAMED_VALUES else "")
        note(f"column {name!r}: the fit never saw {named}; such rows have no value there", quiet=quiet)
