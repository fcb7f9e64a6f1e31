"""What rows are called: their numbers from 0, or the values of an id column."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Digits of the largest number of rows there may be, and to spare.
LONGEST_NUMBER = 20


@dataclass(frozen=True)
class RowNames:
    """Names of the rows of a table.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    ids : sequence of str or None
        The name of each row; None: rows are called by their numbers, from 0.
    column : str or None
        The column the ids come from.

    Examples
    --------
    >>> rows = RowNames(2, ["anna", "bert"], "name")
    >>> rows.number_of("bert"), rows.name_of(0), rows.number_of("carl")
    (1, 'anna', None)
    """

    n_samples: int
    ids: Sequence[str] | None = None
    column: str | None = None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids or ())}

    def number_of(self, name: str) -> int | None:
        """Return the number of the row of this name, or None when there is no such row."""
        if self.ids is not None:
            return self._numbers.get(name)
        # ASCII digits only: int() would also take signs, underscores and digits of other scripts, and it fails at
        # thousands of digits.
        row = int(name) if name.isascii() and name.isdigit() and len(name) <= LONGEST_NUMBER else -1
        return row if 0 <= row < self.n_samples else None

    def name_of(self, row: int) -> str:
        """Return what a row is called."""
        return str(row) if self.ids is None else str(self.ids[row])

    def __str__(self) -> str:
        if self.ids is None:
            return f"rows are 0 to {self.n_samples - 1}"
        if self.column is None:
            return f"rows are called by their numbers, {self.name_of(0)} to {self.name_of(-1)}, some left out"
        return f"ids are those of column {self.column!r}, such as {self.name_of(0)!r}"
