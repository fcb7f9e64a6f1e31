"""The greedy baseline of Jia et al. (2023), section 6.1.1: a must-link set follows the first of its rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.baselines._greedy import BaseGreedyClusterer, GreedyBlocks
from konstrain.kmeans import distances


class GreedyKMeans(BaseGreedyClusterer):
    """Greedy k-means: must-link sets follow their first row, cannot-link sets take centers in input order.

    A must-link set goes to the nearest center of its first row. The rows of a cannot-link set go to their nearest
    centers in input order; one whose center is taken by another row of the set goes to its next nearest, and so on
    [1]_. The input order decides a lot: shuffle the rows, as the paper does, if it means nothing.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: random rows, k-means++, given centers, or ``callable(X, n_clusters, random_state=...)``.
    on_failure : {"raise", "continue"}, default="raise"
        What happens when no cluster is left for a row or set: an error that says what stands in the way (when it
        happens in all runs), or the nearest center, and the links that break are counted.
    n_init : int, default=1
        Number of runs from different seeds; the one with the fewest broken links, then the least inertia, is kept.
    max_iter : int, default=300
        Most iterations of one run.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters; an empty cluster keeps its last center.
    inertia_, objective_ : float
        Squared distances of the rows to the means of their clusters.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links; none unless `on_failure` is "continue".

    Notes
    -----
    What the paper leaves open, and what we chose. Its cannot-link sets are disjoint and have at most `n_clusters`
    members, so that a center is always left; with links of any form it may not be, see `on_failure`. Must-link sets
    come first, then all other rows, both in input order; a must-link set also leaves out centers that a conflicting
    one has taken. As in k-means, centers become means and all of it is repeated until labels stop changing.

    References
    ----------
    .. [1] Jia, Guo, Liao, Lu (2023), "Efficient Algorithm for the k-Means Problem with Must-Link and Cannot-Link
       Constraints", Tsinghua Science and Technology, section 6.1.1.

    Examples
    --------
    >>> model = GreedyKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit([[1.0], [5.0], [6.0]], must_link=[(0, 2)])
    >>> model.labels_.tolist()
    [0, 1, 0]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        on_failure: str = "raise",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.on_failure = on_failure

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        first = blocks.problem.first_rows
        return distances.block_costs(blocks.rows.X[first], None, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        is_single = np.diff(blocks.problem.block_indptr) == 1
        return np.argsort(is_single, kind="stable").astype(np.int32)
