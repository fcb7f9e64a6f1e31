"""Finished runs as flat records, and how many runs become one number."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

# A finished run as one flat mapping: the fields of its case, set, method, run, status, reason, and its measures.
Record = Mapping[str, Any]
Group = tuple[Any, ...]


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
