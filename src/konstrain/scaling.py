"""Features on one scale, without a second copy of the rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def standardized(X: NDArray[Any]) -> NDArray[Any]:
    """Give each feature mean 0 and variance 1, in place; a feature that is the same everywhere becomes 0.

    Examples
    --------
    >>> standardized(np.array([[0.0, 7.0], [2.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    for column in X.T:
        unit, mean, spread = scale_of(column)
        column /= unit
        column -= mean
        column /= spread
    return X


def scale_of(column: NDArray[Any]) -> tuple[float, float, float]:
    """Return unit, mean and spread: values over the unit, less the mean, over the spread have mean 0 and variance 1.

    Examples
    --------
    >>> scale_of(np.array([0.0, 2.0])), scale_of(np.array([7.0, 7.0]))
    ((2.0, 0.5, 0.5), (7.0, 1.0, 1.0))
    """
    # Squares of what is very large or very small would be infinite or 0.
    unit = float(np.abs(column).max()) or 1.0
    if column.min() == column.max():
        # Its mean is rounded: the deviations from it would be made of that alone.
        return unit, float(column[0] / unit), 1.0
    scaled = column / unit
    mean = scaled.mean()
    return unit, float(mean), float((scaled - mean).std())
