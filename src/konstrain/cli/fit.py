"""`konstrain fit`: cluster a file under constraints."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from konstrain.cli.options import (
    Clusters,
    ConstraintOptions,
    DataOptions,
    DialectOption,
    Join,
    Json,
    Out,
    Page,
    PartOptions,
    Picture,
    Quiet,
    Save,
    Seed,
    moves_in,
    number_in,
    option,
    spread,
)
from konstrain.cli.running import NOT_PROVED, guarded, interrupts, note, progress

if TYPE_CHECKING:
    from konstrain.cli.given import Given

EARLIER, MANY = "An earlier clustering", "More rows than memory"


@dataclass(frozen=True)
class SearchOptions:
    """How to search for a clustering, and for how long."""

    method: Annotated[str, typer.Option(help="How to cluster; 'konstrain methods' lists them.")] = (
        "constrained-kmeans"
    )
    n_init: Annotated[
        int | None, typer.Option(min=1, help="Number of starts, of which the best counts. (default: by the data)")
    ] = None
    metric: Annotated[
        Literal["cosine"] | None, typer.Option(help="cosine: compare directions; rows and centers get length one.")
    ] = None
    seed: Seed = 0
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which the best clustering so far is taken.")
    ] = None
    certify: Annotated[
        float | None, typer.Option(min=0, help="Also prove how far from the best possible, in this many seconds.")
    ] = None


@dataclass(frozen=True)
class EarlierOptions:
    """An earlier clustering, and how few rows are to leave its clusters."""

    keep: Annotated[
        Path | None,
        option(EARLIER, "Labels of an earlier fit, by id: clusters keep their numbers, and few rows move."),
    ] = None
    max_moved: Annotated[str | None, option(EARLIER, "Rows that may move: 12, or 5% of those that were there.")] = (
        None
    )
    move_cost: Annotated[
        str | None, option(EARLIER, "What each moved row costs; auto: what a row costs on average. (default: auto)")
    ] = None

    def refuse_alone(self, method: str) -> None:
        """Raise if moves are bounded or priced without earlier labels, or for a method that cannot follow these."""
        given = {"--keep": self.keep, "--max-moved": self.max_moved, "--move-cost": self.move_cost}
        for name, value in given.items():
            if value is not None and self.keep is None:
                raise ValueError(f"{name} is about moves since an earlier clustering; give its labels as --keep")
            if value is not None and method != "constrained-kmeans":
                raise ValueError(f"{method} has no {name}; leave it out, or use --method constrained-kmeans")

    def params(self) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        most, cost = moves_in("--max-moved", self.max_moved), number_in("--move-cost", self.move_cost)
        asked = {"max_moved": most, "move_cost": cost}
        return {name: value for name, value in asked.items() if value is not None}


@dataclass(frozen=True)
class FolderOptions:
    """What only folders of Parquet need."""

    scheduler: Annotated[
        str | None,
        option(MANY, "Dask scheduler for a folder of Parquet: tcp://host:8786. (default: this machine's cores)"),
    ] = None
    force: Annotated[
        bool, option(MANY, "Replace labels that an earlier run wrote to the output folder.", "--force")
    ] = False


@dataclass(frozen=True)
class ResultOptions:
    """What to write."""

    output: Out = None
    join: Join = False
    dialect: DialectOption = None
    plot: Picture = None
    save: Save = None
    report: Page = None


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
    earlier: EarlierOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster a file under links, sizes and demand.

    Example: konstrain fit data.csv -k 3 --must-link same.csv --size-min 30 -o labels.csv
    """
    from konstrain.cli.folders import FolderFit, is_folder, refuse_folder_options, refuse_options_in_memory

    earlier.refuse_alone(search.method)
    if is_folder(rows.data):
        refuse_options_in_memory(rows, constraints, search, results, earlier)
        FolderFit(rows, constraints, k, search, results.output, folders, json, quiet).run()
        return
    refuse_folder_options(folders)

    from konstrain.cli.clustering import Outputs, finish, fit_method, params_of
    from konstrain.cli.given import read_given, refuse_too_few_rows, with_earlier
    from konstrain.cli.results import LabelsFile, reading_of
    from konstrain.cli.running import rows_named
    from konstrain.estimators._metric_choice import unit_rows
    from konstrain.methods import get_method

    labels = LabelsFile(results.output, results.join, results.dialect, *reading_of(rows))
    outputs = Outputs(labels, results.plot, json, quiet, model=results.save, page=results.report)
    method = get_method(search.method)
    outputs.refuse_impossible(method)
    params = params_of(method, n_init=search.n_init, metric=search.metric)
    inputs = [*parts.files(), *([] if earlier.keep is None else [earlier.keep])]
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=outputs.files(), inputs=inputs)
    refuse_too_few_rows(rows, given, k)
    if earlier.keep is not None:
        given = with_earlier(given, earlier.keep, k, quiet=quiet)
    _refuse_no_bound(search, given)
    if search.metric is not None:
        with rows_named(given.rows):
            given = replace(given, X=unit_rows(given.X))
    model = fit_method(
        method,
        given,
        k,
        params={**params, **earlier.params()},
        quiet=quiet,
        previous=given.previous,
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


def _refuse_no_bound(search: SearchOptions, given: "Given") -> None:
    """Raise now if there would be nothing to prove later."""
    if search.certify is not None and search.metric is not None:
        raise ValueError(f"there is no lower bound for --metric {search.metric} yet; leave out --certify")
    if search.certify is not None and given.has_soft_links and search.method != "constrained-kmeans":
        raise ValueError(
            f"{search.method} puts no price on soft links, so there is no cost to bound; leave out --certify"
        )


def _proved_bound(model: Any, given: "Given", seconds: float, parts: PartOptions, *, quiet: bool) -> float | None:
    """Prove a bound and report it; return the bound on the sum of squares, None if it counts broken links."""
    # Proofs bring a solver and more; most fits need none.
    from konstrain import lower_bound
    from konstrain.cli.clustering import proof_lines, shown_progress
    from konstrain.report import bound_message

    with progress("looking for a proof ...", quiet=quiet) as show:
        proof = lower_bound(
            given.X,
            model.n_clusters,
            labels=model.labels_,
            time_limit=seconds,
            violation_cost=getattr(model, "violation_cost_", None),
            callback=shown_progress(show),
            **given.constraints.given(),
            **parts.arguments(),
        )
    interrupts.end_here()
    if given.has_soft_links:
        # The report speaks of the sum of squares, the bound of what broken soft links cost as well.
        note(f"with broken soft links {proof.cost:.6g}; {bound_message(proof.lower_bound, proof.gap)}", quiet=quiet)
    for line in proof_lines(proof):
        note(line, quiet=quiet)
    return None if given.has_soft_links else proof.lower_bound
