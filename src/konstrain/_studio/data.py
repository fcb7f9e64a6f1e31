"""The rows on the page: what is clustered, what is only shown, what rows are called; and the limits of the page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain.files import RowNames
from konstrain.tables.transformers import OneScale


@dataclass(frozen=True)
class StudioParams:
    """What the page tries at most, so that it follows a person's actions without delay."""

    # Rows in the picture; more are drawn by a sample. Larger: a browser redraws more slowly.
    drawn_rows: int = 100_000
    # Marks, lines and frames that are drawn one by one. Larger: marks and many links at a time, slower to draw.
    single_marks: int = 5_000
    # Links up to which their lines are drawn without a request. Larger: lines hide rows.
    unasked_links: int = 50
    # Rows among which questions are searched. Larger: later questions, from more of the rows.
    searched_rows: int = 20_000
    # Questions that one search returns. Larger: fewer searches, questions that use fewer of the answers.
    questions: int = 5
    # Seconds for a preview, for the costs of links and bounds, and until a session file that could not be written is
    # tried again. Larger: better previews, later.
    quick_limit: float = 3.0
    # A row has a clear home when the next center is this many times as far as its own. Larger: fewer such rows.
    clear_ratio: float = 1.5
    # Megabytes that a search for a proof may take.
    proof_memory: float = 8_192.0
    # Bytes of a picture in a cell. Larger: pages that take longer to load.
    picture_bytes: int = 2_000_000


PARAMS = StudioParams()


@dataclass(frozen=True, eq=False)
class StudioData:
    """Rows, as they were given."""

    X: NDArray[Any]  # (n_samples, n_features): the features, neither standardised nor left out.
    features: tuple[str, ...]  # Their names.
    names: RowNames  # What rows are called.
    # The columns of the table as people know them, those that are no features too: a cell for each row.
    shown: Mapping[str, Any] = field(default_factory=dict)
    # The features that are 0 or 1, one for each value of a text, and the column of the text. Standardising leaves
    # them as they are.
    categories: Mapping[str, str] = field(default_factory=dict)
    # (n_samples,): what rows count towards sizes and in the cost.
    demand: NDArray[Any] | None = None
    sample_weight: NDArray[Any] | None = None
    title: str = "rows"  # What the data is called.
    folder: Path | None = None  # Where files that cells name are looked for.

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each feature; 1 where a feature is the same everywhere."""
        deviation = self.X.std(axis=0, dtype=np.float64)
        return np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def values_digest(self) -> str:
        """Digest of the numbers, to compare them with those of an earlier time."""
        return hashlib.blake2b(np.ascontiguousarray(self.X).data, digest_size=16).hexdigest()

    @cached_property
    def names_digest(self) -> str:
        """Digest of the names of rows in their order, to compare them with those of an earlier time."""
        words = "\0".join(self.names.ids) if self.names.ids is not None else str(self.n_samples)
        return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def numbers(self) -> list[str]:
        """The features that no column of `shown` stands for: people see them as numbers."""
        return [name for name in self.features if self.categories.get(name, name) not in self.shown]

    def clustered(self, used: Sequence[str], *, standardize: bool) -> NDArray[Any]:
        """Return the columns that are clustered by; numbers get mean 0 and variance 1 if asked, as in `fit`."""
        at = [i for i, name in enumerate(self.features) if name in used]
        X = self.X if len(at) == len(self.features) else np.ascontiguousarray(self.X[:, at])
        if not standardize:
            return X
        is_number = [self.features[i] not in self.categories for i in at]
        return np.ascontiguousarray(np.where(is_number, OneScale().fit_transform(X), X))


def read_rows(
    X: Any, *, id: str | None = None, demand: Any = None, sample_weight: Any = None, title: str
) -> StudioData:
    """Take rows as a caller has them: an array, or a frame whose columns of numbers are the features."""
    columns: dict[str, NDArray[Any]] = {}
    if hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
        _refuse_bad_columns(columns, id)
        numbers = [name for name, column in columns.items() if column.dtype.kind in "biuf" and name != id]
        X = np.column_stack([columns[name] for name in numbers])
    elif id is not None:
        raise ValueError(f"id={id!r} names a column, but X has no named columns; give a frame")
    values = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    n_samples, n_features = values.shape
    return StudioData(
        values,
        tuple(numbers) if columns else tuple(f"column {j}" for j in range(n_features)),
        _names(columns, id, n_samples),
        {name: column for name, column in columns.items() if name != id},
        demand=_counts("demand", demand, n_samples),
        sample_weight=_counts("sample_weight", sample_weight, n_samples),
        title=title,
    )


def _refuse_bad_columns(columns: Mapping[str, NDArray[Any]], id: str | None) -> None:
    if id is not None and id not in columns:
        raise ValueError(f"X has no column {id!r} for id; it has: {', '.join(columns)}")
    if not any(column.dtype.kind in "biuf" for name, column in columns.items() if name != id):
        raise ValueError("X has no column of numbers to cluster by")


def _names(columns: Mapping[str, NDArray[Any]], id: str | None, n_samples: int) -> RowNames:
    if id is None:
        return RowNames(n_samples)
    ids = [str(value) for value in columns[id].tolist()]
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if first.setdefault(name, row) != row:
            raise ValueError(
                f"id {name!r} in column {id!r} occurs in rows {first[name]} and {row}; no two may share one"
            )
    return RowNames(n_samples, ids, id)


def _counts(name: str, given: Any, n_samples: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n_samples,):
        raise ValueError(f"{name} must have one value per row, shape ({n_samples},), got {values.shape}")
    return values
