"""`konstrain choose`: how many clusters."""

import shlex
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from konstrain._messages import enumerated
from konstrain.cli.options import OUTPUT, DataOptions, Json, Quiet, Seed, WithoutNeighbours, option, spread
from konstrain.cli.running import guarded, interrupts, print_result, progress, rows_named

# What to choose by.
By = Literal["silhouette", "gap", "stability"]


@spread
@guarded
def choose(
    rows: DataOptions,
    constraints: WithoutNeighbours,
    least: Annotated[
        int | None, typer.Option("--from", min=1, help="Least number to try. (default: 2, or what constraints need)")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--to", min=1, help="Largest number to try. (default: 10, or what they allow)")
    ] = None,
    by: Annotated[By, typer.Option(help="What to choose by.")] = "silhouette",
    seed: Seed = 0,
    plot: Annotated[Path | None, option(OUTPUT, "Draw the scores: .png, .svg or .pdf.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recommend a number of clusters, under the constraints; says which numbers these allow.

    Example: konstrain choose data.csv --from 2 --to 12 --size-min 20 --plot choice.png
    """
    from konstrain import choose_n_clusters
    from konstrain.cli.given import read_given
    from konstrain.cli.pictures import draw_scores, refuse_undrawable

    constraints.refuse_neighbours("choose", ", or compare 'konstrain fit --connected' with each -k")
    if plot is not None:
        refuse_undrawable(plot)
    given = read_given(rows, constraints, quiet=quiet, outputs=[plot])
    with rows_named(given.rows), progress("trying numbers of clusters ...", quiet=quiet) as show:
        choice = choose_n_clusters(
            given.X,
            least,
            most,
            by=by,
            random_state=seed,
            callback=lambda scored: show(f"{scored.n_clusters} clusters: {by} {scored.score:.3g}"),
            **given.constraints.given(),
        )
    interrupts.end_here()
    if plot is not None:
        draw_scores(plot, choice)
        interrupts.wrote(plot)
    values = {**given.summary(), **choice.to_dict(), "files": list(interrupts.written)}
    command = shlex.join(
        ["konstrain", "fit", "-k", str(choice.n_clusters), *as_arguments(rows), *as_arguments(constraints)]
    )
    lines = [str(choice), "", f"recommended: {command}"]
    if interrupts.written:
        lines.append(f"wrote {enumerated(interrupts.written)}")
    print_result("\n".join(lines), {**values, "command": command}, as_json=json)


def as_arguments(options: Any) -> list[str]:
    """Return the arguments of a command line that give a dataclass of options what differs from its defaults."""
    arguments: list[str] = []
    for field in fields(options):
        value, option = getattr(options, field.name), field.name.replace("_", "-")
        values = value if isinstance(value, list | tuple) else [] if value == field.default else [value]
        for one in values:
            if isinstance(one, bool):
                arguments.append(f"--{option}" if one else f"--no-{option}")
            else:
                arguments += [] if field.default is MISSING else [f"--{option}"]
                arguments.append(str(one))
    return arguments
