"""A first look at all rows: what is refused before any work, and what is known of them from then on."""

import math
import sys

from konstrain._messages import term
from konstrain.dask.cluster import Partitions
from konstrain.dask.problem import Overview


def overview_of(partitions: Partitions, n_clusters: int) -> Overview:
    """Return what is known of all rows; raises, with partition and column, where one is no number."""
    _refuse_bad(partitions)
    _refuse_too_large(partitions)
    overview = Overview.of(partitions.seen)
    if overview.n_samples < n_clusters:
        raise ValueError(f"n_samples={overview.n_samples} should be >= {term('n_clusters', n_clusters)}.")
    if not overview.weight.total > 0:
        raise ValueError(f"{term('sample_weight')} is zero for every row; at least one row must count")
    return overview


def _refuse_bad(partitions: Partitions) -> None:
    features = partitions.source.features
    for number, (seen, first) in enumerate(zip(partitions.seen, partitions.first_rows, strict=True)):
        if seen.bad is not None:
            row, column, value = seen.bad
            name = str(column) if features is None else repr(features[column])
            what = "a missing value" if math.isnan(value) else "infinity"
            raise ValueError(
                f"X has {what} in partition {number}, row {row} of it (row {first + row} of all), column {name}; "
                "fill it in (X.fillna), or leave the row out (X.dropna)"
            )
        for name, amounts in (
            ("sample_weight", seen.weight),
            ("demand", seen.demand),
            *(("demand", held) for held in seen.held),
        ):
            if amounts.bad is not None:
                row, value = amounts.bad
                raise ValueError(
                    f"{name} is {value} in partition {number}, row {row} of it (row {first + row} of all); it must "
                    "be finite and not negative"
                )


def _refuse_too_large(partitions: Partitions) -> None:
    """Raise where squared distances, summed over all rows, could exceed the largest number there is."""
    most = math.sqrt(sys.float_info.max / 4.0 / max(1, partitions.n_samples * partitions.source.n_features))
    for number, seen in enumerate(partitions.seen):
        if not seen.largest <= most:
            raise ValueError(
                f"X has {seen.largest:.3g} in partition {number}, too large to be squared and summed; divide all "
                "rows by a number"
            )
