"""Features on one scale, without a second copy of the rows."""

from typing import Any

from numpy.typing import NDArray


def standardized(X: NDArray[Any]) -> NDArray[Any]:
    """Give each feature mean 0 and variance 1, in place; a feature that is the same everywhere becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> standardized(np.array([[0.0, 7.0], [2.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    for column in X.T:
        column -= column.mean()
        deviation = column.std()
        column /= deviation if deviation > 0 else 1.0
    return X
