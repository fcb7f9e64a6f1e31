"""Partial labels of rows that are elsewhere: workers tell which rows have one, and which."""

# Not in `passes.py`: what reads labels takes 100 MB of a worker's memory, and few fits have any.

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import is_missing, membership_values
from konstrain.dask.passes import Place, refuse_other_shape


@dataclass(frozen=True, eq=False)
class Known:
    """Rows whose labels are given, by their numbers among all rows."""

    numbers: NDArray[np.int64]
    labels: NDArray[Any]

    @classmethod
    def nothing(cls) -> "Known":
        """No row has a label."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object))

    @classmethod
    def joined(cls, parts: "list[Known]") -> "Known":
        """Put the rows of several partitions together."""
        # As objects: one partition may hold numbers, and another, with a gap in it, fractions or words.
        labels = [part.labels.astype(object) for part in parts]
        return cls(np.concatenate([part.numbers for part in parts]), np.concatenate(labels))


def find_known(labels: Any, place: Place) -> Known:
    """Return the rows of a partition whose labels are given: all that are not -1, None or NaN."""
    values = membership_values(labels)
    refuse_other_shape("y", values, place)
    known = np.flatnonzero(~is_missing(values))
    return Known(place.first_row + known, values[known])
