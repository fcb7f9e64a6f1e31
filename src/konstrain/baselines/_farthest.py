"""The two points furthest from each other, without looking at pairs that cannot be."""

import numpy as np
from numpy.typing import NDArray

# Points compared with all others at a time: enough for the linear algebra library, little in memory.
CHUNK = 256


def farthest_pair(points: NDArray[np.float64]) -> tuple[int, int]:
    """Return the numbers of two points at the largest Euclidean distance.

    Two points are at most as far apart as their distances to the common mean together, so points are compared from
    the outermost inwards, and only with those that could still make a new maximum.

    Examples
    --------
    >>> farthest_pair(np.array([[0.0, 0.0], [1.0, 1.0], [-3.0, 0.0], [0.5, 0.0]]))
    (2, 1)
    """
    centered = points - points.mean(axis=0)
    radius = np.sqrt(np.einsum("ij,ij->i", centered, centered))
    order = np.argsort(-radius, kind="stable")
    centered, radius = centered[order], radius[order]
    best, pair = 0.0, (0, 0)
    for begin in range(0, len(points), CHUNK):
        end = int(np.searchsorted(-radius, radius[begin] - best, side="right"))
        if end <= begin:
            break
        ours = slice(begin, begin + CHUNK)
        squared = radius[ours, None] ** 2 + radius[begin:end] ** 2 - 2.0 * (centered[ours] @ centered[begin:end].T)
        i, j = np.unravel_index(squared.argmax(), squared.shape)
        if squared[i, j] > best**2:
            best, pair = float(np.sqrt(squared[i, j])), (begin + int(i), begin + int(j))
    return int(order[pair[0]]), int(order[pair[1]])
