"""The rows on the page: what is clustered, what is only shown, what rows are called; and the limits of the page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain.constraints.connectivity import read_connectivity
from konstrain.files import RowNames
from konstrain.links import LinkGraph
from konstrain.plotting import MapAreas, Projection, map_areas
from konstrain.tables.transformers import OneScale


@dataclass(frozen=True)
class StudioParams:
    """What the page tries at most, so that it follows a person's actions without delay."""

    # Questions that one search returns. Larger: fewer searches, questions that use fewer of the answers.
    questions: int = 5
    # Seconds for a preview, for the costs of links and bounds, and until a session file that could not be written is
    # tried again. Larger: better previews, later.
    quick_limit: float = 3.0


PARAMS = StudioParams()
# Limits of the picture: rows, of which more are drawn by a sample; marks, lines and frames that are drawn one by one;
# links up to which their lines are drawn without a request.
DRAWN_ROWS: Final = 100_000
SINGLE_MARKS: Final = 5_000
UNASKED_LINKS: Final = 50


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
    # (n_edges, 2): rows that are neighbours, where every cluster is to be in one piece; and what a map draws of rows.
    connectivity: NDArray[np.int64] | None = None
    areas: MapAreas | None = None
    title: str = "rows"  # What the data is called.
    folder: Path | None = None  # Where files that cells name are looked for.

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @cached_property
    def map_plane(self) -> Projection | None:
        """The rows where a map has them; None where there is no map."""
        return None if self.areas is None else Projection(self.areas.middles, None, ("east (km)", "north (km)"))

    @cached_property
    def neighbours(self) -> LinkGraph | None:
        """The graph of `connectivity`."""
        return None if self.connectivity is None else read_connectivity(self.connectivity, self.n_samples)

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
    X: Any,
    *,
    id: str | None = None,
    demand: Any = None,
    sample_weight: Any = None,
    connectivity: Any = None,
    areas: Any = None,
    title: str,
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
        connectivity=None if connectivity is None else edges_of(read_connectivity(connectivity, n_samples)),
        areas=drawn_areas(values if areas is None and connectivity is not None else areas),
        title=title,
    )


def edges_of(graph: LinkGraph) -> NDArray[np.int64]:
    """Return the edges of a graph, each once."""
    first, second, _ = graph.edges
    return np.column_stack([first, second]).astype(np.int64)


def drawn_areas(areas: Any) -> MapAreas | None:
    """Return what a map draws; None where rows are no places, or too many to draw one by one."""
    is_plane = areas is not None and (hasattr(areas, "geometry") or np.ndim(areas) == 1 or np.shape(areas)[1] == 2)
    return map_areas(areas) if is_plane and len(areas) <= SINGLE_MARKS else None


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
