"""`konstrain exact`: the best clustering that exists, with proof."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from konstrain.cli.options import (
    OUTPUT,
    Clusters,
    DataOptions,
    DialectOption,
    Gap,
    Join,
    Json,
    LinksAndSizes,
    Out,
    Page,
    Picture,
    Quiet,
    Seed,
    option,
    spread,
)
from konstrain.cli.running import NOT_PROVED, guarded

# Where the lower bound comes from.
Bound = Literal["auto", "columns", "column-generation", "sdp"]


@spread
@guarded
def exact(
    rows: DataOptions,
    k: Clusters,
    constraints: LinksAndSizes,
    gap: Gap = 1e-6,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which the best clustering and bound are taken.")
    ] = None,
    bound: Annotated[Bound, typer.Option(help="Which lower bound to prove with.")] = "auto",
    seed: Seed = 0,
    output: Out = None,
    join: Join = False,
    dialect: DialectOption = None,
    plot: Picture = None,
    plot_bounds: Annotated[Path | None, option(OUTPUT, "Draw how the bounds met: .png, .svg or .pdf.")] = None,
    report: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the best clustering that exists under the constraints, and prove it; for up to some hundred rows.

    Constraints are hard links and groups, sizes and one demand; 'fit --certify' bounds the gap under soft links,
    shares of groups and several demands.

    Exit code 4 when the time limit came first: labels are then the best found, and the gap is printed. Ctrl-C prints
    the bounds so far and writes nothing; use --time-limit to keep what was found.
    """
    from konstrain.cli.clustering import Outputs, finish, fit_method
    from konstrain.cli.given import read_given, refuse_too_few_rows
    from konstrain.cli.results import LabelsFile, reading_of
    from konstrain.methods import get_method

    constraints.refuse_neighbours("exact", ", or use 'konstrain fit --connected FILE --certify SECONDS'")
    outputs = Outputs(
        LabelsFile(output, join, dialect, *reading_of(rows)), plot, json, quiet, bounds=plot_bounds, page=report
    )
    method = get_method("exact")
    outputs.refuse_impossible(method)
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=outputs.files())
    refuse_too_few_rows(rows, given, k)
    model = fit_method(
        method,
        given,
        k,
        params={"gap": gap, "bound": bound},
        quiet=quiet,
        random_state=seed,
        time_limit=time_limit,
    )
    finish(method, model, given, outputs, lower_bound=model.lower_bound_)
    if not model.is_optimal_:
        raise typer.Exit(NOT_PROVED)
