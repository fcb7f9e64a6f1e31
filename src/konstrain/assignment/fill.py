"""Empty clusters get one block each."""

import numpy as np
from numpy.typing import NDArray


def fill_empty(labels: NDArray[np.int32], rise: NDArray[np.float64]) -> NDArray[np.int32]:
    """Move the cheapest block to each empty cluster, where alone it breaks no cannot-link.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_blocks,)
        Cluster of each block.
    rise : ndarray of float64, shape (n_blocks, n_clusters)
        What moving a block to a cluster costs.

    Returns
    -------
    ndarray of int32, shape (n_blocks,)
        `labels` itself when no cluster is empty. A cluster stays empty when no other can spare a block.

    Examples
    --------
    >>> fill_empty(np.array([0, 0, 1], dtype=np.int32), np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    array([0, 2, 1], dtype=int32)
    """
    counts = np.bincount(labels, minlength=rise.shape[1])
    empty = np.flatnonzero(counts == 0)
    if not empty.size:
        return labels
    filled = labels.copy()
    for cluster in empty:
        # Not the only block of another cluster: that one would be empty instead.
        block = int(np.where(counts[filled] > 1, rise[:, cluster], np.inf).argmin())
        if counts[filled[block]] > 1:
            counts[filled[block]] -= 1
            counts[cluster] = 1
            filled[block] = cluster
    return filled
