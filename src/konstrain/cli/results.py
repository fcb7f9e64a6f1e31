"""Labels of rows, written as the options ask."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.cli.running import interrupts
from konstrain.exceptions import FileError
from konstrain.files import RowNames, write_labels_file
from konstrain.files.frame_outputs import STANDARD_OUTPUT, refuse_unwritable_table
from konstrain.files.joined import write_joined_file
from konstrain.files.sources import Source


@dataclass(frozen=True)
class LabelsFile:
    """Where labels go, and whether the columns of the table go with them."""

    path: Path | None
    join: bool = False

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
        if self.join:
            write_joined_file(self.path, source, {"label": labels, "distance": distances}, kept)
        else:
            write_labels_file(self.path, rows, labels, distances)
        if not self.is_standard_output:
            interrupts.wrote(self.path)
