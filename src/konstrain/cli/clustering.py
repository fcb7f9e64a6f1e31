"""What `fit` and `exact` share: fit a method, report, write labels and pictures."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from konstrain import describe
from konstrain._messages import enumerated
from konstrain.cli import clock
from konstrain.cli.given import Given, distances_to_centers
from konstrain.cli.pictures import draw_bounds, draw_clusters, refuse_undrawable
from konstrain.cli.proofs import words_of_tree
from konstrain.cli.results import LabelsFile
from konstrain.cli.running import interrupts, note, print_result, progress, rows_named
from konstrain.cli.story import Story, refuse_no_page
from konstrain.cli.words import for_the_command_line
from konstrain.methods import Method
from konstrain.report import tell_bound


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    labels: LabelsFile
    picture: Path | None
    as_json: bool
    quiet: bool
    bounds: Path | None = None
    model: Path | None = None
    page: Path | None = None

    def refuse_impossible(self) -> None:
        """Raise now, before hours of work, if a file could not be written."""
        self.labels.refuse_impossible()
        for picture in (self.picture, self.bounds):
            if picture is not None:
                refuse_undrawable(picture)
        if self.model is not None:
            from konstrain.tables.models import refuse_unsavable

            refuse_unsavable(self.model)
        if self.page is not None:
            refuse_no_page(self.page)

    def files(self) -> list[Path | None]:
        """All files that are to be written."""
        return [
            None if self.labels.is_standard_output else self.labels.path,
            self.picture,
            self.bounds,
            self.model,
            self.page,
        ]


def fit_method(
    method: Method, given: Given, n_clusters: int, *, params: dict[str, Any], quiet: bool, **arguments: Any
) -> Any:
    """Fit a method of the table with progress on standard error; returns the model."""
    ignored = method.ignores(**given.constraints)
    if ignored:
        unknown = for_the_command_line(", ".join(ignored))
        if method.proves:
            raise ValueError(
                f"{method.name} knows no {unknown}, and would prove the best without; use 'konstrain fit', whose "
                "--certify says how far from the best it is at most"
            )
        note(f"{method.name} knows no {unknown}: they are counted, not kept", quiet=quiet)
    with rows_named(given.rows), progress(f"{method.name} ...", quiet=quiet) as show:
        if "callback" in inspect.signature(method.estimator).parameters:
            params = {"callback": _teller(method.name, show), **params}
        model = method.fit(given.X, n_clusters, params=params, **given.constraints, **arguments)
    interrupts.end_here(_bounds_so_far(model))
    return model


def params_of(method: Method, **asked: Any) -> dict[str, Any]:
    """Parameters of the estimator that were asked for; raises if it knows one of them not."""
    given = {name: value for name, value in asked.items() if value is not None}
    known = inspect.signature(method.estimator).parameters
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{method.name} has no --{unknown.replace('_', '-')}; leave it out")
    return given


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


def finish(method: Method, model: Any, given: Given, outputs: Outputs, *, lower_bound: float | None) -> None:
    """Report a fitted model, and write what was asked for."""
    with rows_named(given.rows), progress("prices of the constraints ...", quiet=outputs.quiet):
        report = describe(given.X, model.labels_, model.n_clusters, lower_bound=lower_bound, **given.constraints)
        story = Story.of(given, model.labels_, model.cluster_centers_, report)
    interrupts.end_here()
    _write(method, model, given, outputs)
    if outputs.page is not None:
        story.write_page(outputs.page, f"method {method.name}")
    interrupts.end_here()
    _print(method, story, given, model, outputs, clock.seconds())


def _write(method: Method, model: Any, given: Given, outputs: Outputs) -> None:
    if outputs.labels.path is not None:
        distances = distances_to_centers(given.X, model.labels_, model.cluster_centers_)
        outputs.labels.write(given.source, given.rows, model.labels_, distances, given.prepared.kept)
    if outputs.picture is not None:
        draw_clusters(outputs.picture, given, model.labels_, model.cluster_centers_)
        interrupts.wrote(outputs.picture)
    if outputs.bounds is not None:
        draw_bounds(outputs.bounds, model.trace_)
        interrupts.wrote(outputs.bounds)
    if outputs.model is not None:
        from konstrain.cli.saving import save_fitted

        save_fitted(outputs.model, method, model, given)
        interrupts.wrote(outputs.model)


def _print(method: Method, story: Story, given: Given, model: Any, outputs: Outputs, seconds: float) -> None:
    agreement = None if given.classes is None else _agreement(given.classes, model.labels_)
    proved = getattr(model, "is_optimal_", None)
    lines = list(story.lines())
    if proved is not None:
        lines.append("\nproved optimal" if proved else "\nnot proved optimal within the limit")
    if agreement is not None:
        lines.append(f"\nagreement with the true classes (ARI): {agreement:.3f}")
    written = list(interrupts.written)
    lines.append("")
    lines.append(f"{method.name}, {seconds:.1f} s" + (f"; wrote {enumerated(written)}" if written else ""))
    values = {
        "method": method.name,
        **given.summary(),
        **story.to_dict(),
        "is_optimal": proved,
        "agreement": agreement,
        "seconds": seconds,
        "files": written,
    }
    print_result("\n".join(lines), values, as_json=outputs.as_json, beside_output=outputs.labels.is_standard_output)


def _agreement(classes: Any, labels: Any) -> float:
    """How well labels agree with true classes; imported late, since scikit-learn's metrics take their time."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(classes, labels))
