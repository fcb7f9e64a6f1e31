"""Tables, figures and claims of a paper, declared over records: one record per finished run."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

# A finished run as one flat mapping: the fields of its case, set, method, run, status, reason, and its measures.
Record = Mapping[str, Any]
Group = tuple[Any, ...]


@dataclass(frozen=True)
class Published:
    """A number as a paper prints it, with its spread and marks such as "*" for proved."""

    value: float | None
    sd: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """One column: a measure of one contender, summed up over its runs.

    With `relative_to`, by how many percent it is below the same of another contender.
    """

    heading: str
    method: str
    measure: str
    statistic: str = "mean"
    digits: int | None = None
    relative_to: str | None = None


@dataclass(frozen=True)
class Table:
    """A published table and how ours is made.

    Parameters
    ----------
    title : str
        The paper's number and what it shows.
    by : tuple of str
        Fields of cases; each combination is one line.
    columns : tuple of Column
        Columns with published numbers become three: published, ours, and ours less published.
    published : mapping
        ``(values of by) -> heading -> Published``.
    total : {"mean", "sum"} or None
        A last line for each combination of the fields but the first: over all lines that have our number.
    where : tuple of (field, value)
        Which cases it is about; all by default.
    """

    title: str
    by: tuple[str, ...]
    columns: tuple[Column, ...]
    published: Mapping[Group, Mapping[str, Published]] = field(default_factory=dict)
    total: str | None = None
    where: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Figure:
    """Curves of one measure over a field: a panel per value of another field, a line per contender.

    `published` holds the points that the paper's text gives: ``panel -> label -> (x, y) pairs``;
    `where` is as in `Table`.
    """

    name: str
    title: str
    x: str
    measure: str
    panels: str
    methods: tuple[str, ...]
    published: Mapping[Any, Mapping[str, Sequence[tuple[float, float]]]] = field(default_factory=dict)
    where: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What was found about a claim; `holds` is None where there are no rows to judge by."""

    found: str
    holds: bool | None


@dataclass(frozen=True)
class Claim:
    """A sentence that rows can bear out or refute."""

    text: str
    judge: Callable[[Sequence[Record]], Verdict]


def _share(values: list[Any]) -> float:
    return 100.0 * statistics.fmean(bool(value) for value in values)


STATISTICS: Mapping[str, Callable[[list[Any]], float]] = MappingProxyType(
    {
        "mean": statistics.fmean,
        "sd": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
        "min": min,
        "max": max,
        "sum": sum,
        "share": _share,
    }
)


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records whose entries have these values.

    Examples
    --------
    >>> select([{"data": "iris", "run": 0}, {"data": "wine", "run": 0}], data="wine")
    [{'data': 'wine', 'run': 0}]
    """
    return [record for record in records if all(record.get(name) == value for name, value in wanted.items())]


def values_of(records: Iterable[Record], measure: str) -> list[Any]:
    """Return what finished runs measured; failed ones and measures that do not apply are left out."""
    return [record[measure] for record in records if record.get(measure) is not None]


def summed_up(records: Sequence[Record], measure: str, statistic: str) -> float | None:
    """Sum up a measure over runs; a share counts failed runs as a no.

    Examples
    --------
    >>> runs = [{"kept_all": True}, {"kept_all": None}]
    >>> summed_up(runs, "kept_all", "share"), summed_up(runs, "sse", "min")
    (50.0, None)
    """
    values = values_of(records, measure)
    if statistic == "share" and records:
        return _share([record.get(measure) for record in records])
    return float(STATISTICS[statistic](values)) if values else None


def groups_of(records: Iterable[Record], by: Sequence[str]) -> dict[Group, list[Record]]:
    """Sort records into groups with the same values of some fields, in order of appearance."""
    groups: dict[Group, list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record.get(name) for name in by), []).append(record)
    return groups
