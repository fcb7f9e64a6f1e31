"""`konstrain check`: whether constraints are possible, and what they imply."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from konstrain.cli.options import OUTPUT, Clusters, ConstraintOptions, DataOptions, Json, Quiet, option, spread
from konstrain.cli.running import INFEASIBLE, NOT_PROVED, guarded, print_result, rows_named, with_row_numbers


@spread
@guarded
def check(
    rows: DataOptions,
    k: Clusters,
    constraints: ConstraintOptions,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for the hard cases.")] = 5.0,
    plot: Annotated[Path | None, option(OUTPUT, "Draw what clashes, if anything does: .png, .svg or .pdf.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report whether the constraints are possible, why not, and what they imply; without clustering.

    Exit code 3 when they are not, 4 when that is not known in time.
    """
    from konstrain import check as check_constraints
    from konstrain.cli.given import read_given
    from konstrain.cli.pictures import draw_conflicts, refuse_undrawable

    if plot is not None:
        refuse_undrawable(plot)
    # Most constraints can be judged without any feature: all that counts is how many rows there are.
    given = read_given(
        rows, constraints, quiet=quiet, n_clusters=k, outputs=[plot], features=constraints.needs_features
    )
    with rows_named(given.rows):
        X_or_n = given.X if constraints.needs_features else given.rows.n_samples
        result = check_constraints(X_or_n, k, time_limit=time_limit, **given.constraints.given())
        findings = [replace(f, message=with_row_numbers(given.rows, f.message, f.witness)) for f in result.findings]
        result = replace(result, findings=findings)
        text = str(result)
    if plot is not None and result.findings:
        draw_conflicts(plot, result, given.rows)
    print_result(text, _values(result), as_json=json)
    if result.feasible is not True:
        raise typer.Exit(INFEASIBLE if result.feasible is False else NOT_PROVED)


def _values(result: Any) -> dict[str, Any]:
    """The result as plain values."""
    values = asdict(result)
    values["findings"] = [{"reason": f.reason, "message": f.message} for f in result.findings]
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
