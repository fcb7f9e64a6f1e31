"""From options to what the library is given: the rows, what they are called, and the constraints on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import chunks
from konstrain._messages import Advised, as_typed, counted
from konstrain.cli.constraints import neighbours_of, read_bounds, read_links
from konstrain.cli.options import ConstraintOptions, DataOptions, NewRows, names_in
from konstrain.cli.preparing import Prepared, carry_out, feature_names, kept_columns, kept_names, prepare_table
from konstrain.cli.results import reading_of
from konstrain.cli.running import note, progress
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.exceptions import FileError
from konstrain.files import RowNames, Table, read_table
from konstrain.files.frame_files import CENTROID, POLYGON_ENDINGS, read_polygons
from konstrain.files.sources import Source
from konstrain.files.table_files import as_source
from konstrain.tables import TablePlan
from konstrain.tables.columns import Columns, Missing

if TYPE_CHECKING:
    from konstrain.plotting import MapAreas
    from konstrain.tables.models import SavedModel


@dataclass(frozen=True, eq=False)
class Given:
    """Rows and constraints, read and checked."""

    X: NDArray[Any]
    rows: RowNames
    features: tuple[str, ...]
    classes: NDArray[Any] | None
    constraints: ConstraintArguments
    prepared: Prepared
    source: Source
    options: DataOptions
    previous: NDArray[np.int32] | None = None  # The clusters that rows were in before, -1: new rows.

    @property
    def has_soft_links(self) -> bool:
        """Whether some link has a confidence."""
        links = [pairs for pairs in self.constraints.links.values() if pairs is not None]
        return any(pairs.shape[1] == 3 and np.isfinite(pairs[:, 2]).any() for pairs in links)

    @cached_property
    def areas(self) -> Any:
        """What a map draws: polygons in kilometres, or places on a plane; None where rows are neither."""
        from konstrain.constraints.polygons import in_kilometres
        from konstrain.plotting import project

        if self.source.suffix in POLYGON_ENDINGS:
            areas = in_kilometres(read_polygons(self.source))
            return areas if self.prepared.kept is None else areas[self.prepared.kept]
        return project(self.X, names=self.features).rows if self.X.shape[1] == 2 else None

    @cached_property
    def map(self) -> "MapAreas | None":
        """What a picture of clusters shows where rows have areas, and neighbours or places without links."""
        from konstrain.plotting import map_areas

        has_links = any(pairs is not None for pairs in self.constraints.links.values())
        is_asked = self.constraints.connectivity is not None or (self.options.geo is not None and not has_links)
        try:
            return map_areas(self.areas) if is_asked and self.areas is not None else None
        except ValueError:
            return None  # Places on one line have no cells; polygons were checked before.

    def summary(self) -> dict[str, Any]:
        """What to tell a program about the data."""
        return {"n_samples": len(self.X), "features": list(self.features)}


def read_given(
    data: DataOptions,
    constraints: ConstraintOptions,
    *,
    quiet: bool,
    n_clusters: int | None = None,
    outputs: Sequence[Path | None] = (),
    inputs: Sequence[Path] = (),
    features: bool = True,
) -> Given:
    """Read the files of the options; neither they nor other `inputs` may be among those that are to be written.

    Without `features` only what the constraints need is read.
    """
    refuse_overwriting([path for path in outputs if path is not None], [data.data, *constraints.files(), *inputs])
    if constraints.join_components and constraints.connected is None:
        raise ValueError("--join-components is about --connected; give both or leave it out")
    asked = read_bounds(constraints, n_clusters)
    numeric = [name for name in (*asked.demands, constraints.weight) if name is not None]
    decimal, na = reading_of(data)
    with progress(f"reading {data.data} ...", quiet=quiet):
        source = as_source(data.data, data.encoding)
        if source.suffix in POLYGON_ENDINGS and data.columns is None and data.geo is None:
            data = replace(data, geo=",".join(CENTROID))
        table = read_table(
            source,
            columns=feature_names(data) if features else [],
            id=data.id,
            ignore=names_in("--ignore", data.ignore),
            numeric=numeric,
            other=[name for name in (data.label, constraints.group, *asked.categories) if name is not None],
            mixed=True,
            text=names_in("--categorical", data.categorical) if features else (),
            decimal=decimal,
            na=na,
        )
    refuse_negative(source, table, numeric)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    if features:
        prepared = prepare_table(data, source, table, numeric, quiet=quiet)
    else:
        prepared = carry_out(data, source, table, TablePlan((), scaled=False), numeric, quiet=quiet)
    classes = prepared.extra(data.label)
    _refuse_missing_classes(source, classes, data.label)
    found = {
        **read_links(table, constraints, prepared.kept, encoding=data.encoding, quiet=quiet),
        **asked.with_columns(prepared.extra),
        "sample_weight": prepared.extra(constraints.weight),
    }
    if constraints.connected is not None:
        found["connectivity"] = neighbours_of(constraints, prepared, source, data.encoding)
        found["join_components"] = constraints.join_components
    if features:
        _note_taken(data, constraints, quiet=quiet)
    return Given(
        X=prepared.preparation.X,
        rows=prepared.rows(),
        features=prepared.preparation.features,
        classes=classes,
        constraints=ConstraintArguments(**found).with_numbers(len(prepared.preparation.X), n_clusters),
        prepared=prepared,
        source=source,
        options=data,
    )


def _note_taken(data: DataOptions, constraints: ConstraintOptions, *, quiet: bool) -> None:
    """Say which columns rows are not clustered by because another option uses them."""
    options = ("category", "demand", "weight", "group")
    taken = [f"{getattr(constraints, option)!r} ({option})" for option in options if getattr(constraints, option)]
    if taken and feature_names(data) is None:
        text = f"no feature, since an option uses it: {', '.join(taken)}"
        note(Advised(text, "--columns may name it too"), quiet=quiet)


def refuse_overwriting(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise if a file would be written that is read, or written twice."""
    for i, output in enumerate(outputs):
        if any(_are_one(output, path) for path in inputs):
            raise FileError(f"{output} is read from; write to another file")
        if any(_are_one(output, path) for path in outputs[:i]):
            raise FileError(f"{output} would be written twice; write to another file")


def _are_one(first: Path, second: Path) -> bool:
    """Whether two names are of one file, which need not be there yet."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def refuse_negative(path: Source, table: Table, columns: Sequence[str]) -> None:
    """Raise if what rows count, or weigh, is negative somewhere."""
    for name in columns:
        negative = np.flatnonzero(table.extra[name] < 0)
        if negative.size:
            value = table.extra[name][negative[0]]
            raise FileError(f"{path}, row {negative[0]}, column {name!r} is {value:g}; it must not be negative")


def _refuse_missing_classes(path: Source, classes: NDArray[Any] | None, column: str | None) -> None:
    if classes is not None and column is not None:
        missing = next((row for row, name in enumerate(classes) if name is None), None)
        if missing is not None:
            raise FileError(
                f"{path}, row {missing}, column {column!r} has no class; fill it in, or leave the column out with "
                f"--ignore {as_typed(column)} instead of --label"
            )


def refuse_too_few_rows(data: DataOptions, given: Given, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters."""
    if len(given.X) < n_clusters:
        rows = counted(len(given.X), "row")
        raise FileError(f"{data.data} has {rows}, too few for -k {n_clusters}; ask for fewer clusters")


def with_earlier(given: Given, path: Path, n_clusters: int, *, quiet: bool) -> Given:
    """Return what was given with the labels that rows had before; says how many rows came and left."""
    from konstrain.files.labels import read_earlier_labels

    labels, n_left = read_earlier_labels(path, given.rows)
    if labels.max() >= n_clusters:
        raise FileError(
            f"{path} has a cluster {labels.max()}, and -k {n_clusters} has 0 to {n_clusters - 1}; raise -k"
        )
    if labels.max() < 0:
        raise FileError(f"{path} names no row of the table; {given.rows}")
    n_new = int((labels < 0).sum())
    note(f"since {path}: {counted(n_new, 'row')} came, {n_left} left", quiet=quiet)
    return replace(given, previous=labels)


def without_rules(given: Given, verb: str) -> dict[str, Any]:
    """Return the constraints for a verb that knows neither shares nor several demands; raise if there are any."""
    asked = given.constraints.given()
    named = [name for name in ("category", "share_min", "share_max", "share_tolerance") if name in asked]
    if named:
        raise ValueError(f"'{verb}' takes no shares of groups; leave out --{named[0].replace('_', '-')}")
    if len(np.shape(asked.get("demand", ()))) == 2:
        raise ValueError(f"'{verb}' takes one demand; name a single column in --demand")
    return asked


def distances_to_centers(X: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.float64]:
    """Distance of each row to the center of its cluster, without a copy of all rows."""
    found = np.empty(len(X))
    for part in chunks(*X.shape):
        found[part] = np.linalg.norm(X[part] - centers[labels[part]], axis=1)
    return found


# Values that a message names at most.
NAMED_VALUES: Final = 3


@dataclass(frozen=True, eq=False)
class NewGiven:
    """New rows and the constraints on them; `kept` marks those of the file that are among them, None: all.

    `demands` are the columns of what rows count, by name.
    """

    X: NDArray[Any]
    rows: RowNames
    kept: NDArray[np.bool_] | None
    constraints: ConstraintArguments
    demands: dict[str, NDArray[np.float64]]
    source: Source


def read_new(rows: NewRows, constraints: ConstraintOptions, model: "SavedModel", *, quiet: bool) -> NewGiven:
    """Read new rows and what options say of them; columns that the fit used must be there."""
    asked = read_bounds(constraints, len(model.estimator.cluster_centers_))
    reading, (decimal, na) = model.reading, reading_of(rows)
    source = as_source(rows.data, rows.encoding, usual_encoding=reading.encoding)
    # Files of links are written as the table is.
    encoding = reading.encoding if source.encoding == reading.encoding else rows.encoding
    table = read_table(
        source,
        columns=model.plan.names,
        id=rows.id,
        numeric=asked.demands,
        other=[name for name in (constraints.group, *asked.categories) if name is not None],
        mixed=True,
        text=model.texts,
        decimal=decimal or reading.decimal,
        na=na or reading.na,
        usual_id=reading.id,
    )
    model.refuse_other_kinds(source, table.texts)
    refuse_negative(source, table, asked.demands)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    missing = model.missing if rows.missing is None else Missing(rows.missing)
    columns, kept = kept_columns(missing, source, table, model.plan, asked.demands, quiet=quiet)
    _note_unseen(model, columns, quiet=quiet)

    def column(name: str) -> NDArray[Any]:
        values = table.extra[name]
        return values if kept is None else values[kept]

    found = {
        **read_links(table, constraints, kept, encoding=encoding, quiet=quiet),
        **asked.with_columns(column),
    }
    X = model.rows_of(columns)
    return NewGiven(
        X=X,
        rows=kept_names(table.rows, kept),
        kept=kept,
        constraints=ConstraintArguments(**found).with_numbers(len(X), len(model.estimator.cluster_centers_)),
        demands={name: column(name) for name in asked.demands},
        source=source,
    )


def _note_unseen(model: "SavedModel", columns: Columns, *, quiet: bool) -> None:
    for name, values in model.unseen(columns).items():
        named = ", ".join(map(repr, sorted(values)[:NAMED_VALUES])) + (", ..." if len(values) > NAMED_VALUES else "")
        note(f"column {name!r}: the fit never saw {named}; such rows have no value there", quiet=quiet)
