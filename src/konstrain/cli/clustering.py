"""What `fit` and `exact` share: fit a method, report, write labels and pictures."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.metrics import adjusted_rand_score

from konstrain import Report, describe
from konstrain.cli.given import Given, distances_to_centers
from konstrain.cli.pictures import draw_bounds, draw_clusters, refuse_undrawable
from konstrain.cli.proofs import words_of_tree
from konstrain.cli.running import interrupts, note, one_line, print_result, progress, rows_named
from konstrain.cli.words import for_the_command_line
from konstrain.files import write_labels_file
from konstrain.files.labels import refuse_unknown_ending
from konstrain.files.outputs import refuse_unwritable
from konstrain.methods import Method
from konstrain.report import tell_bound


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    labels: Path | None
    picture: Path | None
    as_json: bool
    quiet: bool
    bounds: Path | None = None

    def refuse_impossible(self) -> None:
        """Raise now, before hours of work, if a file could not be written."""
        if self.labels is not None:
            refuse_unknown_ending(self.labels)
            refuse_unwritable(self.labels)
        for picture in (self.picture, self.bounds):
            if picture is not None:
                refuse_undrawable(picture)


def fit_method(
    method: Method, given: Given, n_clusters: int, *, params: dict[str, Any], quiet: bool, **arguments: Any
) -> Any:
    """Fit a method of the table with progress on standard error; returns the model."""
    ignored = method.ignores(**given.constraints)
    if ignored:
        unknown = for_the_command_line(", ".join(ignored))
        note(f"{method.name} knows no {unknown}: they are counted, not kept", quiet=quiet)
    with rows_named(given.rows), progress(f"{method.name} ...", quiet=quiet) as show:
        if "callback" in inspect.signature(method.estimator).parameters:
            params = {"callback": _teller(method.name, show), **params}
        model = method.fit(given.X, n_clusters, params=params, **given.constraints, **arguments)
    interrupts.end_here(_bounds_so_far(model))
    return model


def _teller(name: str, show: Callable[[str], None]) -> Callable[[Any], None]:
    def tell(point: Any) -> None:
        if hasattr(point, "lower_bound"):
            show(f"{name}: {words_of_tree(point)}")
        else:
            show(f"{name}: restart {point.n_done} of {point.n_init}, best {point.best_objective:.6g}")

    return tell


def _bounds_so_far(model: Any) -> str:
    """What a search for a proof knew when it was interrupted."""
    if not hasattr(model, "lower_bound_"):
        return ""
    return f"SSE {model.inertia_:.6g} found; {tell_bound(model.lower_bound_, model.gap_)}"


def finish(
    method: Method, model: Any, given: Given, outputs: Outputs, began: float, *, lower_bound: float | None
) -> None:
    """Report a fitted model, and write what was asked for."""
    with rows_named(given.rows), progress("prices of the constraints ...", quiet=outputs.quiet):
        report = describe(given.X, model.labels_, model.n_clusters, lower_bound=lower_bound, **given.constraints)
    interrupts.end_here()
    _write(model, given, outputs)
    interrupts.end_here()
    _print(method, report, given, model, outputs, time.perf_counter() - began)


def _write(model: Any, given: Given, outputs: Outputs) -> None:
    if outputs.labels is not None:
        distances = distances_to_centers(given.X, model.labels_, model.cluster_centers_)
        write_labels_file(outputs.labels, given.rows, model.labels_, distances)
        interrupts.wrote(outputs.labels)
    if outputs.picture is not None:
        draw_clusters(outputs.picture, given, model.labels_, model.cluster_centers_)
        interrupts.wrote(outputs.picture)
    if outputs.bounds is not None:
        draw_bounds(outputs.bounds, model.trace_)
        interrupts.wrote(outputs.bounds)


def _print(method: Method, report: Report, given: Given, model: Any, outputs: Outputs, seconds: float) -> None:
    agreement = None if given.classes is None else float(adjusted_rand_score(given.classes, model.labels_))
    proved = getattr(model, "is_optimal_", None)
    lines = [report.to_text(lambda row: one_line(given.rows.name_of(row)))]
    if proved is not None:
        lines.append("\nproved optimal" if proved else "\nnot proved optimal within the limit")
    if agreement is not None:
        lines.append(f"\nagreement with the true classes (ARI): {agreement:.3f}")
    written = list(interrupts.written)
    lines.append("")
    lines.append(f"{method.name}, {seconds:.1f} s" + (f"; wrote {' and '.join(written)}" if written else ""))
    values = {
        "method": method.name,
        **given.summary(),
        **report.to_dict(),
        "is_optimal": proved,
        "agreement": agreement,
        "seconds": seconds,
        "files": written,
    }
    print_result("\n".join(lines), values, as_json=outputs.as_json)
