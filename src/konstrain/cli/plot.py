"""`konstrain plot`: a picture of labels."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from konstrain.cli.options import ConstraintOptions, DataOptions, Quiet, spread
from konstrain.cli.running import guarded, interrupts

# What to draw.
PlotKind = Literal["clusters", "sizes", "silhouette", "shares", "map"]


# Pictures that count rows, whatever their features.
COUNTED = ("sizes", "shares")


@spread
@guarded
def plot(
    rows: DataOptions,
    labels: Annotated[Path, typer.Argument(help="Labels, as 'fit' writes them: .csv, .json, .parquet or .arrow.")],
    constraints: ConstraintOptions,
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture: .png, .svg or .pdf.")] = Path(
        "clusters.png"
    ),
    kind: Annotated[PlotKind, typer.Option(help="What to draw.")] = "clusters",
    label_column: Annotated[str, typer.Option(help="The column of LABELS that holds them.")] = "label",
    quiet: Quiet = False,
) -> None:
    """Draw labels: clusters with their links, sizes or shares against their bounds, silhouettes, or a map."""
    from konstrain.cli import pictures
    from konstrain.cli.given import read_given
    from konstrain.files import read_labels_file

    pictures.refuse_undrawable(output)
    by_features = kind not in COUNTED
    given = read_given(rows, constraints, quiet=quiet, outputs=[output], inputs=[labels], features=by_features)
    drawn = read_labels_file(labels, given.rows, column=label_column)
    # A tolerance is about an equal part: as many parts as there are labels.
    sized = given.constraints.with_numbers(given.rows.n_samples, len(set(drawn.tolist())))
    given = replace(given, constraints=sized)
    draw = {
        "clusters": pictures.draw_clusters,
        "sizes": pictures.draw_sizes,
        "silhouette": pictures.draw_silhouette,
        "shares": pictures.draw_shares,
        "map": pictures.draw_map,
    }
    draw[kind](output, given, drawn)
    interrupts.wrote(output)
    interrupts.end_here()
    print(f"wrote {output}")
