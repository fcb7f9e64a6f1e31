"""Folders of Parquet: read in pieces that fit a worker, labels written to a temporary folder that is then renamed.

Folders are of this machine, or of any file system of fsspec, by their addresses: ``s3://bucket/rows``.
"""

import glob
import os
import re
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

from konstrain._memory import KEPT_NUMBERS
from konstrain.dask.passes import Labelling, PartitionRows
from konstrain.dask.rows import RowSource, make_rows
from konstrain.exceptions import FileError
from konstrain.files.cells import shown
from konstrain.files.choice import MOST_LISTED, Choice, Request
from konstrain.files.sources import address_of

if TYPE_CHECKING:
    import polars as pl

    from konstrain.dask.membership import Group

LABEL, DISTANCE, ROW = "label", "distance", "row"
# Names of the files of labels, and the mark inside them: a folder of anything else is not replaced.
_PART = re.compile(r"part-[0-9]{5,}\.parquet")
MARK = {b"konstrain": b"labels"}


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
    files: tuple[str, ...]
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
        """Open the files, without reading rows; the others are columns with what rows count, and their groups."""
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
        if not sum(piece.n_rows for piece in pieces):
            raise FileError(f"{path} has no rows")
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(path, tuple(files), tuple(pieces), choice, dtype, weight, tuple(demand), tuple(category))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    def source(self) -> RowSource:
        """Return the rows as partitions that workers read."""
        readers = [(dask.delayed(read, pure=False), *given) for read, *given in self._readers()]
        parts = [[read(piece, *given) for read, *given in readers] for piece in self.pieces]
        return RowSource(
            pieces=[(features, weight, demand) for features, weight, demand, _ in parts],
            features=self.choice.features,
            n_features=len(self.choice.features),
            dtype=self.dtype,
            n_rows=tuple(float(piece.n_rows) for piece in self.pieces),
            resources=self.demand if len(self.demand) > 1 else (),
            category=[category for *_, category in parts] if self.category else None,
        )

    def rows(self, number: int, groups: "tuple[Group, ...]") -> PartitionRows:
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

    @property
    def first_rows(self) -> list[int]:
        """Number of the first row of each piece."""
        ends: list[int] = np.cumsum([piece.n_rows for piece in self.pieces]).tolist()
        return [0, *ends[:-1]]

    def rows_called(self, client: Any, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the rows of these names, no two of which share one; the workers search them."""
        arguments = {"column": self.choice.id, "names": tuple(names), "pure": False}
        return {name: row for here in self._of_pieces(client, _find, **arguments) for name, row in here}

    def refuse_bad_ids(self, client: Any) -> None:
        """Raise if a row has no id, or two rows share one; the workers send a number for each, some at a time."""
        column = self.choice.id
        if column is None:
            return
        n_turns = -(-self.n_samples // KEPT_NUMBERS)
        for turn in range(n_turns):
            found = self._of_pieces(client, _codes, column=column, turn=turn, n_turns=n_turns, pure=False)
            missing = min((row for row, _ in found if row is not None), default=None)
            if missing is not None:
                raise FileError(f"{self.path}, row {missing} has no id in column {column!r}")
            codes = np.sort(np.concatenate([codes for _, codes in found]))
            shared = np.unique(codes[1:][codes[1:] == codes[:-1]])[:MOST_LISTED]
            if shared.size:
                self._refuse_shared(self._of_pieces(client, _rows_of_codes, column=column, codes=shared, pure=False))

    def _refuse_shared(self, found: "list[dict[str, list[int]]]") -> None:
        """Raise if rows of one number have the same id: numbers of different ones can be the same, if rarely."""
        rows: dict[str, list[int]] = {}
        for here in found:
            for name, places in here.items():
                rows.setdefault(name, []).extend(places)
        for name, places in rows.items():
            if len(places) > 1:
                raise FileError(
                    f"{self.path}: id {shown(name)} in column {self.choice.id!r} occurs in rows {places[0]} and "
                    f"{places[1]}; no two rows may share one"
                )

    def _of_pieces(self, client: Any, function: Any, **given: Any) -> list[Any]:
        """Run a function over the pieces, each with the number of its first row, and return its results."""
        results: list[Any] = client.gather(client.map(function, self.pieces, self.first_rows, **given))
        return results


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
        raise FileError(f"cannot read {address}: {first_line(error)}") from None
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
        raise FileError(f"cannot read {address}: {first_line(error)}") from None
    return files, str(place)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error reports, or its kind."""
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
    _refuse_endless(file)
    try:
        with opened(file) as readable:
            return pq.read_metadata(readable)
    except (pa.ArrowInvalid, OSError):
        raise FileError(f"{file} is damaged, or is not a Parquet file; write it again") from None


def _refuse_endless(file: str) -> None:
    """Raise if this is no file: reading a pipe or a device may take for ever."""
    path = _path_here(file)
    if path is not None and path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or a device"
        raise FileError(f"{file} is {kind}, not a file of Parquet; remove or rename it")


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _cut(file: str, metadata: Any, choice: Choice) -> Iterator[Piece]:
    """Put row groups together until they are enough for a partition."""
    groups: list[int] = []
    n_rows = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if groups and (n_rows + size) * len(choice.features) > KEPT_NUMBERS:
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


def _names(piece: Piece, column: str) -> "pl.Series":
    """Read what rows are called; None where nothing, or nothing but blanks."""
    import polars as pl

    from konstrain.files.frame_files import names_in

    cells = names_in(pl.Series(values=pl.from_arrow(piece.read([column]).column(column))))
    return pl.Series([cell if cell is not None and cell.strip() else None for cell in cells], dtype=pl.String)


def _find(piece: Piece, first_row: int, column: str, names: Sequence[str]) -> list[tuple[str, int]]:
    wanted = set(names)
    return [(name, first_row + row) for row, name in enumerate(_names(piece, column)) if name in wanted]


def _code(names: "pl.Series") -> NDArray[np.uint64]:
    codes: NDArray[np.uint64] = names.hash().to_numpy()
    return codes


def _codes(
    piece: Piece, first_row: int, column: str, turn: int, n_turns: int
) -> tuple[int | None, NDArray[np.uint64]]:
    """Return the first row without an id, if there is one, and numbers that are the same where ids are."""
    names = _names(piece, column)
    missing = names.is_null().arg_max() if names.null_count() else None
    codes = _code(names)
    return None if missing is None else first_row + missing, codes[codes % n_turns == turn]


def _rows_of_codes(piece: Piece, first_row: int, column: str, codes: NDArray[np.uint64]) -> dict[str, list[int]]:
    """Return ids whose numbers are among these, each with the first two rows that have it."""
    names = _names(piece, column)
    found: dict[str, list[int]] = {}
    for row in np.flatnonzero(np.isin(_code(names), codes)).tolist():
        rows = found.setdefault(names[row], [])
        if len(rows) < 2:
            rows.append(first_row + row)
    return found


@contextmanager
def folder_in_making(target: Path, *, force: bool, inputs: Sequence[str | Path] = ()) -> Iterator[Path]:
    """Yield a folder next to the target that takes its place in the end, or is gone if something went wrong."""
    refuse_taken(target, force=force, inputs=inputs)
    # Of a link what it points to is written, as of files.
    place = Path(os.path.realpath(target))
    making = place.with_name(f".{place.name[:40]}-{secrets.token_hex(4)}")
    old = place.with_name(f"{making.name}-old")
    try:
        making.mkdir()
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from None
    try:
        yield making
        # Once more: hours may have passed.
        refuse_taken(target, force=force, inputs=inputs)
        if place.exists():
            os.rename(place, old)
        os.rename(making, place)
    finally:
        if old.exists() and not place.exists():
            os.rename(old, place)
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def refuse_taken(target: Path, *, force: bool, inputs: Sequence[str | Path] = ()) -> None:
    """Raise now, before hours of work, if the folder could not be written, or holds what no run has written."""
    address = address_of(target)
    if address is not None:
        raise FileError(
            f"cannot write {address}: labels appear whole or not at all, which needs a folder that can be renamed; "
            "write to a folder of this machine, and copy it"
        )
    place = Path(os.path.realpath(target))
    if place.is_symlink():
        raise FileError(f"cannot write {target}: it is a link that leads back to itself")
    if place.exists():
        if not place.is_dir():
            raise FileError(f"cannot write {target}: it is there and is no folder")
        _refuse_inputs(target, place, inputs)
        _refuse_others_files(target, place)
        if not force:
            raise FileError(f"cannot write {target}: it is there already; write to another folder, or give --force")
    if not place.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}")


def _refuse_inputs(target: Path, place: Path, inputs: Sequence[str | Path]) -> None:
    """Raise if what would be replaced is, holds or lies in something that is read."""
    for given in inputs:
        path = _path_here(given)
        if path is not None and (_lies_in(path, place) or (path.is_dir() and _lies_in(place, path))):
            raise FileError(f"cannot replace {target}: {given} is read from; write to another folder")


def _path_here(given: str | Path) -> Path | None:
    """Return where an input is on this machine, behind all links; None if it is elsewhere."""
    address = given if "://" in str(given) else address_of(Path(given))
    if address is None:
        return Path(os.path.realpath(given))
    files, place = _file_system(str(address))
    return Path(os.path.realpath(place)) if getattr(files, "local_file", False) else None


def _lies_in(inner: Path, outer: Path) -> bool:
    """Whether one is the other, or somewhere inside it."""
    return any(place.exists() and place.samefile(outer) for place in (inner, *inner.parents))


def _refuse_others_files(target: Path, place: Path) -> None:
    """Raise if a folder holds anything but labels that a run has written."""
    for entry in sorted(place.iterdir()):
        if not _is_part(entry):
            raise FileError(
                f"cannot replace {target}: it holds {entry.name}, which are no labels that konstrain has written; "
                "write to another folder, or remove this one yourself"
            )


def _is_part(path: Path) -> bool:
    """Whether a run has written this file of labels."""
    if path.is_symlink() or not path.is_file() or not _PART.fullmatch(path.name):
        return False
    try:
        return MARK.items() <= (pq.read_schema(path).metadata or {}).items()
    except (pa.ArrowInvalid, OSError):
        return False


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
    arguments = _Writing(labelling, groups, np.ascontiguousarray(centers, dtype=np.float64), folder, making.resolve())
    numbers = range(len(folder.pieces))
    return int(sum(client.gather(client.map(arguments.write, numbers, list(firsts), pure=False))))


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
        pq.write_table(table.replace_schema_metadata(MARK), self.making / f"part-{number:05}.parquet")
        return len(rows)
