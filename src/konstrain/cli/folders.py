"""`konstrain fit` on folders of Parquet: rows stay with the workers, labels are written by them."""

import csv
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from konstrain._messages import counted, enumerated
from konstrain.cli.constraints import GivenBounds, link_files, read_bounds, together
from konstrain.cli.fit import EarlierOptions, FolderOptions, ResultOptions, SearchOptions
from konstrain.cli.options import ConstraintOptions, DataOptions, names_in
from konstrain.cli.running import interrupts, note, print_result, progress
from konstrain.cli.startup import seconds_since_start
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.exceptions import FileError
from konstrain.files import RowNames, read_links_file
from konstrain.files.choice import Request
from konstrain.files.sources import WAIT, address_of, read_text

# What may stand between the names in a file of links.
DELIMITERS = ",;\t "
# What makes a name a pattern of names.
PATTERN = "*?["


def is_folder(path: Path) -> bool:
    """Whether this names several files: a folder, a pattern of Parquet files, or the address of either."""
    is_parquet = path.suffix == ".parquet"
    is_pattern = is_parquet and any(mark in path.name for mark in PATTERN)
    is_elsewhere = address_of(path) is not None and (is_parquet or not path.suffix)
    return path.is_dir() or (is_pattern and not path.exists()) or is_elsewhere


@dataclass(frozen=True)
class FolderFit:
    """What was asked of a folder, or a pattern, of Parquet files."""

    data: DataOptions
    constraints: ConstraintOptions
    n_clusters: int
    search: SearchOptions
    output: Path | None
    options: FolderOptions
    as_json: bool
    quiet: bool

    def run(self) -> None:
        """Fit, write the labels and report."""
        try:
            from konstrain.dask import ConstrainedKMeans
            from konstrain.dask.cluster import readable_faults
            from konstrain.dask.parquet import Folder, folder_in_making, refuse_taken, write_labels
        except ImportError as error:
            raise FileError(f"folders of Parquet need {error.name}: pip install 'konstrain[dask]'") from None
        folder = Folder.open(
            self.data.data,
            self._request(),
            weight=self.constraints.weight,
            demand=self._asked.demands,
            category=self._asked.categories,
        )
        inputs: list[str | Path] = [
            self.data.data,
            *folder.files,
            *(path for path, _ in link_files(self.constraints)),
        ]
        if self.output is not None:
            refuse_taken(self.output, force=self.options.force, inputs=inputs)
        if not self._asked.categories:
            shares = {name: value for name, value in self._asked.bounds.items() if name.startswith("share")}
            ConstraintArguments(**shares).refuse_shares()
        names = self._names_in_links()
        with self._client() as client, readable_faults(client):
            folder.refuse_bad_ids(client)
            links = self._links(client, folder, names)
            with progress(f"{folder.n_samples:,} rows ...", quiet=self.quiet) as show:
                model = ConstrainedKMeans(
                    self.n_clusters,
                    **self._asked.bounds,
                    n_init="auto" if self.search.n_init is None else self.search.n_init,
                    random_state=self.search.seed,
                    time_limit=self.search.time_limit,
                    callback=lambda now: show(
                        f"{now.n_samples:,} rows: iteration {now.n_iter}, objective {now.objective:.6g}"
                    ),
                    client=client,
                ).fit(folder.source(), **links)
            interrupts.end_here()
            if self.output is not None:
                with folder_in_making(self.output, force=self.options.force, inputs=inputs) as making:
                    rule = (model._labelling, model._groups, model._first_rows, model.cluster_centers_)
                    write_labels(client, folder, *rule, making)
                    interrupts.end_here()
                interrupts.wrote(self.output)
        self._report(model, folder)

    @cached_property
    def _asked(self) -> GivenBounds:
        return read_bounds(self.constraints, self.n_clusters)

    def _request(self) -> Request:
        numeric = [name for name in (*self._asked.demands, self.constraints.weight) if name is not None]
        columns = names_in("--columns", self.data.columns) or None
        return Request(columns, self.data.id, names_in("--ignore", self.data.ignore), numeric, self._asked.categories)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        import distributed

        from konstrain.dask.cluster import client_for
        from konstrain.dask.parquet import first_line

        # Messages of Dask and its event loop are for programmers, not for users of a command.
        logging.disable()
        if self.options.scheduler is None:
            with client_for(None) as client:
                yield client
            return
        try:
            client = distributed.Client(self.options.scheduler, timeout=WAIT)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot reach a scheduler at {self.options.scheduler}: {first_line(error)}") from None
        with client:
            yield client

    def _names_in_links(self) -> list[str]:
        """Return everything in the files of links that could be the name of a row."""
        return sorted({name for path, _ in link_files(self.constraints) for name in _names_in(path)})

    def _links(self, client: Any, folder: Any, names: list[str]) -> dict[str, Any]:
        every = link_files(self.constraints)
        if not every:
            return {}
        rows = RowNames(folder.n_samples)
        if folder.choice.id is not None:
            rows = _KnownRows(folder.n_samples, column=folder.choice.id, known=folder.rows_called(client, names))
        read = [read_links_file(path, rows, kind=kind) for path, kind in every]
        found = {
            "must_link": together([links.must_link for links in read]),
            "cannot_link": together([links.cannot_link for links in read]),
        }
        return {kind: pairs for kind, pairs in found.items() if pairs.size}

    def _report(self, model: Any, folder: Any) -> None:
        sizes, seconds = np.asarray(model.cluster_sizes_), seconds_since_start()
        values = {
            "method": "constrained-kmeans",
            "n_samples": folder.n_samples,
            "features": list(folder.choice.features),
            "n_partitions": len(folder.pieces),
            "sse": model.inertia_,
            "sizes": sizes.tolist(),
            "shares": _plain(model.cluster_shares_),
            "violations": {"must_link": model.violations_.must_link, "cannot_link": model.violations_.cannot_link},
            "n_iter": model.n_iter_,
            "seconds": seconds,
            "files": list(interrupts.written),
        }
        wrote = f"; wrote {enumerated(interrupts.written)}" if interrupts.written else ""
        ranges = _size_range(sizes, self._asked.demands) + _share_ranges(model.cluster_shares_)
        text = (
            f"{folder.n_samples:,} rows in {counted(self.n_clusters, 'cluster')}\n"
            f"SSE {model.inertia_:.6g}; {ranges}; "
            f"{counted(model.n_violations_, 'broken link')}\n"
            f"constrained-kmeans, {model.n_iter_} iterations, {seconds:.1f} s{wrote}"
        )
        if self.output is None:
            note("no labels were written; -o names a folder for them", quiet=self.quiet)
        print_result(text, values, as_json=self.as_json)


def _size_range(sizes: np.ndarray, names: list[str]) -> str:
    """Return the range of the sizes; of several resources for each."""
    if sizes.ndim == 1:
        return f"sizes {sizes.min():g} to {sizes.max():g}"
    return ", ".join(f"{name} {held.min():g} to {held.max():g}" for name, held in zip(names, sizes.T, strict=True))


def _share_ranges(shares: dict[Any, Any]) -> str:
    """Return the range of the share of each group."""
    by_attribute = shares if any(isinstance(value, dict) for value in shares.values()) else {"": shares}
    return "".join(
        f"; {f'{name} ' if name else ''}{value} {np.nanmin(share):.3g} to {np.nanmax(share):.3g}"
        for name, groups in by_attribute.items()
        for value, share in groups.items()
    )


def _plain(shares: dict[Any, Any]) -> dict[str, Any]:
    return {
        str(name): _plain(value) if isinstance(value, dict) else np.asarray(value).tolist()
        for name, value in shares.items()
    }


@dataclass(frozen=True)
class _KnownRows(RowNames):
    """Names of a few of very many rows."""

    known: Any = None

    def number_of(self, name: str) -> int | None:
        """Return the number of the row of this name, or None when there is no such row."""
        number: int | None = self.known.get(name)
        return number

    def name_of(self, row: int) -> str:
        """Return what a row is called, as far as that is known."""
        return next((name for name, number in self.known.items() if number == row), str(row))


def _names_in(path: Path) -> Iterator[str]:
    """Yield what a file of links holds, by whatever delimiter."""
    text = read_text(path)
    for delimiter in DELIMITERS:
        for fields in csv.reader(text.splitlines(), delimiter=delimiter):
            for name in fields:
                yield from {name, name.strip()}


def refuse_options_in_memory(
    rows: DataOptions,
    constraints: ConstraintOptions,
    search: SearchOptions,
    results: ResultOptions,
    earlier: EarlierOptions,
) -> None:
    """Raise when an option was given that needs all rows in memory."""
    in_memory = {
        "--keep": earlier.keep,
        "--metric": search.metric,
        "--certify": search.certify is not None,
        "--plot": results.plot,
        "--save": results.save,
        "--report": results.report,
        "--join": results.join,
        "--dialect": results.dialect,
        "--label": rows.label,
        "--standardize": rows.standardize,
        "--categorical": rows.categorical,
        "--missing": rows.missing != "error",
        "--decimal": rows.decimal,
        "--na": rows.na,
        "--encoding": rows.encoding,
        "--geo": rows.geo,
        "--group": constraints.group,
        "--connected": constraints.connected is not None,
        "--join-components": constraints.join_components,
        f"--method {search.method}": search.method != "constrained-kmeans",
    }
    for name, is_given in in_memory.items():
        if is_given:
            raise FileError(f"{name} needs all rows in memory; leave it out for a folder of Parquet")


def refuse_folder_options(options: FolderOptions) -> None:
    """Raise when an option was given that is about folders."""
    for name, is_given in {"--scheduler": options.scheduler, "--force": options.force}.items():
        if is_given:
            raise FileError(f"{name} is for folders of Parquet; leave it out for a single file")
