"""`konstrain predict`: label new rows by a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.options import ConstraintOptions, Join, Json, Out, Quiet, spread
from konstrain.cli.predict_options import NewRows
from konstrain.cli.running import guarded

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    Each row goes to its nearest center; with sizes, shares or links all rows are assigned together, at least cost.

    Example: konstrain predict new.csv --model customers.skops -o labels.csv
    """
    from konstrain.cli.given import distances_to_centers, refuse_overwriting
    from konstrain.cli.given_new import read_new
    from konstrain.cli.results import LabelsFile
    from konstrain.cli.running import interrupts, print_result, progress, rows_named
    from konstrain.tables.models import load_model

    if constraints.weight is not None:
        raise ValueError("--weight is about centers, which stay where the fit put them; leave it out")
    labels_file = LabelsFile(output, join)
    labels_file.refuse_impossible()
    refuse_overwriting([output] if output else [], [rows.data, model])
    known = load_model(model, trust=trust)
    new = read_new(rows, constraints, known, quiet=quiet)
    with rows_named(new.rows), progress("labelling ...", quiet=quiet):
        labels = known.estimator.predict(new.X, **new.constraints)
    centers = known.estimator.cluster_centers_
    distances = distances_to_centers(new.X, labels, centers)
    interrupts.end_here()
    labels_file.write(new.source, new.rows, labels, distances, new.kept)
    words, values = _summary(model, labels, len(centers))
    values = {"n_samples": len(labels), "features": list(known.features), **values, "files": interrupts.written}
    if interrupts.written:
        words += f"\n\nwrote {output}"
    print_result(words, values, as_json=json, beside_output=labels_file.is_standard_output)


def _summary(model: Path, labels: "NDArray[Any]", n_clusters: int) -> tuple[str, dict[str, Any]]:
    import numpy as np

    from konstrain._words import counted

    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    lines = [f"{counted(len(labels), 'row')} in {counted(n_clusters, 'cluster')} of {model}", "", "cluster      rows"]
    lines += [f"{j:>7}{size:>10}" for j, size in enumerate(sizes)]
    return "\n".join(lines), {"sizes": sizes}
