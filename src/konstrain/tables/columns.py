"""The columns of a table to cluster by, as they stand in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of numbers and of text, one value per row each.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_numbers)
        The numbers; NaN where one is missing.
    numbers : tuple of str
        The names of its columns.
    texts : mapping of str to ndarray of object
        The columns of text; None where a value is missing.

    Examples
    --------
    >>> columns = Columns(np.array([[1.0], [np.nan]]), ("age",), {"plan": np.array(["gold", None], dtype=object)})
    >>> columns.missing("age").tolist(), columns.missing("plan").tolist()
    ([False, True], [False, True])
    """

    X: NDArray[Any]
    numbers: tuple[str, ...]
    texts: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.X)

    def number(self, name: str) -> NDArray[Any]:
        """The values of a column of numbers."""
        values: NDArray[Any] = self.X[:, self._places[name]]
        return values

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.numbers)}

    def select(self, names: Sequence[str]) -> NDArray[Any]:
        """Some of the columns of numbers, as rows."""
        chosen: NDArray[Any] = np.ascontiguousarray(self.X[:, [self._places[name] for name in names]])
        return chosen

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Mark the rows that have no value in a column."""
        if name in self.texts:
            return np.array([value is None for value in self.texts[name]], dtype=np.bool_)
        gaps: NDArray[np.bool_] = np.isnan(self.number(name))
        return gaps

    def rows(self, kept: NDArray[np.bool_]) -> "Columns":
        """Only some of the rows."""
        texts = {name: values[kept] for name, values in self.texts.items()}
        return Columns(np.ascontiguousarray(self.X[kept]), self.numbers, texts)

    def frame(self, names: Sequence[str]) -> "pl.DataFrame":
        """Some of the columns as a frame, which scikit-learn takes apart by name."""
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(name, self.texts[name].tolist(), dtype=pl.String)
                if name in self.texts
                else np.ascontiguousarray(self.number(name))
                for name in names
            }
        )
