"""Values that are missing: counted per column, and the ways out."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.exceptions import FileError
from konstrain.files.choice import listed
from konstrain.tables.columns import Columns


class Missing(StrEnum):
    """What to do about values that are missing."""

    ERROR = "error"
    DROP = "drop"
    MEDIAN = "median"


def complete_rows(
    source: object, columns: Columns, names: Sequence[str], beside: Mapping[str, NDArray[Any]], missing: Missing
) -> NDArray[np.bool_] | None:
    """Mark the rows to keep, or None for all; raises where values are missing and none may be.

    Parameters
    ----------
    source : object
        What the table is called in messages.
    columns : Columns
        The table.
    names : sequence of str
        The columns to cluster by.
    beside : mapping of str to ndarray
        Further columns of numbers, such as demands, for which no median can stand.
    missing : Missing
        What to do.
    """
    gaps = {name: columns.missing(name) for name in names}
    gaps = {name: rows for name, rows in gaps.items() if rows.any()}
    if gaps and missing == Missing.ERROR:
        raise FileError(_words(source, gaps, len(columns)))
    needed = {name: np.isnan(values) for name, values in beside.items()}
    if missing != Missing.DROP:
        for name, rows in needed.items():
            if rows.any():
                row = int(np.flatnonzero(rows)[0])
                raise FileError(f"{source}, row {row}, column {name!r} has no value; fill it in or remove the row")
        return None
    incomplete = np.zeros(len(columns), dtype=np.bool_)
    for rows in (*gaps.values(), *needed.values()):
        incomplete |= rows
    if incomplete.all():
        raise FileError(f"{source}: every row misses some value; --missing median fills them in")
    return ~incomplete if incomplete.any() else None


def filled_words(columns: Columns, names: Sequence[str]) -> str:
    """Say how many cells of which columns are filled in; nothing if none is empty."""
    counts = {name: int(columns.missing(name).sum()) for name in names}
    told = [f"{name!r} {count}" for name, count in counts.items() if count]
    return f"missing values filled in, by median or commonest text: {listed(told)}" if told else ""


def _words(source: object, gaps: Mapping[str, NDArray[np.bool_]], n_rows: int) -> str:
    any_gap = np.logical_or.reduce(list(gaps.values()))
    counts = [f"{name!r} {int(rows.sum())}" for name, rows in gaps.items()]
    first = int(np.flatnonzero(any_gap)[0])
    return (
        f"{source}: values are missing in {int(any_gap.sum())} of {counted(n_rows, 'row')}, first in row {first}; "
        f"{listed(counts)}; --missing drop leaves these rows out, --missing median fills numbers in with their "
        f"median and text with its commonest value, --ignore leaves columns out"
    )
