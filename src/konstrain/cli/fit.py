"""`konstrain fit`: cluster a file under constraints."""

import time
from typing import Annotated

import typer

from konstrain.cli.options import (
    Clusters,
    ConstraintOptions,
    DataOptions,
    Join,
    Json,
    Out,
    Page,
    Picture,
    Quiet,
    Save,
    Seed,
    spread,
)
from konstrain.cli.proofs import PartOptions
from konstrain.cli.running import NOT_PROVED, guarded

MANY = "More rows than memory"


@spread
@guarded
def fit(
    rows: DataOptions,
    k: Clusters,
    constraints: ConstraintOptions,
    parts: PartOptions,
    method: Annotated[
        str, typer.Option(help="How to cluster; 'konstrain methods' lists them.")
    ] = "constrained-kmeans",
    n_init: Annotated[
        int | None, typer.Option(min=1, help="Number of starts, of which the best counts. (default: by the data)")
    ] = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which the best clustering so far is taken.")
    ] = None,
    certify: Annotated[
        float | None, typer.Option(min=0, help="Also prove how far from the best possible, for so many seconds.")
    ] = None,
    output: Out = None,
    join: Join = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Dask scheduler for a folder of Parquet: tcp://host:8786. (default: this machine's cores)",
            rich_help_panel=MANY,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output folder if it is there.", rich_help_panel=MANY)
    ] = False,
    plot: Picture = None,
    save: Save = None,
    report: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster a file under links, sizes and demand.

    Example: konstrain fit data.csv -k 3 --must-link same.csv --size-min 30 -o labels.csv
    """
    from konstrain.cli.folders import FolderFit, is_folder, refuse_for_files, refuse_for_folders

    if is_folder(rows.data):
        refuse_for_folders(
            [
                ("--certify", certify is not None),
                ("--plot", plot),
                ("--save", save),
                ("--report", report),
                ("--join", join),
                ("--label", rows.label),
                ("--standardize", rows.standardize),
                ("--categorical", rows.categorical),
                ("--missing", rows.missing.value != "error"),
                ("--decimal", rows.decimal),
                ("--encoding", rows.encoding),
                ("--group", constraints.group),
                ("--category", constraints.category),
                ("--share-min", constraints.share_min),
                ("--share-max", constraints.share_max),
                ("--share-tolerance", constraints.share_tolerance is not None),
                ("--demand with several columns", "," in (constraints.demand or "")),
                (f"--method {method}", method != "constrained-kmeans"),
            ]
        )
        FolderFit(rows, constraints, k, n_init, seed, time_limit, output, scheduler, force, json, quiet).run()
        return
    refuse_for_files([("--scheduler", scheduler), ("--force", force)])

    from konstrain.cli.clustering import Outputs, finish, fit_method, params_of
    from konstrain.cli.given import read_given, refuse_too_few_rows
    from konstrain.cli.proofs import tell_parts, teller
    from konstrain.cli.results import LabelsFile
    from konstrain.cli.running import interrupts, note, progress
    from konstrain.methods import get_method
    from konstrain.report import tell_bound

    began = time.perf_counter()
    outputs = Outputs(LabelsFile(output, join), plot, json, quiet, model=save, page=report)
    outputs.refuse_impossible()
    chosen = get_method(method)
    if save is not None:
        from konstrain.cli.saving import refuse_method_without_predict

        refuse_method_without_predict(chosen)
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=outputs.files())
    refuse_too_few_rows(rows, given, k)
    if certify is not None and given.has_soft_links and method != "constrained-kmeans":
        raise ValueError(f"{method} puts no price on soft links, so there is no cost to bound; leave out --certify")
    model = fit_method(
        chosen,
        given,
        k,
        params=params_of(chosen, n_init=n_init),
        quiet=quiet,
        random_state=seed,
        time_limit=time_limit,
    )
    bound = getattr(model, "lower_bound_", None)
    if certify is not None:
        # Proofs bring a solver and more; most fits need none.
        from konstrain import lower_bound

        with progress("looking for a proof ...", quiet=quiet) as show:
            proof = lower_bound(
                given.X,
                k,
                labels=model.labels_,
                time_limit=certify,
                violation_cost=getattr(model, "violation_cost_", None),
                callback=teller(show),
                **given.constraints,
                **parts.arguments(),
            )
        interrupts.end_here()
        if given.has_soft_links:
            # The report speaks of the sum of squares, the bound of what broken soft links cost as well.
            note(f"with broken soft links {proof.cost:.6g}; {tell_bound(proof.lower_bound, proof.gap)}", quiet=quiet)
        else:
            bound = proof.lower_bound
        for line in tell_parts(proof):
            note(line, quiet=quiet)
    finish(chosen, model, given, outputs, began, lower_bound=bound)
    if not getattr(model, "is_optimal_", True):
        raise typer.Exit(NOT_PROVED)
