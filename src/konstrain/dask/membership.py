"""Groups and partial labels of rows on a cluster: workers list and mark them."""

# Not in `passes.py`: the modules that read groups and labels take 100 MB of a worker's memory, and few fits have any.

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import is_missing, membership_values
from konstrain.constraints.shares import CountedAttribute, coded, columns_of, first_missing
from konstrain.dask.passes import Place, refuse_other_shape


@dataclass(frozen=True, eq=False)
class Group:
    """One attribute: its name, the values that occur, how many rows have each, and whether they are objects."""

    name: str
    values: list[Any]
    counts: NDArray[np.int64]
    are_objects: bool

    @classmethod
    def of(cls, name: str, column: NDArray[Any]) -> "Group":
        """Count the values of a partition."""
        codes, values = coded(column)
        return cls(name, values, np.bincount(codes, minlength=len(values)), column.dtype.kind == "O")

    @classmethod
    def joined(cls, parts: "list[Group]") -> "Group":
        """Combine partitions, with the values in the order that they have in memory."""
        counts: dict[Any, int] = {}
        for part in parts:
            for value, count in zip(part.values, part.counts.tolist(), strict=True):
                counts[value] = counts.get(value, 0) + count
        are_objects = any(part.are_objects for part in parts)
        values = sorted(counts, key=str if are_objects else None)
        return cls(parts[0].name, values, np.array([counts[value] for value in values], dtype=np.int64), are_objects)

    @property
    def attribute(self) -> CountedAttribute:
        """The attribute, as yet without bounds on its shares."""
        no_rows = np.zeros(0, dtype=np.int32)
        n = len(self.values)
        return CountedAttribute(self.name, self.values, no_rows, np.zeros(n), np.ones(n), self.counts)

    def marks(self, column: NDArray[Any]) -> NDArray[np.uint8]:
        """Return a column for each value, 1 where a row has it."""
        codes, values = coded(column)
        place = {value: at for at, value in enumerate(self.values)}
        return np.eye(len(self.values), dtype=np.uint8)[[place[value] for value in values]][codes]


def find_groups(category: Any, number: int) -> list[Group]:
    """Return the attributes of a partition; raises, with partition and row, where a row has no value."""
    found = []
    for name, column in columns_of(category):
        values = membership_values(column)
        missing = first_missing(values)
        if missing is not None:
            raise ValueError(
                f"{name} has no value in partition {number}, row {missing} of it: give every row a group, or one of "
                "its own to rows without"
            )
        found.append(Group.of(name, values))
    return found


def mark_groups(category: Any, groups: tuple[Group, ...], n_rows: int, number: int) -> NDArray[np.uint8]:
    """Return a column for each value of each attribute, 1 where a row of a partition has it."""
    columns = [membership_values(column) for _, column in columns_of(category)]
    for group, column in zip(groups, columns, strict=True):
        refuse_other_shape(group.name, column, Place(number, 0, n_rows))
    return np.column_stack([group.marks(column) for group, column in zip(groups, columns, strict=True)])


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Rows whose labels are given, by their numbers among all rows."""

    numbers: NDArray[np.int64]
    labels: NDArray[Any]

    @classmethod
    def none(cls) -> "PartialLabels":
        """Return labels of no row."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object))

    @classmethod
    def joined(cls, parts: "list[PartialLabels]") -> "PartialLabels":
        """Concatenate the rows of several partitions."""
        # As objects: one partition may hold numbers, and another, with a gap in it, fractions or text.
        labels = [part.labels.astype(object) for part in parts]
        return cls(np.concatenate([part.numbers for part in parts]), np.concatenate(labels))


def find_labels(labels: Any, place: Place) -> PartialLabels:
    """Return the rows of a partition whose labels are given: all that are not -1, None or NaN."""
    values = membership_values(labels)
    refuse_other_shape("y", values, place)
    known = np.flatnonzero(~is_missing(values))
    return PartialLabels(place.first_row + known, values[known])
