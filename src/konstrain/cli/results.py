"""Labels of rows, written as the options ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.cli.options import DataOptions, DialectChoice, NewRows, names_in
from konstrain.cli.running import interrupts
from konstrain.exceptions import FileError
from konstrain.files import RowNames, write_labels_file
from konstrain.files.labels import dialect_of, write_joined_file
from konstrain.files.outputs import STANDARD, STANDARD_OUTPUT, refuse_unwritable_table
from konstrain.files.sources import Source


@dataclass(frozen=True)
class LabelsFile:
    """Where labels go, whether the columns of the table go with them, and how CSV is written.

    `decimal` is the sign before decimals in the table, where it need not be found out, `na` its words for no value.
    """

    path: Path | None
    join: bool = False
    dialect: DialectChoice | None = None
    decimal: str | None = None
    na: Sequence[str] = ()

    def refuse_impossible(self) -> None:
        """Raise now if labels could not be written later."""
        if self.path is not None:
            refuse_unwritable_table(self.path)
        elif self.join:
            raise FileError("--join writes the columns of the table with the labels: say where with -o")

    @property
    def is_standard_output(self) -> bool:
        """Whether labels are printed, so that the report must stand elsewhere."""
        return self.path == STANDARD_OUTPUT

    def write(
        self,
        source: Source,
        rows: RowNames,
        labels: NDArray[Any],
        distances: NDArray[np.float64],
        kept: NDArray[np.bool_] | None,
    ) -> None:
        """Write what was found out about each row."""
        if self.path is None:
            return
        asked = self.dialect or ("same" if self.join else "standard")
        dialect = dialect_of(source, self.decimal, self.na) if asked == "same" else STANDARD
        if self.join:
            found = {"label": labels, "distance": distances}
            write_joined_file(self.path, source, found, kept, decimal=self.decimal, na=self.na, dialect=dialect)
        else:
            write_labels_file(self.path, rows, labels, distances, dialect=dialect)
        if not self.is_standard_output:
            interrupts.wrote(self.path)


def reading_of(rows: DataOptions | NewRows) -> tuple[str | None, list[str]]:
    """Return the sign before decimals and the words for no value that options name."""
    return rows.decimal, names_in("--na", rows.na)
