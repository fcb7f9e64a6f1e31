"""What `fit` and `exact` share: fit a method, describe the clusters, write labels, pictures, models and pages."""

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from konstrain import Report, describe
from konstrain._messages import enumerated, term
from konstrain.cli.given import Given, distances_to_centers
from konstrain.cli.pictures import draw_bounds, draw_fit, refuse_undrawable
from konstrain.cli.results import LabelsFile, reading_of
from konstrain.cli.running import interrupts, note, notes, one_line, print_result, progress, rows_named
from konstrain.cli.startup import seconds_since_start
from konstrain.exceptions import FileError
from konstrain.files import write_whole
from konstrain.files.outputs import refuse_unwritable
from konstrain.methods import Method
from konstrain.metrics import mean_silhouette
from konstrain.report import bound_message
from konstrain.tables.profile import ClusterProfile, profile_clusters, profile_lines

if TYPE_CHECKING:
    from konstrain import Certificate


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

    def refuse_impossible(self, method: Method) -> None:
        """Raise now, before hours of work, if a file could not be written."""
        self.labels.refuse_impossible()
        for picture in (self.picture, self.bounds):
            if picture is not None:
                refuse_undrawable(picture)
        if self.model is not None:
            from konstrain.tables.models import refuse_unsavable

            refuse_unsavable(self.model)
            if not hasattr(method.estimator, "predict"):
                raise FileError(f"{method.name} labels only the rows it was fitted on; leave out --save")
        if self.page is not None:
            if self.page.suffix.lower() not in (".html", ".htm"):
                raise FileError(f"{self.page} would hold a page; its name should end in .html")
            refuse_unwritable(self.page)

    def files(self) -> list[Path | None]:
        """Return all files that are to be written."""
        labels = None if self.labels.is_standard_output else self.labels.path
        return [labels, self.picture, self.bounds, self.model, self.page]


def fit_method(
    method: Method, given: Given, n_clusters: int, *, params: dict[str, Any], quiet: bool, **arguments: Any
) -> Any:
    """Fit a method of the table with progress on standard error, and return the model."""
    ignored = method.ignores(**given.constraints.given())
    if ignored:
        unknown = ", ".join(map(term, ignored))
        if method.proves:
            raise ValueError(
                f"{method.name} has no {unknown}, and would prove the best without; use 'konstrain fit', whose "
                "--certify says how far from the best it is at most"
            )
        note(f"{method.name} has no {unknown.replace('--', '')}: they are counted, not kept", quiet=quiet)
    with rows_named(given.rows), progress(f"{method.name} ...", quiet=quiet) as show:
        if "callback" in inspect.signature(method.estimator).parameters:
            params = {"callback": shown_progress(show, f"{method.name}: "), **params}
        model = method.fit(given.X, n_clusters, params=params, **given.constraints.given(), **arguments)
    found = ""
    if hasattr(model, "lower_bound_"):
        found = f"SSE {model.inertia_:.6g} found; {bound_message(model.lower_bound_, model.gap_)}"
    interrupts.end_here(found)
    return model


def params_of(method: Method, **asked: Any) -> dict[str, Any]:
    """Return the parameters that were given; raise if the estimator of the method has one of them not."""
    given = {name: value for name, value in asked.items() if value is not None}
    known = inspect.signature(method.estimator).parameters
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{method.name} has no --{unknown.replace('_', '-')}; leave it out")
    return given


def shown_progress(show: Callable[[str], None], prefix: str = "") -> Callable[[Any], None]:
    """Return a callback of estimators and proofs that shows how far they are."""

    def callback(point: Any) -> None:
        if hasattr(point, "n_parts"):
            message = (
                f"gap {point.gap:.2g} proved by {point.n_done} of {point.n_parts} parts; estimate for all of them: "
                f"{point.projected_gap:.2g} ± {point.projected_gap_error:.1g}; {point.seconds:.0f} s"
            )
        elif hasattr(point, "lower_bound"):
            message = (
                f"bound {point.lower_bound:.6g}, best {point.upper_bound:.6g}, gap {point.gap:.2g}, "
                f"{point.n_nodes} nodes, {point.n_open} open, {point.seconds:.0f} s"
            )
        else:
            message = f"restart {point.n_done} of {point.n_init}, best {point.best_objective:.6g}"
        show(prefix + message)

    return callback


def proof_lines(proof: "Certificate") -> Iterator[str]:
    """Yield what a bound by parts is made of, what it left out, and where it would end."""
    if proof.n_parts:
        yield f"bound by parts: {proof.n_nodes} of {proof.n_parts} done, up to {proof.part_size} blocks each"
        if proof.n_nodes < proof.n_parts and proof.projected_gap is not None:
            gap = f"{proof.projected_gap:.2g} ± {proof.projected_gap_error:.1g}"
            yield f"estimate, not proved: gap {gap} with all parts"
    for what in proof.left_out:
        yield f"not seen by the bound: {what.replace('_', '-')}"


@dataclass(frozen=True, eq=False)
class FitSummary:
    """The report of the library, and what the clusters are like in the units of the table."""

    given: Given
    labels: Any
    report: Report
    profiles: tuple[ClusterProfile, ...]
    silhouette: float | None

    @classmethod
    def of(cls, given: Given, model: Any, lower_bound: float | None) -> "FitSummary":
        """Describe the clusters of a fitted model."""
        report = describe(
            given.X,
            model.labels_,
            model.n_clusters,
            lower_bound=lower_bound,
            previous=given.previous,
            **given.constraints.given(),
        )
        if getattr(model, "metric", None) == "cosine":
            report = replace(report, sse=model.inertia_)  # its centers have length one
        distances = distances_to_centers(given.X, model.labels_, model.cluster_centers_)
        plan = given.prepared.preparation.plan
        profiles = profile_clusters(given.prepared.columns, plan, model.labels_, report.n_clusters, distances)
        return cls(given, model.labels_, report, profiles, mean_silhouette(given.X, model.labels_))

    def name_of(self, row: int) -> str:
        """Return the name of a row, on one line."""
        return one_line(self.given.rows.name_of(row))

    def lines(self) -> Iterator[str]:
        """Yield the lines that a person reads."""
        yield self.report.to_text(self.name_of)
        if self.silhouette is not None:
            yield f"\nsilhouette {self.silhouette:.3f} (1: far from other clusters, 0: between two)"
        profiles = list(profile_lines(self.profiles, self.name_of))
        if profiles:
            yield ""
            yield from map(one_line, profiles)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a program."""
        names = [None if p.typical is None else self.given.rows.name_of(p.typical) for p in self.profiles]
        clusters = [{**p.to_dict(), "typical": name} for p, name in zip(self.profiles, names, strict=True)]
        return {**self.report.to_dict(), "silhouette": self.silhouette, "clusters": clusters}

    def write_page(self, path: Path, method: str) -> None:
        """Write the page about the clustering."""
        from konstrain.tables.page import PageContents, page_of

        contents = PageContents(
            str(self.given.source),
            self.report,
            self.profiles,
            self.given.X,
            self.labels,
            self.silhouette,
            (f"method {method}", *(getattr(note, "text", note) for note in notes)),
            self.name_of,
            self.given.features,
            areas=self.given.map,
        )
        write_whole(path, page_of(contents).encode())


def finish(method: Method, model: Any, given: Given, outputs: Outputs, *, lower_bound: float | None) -> None:
    """Report a fitted model, and write the files of the options."""
    with rows_named(given.rows), progress("prices of the constraints ...", quiet=outputs.quiet):
        summary = FitSummary.of(given, model, lower_bound)
    interrupts.end_here()
    _write(method, model, summary, outputs)
    interrupts.end_here()
    _print(method, model, summary, outputs)


def _write(method: Method, model: Any, summary: FitSummary, outputs: Outputs) -> None:
    given = summary.given
    if outputs.labels.path is not None:
        distances = distances_to_centers(given.X, model.labels_, model.cluster_centers_)
        outputs.labels.write(given.source, given.rows, model.labels_, distances, given.prepared.kept)
    writers: list[tuple[Path | None, Callable[[Path], None]]] = [
        (outputs.picture, lambda path: draw_fit(path, given, model.labels_, model.cluster_centers_)),
        (outputs.bounds, lambda path: draw_bounds(path, model.trace_)),
        (outputs.model, lambda path: _save(path, method, model, given)),
        (outputs.page, lambda path: summary.write_page(path, method.name)),
    ]
    for path, write in writers:
        if path is not None:
            write(path)
            interrupts.wrote(path)


def _save(path: Path, method: Method, model: Any, given: Given) -> None:
    """Write the model with the transformer of its columns, for `konstrain predict`."""
    from sklearn.pipeline import Pipeline

    from konstrain.tables.models import Reading, SavedModel, save_model
    from konstrain.tables.prepare import fitted_transformer

    preparation = given.prepared.preparation
    transformer = preparation.transformer or fitted_transformer(given.prepared.columns, preparation.plan)
    silent = copy.copy(model)
    if hasattr(silent, "callback"):
        silent.callback = None
    decimal, na = reading_of(given.options)
    saved = SavedModel(
        Pipeline([("prepare", transformer), ("cluster", silent)]),
        preparation.plan,
        preparation.features,
        method.name,
        given.prepared.missing,
        Reading(given.options.id, given.options.encoding, decimal, tuple(na)),
    )
    save_model(path, saved)


def _print(method: Method, model: Any, summary: FitSummary, outputs: Outputs) -> None:
    given, seconds, written = summary.given, seconds_since_start(), list(interrupts.written)
    agreement = None if given.classes is None else _agreement(given.classes, model.labels_)
    proved = getattr(model, "is_optimal_", None)
    lines = list(summary.lines())
    if proved is not None:
        lines.append("\nproved optimal" if proved else "\nnot proved optimal within the limit")
    if agreement is not None:
        lines.append(f"\nagreement with the true classes (ARI): {agreement:.3f}")
    lines.append(f"\n{method.name}, {seconds:.1f} s" + (f"; wrote {enumerated(written)}" if written else ""))
    values = {
        "method": method.name,
        **given.summary(),
        **summary.to_dict(),
        "is_optimal": proved,
        "agreement": agreement,
        "seconds": seconds,
        "files": written,
    }
    print_result("\n".join(lines), values, as_json=outputs.as_json, beside_output=outputs.labels.is_standard_output)


def _agreement(classes: Any, labels: Any) -> float:
    """Return the adjusted Rand index with true classes."""
    # scikit-learn's metrics take long to import, and most fits need none.
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(classes, labels))
