"""Constraints from options: bounds with the columns they are about, links from files and from a column of groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted, term
from konstrain.cli.options import ConstraintOptions, names_in, share_in, shares_in, sizes_in
from konstrain.cli.preparing import Prepared
from konstrain.cli.running import note
from konstrain.constraints import edges_from_polygons, pairs_from_groups
from konstrain.constraints.closure import Blocks
from konstrain.constraints.polygons import RULES
from konstrain.files import Table, read_links_file
from konstrain.files.frame_files import POLYGON_ENDINGS, read_polygons
from konstrain.files.sources import Source


@dataclass(frozen=True)
class GivenBounds:
    """Bounds on sizes and shares, as arguments of the library; and the columns of what they bound."""

    demands: list[str]
    categories: list[str]
    bounds: dict[str, Any]

    def with_columns(self, column: Callable[[str], Any]) -> dict[str, Any]:
        """Return all arguments, `column` giving the values of a column by its name; None where there are none."""
        categories = {name: column(name) for name in self.categories}
        for bound in ("share_min", "share_max"):
            _refuse_shares_in_one(bound, self.bounds[bound], categories)
        return {**self.bounds, "category": categories or None, "demand": _demand(self.demands, column)}


def read_bounds(options: ConstraintOptions, n_clusters: int | None) -> GivenBounds:
    """Read what options say of sizes and shares, before any file is opened."""
    demands = names_in("--demand", options.demand)
    categories = names_in("--category", options.category)
    sizes = {
        name: sizes_in(f"--{name.replace('_', '-')}", getattr(options, name), n_clusters, demands)
        for name in ("size_min", "size_max")
    }
    shares = {
        name: shares_in(f"--{name.replace('_', '-')}", getattr(options, name), categories)
        for name in ("share_min", "share_max")
    }
    tolerances = {
        "size_tolerance": share_in("--size-tolerance", options.size_tolerance),
        "share_tolerance": share_in("--share-tolerance", options.share_tolerance),
    }
    return GivenBounds(demands, categories, {**sizes, **shares, **tolerances})


def _refuse_shares_in_one(bound: str, shares: Any, categories: dict[str, Any]) -> None:
    """Raise for ``F=0.4,M=0.4``, which names one group that no row has."""
    for column, groups in shares.items() if isinstance(shares, dict) else ():
        for group in groups:
            if "=" in group and "," in group and group not in categories[column]:
                option = term(bound)
                raise ValueError(
                    f"{option} names {group!r}, but no row of {column} has it; several shares are given one by one: "
                    f"{option} F=0.4 {option} M=0.4"
                )


def _demand(names: Sequence[str], column: Callable[[str], Any]) -> Any:
    """What rows count: a column, or a table of several with their names."""
    if len(names) > 1:
        import polars as pl

        return pl.DataFrame({name: column(name) for name in names})
    return column(names[0]) if names else None


def link_files(options: ConstraintOptions) -> list[tuple[Path, str | None]]:
    """Return the files of links, each with the kind of all its links if they are of one."""
    files: list[tuple[Path, str | None]] = [(path, "must_link") for path in options.must_link]
    files += [(path, "cannot_link") for path in options.cannot_link]
    return [*files, *((path, None) for path in options.links)]


def read_links(
    table: Table,
    options: ConstraintOptions,
    kept: NDArray[np.bool_] | None,
    *,
    encoding: str | None,
    quiet: bool,
) -> dict[str, Any]:
    """Return the links of all files and groups by kind, between the rows that are kept; None where there are none."""
    files = link_files(options)
    read = [read_links_file(path, table.rows, kind=kind, encoding=encoding) for path, kind in files]
    for (path, _), links in zip(files, read, strict=True):
        for doubt in links.doubts:
            note(doubt, quiet=quiet)
        if links.n_open:
            note(f"{path}: {counted(links.n_open, 'question')} still open", quiet=quiet)
        elif not len(links.must_link) and not len(links.cannot_link):
            note(f"{path} holds no links", quiet=quiet)
    must = [links.must_link for links in read]
    if options.group:
        # -1 is no group in the library; here it is text like all names.
        must.append(pairs_from_groups([None if name == "-1" else name for name in table.extra[options.group]]))
    found = {"must_link": together(must), "cannot_link": together([links.cannot_link for links in read])}
    if kept is not None:
        n_cut = sum(int((~kept[_ends(pairs)]).any(axis=1).sum()) for pairs in found.values())
        if n_cut:
            words = f"rows that are left out have {counted(n_cut, 'link')}"
            note(f"{words}: only what they imply between other rows counts", quiet=quiet)
        stands_for = _stand_ins(found["must_link"], kept)
        found = {kind: _between(stands_for, pairs) for kind, pairs in found.items()}
    return {kind: pairs if pairs.size else None for kind, pairs in found.items()}


def neighbours_of(
    options: ConstraintOptions, prepared: Prepared, source: Source, encoding: str | None
) -> NDArray[Any]:
    """Return pairs of kept rows that are neighbours, by a file, by borders of polygons or by distances."""
    rule, X, kept = str(options.connected), prepared.preparation.X, prepared.kept
    if options.edges_file is not None:
        edges = _ends(read_links_file(rule, prepared.table.rows, kind="must_link", encoding=encoding).must_link)
    elif rule in RULES:
        if source.suffix not in POLYGON_ENDINGS:
            endings = ", ".join(POLYGON_ENDINGS)
            raise ValueError(f"--connected {rule} is about polygons ({endings}); of points: --connected delaunay")
        edges = edges_from_polygons(read_polygons(source), rule)
    else:
        return _near_pairs(rule, X)
    return edges if kept is None else (np.cumsum(kept) - 1)[edges[kept[edges].all(axis=1)]]


def _near_pairs(rule: str, X: NDArray[Any]) -> NDArray[Any]:
    """Return pairs of rows that are near to each other: of a Delaunay triangulation, or each with its nearest."""
    # Imported here: it takes long, and most fits need no neighbours.
    from scipy.spatial import Delaunay, QhullError, cKDTree

    if rule == "delaunay":
        if X.shape[1] != 2:
            raise ValueError(f"--connected delaunay is about points in a plane, and rows have {X.shape[1]} features")
        try:
            triangles = Delaunay(X).simplices
        except QhullError:
            raise ValueError("--connected delaunay: the rows are on a line; use --connected knn:2") from None
        return np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    number = rule.removeprefix("knn:")
    if not number.isdecimal() or not 0 < int(number) < len(X):
        raise ValueError(f"--connected {rule}: give knn:8 or another number below that of the rows, {len(X)}")
    nearest = cKDTree(X).query(X, k=int(number) + 1)[1]
    # The nearest row is mostly the row itself; an edge to itself does not count.
    return np.column_stack([np.repeat(np.arange(len(X)), int(number) + 1), nearest.ravel()])


def together(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One table of all links; those without a confidence are hard."""
    if all(part.shape[1] == 2 for part in parts):
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
    hard = [part if part.shape[1] == 3 else np.column_stack([part, np.full(len(part), np.inf)]) for part in parts]
    return np.concatenate(hard)


def _ends(pairs: NDArray[Any]) -> NDArray[np.int64]:
    """The rows of each link, without its confidence."""
    ends: NDArray[np.int64] = pairs[:, :2].astype(np.int64)
    return ends


def _stand_ins(must_link: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number among the kept rows of each row, or of one that must share its cluster; -1 where there is none."""
    hard = must_link if must_link.shape[1] == 2 else must_link[np.isinf(must_link[:, 2])]
    blocks = Blocks.of_pairs(kept.size, [_ends(hard)])
    number = np.cumsum(kept) - 1
    of_block = np.full(blocks.n_blocks, -1)
    rows = np.flatnonzero(kept)[::-1]  # so that the first of a block has the last word
    of_block[blocks.block_of[rows]] = number[rows]
    return np.where(kept, number, of_block[blocks.block_of])


def _between(stands_for: NDArray[np.int64], pairs: NDArray[Any]) -> NDArray[Any]:
    """The links between kept rows: must-links a-b and b-c without b are one of a and c."""
    ends = stands_for[_ends(pairs)]
    left = (ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1])
    found: NDArray[Any] = pairs[left].copy()
    found[:, :2] = ends[left]
    return found
