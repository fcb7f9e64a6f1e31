"""Folders of Parquet: read in pieces that fit a worker, labels written beside and then moved, whole or not at all."""

import glob
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from konstrain.dask.passes import Labelling, Rows
from konstrain.dask.rows import Source
from konstrain.exceptions import FileError
from konstrain.files.choice import Choice, Request
from konstrain.files.sources import refuse_address

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
        return pq.ParquetFile(self.path).read_row_groups(list(self.groups), columns=list(columns))


@dataclass(frozen=True, eq=False)
class Folder:
    """Files of Parquet with the same columns, and which of these play which part."""

    path: Path
    pieces: tuple[Piece, ...]
    choice: Choice
    dtype: Any
    weight: str | None = None
    demand: str | None = None

    @classmethod
    def open(cls, path: Path, request: Request, *, weight: str | None = None, demand: str | None = None) -> "Folder":
        """Look at the files, without reading rows; `weight` and `demand` are the columns with what rows count."""
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
        return cls(path, tuple(pieces), choice, np.dtype(np.float32 if single else np.float64), weight, demand)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    def source(self) -> Source:
        """Return the rows as partitions that workers read."""
        read, read_amounts = dask.delayed(_numbers, pure=False), dask.delayed(_amounts, pure=False)
        parts = [
            (
                read(piece, self.choice.features, self.dtype),
                None if self.weight is None else read_amounts(piece, self.weight),
                None if self.demand is None else read_amounts(piece, self.demand),
            )
            for piece in self.pieces
        ]
        n_rows = tuple(float(piece.n_rows) for piece in self.pieces)
        return Source(parts, self.choice.features, len(self.choice.features), self.dtype, n_rows)

    def rows(self, piece: Piece) -> Rows:
        """Read one partition."""
        return Rows(
            _numbers(piece, self.choice.features, self.dtype),
            None if self.weight is None else _amounts(piece, self.weight),
            None if self.demand is None else _amounts(piece, self.demand),
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
    refuse_address(path)
    pattern = str(path / "*.parquet") if path.is_dir() else str(path)
    # In full: workers may have been started in another folder.
    files = [os.path.abspath(file) for file in sorted(glob.glob(pattern))]
    if not files:
        raise FileError(f"there is no Parquet file in {path}" if path.is_dir() else f"no file is called {path}")
    return files


def _metadata(file: str) -> Any:
    try:
        return pq.read_metadata(file)
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


def _amounts(piece: Piece, column: str) -> NDArray[np.float64]:
    amounts: NDArray[np.float64] = _numbers(piece, (column,), np.float64)[:, 0]
    return amounts


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
    if target.exists() and not target.is_dir():
        raise FileError(f"cannot write {target}: it is there and is no folder")
    if target.exists() and not force:
        raise FileError(f"cannot write {target}: it is there already; write to another folder, or give --force")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}")


def write_labels(
    client: Any, folder: Folder, labelling: Labelling, firsts: Sequence[int], centers: NDArray[Any], making: Path
) -> int:
    """Let workers write the labels of all rows, a file per partition; returns how many rows these are."""
    asked = _Writing(labelling, np.ascontiguousarray(centers, dtype=np.float64), folder, making.resolve())
    numbers = range(len(folder.pieces))
    return int(sum(client.gather(client.map(asked.write, numbers, list(firsts), pure=False))))


@dataclass(frozen=True, eq=False)
class _Writing:
    labelling: Labelling
    centers: NDArray[np.float64]
    folder: Folder
    making: Path

    def write(self, number: int, first_row: int) -> int:
        """Write the labels of one partition, with ids or row numbers and distances to the centers."""
        piece, choice = self.folder.pieces[number], self.folder.choice
        rows = self.folder.rows(piece)
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
