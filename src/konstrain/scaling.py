"""Features on one scale, without a second copy of the rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import chunks


def standardized(X: NDArray[Any]) -> NDArray[Any]:
    """Give each feature mean 0 and variance 1, in place; a feature that is the same everywhere becomes 0."""
    for places, columns in column_blocks(X):
        unit, mean, spread = (part[:, None] for part in scales_of(columns))
        columns /= unit
        columns -= mean
        columns /= spread
        X[:, places] = columns.T
    return X


def column_blocks(
    X: NDArray[Any], places: Sequence[int] | None = None
) -> Iterator[tuple[Sequence[int], NDArray[Any]]]:
    """Yield columns of `X`, each as a row of a new array, as many at once as fit into a little memory."""
    places = range(X.shape[1]) if places is None else places
    for part in chunks(len(places), len(X)):
        some = places[part]
        yield some, np.ascontiguousarray(np.take(X, some, axis=1).T)


def scales_of(columns: NDArray[Any]) -> NDArray[Any]:
    """Return units, means and spreads of `columns`, one row each.

    Values over the unit, less the mean, over the spread have mean 0 and variance 1.
    """
    # Squares of what is very large or very small would be infinite or 0.
    unit = np.abs(columns).max(axis=1)
    unit[unit == 0] = 1
    scaled = columns / unit[:, None]
    mean = scaled.mean(axis=1)
    spread = (scaled - mean[:, None]).std(axis=1)
    # The mean of a constant is rounded: the deviations from it would be made of that alone.
    constant = columns.min(axis=1) == columns.max(axis=1)
    mean[constant], spread[constant] = scaled[constant, 0], 1
    return np.array([unit, mean, spread])
