"""The greedy baseline of Jia et al. (2023), section 6.1.1: a must-link set follows the first of its rows."""

import numpy as np
from numpy.typing import NDArray

from konstrain.baselines._greedy import BaseGreedyClusterer, GreedyBlocks
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances


@estimator
class GreedyKMeans(BaseGreedyClusterer):
    """Greedy k-means: must-link sets follow their first row, cannot-link sets take centers in input order.

    A must-link set goes to the nearest center of its first row. The rows of a cannot-link set go to their nearest
    centers in input order; one whose center is taken by another row of the set goes to its next nearest, and so on
    [1]_. The input order decides a lot: shuffle the rows, as the paper does, if it means nothing.

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

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        first = blocks.problem.first_rows
        return distances.block_costs(blocks.rows.X[first], None, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        is_single = np.diff(blocks.problem.block_indptr) == 1
        return np.argsort(is_single, kind="stable").astype(np.int32)
