"""`konstrain predict`: label new rows by a saved model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.options import DialectOption, Join, Json, NewRows, Out, Quiet, WithoutWeight, spread
from konstrain.cli.running import guarded

if TYPE_CHECKING:
    from numpy.typing import NDArray


@spread
@guarded
def predict(
    rows: NewRows,
    constraints: WithoutWeight,
    model: Annotated[Path, typer.Option(help="The model, as 'fit --save' writes it.", show_default=False)],
    trust: Annotated[
        bool, typer.Option("--trust", help="Open a .joblib file: only if you made it yourself, it may run anything.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds for labels under constraints. (default: as for the fit)")
    ] = None,
    output: Out = None,
    join: Join = False,
    dialect: DialectOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label new rows by a model that 'fit --save' wrote: columns are prepared as they were for the fit.

    Each row goes to its nearest center; with sizes, shares or links all rows are assigned together, at least cost.
    Ids, encoding, decimals and missing values are read as for the fit, unless options say otherwise.

    Example: konstrain predict new.csv --model customers.skops -o labels.csv
    """
    from konstrain.cli.given import distances_to_centers, read_new, refuse_overwriting
    from konstrain.cli.results import LabelsFile, reading_of
    from konstrain.cli.running import interrupts, print_result, progress, rows_named
    from konstrain.estimators._metric_choice import unit_rows
    from konstrain.tables.models import load_model

    if constraints.weight is not None:
        raise ValueError("--weight is about centers, which stay where the fit put them; leave it out")
    constraints.refuse_neighbours("predict", ", or fit all rows together")
    labels_file = LabelsFile(output, join, dialect)
    labels_file.refuse_impossible()
    files = [] if output is None or labels_file.is_standard_output else [output]
    refuse_overwriting(files, [rows.data, model, *constraints.files()])
    known = load_model(model, trust=trust)
    if time_limit is not None:
        known.estimator.time_limit = time_limit
    new = read_new(rows, constraints, known, quiet=quiet)
    with rows_named(new.rows), progress("labelling ...", quiet=quiet):
        labels = known.estimator.predict(new.X, **new.constraints.given())
    centers = known.estimator.cluster_centers_
    is_cosine = getattr(known.estimator, "metric", None) == "cosine"
    distances = distances_to_centers(unit_rows(new.X) if is_cosine else new.X, labels, centers)
    interrupts.end_here()
    decimal, na = reading_of(rows)
    labels_file = replace(labels_file, decimal=decimal or known.reading.decimal, na=na or known.reading.na)
    labels_file.write(new.source, new.rows, labels, distances, new.kept)
    words, values = _summary(model, labels, len(centers), new.demands)
    values = {"n_samples": len(labels), "features": list(known.features), **values, "files": interrupts.written}
    if interrupts.written:
        words += f"\n\nwrote {output}"
    print_result(words, values, as_json=json, beside_output=labels_file.is_standard_output)


def _summary(
    model: Path, labels: "NDArray[Any]", n_clusters: int, demands: "Mapping[str, NDArray[Any]]"
) -> tuple[str, dict[str, Any]]:
    import numpy as np

    from konstrain._messages import counted
    from konstrain.cli.running import one_line

    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    held = {name: np.bincount(labels, amounts, n_clusters).tolist() for name, amounts in demands.items()}
    names = ["rows", *map(one_line, held)]
    widths = [max(10, len(name) + 2) for name in names]
    titles = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"{counted(len(labels), 'row')} in {counted(n_clusters, 'cluster')} of {model}", "", f"cluster{titles}"]
    for j in range(n_clusters):
        sums = (f"{values[j]:>{width}g}" for values, width in zip(held.values(), widths[1:], strict=True))
        lines.append(f"{j:>7}{sizes[j]:>10}{''.join(sums)}")
    return "\n".join(lines), {"sizes": sizes, **({"demand": held} if held else {})}
