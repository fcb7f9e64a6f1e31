"""Folders of Parquet: read in pieces that fit a worker, labels written beside and then moved, whole or not at all.

Folders are of this machine, or of any file system that fsspec knows, by their addresses: ``s3://bucket/rows``.
"""

import glob
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from konstrain.dask.passes import Labelling, Rows
from konstrain.dask.rows import Source, make_rows
from konstrain.exceptions import FileError
from konstrain.files.choice import Choice, Request
from konstrain.files.sources import address_of

if TYPE_CHECKING:
    from konstrain.dask.groups import Group

# Numbers in one partition: 64 MB in double precision, so that several fit into a worker of 1 GB.
MOST_NUMBERS = 8_000_000
LABEL, DISTANCE, ROW = "label", "distance", "row"


@dataclass(frozen=True)
class Piece:
    """Row groups of one file that make up a partition."""

    path: str
    groups: tuple[int, ...]
    n_rows: int

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns."""
        with opened(self.path) as file:
            return pq.ParquetFile(file).read_row_groups(list(self.groups), columns=list(columns))


@dataclass(frozen=True, eq=False)
class Folder:
    """Files of Parquet with the same columns, and which of these play which part."""

    path: Path
    pieces: tuple[Piece, ...]
    choice: Choice
    dtype: Any
    weight: str | None = None
    demand: tuple[str, ...] = ()
    category: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        path: Path,
        request: Request,
        *,
        weight: str | None = None,
        demand: Sequence[str] = (),
        category: Sequence[str] = (),
    ) -> "Folder":
        """Look at the files, without reading rows; the others are columns with what rows count, and their groups."""
        files = _files_of(path)
        schemas = [_metadata(file) for file in files]
        first = schemas[0].schema.to_arrow_schema()
        text = {field.name for field in first if not _is_numeric(field.type)}
        choice = request.choose(path, first.names, text)
        for file, metadata in zip(files, schemas, strict=True):
            missing = set(choice.all) - set(metadata.schema.to_arrow_schema().names)
            if missing:
                raise FileError(f"{file} has no column {min(missing)!r}, which {files[0]} has")
        single = all(first.field(name).type == pa.float32() for name in choice.features)
        pieces = [piece for file, found in zip(files, schemas, strict=True) for piece in _cut(file, found, choice)]
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(path, tuple(pieces), choice, dtype, weight, tuple(demand), tuple(category))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    def source(self) -> Source:
        """Return the rows as partitions that workers read."""
        readers = [(dask.delayed(read, pure=False), *given) for read, *given in self._readers()]
        parts = [[read(piece, *given) for read, *given in readers] for piece in self.pieces]
        return Source(
            pieces=[(features, weight, demand) for features, weight, demand, _ in parts],
            features=self.choice.features,
            n_features=len(self.choice.features),
            dtype=self.dtype,
            n_rows=tuple(float(piece.n_rows) for piece in self.pieces),
            resources=self.demand if len(self.demand) > 1 else (),
            category=[category for *_, category in parts] if self.category else None,
        )

    def rows(self, number: int, groups: "tuple[Group, ...]") -> Rows:
        """Read one partition, of which rows are of these groups."""
        features, weight, demand, category = (read(self.pieces[number], *given) for read, *given in self._readers())
        return make_rows(features, weight, demand, category, groups, self.dtype, number)

    def _readers(self) -> "tuple[tuple[Any, ...], ...]":
        """What reads features, weights, demands and groups of a piece, and its further arguments."""
        weight = () if self.weight is None else (self.weight,)
        return (
            (_numbers, self.choice.features, self.dtype),
            (_amounts, weight),
            (_amounts, self.demand),
            (_groups, self.category),
        )

    def rows_called(self, client: Any, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the rows of these names; the workers look for them."""
        assert self.choice.id is not None
        found = client.gather(client.map(_find, self.pieces, column=self.choice.id, names=tuple(names), pure=False))
        numbers: dict[str, int] = {}
        first = 0
        for piece, here in zip(self.pieces, found, strict=True):
            for name, row in here:
                if name in numbers:
                    raise FileError(f"{self.path} has the {self.choice.id} {name!r} more than once; a link names it")
                numbers[name] = first + row
            first += piece.n_rows
        return numbers


def _files_of(path: Path) -> list[str]:
    address = address_of(path)
    if address is not None:
        return _files_at(address)
    pattern = str(path / "*.parquet") if path.is_dir() else str(path)
    # In full: workers may have been started in another folder.
    files = [os.path.abspath(file) for file in sorted(glob.glob(pattern))]
    if not files:
        raise FileError(f"there is no Parquet file in {path}" if path.is_dir() else f"no file is called {path}")
    return files


def _files_at(address: str) -> list[str]:
    """Return the addresses of the files of a folder, or of a pattern of names, elsewhere."""
    files, place = _file_system(address)
    try:
        pattern = f"{place.rstrip('/')}/*.parquet" if files.isdir(place) else place
        found = [files.unstrip_protocol(file) for file in sorted(files.glob(pattern))]
    except Exception as error:  # every file system has errors of its own
        raise FileError(f"cannot read {address}: {_first_line(error)}") from None
    if not found:
        raise FileError(f"no Parquet file is called {address}, or is in it")
    return found


def _file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the place in it."""
    from fsspec.core import url_to_fs
    from fsspec.registry import known_implementations

    try:
        files, place = url_to_fs(address)
    except ImportError as error:
        scheme = address.partition("://")[0]
        package = known_implementations.get(scheme, {}).get("class", "").partition(".")[0]
        missing = package if package not in ("", "fsspec") else error.name or "another package"
        raise FileError(f"{address} needs {missing}: pip install {missing}") from None
    except ValueError as error:
        raise FileError(f"cannot read {address}: {_first_line(error)}") from None
    return files, str(place)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Yield a file, by its path or its address, as pyarrow takes it."""
    if "://" not in path:
        yield path
        return
    files, place = _file_system(path)
    with files.open(place, "rb") as file:
        yield file


def _metadata(file: str) -> Any:
    try:
        with opened(file) as readable:
            return pq.read_metadata(readable)
    except (pa.ArrowInvalid, OSError):
        raise FileError(f"{file} is damaged, or is not a Parquet file; write it again") from None


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _cut(file: str, metadata: Any, choice: Choice) -> Iterator[Piece]:
    """Put row groups together until they are enough for a partition."""
    groups: list[int] = []
    n_rows = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if groups and (n_rows + size) * len(choice.features) > MOST_NUMBERS:
            yield Piece(file, tuple(groups), n_rows)
            groups, n_rows = [], 0
        groups.append(group)
        n_rows += size
    if groups:
        yield Piece(file, tuple(groups), n_rows)


def _numbers(piece: Piece, columns: Sequence[str], dtype: Any) -> NDArray[Any]:
    """Read columns as rows of numbers; missing ones are NaN."""
    table = piece.read(columns)
    values = np.empty((table.num_rows, len(columns)), dtype=dtype)
    for place, name in enumerate(columns):
        # Column by column: at no time are all of them there twice.
        values[:, place] = table.column(name).cast(pa.float64()).to_numpy()
    return values


def _amounts(piece: Piece, columns: Sequence[str]) -> NDArray[np.float64] | None:
    """Read what rows count, a column each; None where nothing was named."""
    return _numbers(piece, columns, np.float64) if columns else None


def _groups(piece: Piece, columns: Sequence[str]) -> dict[str, NDArray[Any]] | None:
    """Read the groups of rows, by column; None where nothing was named."""
    table = piece.read(columns) if columns else None
    return (
        None if table is None else {name: np.array(table.column(name).to_pylist(), dtype=object) for name in columns}
    )


def _find(piece: Piece, column: str, names: Sequence[str]) -> list[tuple[str, int]]:
    import polars as pl

    from konstrain.files.frame_files import names_in

    wanted = set(names)
    here = names_in(pl.Series(values=pl.from_arrow(piece.read([column]).column(column))))
    return [(name, row) for row, name in enumerate(here) if name is not None and name in wanted]


@contextmanager
def folder_in_making(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder beside the target that takes its place in the end, or is gone if something went wrong."""
    refuse_taken(target, force=force)
    making = target.with_name(f".{target.name[:40]}-{secrets.token_hex(4)}")
    old = target.with_name(f"{making.name}-old")
    try:
        making.mkdir()
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from None
    try:
        yield making
        if target.exists():
            os.rename(target, old)
        os.rename(making, target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def refuse_taken(target: Path, *, force: bool) -> None:
    """Raise now, before hours of work, if the folder could not be written."""
    address = address_of(target)
    if address is not None:
        raise FileError(
            f"cannot write {address}: labels appear whole or not at all, which needs a folder that can be renamed; "
            "write to a folder of this machine, and copy it"
        )
    if target.exists() and not target.is_dir():
        raise FileError(f"cannot write {target}: it is there and is no folder")
    if target.exists() and not force:
        raise FileError(f"cannot write {target}: it is there already; write to another folder, or give --force")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}")


def write_labels(
    client: Any,
    folder: Folder,
    labelling: Labelling,
    groups: "tuple[Group, ...]",
    firsts: Sequence[int],
    centers: NDArray[Any],
    making: Path,
) -> int:
    """Let workers write the labels of all rows, a file per partition; returns how many rows these are."""
    asked = _Writing(labelling, groups, np.ascontiguousarray(centers, dtype=np.float64), folder, making.resolve())
    numbers = range(len(folder.pieces))
    return int(sum(client.gather(client.map(asked.write, numbers, list(firsts), pure=False))))


@dataclass(frozen=True, eq=False)
class _Writing:
    labelling: Labelling
    groups: "tuple[Group, ...]"
    centers: NDArray[np.float64]
    folder: Folder
    making: Path

    def write(self, number: int, first_row: int) -> int:
        """Write the labels of one partition, with ids or row numbers and distances to the centers."""
        piece, choice = self.folder.pieces[number], self.folder.choice
        rows = self.folder.rows(number, self.groups)
        labels = self.labelling.of(rows, first_row)
        names: Any = np.arange(first_row, first_row + len(rows))
        if choice.id is not None:
            names = piece.read([choice.id]).column(choice.id)
        taken = choice.id in (LABEL, DISTANCE)
        column = ROW if choice.id is None else "id" if taken else choice.id
        distances = np.sqrt(((rows.values - self.centers[labels]) ** 2).sum(axis=1, dtype=np.float64))
        table = pa.table({column: names, LABEL: labels, DISTANCE: distances})
        pq.write_table(table, self.making / f"part-{number:05}.parquet")
        return len(rows)
