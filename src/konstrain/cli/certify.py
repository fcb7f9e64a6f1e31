"""`konstrain certify`: how far a clustering is from the best possible."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.options import (
    OUTPUT,
    ConstraintOptions,
    DataOptions,
    Gap,
    Json,
    PartOptions,
    Quiet,
    option,
    spread,
)
from konstrain.cli.running import NOT_PROVED, guarded, interrupts, print_result, progress, rows_named

if TYPE_CHECKING:
    from konstrain import Certificate


@spread
@guarded
def certify(
    rows: DataOptions,
    labels: Annotated[
        Path, typer.Argument(help="Labels to judge, as 'fit' writes them: .csv, .json, .parquet, .arrow.")
    ],
    constraints: ConstraintOptions,
    parts: PartOptions,
    k: Annotated[
        int | None, typer.Option("-k", "--clusters", min=1, help="Number of clusters. (default: those in LABELS)")
    ] = None,
    label_column: Annotated[str, typer.Option(help="The column of LABELS that holds them.")] = "label",
    violation_cost: Annotated[
        float | None, typer.Option(min=0, help="What breaking a soft link of confidence 1 costs.")
    ] = None,
    gap: Gap = 1e-6,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds to search for a proof.")] = 60.0,
    better: Annotated[
        Path | None, option(OUTPUT, "Write better labels, should any be found: .csv, .parquet, .arrow, .json.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prove how far labels are from the best clustering under the constraints.

    From 900 rows on, parts of the rows are bounded one by one and their bounds added up, unless features are few.

    Exit code 4 when they were not proved optimal: better ones exist, or the limit came first. The gap is always
    printed.
    """
    import numpy as np

    from konstrain import lower_bound
    from konstrain.cli.clustering import shown_progress
    from konstrain.cli.given import read_given
    from konstrain.cli.results import LabelsFile
    from konstrain.files import read_labels_file, write_labels_file
    from konstrain.report import bound_message

    LabelsFile(better).refuse_impossible()
    given = read_given(
        rows, constraints, quiet=quiet, n_clusters=k, inputs=[labels, *parts.files()], outputs=[better]
    )
    judged = read_labels_file(labels, given.rows, column=label_column)
    n_clusters = np.unique(judged).size if k is None else k
    with rows_named(given.rows), progress("looking for a proof ...", quiet=quiet) as show:
        proof = lower_bound(
            given.X,
            n_clusters,
            labels=judged,
            gap=gap,
            time_limit=time_limit,
            violation_cost=violation_cost,
            callback=shown_progress(show),
            **given.constraints.given(),
            **parts.arguments(),
        )
    interrupts.end_here(bound_message(proof.lower_bound, proof.gap))
    is_better = proof.best_cost < proof.cost * (1 - gap)
    if is_better and better is not None:
        write_labels_file(better, given.rows, proof.best_labels)
        interrupts.wrote(better)
    if is_better:
        where = "--better FILE writes its labels" if better is None else f"wrote {better}"
        verdict = f"not optimal: one of {proof.best_cost:.6g} was found; {where}"
    else:
        verdict = "proved optimal" if proof.is_optimal else f"not proved optimal within {time_limit:g} s"
    words = _words(labels, proof, verdict, has_soft_links=given.has_soft_links)
    print_result(words, _values(proof), as_json=json)
    if not proof.is_optimal:
        raise typer.Exit(NOT_PROVED)


def _words(labels: Path, proof: "Certificate", verdict: str, *, has_soft_links: bool) -> str:
    from konstrain._messages import counted
    from konstrain.cli.clustering import proof_lines
    from konstrain.report import bound_message

    steps = f"{proof.n_nodes} parts" if proof.n_parts else counted(proof.n_nodes, "node")
    lines = [
        f"{'SSE and broken soft links' if has_soft_links else 'SSE'} of {labels}: {proof.cost:.6g}",
        bound_message(proof.lower_bound, proof.gap),
        verdict,
        *proof_lines(proof),
        f"{steps}, {proof.seconds:.1f} s",
    ]
    return "\n".join(lines)


def _values(proof: "Certificate") -> dict[str, Any]:
    names: tuple[str, ...] = ("cost", "lower_bound", "gap", "is_optimal", "best_cost", "n_nodes", "seconds", "prover")
    if proof.n_parts:
        names += ("n_parts", "part_size", "projected_gap", "projected_gap_error", "left_out")
    return {name: getattr(proof, name) for name in names}
