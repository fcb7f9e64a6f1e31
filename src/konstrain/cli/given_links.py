"""Links from the files and the column of groups that the options name."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._words import counted
from konstrain.cli.options import ConstraintOptions
from konstrain.cli.running import note
from konstrain.constraints import pairs_from_groups
from konstrain.files import Table, read_links_file


def read_links(
    table: Table,
    options: ConstraintOptions,
    kept: NDArray[np.bool_] | None,
    *,
    encoding: str | None,
    quiet: bool,
) -> dict[str, Any]:
    """Return the links of all files and groups by kind, between the rows that are kept; None where there are none."""
    files: list[tuple[Path, str | None]] = [(path, "must_link") for path in options.must_link]
    files += [(path, "cannot_link") for path in options.cannot_link]
    files += [(path, None) for path in options.links]
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
        n_lost = sum(int((~kept[pairs[:, :2].astype(np.int64)]).any(axis=1).sum()) for pairs in found.values())
        if n_lost:
            note(f"{counted(n_lost, 'link')} of rows that are left out do not count", quiet=quiet)
        found = {kind: _between_kept(pairs, kept) for kind, pairs in found.items()}
    return {kind: pairs if pairs.size else None for kind, pairs in found.items()}


def together(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One table of all links; those without a confidence are hard."""
    if all(part.shape[1] == 2 for part in parts):
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
    hard = [part if part.shape[1] == 3 else np.column_stack([part, np.full(len(part), np.inf)]) for part in parts]
    return np.concatenate(hard)


def _between_kept(pairs: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """The links whose rows are both kept, by their new numbers."""
    new = np.cumsum(kept) - 1
    ends = pairs[:, :2].astype(np.int64)
    left = pairs[kept[ends].all(axis=1)].copy()
    left[:, :2] = new[left[:, :2].astype(np.int64)]
    return left
