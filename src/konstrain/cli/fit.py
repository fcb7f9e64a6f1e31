"""`konstrain fit`: cluster a file under constraints."""

from typing import TYPE_CHECKING, Any

import typer

from konstrain.cli.fit_options import FolderOptions, ResultOptions, SearchOptions
from konstrain.cli.options import Clusters, ConstraintOptions, DataOptions, Json, Quiet, spread
from konstrain.cli.proofs import PartOptions
from konstrain.cli.running import NOT_PROVED, guarded, interrupts, note, progress

if TYPE_CHECKING:
    from konstrain.cli.given import Given


@spread
@guarded
def fit(
    rows: DataOptions,
    k: Clusters,
    constraints: ConstraintOptions,
    parts: PartOptions,
    search: SearchOptions,
    results: ResultOptions,
    folders: FolderOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster a file under links, sizes and demand.

    Example: konstrain fit data.csv -k 3 --must-link same.csv --size-min 30 -o labels.csv
    """
    from konstrain.cli.folders import FolderFit, is_folder, refuse_folder_options, refuse_options_in_memory

    if is_folder(rows.data):
        refuse_options_in_memory(rows, constraints, search, results)
        FolderFit(rows, constraints, k, search, results.output, folders, json, quiet).run()
        return
    refuse_folder_options(folders)

    from konstrain.cli.clustering import Outputs, finish, fit_method, params_of
    from konstrain.cli.given import read_given, refuse_too_few_rows
    from konstrain.cli.results import LabelsFile, reading_of
    from konstrain.methods import get_method

    labels = LabelsFile(results.output, results.join, results.dialect, *reading_of(rows))
    outputs = Outputs(labels, results.plot, json, quiet, model=results.save, page=results.report)
    outputs.refuse_impossible()
    method = get_method(search.method)
    if results.save is not None:
        from konstrain.cli.saving import refuse_method_without_predict

        refuse_method_without_predict(method)
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=outputs.files(), inputs=parts.files())
    refuse_too_few_rows(rows, given, k)
    _refuse_no_price(search, given)
    model = fit_method(
        method,
        given,
        k,
        params=params_of(method, n_init=search.n_init),
        quiet=quiet,
        random_state=search.seed,
        time_limit=search.time_limit,
    )
    bound = getattr(model, "lower_bound_", None)
    if search.certify is not None:
        proved = _proved_bound(model, given, search.certify, parts, quiet=quiet)
        bound = bound if proved is None else proved
    finish(method, model, given, outputs, lower_bound=bound)
    if not getattr(model, "is_optimal_", True):
        raise typer.Exit(NOT_PROVED)


def _refuse_no_price(search: SearchOptions, given: "Given") -> None:
    """Raise now if there would be nothing to prove later."""
    if search.certify is not None and given.has_soft_links and search.method != "constrained-kmeans":
        raise ValueError(
            f"{search.method} puts no price on soft links, so there is no cost to bound; leave out --certify"
        )


def _proved_bound(model: Any, given: "Given", seconds: float, parts: PartOptions, *, quiet: bool) -> float | None:
    """Look for a proof and tell of it; returns the bound on the sum of squares, None if broken links are in it."""
    # Proofs bring a solver and more; most fits need none.
    from konstrain import lower_bound
    from konstrain.cli.proofs import tell_parts, teller
    from konstrain.report import tell_bound

    with progress("looking for a proof ...", quiet=quiet) as show:
        proof = lower_bound(
            given.X,
            model.n_clusters,
            labels=model.labels_,
            time_limit=seconds,
            violation_cost=getattr(model, "violation_cost_", None),
            callback=teller(show),
            **given.constraints,
            **parts.arguments(),
        )
    interrupts.end_here()
    if given.has_soft_links:
        # The report speaks of the sum of squares, the bound of what broken soft links cost as well.
        note(f"with broken soft links {proof.cost:.6g}; {tell_bound(proof.lower_bound, proof.gap)}", quiet=quiet)
    for line in tell_parts(proof):
        note(line, quiet=quiet)
    return None if given.has_soft_links else proof.lower_bound
