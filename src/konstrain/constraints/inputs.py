"""Reading of arguments: all are checked here, before any work; errors name the argument and the value."""

import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from konstrain import _core
from konstrain._messages import share_of_text, term
from konstrain._sklearn import is_argument_of_fold
from konstrain._warnings import warn_caller

Column = NDArray[Any]

# Row numbers are kept as int32 to halve the memory of a million pairs.
MAX_ROWS: Final = 2**31 - 2


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of rows of one kind: the hard ones, and the soft ones with their confidences."""

    hard: NDArray[np.int32]
    soft: NDArray[np.int32]
    confidence: NDArray[np.float64]

    @property
    def pairs(self) -> NDArray[np.int32]:
        """Hard and soft pairs together, hard ones first."""
        return np.concatenate([self.hard, self.soft])


@dataclass(frozen=True, eq=False)
class Membership:
    """A group or label per row: `codes` counts them from 0 (-1: none), `names` are the user's own values."""

    codes: NDArray[np.int32]
    names: list[Any]

    def first_rows(self) -> NDArray[np.int64]:
        """Return one row of each group or label, the first."""
        known = np.flatnonzero(self.codes >= 0)
        codes, first = np.unique(self.codes[known], return_index=True)
        assert codes.size == len(self.names)
        return known[first]


def _is_number(value: Any, kind: type) -> bool:
    """Whether this is a number of the kind; truth values are numbers only to Python."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def read_rows(X: Any) -> tuple[int, Any]:
    """Return the number of rows and the checked matrix; a plain number of rows comes without a matrix."""
    if _is_number(X, numbers.Integral):
        if not 0 < int(X) <= MAX_ROWS:
            raise ValueError(f"the number of rows must lie between 1 and {MAX_ROWS}, got {X}")
        return int(X), None
    refuse_hidden("X", X)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    return int(X.shape[0]), usable_rows(X)


def usable_rows(X: Any) -> Any:
    """Return rows as the kernels take them: finite, sparse ones with each column once per row and in order.

    Raises also where squared distances, summed over all rows, could exceed the largest number there is.
    """
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if is_sparse(X) else X
    # In the order in which they lie in memory, so that nothing is copied.
    largest: float = _core.largest_magnitude(values.ravel(order="K"))
    if not math.isfinite(largest):
        _refuse_not_finite(X)
    if not largest <= largest_value(X.shape[0] * X.shape[1]):
        row = _row_with(X, largest)
        raise ValueError(
            f"Input X has {largest:.3g} in row {row}, too large to be squared and summed; divide all rows by a number"
        )
    return X


def largest_value(n_terms: float) -> float:
    """Return the magnitude up to which differences of two values may be squared and `n_terms` squares summed."""
    # Two values differ by at most twice that, and 4 = 2^2.
    return math.sqrt(sys.float_info.max / 4.0 / max(1.0, n_terms))


def refuse_too_heavy(X: Any, sample_weight: NDArray[np.float64] | None) -> None:
    """Raise where weighted squared distances, summed over all rows, could exceed the largest number there is."""
    # Rows that count 1 each have passed `usable_rows`.
    if X is None or sample_weight is None or (total := float(sample_weight.sum())) <= X.shape[0]:
        return
    values = X.data if is_sparse(X) else X
    if not _core.largest_magnitude(values.ravel(order="K")) <= largest_value(total * X.shape[1]):
        raise ValueError(
            f"{term('sample_weight')} adds up to {total:.3g}: squared distances of rows, times their weights, "
            "are too large to "
            "be summed; divide all weights by a number"
        )


def _row_with(X: Any, magnitude: float) -> int:
    """Return the first row that holds a value of this magnitude."""
    if is_sparse(X):
        return int(np.searchsorted(X.indptr, np.argmax(np.abs(X.data) == magnitude), side="right")) - 1
    return int(np.argmax((np.abs(X) == magnitude).any(axis=1)))


def _refuse_not_finite(X: Any) -> None:
    if is_sparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1 if bad.size else -1
        value = X.data[bad[0]] if bad.size else 0.0
    else:
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        row = int(bad[0]) if bad.size else -1
        value = X[row][~np.isfinite(X[row])][0] if bad.size else 0.0
    if row >= 0:
        raise ValueError(f"Input X contains {'NaN' if np.isnan(value) else 'infinity'} in row {row}")


def read_links(name: str, value: Any, n_samples: int) -> Links:
    """Return the links of one kind with row numbers checked; self pairs of must-links are dropped."""
    if value is None:
        return Links(_no_pairs(), _no_pairs(), np.zeros(0))
    if is_argument_of_fold(value, n_samples):
        raise ValueError(
            f"{term(name)} names rows of X by number, and cross-validation fits folds in which these are other rows; "
            "give partial labels as y, which go with their rows, or fit each setting to all rows"
        )
    columns = link_columns(name, value, n_samples)
    pairs = _row_numbers(name, columns, n_samples)
    confidence = _confidences(name, columns[2], pairs) if len(columns) == 3 else None
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        if name == "cannot_link":
            at, row = loops[0], pairs[loops[0], 0]
            raise ValueError(f"{term('cannot_link')}[{at}] is ({row}, {row}): a row cannot be apart from itself")
        pairs = np.delete(pairs, loops, axis=0)
        confidence = None if confidence is None else np.delete(confidence, loops)
    if confidence is None:
        return Links(pairs, _no_pairs(), np.zeros(0))
    hard = np.isposinf(confidence)
    return Links(np.ascontiguousarray(pairs[hard]), np.ascontiguousarray(pairs[~hard]), confidence[~hard])


def read_pairs(name: str, value: Any, n_samples: int) -> NDArray[np.int32]:
    """Return pairs of rows with row numbers checked; a third column is left out."""
    return _row_numbers(name, link_columns(name, value, n_samples), n_samples)


def _no_pairs() -> NDArray[np.int32]:
    return np.zeros((0, 2), dtype=np.int32)


def _row_numbers(name: str, columns: list[Column], n_samples: int) -> NDArray[np.int32]:
    pairs = np.empty((columns[0].size, 2), dtype=np.int32)
    for side in (0, 1):
        column = columns[side]
        if column.dtype.kind not in "iu":
            column = _whole_numbers(name, columns, side)
        if column.size and not (int(column.min()) >= 0 and int(column.max()) < n_samples):
            at = int(np.flatnonzero((column < 0) | (column >= n_samples))[0])
            raise ValueError(
                f"{term(name)}[{at}] is {_pair(columns, at)}: row {column[at]:.0f} does not exist, "
                f"rows are 0 to {n_samples - 1}"
            )
        pairs[:, side] = column
    return pairs


def _whole_numbers(name: str, columns: list[Column], side: int) -> NDArray[np.float64]:
    """Turn floats or objects into whole numbers, naming the first that is none."""
    column = columns[side]
    if column.dtype.kind in "bcSU":
        raise ValueError(f"{term(name)}[0] is {_pair(columns, 0)}: {_shown(column[0])} is not a row number")
    numbers_ = np.empty(column.size, dtype=np.float64)
    try:
        numbers_[:] = column
    except (TypeError, ValueError):
        numbers_[:] = [v if isinstance(v, numbers.Real) else math.nan for v in column]
    wrong = np.flatnonzero(~(numbers_ == np.floor(numbers_)) | np.isinf(numbers_))
    if wrong.size:
        at = int(wrong[0])
        shown = column[at] if isinstance(column[at], str | None) else float(numbers_[at])
        raise ValueError(f"{term(name)}[{at}] is {_pair(columns, at)}: {shown!r} is not a row number")
    return numbers_


def _pair(columns: list[Column], at: int) -> str:
    return f"({', '.join(_shown(column[at]) for column in columns[:2])})"


def _shown(value: Any) -> str:
    if _is_number(value, numbers.Real):
        return f"{float(value):g}" if not float(value).is_integer() else f"{float(value):.0f}"
    # Text and truth values from an array as the caller wrote them, without the name of numpy's type.
    return repr(value.item() if isinstance(value, np.generic) else value)


def _confidences(name: str, column: Column, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    # As objects complex numbers are refused like text; as they are, numpy drops their imaginary parts.
    column = column.astype(object) if column.dtype.kind == "c" else column
    try:
        confidence: NDArray[np.float64] = np.array(column, dtype=np.float64)
    except (TypeError, ValueError):
        confidence = np.array([v if isinstance(v, numbers.Real) else math.nan for v in column], dtype=np.float64)
    wrong = np.flatnonzero(~(((confidence > 0) & (confidence <= 1)) | np.isposinf(confidence)))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(
            f"{term(name)}[{at}] is ({pairs[at, 0]}, {pairs[at, 1]}) with confidence {_shown(column[at])}; "
            "a confidence lies in (0, 1], or is inf for a hard link"
        )
    return confidence


def read_membership(name: str, value: Any, n_samples: int) -> Membership | None:
    """Return groups or labels as codes, rows without one (see `is_missing`) as -1; None when no row has one."""
    if value is None:
        return None
    refuse_lazy(name, value)
    values = membership_values(value)
    if values.shape != (n_samples,):
        raise ValueError(f"{term(name)} must have one value per row, shape ({n_samples},), got {values.shape}")
    known = np.flatnonzero(~is_missing(values))
    codes = np.full(n_samples, -1, dtype=np.int32)
    names: list[Any]
    if values.dtype.kind == "O":
        # In the order in which they appear: values of several types cannot be sorted.
        seen: dict[Any, int] = {}
        codes[known] = [seen.setdefault(value, len(seen)) for value in values[known]]
        names = list(seen)
    else:
        found, codes[known] = np.unique(values[known], return_inverse=True)
        names = found.tolist()
    return Membership(codes, names) if names else None


def membership_values(value: Any) -> NDArray[Any]:
    """Return groups or labels as an array that keeps every mark of a missing value."""
    if isinstance(value, np.ma.MaskedArray):
        # As objects: there is no number that could not be a label.
        values = _objects(value.data)
        values[np.ma.getmaskarray(value)] = None
        return values
    # Arrow's and polars' own conversions refuse nulls, or make floats of whole numbers, which merges large ones.
    if hasattr(value, "to_pylist"):
        return _objects(value.to_pylist())
    if hasattr(value, "has_nulls") and value.has_nulls():
        return _objects(value.to_list())
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    values = np.asarray(value)
    if values.dtype.kind in "SU" and not hasattr(value, "dtype"):
        # numpy has made text of the numbers in a list that holds both.
        return _objects(value)
    return values


def _objects(values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the rows without a group or label: -1 (also as text), None, NaN, NaT, or another library's NA."""
    if values.dtype.kind in "OT":
        marks = np.fromiter((_is_missing(value) for value in values.ravel()), dtype=bool, count=values.size)
        return marks.reshape(values.shape)
    if values.dtype.kind in "SU":
        # Text made by numpy from a list with numbers in it.
        return np.isin(values, np.array(["-1", "-1.0", "nan"], dtype=values.dtype.type))
    missing: NDArray[np.bool_] = values != values
    return missing | (values == -1) if values.dtype.kind in "iufc" else missing


def _is_missing(value: Any) -> bool:
    return value is None or _is_nan(value) or bool(value in (-1, "-1"))


def _is_nan(value: Any) -> bool:
    """Whether this is NaN or another library's mark for a missing value."""
    try:
        # NaN is the one number that differs from itself; pandas' NA has no truth value.
        return bool(value != value)
    except TypeError:
        return True


def read_amounts(name: str, value: Any, n_samples: int) -> NDArray[np.float64] | None:
    """Return demands or sample weights: one finite, non-negative number per row."""
    if value is None:
        return None
    amounts = _as_numbers(name, value)
    if amounts.shape != (n_samples,):
        raise ValueError(f"{term(name)} must have one value per row, shape ({n_samples},), got {amounts.shape}")
    wrong = np.flatnonzero(~(np.isfinite(amounts) & (amounts >= 0)))
    if wrong.size:
        raise ValueError(f"{term(name)}[{wrong[0]}] is {amounts[wrong[0]]}; it must be finite and not negative")
    _refuse_infinite_sums(name, amounts)
    return amounts


def _refuse_infinite_sums(name: str, amounts: NDArray[np.float64]) -> None:
    with np.errstate(over="ignore"):
        if not np.isfinite(amounts.sum(axis=0)).all():
            raise ValueError(
                f"{term(name)} has values up to {amounts.max():.3g}, too large to be added up; divide all by a number"
            )


def _as_numbers(name: str, value: Any) -> NDArray[np.float64]:
    refuse_hidden(name, value)
    try:
        if np.asarray(value).dtype.kind == "c":
            raise ValueError("they are complex; give real ones")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{term(name)} must hold numbers: {error}") from None


@dataclass(frozen=True, eq=False)
class Resources:
    """Several resources at once: what each row holds of each, the bounds of each cluster, and their names."""

    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: tuple[str, ...]


@dataclass(frozen=True)
class SizeArguments:
    """Bounds on what clusters hold, as users write them."""

    size_min: Any = None
    size_max: Any = None
    size_tolerance: Any = None

    def by_cluster(self, demand: Any, n_clusters: int) -> "SizeArguments":
        """Return bounds by resource with an entry for each cluster: of several resources a row, of one a number."""
        if np.ndim(demand) != 2:
            return self
        names = resource_names(demand, np.shape(demand)[1])
        sizes = {name: by_resource(name, value, names, n_clusters) for name, value in vars(self).items()}
        return SizeArguments(**sizes)


def read_resources(demand: Any, arguments: SizeArguments, n_samples: int, n_clusters: int) -> Resources | None:
    """Return demands of several resources with their bounds; None when there is but one resource."""
    if demand is None or len(np.shape(demand)) != 2 or np.shape(demand)[1] < 2:
        return None
    values = _as_numbers("demand", demand)
    if values.shape[0] != n_samples:
        raise ValueError(f"demand must have one line per row, shape ({n_samples}, n_resources), got {values.shape}")
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"demand[{row}, {column}] is {values[row, column]}; it must be finite and not negative")
    _refuse_infinite_sums("demand", values)
    names = resource_names(demand, values.shape[1])
    return Resources(values, *read_resource_bounds(arguments, n_clusters, names, values.sum(axis=0)), names)


def resource_names(demand: Any, n_resources: int) -> tuple[str, ...]:
    """Names of resources: those of the columns, where they have names."""
    columns = getattr(demand, "columns", None)
    if isinstance(columns, Iterable):
        return tuple(map(str, columns))
    return tuple(f"resource {r}" for r in range(n_resources))


def read_resource_bounds(
    arguments: SizeArguments, n_clusters: int, names: tuple[str, ...], totals: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of several resources, shape (n_clusters, n_resources), infinite where there is no bound."""
    size_min = without_percents("size_min", by_resource("size_min", arguments.size_min, names, n_clusters), totals)
    size_max = without_percents("size_max", by_resource("size_max", arguments.size_max, names, n_clusters), totals)
    low = _resource_bounds("size_min", size_min, n_clusters, len(names), -np.inf)
    high = _resource_bounds("size_max", size_max, n_clusters, len(names), np.inf)
    tolerance = read_tolerance("size_tolerance", arguments.size_tolerance)
    if tolerance is not None:
        low = np.maximum(low, (1.0 - tolerance) * totals / n_clusters)
        high = np.minimum(high, (1.0 + tolerance) * totals / n_clusters)
    crossed = np.argwhere(low > high)
    if crossed.size:
        j, r = crossed[0]
        raise ValueError(
            f"{term('size_min')} {low[j, r]:g} is larger than {term('size_max')} {high[j, r]:g} (cluster {j}, "
            f"resource {r})"
        )
    return low, high


def _resource_bounds(name: str, value: Any, n_clusters: int, n_resources: int, default: float) -> NDArray[np.float64]:
    shape = (n_clusters, n_resources)
    if value is None:
        return np.full(shape, default)
    bounds = _as_numbers(name, value)
    wanted = f"one bound per resource, {n_resources} values, or one per cluster and resource, shape {shape}"
    if bounds.shape == (n_resources,) == (n_clusters,) and np.unique(bounds).size > 1:
        raise ValueError(
            f"{term(name)} has {n_resources} values, which could be one per cluster or one per resource; give shape "
            f"{shape}"
        )
    if bounds.ndim == 0:
        raise ValueError(f"{term(name)} is one number, but demand has {n_resources} resources; give {wanted}")
    if bounds.shape not in ((n_resources,), shape):
        given = f"{bounds.size} values" if bounds.ndim == 1 else f"shape {bounds.shape}"
        raise ValueError(f"{term(name)} must be {wanted}; got {given}")
    wrong = np.argwhere(~(bounds >= 0))
    if wrong.size:
        raise ValueError(f"{term(name)}{wrong[0].tolist()} is {bounds[tuple(wrong[0])]}; a size is not negative")
    if name == "size_min" and np.isinf(bounds).any():
        raise ValueError(
            f"{term(name)}{np.argwhere(np.isinf(bounds))[0].tolist()} is inf; no cluster can be that large"
        )
    bounds = np.broadcast_to(bounds, shape).copy()
    # A resource is never negative, so a least sum of zero bounds nothing.
    return np.where(bounds > 0, bounds, default) if name == "size_min" else bounds


def read_n_clusters(value: Any) -> int:
    """Return the number of clusters as a plain int."""
    if not _is_number(value, numbers.Integral) or int(value) < 1:
        raise ValueError(f"{term('n_clusters')} must be a whole number of at least 1, got {value!r}")
    return int(value)


def read_sizes(
    arguments: SizeArguments, n_clusters: int, total: float, *, counts_rows: bool
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return lower and upper sizes per cluster, None where there are no bounds; `total` is what all rows count.

    Sizes within a tolerance include those that differ by one row at most where each row counts 1 (`counts_rows`).
    """
    low = _sizes("size_min", without_percents("size_min", arguments.size_min, total), n_clusters)
    high = _sizes("size_max", without_percents("size_max", arguments.size_max, total), n_clusters)
    for name, sizes in (("size_min", low), ("size_max", high)):
        small = np.zeros(0) if sizes is None or not counts_rows else sizes[(sizes > 0.0) & (sizes < 1.0)]
        for size in () if needs_totals(getattr(arguments, name)) else small[:1]:
            share = f"{100.0 * size:g}%"
            message = f"{term(name)} is {size:g}, and a size counts rows; for {share} of all rows give {share!r}"
            warn_caller(message, UserWarning)
    tolerance = read_tolerance("size_tolerance", arguments.size_tolerance)
    if tolerance is not None:
        equal = total / n_clusters
        least, most = (1.0 - tolerance) * equal, (1.0 + tolerance) * equal
        if counts_rows:
            least, most = min(math.ceil(least), math.floor(equal)), max(math.floor(most), math.ceil(equal))
        low = np.maximum(np.zeros(n_clusters) if low is None else low, least)
        high = np.minimum(np.full(n_clusters, np.inf) if high is None else high, most)
    if low is not None and np.isinf(low).any():
        raise ValueError(
            f"{term('size_min')}[{np.flatnonzero(np.isinf(low))[0]}] is inf; no cluster can be that large"
        )
    if low is not None and high is not None and (low > high).any():
        j = int(np.flatnonzero(low > high)[0])
        raise ValueError(f"{term('size_min')} {low[j]:g} is larger than {term('size_max')} {high[j]:g} (cluster {j})")
    return low, high


def _sizes(name: str, value: Any, n_clusters: int) -> NDArray[np.float64] | None:
    if value is None:
        return None
    sizes = _as_numbers(name, value)
    if sizes.ndim == 0:
        sizes = np.full(n_clusters, float(sizes))
    if sizes.shape != (n_clusters,):
        given = f"{sizes.size} values" if sizes.ndim == 1 else f"shape {sizes.shape}"
        raise ValueError(f"{term(name)} must be one number or one per cluster, {n_clusters} here; got {given}")
    wrong = np.flatnonzero(~(sizes >= 0))
    if wrong.size:
        raise ValueError(f"{term(name)}[{wrong[0]}] is {sizes[wrong[0]]}; a size is a number and not negative")
    return sizes


def by_resource(name: str, value: Any, names: tuple[str, ...], n_clusters: int) -> Any:
    """Return bounds by the names of resources as a row for each cluster; other bounds as they are."""
    if not isinstance(value, Mapping):
        return value
    unknown = [key for key in value if key not in names]
    if unknown:
        raise ValueError(f"{term(name)} names {unknown[0]!r}, but the resources of demand are {', '.join(names)}")
    unbounded = 0.0 if name == "size_min" else np.inf
    sizes = np.full((n_clusters, len(names)), unbounded, dtype=object)
    for resource, size in value.items():
        if np.shape(size) not in ((), (n_clusters,)):
            raise ValueError(
                f"{term(name)}[{resource!r}] must be one number or one per cluster, {n_clusters} here; got {size!r}"
            )
        sizes[:, names.index(resource)] = size
    return (sizes if len(names) > 1 else sizes[:, 0]).tolist()


def without_percents(name: str, value: Any, total: float | NDArray[np.float64]) -> Any:
    """Return sizes with every "12%" replaced by that share of what all rows count."""
    if isinstance(value, Mapping):
        raise ValueError(f"{term(name)} is by resource, and demand is no table of several; give one number")
    if not needs_totals(value):
        return value
    given = np.array(value, dtype=object)
    if np.shape(total) and given.shape[-1:] not in ((), np.shape(total)):
        raise ValueError(f"{term(name)} has {given.shape[-1]} values for {np.size(total)} resources")
    texts, totals = np.broadcast_arrays(given, total)
    sizes = [
        share_of_text(name, text) * whole if isinstance(text, str) else text
        for text, whole in zip(texts.ravel(), totals.ravel(), strict=True)
    ]
    return np.array(sizes, dtype=np.float64).reshape(texts.shape).tolist()


def needs_totals(value: Any) -> bool:
    """Return whether a size is by the names of resources, or has a percentage in it."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, list | tuple):
        return any(map(needs_totals, value))
    return isinstance(value, str | Mapping)


def read_tolerance(name: str, value: Any) -> float | None:
    """Return a tolerance: a share from 0 to 1, "10%" or 0.1; None where there is none."""
    if value is None:
        return None
    tolerance = share_of_text(name, value) if isinstance(value, str) else value
    if not _is_number(tolerance, numbers.Real):
        raise ValueError(f"{term(name)} must be a share such as 0.1 or '10%', got {value!r}")
    if not 0.0 <= float(tolerance) <= 1.0:
        hint = f"; for {value:g}% give '{value:g}%'" if value is tolerance and 1.0 < float(value) <= 100.0 else ""
        raise ValueError(f"{term(name)} must be a share such as 0.1 or '10%', from 0 to 1, got {value!r}{hint}")
    return float(tolerance)


def read_limit(name: str, value: Any) -> float | None:
    """Return a distance limit: a positive number, or None."""
    if value is None:
        return None
    if not _is_number(value, numbers.Real) or not float(value) >= 0:
        raise ValueError(f"{term(name)} must be a distance, a number not below 0, got {value!r}")
    return float(value)


def read_time_limit(value: Any) -> float:
    """Return seconds; None means as long as it takes."""
    if value is None:
        return math.inf
    if not _is_number(value, numbers.Real) or not float(value) >= 0:
        raise ValueError(f"{term('time_limit')} must be seconds, a number not below 0, or None, got {value!r}")
    return float(value)


def refuse_lazy(name: str, value: Any) -> None:
    """Raise if this is a frame that holds no values yet."""
    # Duck typing: polars need not be there.
    if type(value).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a LazyFrame, which holds no rows yet; call .collect()")


def refuse_hidden(name: str, value: Any) -> None:
    """Raise for masked values, and for a frame that holds no values yet."""
    refuse_lazy(name, value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        at = np.argwhere(np.ma.getmaskarray(value))[0].tolist()
        raise ValueError(f"{name}{at} is masked; fill it in, or leave its row out")


def plain(value: Any) -> Any:
    """Return a frame or a column of one as an array, and all else as it is: models keep no frames."""
    columns = _frame_columns(value)
    if columns is not None:
        return np.column_stack(columns) if columns else np.zeros((0, 0))
    return np.asarray(value) if hasattr(value, "to_numpy") else value


def is_sparse(value: Any) -> bool:
    """Whether this is one of scipy's sparse matrices or arrays."""
    return bool(issparse(value))


def link_columns(name: str, value: Any, n_samples: int) -> list[Column]:
    """Return the first, the second and perhaps a third column: rows, rows, confidences."""
    refuse_hidden(name, value)
    if is_sparse(value):
        return _matrix_columns(name, value, n_samples)
    columns = _frame_columns(value)
    if columns is None:
        columns = _array_columns(name, value, n_samples)
    if len(columns) not in (2, 3):
        raise ValueError(f"{name} must have two columns, or three with a confidence, got {len(columns)}")
    return columns


def _frame_columns(value: Any) -> list[Column] | None:
    """Columns of a pandas, polars or pyarrow table, by position; None when it is no frame."""
    # Duck typing: none of these libraries is imported here, and each is optional for the caller.
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return [value.iloc[:, i].to_numpy() for i in range(value.shape[1])]
    if hasattr(value, "get_columns"):
        return [column.to_numpy() for column in value.get_columns()]
    if hasattr(value, "num_columns") and hasattr(value, "column"):
        return [np.asarray(value.column(i).to_numpy(zero_copy_only=False)) for i in range(value.num_columns)]
    return None


def _array_columns(name: str, value: Any, n_samples: int) -> list[Column]:
    if isinstance(value, Iterable) and not hasattr(value, "__len__"):
        value = list(value)
    elif isinstance(value, set | frozenset):
        value = sorted(value)
    try:
        table = np.asarray(value)
    except ValueError:
        _refuse_ragged(name, value)
        raise
    if table.size == 0 and table.ndim <= 2:
        return [np.zeros(0, dtype=np.int32)] * 2
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        hint = ""
        if table.shape == (n_samples, n_samples):
            hint = "; give an adjacency matrix as scipy.sparse.csr_array(matrix)"
        raise ValueError(
            f"{name} must have shape (n_pairs, 2), or (n_pairs, 3) with a confidence, got {table.shape}{hint}"
        )
    return [table[:, i] for i in range(table.shape[1])]


def _refuse_ragged(name: str, value: Any) -> None:
    for position, link in enumerate(value):
        if not hasattr(link, "__len__") or len(link) not in (2, 3):
            raise ValueError(f"{name}[{position}] is {link!r}; each link is two row numbers and perhaps a confidence")
    position = next(i for i, link in enumerate(value) if len(link) != len(value[0]))
    raise ValueError(
        f"{name}[{position}] is {value[position]!r}, but {name}[0] is {value[0]!r}; either all links carry a "
        "confidence or none does (inf marks a hard link)"
    )


def _matrix_columns(name: str, matrix: Any, n_samples: int) -> list[Column]:
    """Each linked pair of an adjacency matrix once; whole numbers and truth values are no confidences, floats are."""
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(f"{name} as a matrix must have shape ({n_samples}, {n_samples}), got {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} as a matrix must hold numbers, got dtype {matrix.dtype}")
    entries = matrix.tocoo(copy=True)
    entries.sum_duplicates()
    row, column, values = entries.row, entries.col, entries.data
    bad = np.flatnonzero(~(values >= 0))
    if bad.size:
        i, j, v = row[bad[0]], column[bad[0]], values[bad[0]]
        raise ValueError(f"{name}[{i}, {j}] is {v}; a matrix of links holds no negative values and no NaN")
    stored = values != 0
    row, column, values = row[stored], column[stored], values[stored]
    low, high = np.minimum(row, column), np.maximum(row, column)
    # A symmetric matrix names each link twice; it is one link, with the larger of the two confidences.
    order = np.lexsort((-values.astype(np.float64), high, low))
    low, high, values = low[order], high[order], values[order]
    first = np.ones(low.size, dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    columns = [low[first], high[first], values[first]]
    return columns if values.dtype.kind == "f" else columns[:2]
