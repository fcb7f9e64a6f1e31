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


def matches(record: Record, wanted: Mapping[str, Any]) -> bool:
    """Return whether entries have the wanted values; a tuple or range stands for any of its values."""
    return all(
        record.get(name) in value if isinstance(value, tuple | range) else record.get(name) == value
        for name, value in wanted.items()
    )


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records that match."""
    return [record for record in records if matches(record, wanted)]


def values_of(records: Iterable[Record], measure: str) -> list[Any]:
    """Return what finished runs measured; failed ones and measures that do not apply are left out."""
    return [record[measure] for record in records if record.get(measure) is not None]


def summed_up(records: Sequence[Record], measure: str, statistic: str) -> float | None:
    """Sum up a measure over runs; a share counts failed runs as a no."""
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


def means_of(records: Iterable[Record], measure: str, by: Sequence[str]) -> dict[Group, float]:
    """Return the mean of a measure in each group that has any, groups in order of appearance."""
    values = {group: values_of(runs, measure) for group, runs in groups_of(records, by).items()}
    return {group: statistics.fmean(some) for group, some in values.items() if some}
