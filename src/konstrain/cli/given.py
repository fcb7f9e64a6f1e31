"""From options to what the library is given: the rows, what they are called, and the constraints on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._words import counted
from konstrain.cli.options import ConstraintOptions, DataOptions, names_in, shares_in, sizes_in
from konstrain.cli.running import note, progress
from konstrain.constraints import pairs_from_groups
from konstrain.datasets.scaling import standardized
from konstrain.exceptions import FileError
from konstrain.files import RowNames, Table, read_links_file, read_table

# Columns of these names are seldom meant as features.
NAMES_ROWS = {"id", "index"}
SUSPICIOUS = NAMES_ROWS | {"label", "labels", "class", "target", "cluster"}
# Rows whose distances are computed at once.
CHUNK = 65_536


@dataclass(frozen=True, eq=False)
class Given:
    """Rows and constraints, read and checked.

    `constraints` holds the arguments `must_link`, `cannot_link`, `size_min`, `size_max`, `demand`, `category`,
    `share_min`, `share_max`, `share_tolerance` and `sample_weight` that were given.
    """

    X: NDArray[Any]
    rows: RowNames
    features: tuple[str, ...]
    classes: NDArray[Any] | None
    constraints: dict[str, Any]

    @property
    def has_soft_links(self) -> bool:
        """Whether some link has a confidence."""
        links = [self.constraints[kind] for kind in ("must_link", "cannot_link") if kind in self.constraints]
        return any(pairs.shape[1] == 3 and np.isfinite(pairs[:, 2]).any() for pairs in links)

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
) -> Given:
    """Read the files of the options; neither they nor other `inputs` may be among those that are to be written."""
    links = (*constraints.must_link, *constraints.cannot_link, *constraints.links)
    _refuse_overwriting([path for path in outputs if path is not None], [data.data, *links, *inputs])
    demands = names_in("--demand", constraints.demand)
    categories = names_in("--category", constraints.category)
    sizes = {
        name: sizes_in(f"--{name.replace('_', '-')}", getattr(constraints, name), n_clusters, len(demands))
        for name in ("size_min", "size_max")
    }
    shares = {
        name: shares_in(f"--{name.replace('_', '-')}", getattr(constraints, name), categories)
        for name in ("share_min", "share_max")
    }
    with progress(f"reading {data.data} ...", quiet=quiet):
        table = read_table(
            data.data,
            columns=names_in("--columns", data.columns) or None,
            id=data.id,
            ignore=names_in("--ignore", data.ignore),
            numeric=[name for name in (*demands, constraints.weight) if name is not None],
            other=[name for name in (data.label, constraints.group, *categories) if name is not None],
        )
    _refuse_negative(data.data, table, [*demands, constraints.weight])
    _refuse_missing_classes(data.data, table, data.label)
    for doubt in table.doubts:
        note(doubt, quiet=quiet)
    for name in table.features:
        if name.lower() in SUSPICIOUS and not data.columns:
            instead = f"--id {name}" if name.lower() in NAMES_ROWS else f"--label {name}"
            note(f"column {name!r} is used as a feature; if it is none: --ignore {name}, or {instead}", quiet=quiet)
    found = {
        **_links(table, constraints, quiet=quiet),
        **sizes,
        **shares,
        "share_tolerance": constraints.share_tolerance,
        "category": {name: table.extra[name] for name in categories} or None,
        "demand": _demand(table, demands),
        "sample_weight": table.extra.get(constraints.weight or ""),
    }
    return Given(
        X=standardized(table.X) if data.standardize else table.X,
        rows=table.rows,
        features=table.features,
        classes=table.extra.get(data.label or ""),
        constraints={name: value for name, value in found.items() if value is not None},
    )


def _demand(table: Table, names: Sequence[str]) -> Any:
    """What rows count: a column, or a table of several with their names."""
    if len(names) > 1:
        import polars as pl

        return pl.DataFrame({name: table.extra[name] for name in names})
    return table.extra[names[0]] if names else None


def _refuse_overwriting(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
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


def _refuse_negative(path: Path, table: Table, columns: Sequence[str | None]) -> None:
    for name in filter(None, columns):
        negative = np.flatnonzero(table.extra[name] < 0)
        if negative.size:
            value = table.extra[name][negative[0]]
            raise FileError(f"{path}, row {negative[0]}, column {name!r} is {value:g}; it must not be negative")


def _refuse_missing_classes(path: Path, table: Table, column: str | None) -> None:
    if column is not None:
        missing = next((row for row, name in enumerate(table.extra[column]) if name is None), None)
        if missing is not None:
            raise FileError(
                f"{path}, row {missing}, column {column!r} has no class; fill it in, or leave the column out with "
                f"--ignore {column} instead of --label"
            )


def refuse_too_few_rows(data: DataOptions, given: Given, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters."""
    if len(given.X) < n_clusters:
        rows = counted(len(given.X), "row")
        raise FileError(f"{data.data} has {rows}, too few for -k {n_clusters}; ask for fewer clusters")


def _links(table: Table, options: ConstraintOptions, *, quiet: bool) -> dict[str, Any]:
    files: list[tuple[Path, str | None]] = [(path, "must_link") for path in options.must_link]
    files += [(path, "cannot_link") for path in options.cannot_link]
    files += [(path, None) for path in options.links]
    read = [read_links_file(path, table.rows, kind=kind) for path, kind in files]
    for (path, _), links in zip(files, read, strict=True):
        if links.n_open:
            note(f"{path}: {counted(links.n_open, 'question')} still open", quiet=quiet)
        elif not len(links.must_link) and not len(links.cannot_link):
            note(f"{path} holds no links", quiet=quiet)
    must = [links.must_link for links in read]
    if options.group:
        # -1 is no group in the library; here it is text like all names.
        must.append(pairs_from_groups([None if name == "-1" else name for name in table.extra[options.group]]))
    found = {"must_link": _together(must), "cannot_link": _together([links.cannot_link for links in read])}
    return {kind: pairs if pairs.size else None for kind, pairs in found.items()}


def _together(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One table of all links; those without a confidence are hard."""
    if all(part.shape[1] == 2 for part in parts):
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
    hard = [part if part.shape[1] == 3 else np.column_stack([part, np.full(len(part), np.inf)]) for part in parts]
    return np.concatenate(hard)


def without_rules(given: Given, verb: str) -> dict[str, Any]:
    """Return the constraints for a verb that knows neither shares nor several demands; raise if there are any."""
    named = [name for name in ("category", "share_min", "share_max", "share_tolerance") if name in given.constraints]
    if named:
        raise ValueError(f"'{verb}' knows no shares of groups; leave out --{named[0].replace('_', '-')}")
    if len(np.shape(given.constraints.get("demand", ()))) == 2:
        raise ValueError(f"'{verb}' knows one demand; name a single column in --demand")
    return given.constraints


def distances_to_centers(X: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.float64]:
    """Distance of each row to the center of its cluster, without a copy of all rows."""
    found = np.empty(len(X))
    for begin in range(0, len(X), CHUNK):
        part = slice(begin, begin + CHUNK)
        found[part] = np.linalg.norm(X[part] - centers[labels[part]], axis=1)
    return found
