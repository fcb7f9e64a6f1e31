"""Which cluster gets which bounds on its size, where each cluster has its own."""

import numpy as np
from numpy.typing import NDArray


def match_sizes(
    sizes: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.int32] | None:
    """Give each size bounds of its own that it keeps; None when that is impossible.

    An order that fits already stays. Else, from the smallest size on, each takes, of the bounds it has reached, those
    that end first: whoever comes later is larger and has reached them too, so what remains suits it best (Glover's
    rule for matchings in convex graphs).

    Examples
    --------
    >>> match_sizes(np.array([8.0, 5.0]), low=np.array([0.0, 4.0]), high=np.array([10.0, 5.0])).tolist()
    [0, 1]
    >>> match_sizes(np.array([8.0, 2.0]), low=np.array([0.0, 4.0]), high=np.array([10.0, 5.0])) is None
    True
    """
    if ((low <= sizes) & (sizes <= high)).all():
        return np.arange(sizes.size, dtype=np.int32)
    chosen = np.full(sizes.size, -1, dtype=np.int32)
    end = np.array(high)
    for at in np.argsort(sizes, kind="stable"):
        reached = np.flatnonzero((low <= sizes[at]) & (end >= sizes[at]))
        if reached.size == 0:
            return None
        chosen[at] = reached[end[reached].argmin()]
        end[chosen[at]] = -np.inf  # taken
    return chosen
