"""COP-KMeans (Wagstaff et al. 2001): each block to the nearest center that breaks no link, until none is left."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from konstrain._sklearn import StrOptions
from konstrain.baselines._greedy import BaseGreedyClusterer, GreedyBlocks
from konstrain.kmeans import distances


class COPKMeans(BaseGreedyClusterer):
    """COP-KMeans: k-means in which rows go, one after the other, to the nearest center that breaks no link.

    What is assigned stays until the next iteration. So the order of the rows matters, and rows that come late may
    find no cluster left although a clustering that keeps all links exists [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, array-like of shape (n_clusters, n_features) or callable, default="random"
        Where runs start: random rows, k-means++, given centers, or ``callable(X, n_clusters, random_state=...)``.
    order : {"given", "random"}, default="given"
        Order in which blocks are assigned: that of their first rows, or one drawn at random for each run.
    on_failure : {"raise", "continue"}, default="raise"
        What happens when no cluster is left for a block: an error that says what stands in the way (when it
        happens in all runs), or it goes to its nearest center, and the links that break are counted.
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

    Raises
    ------
    InfeasibleError
        When a cannot-link contradicts must-links and `on_failure` is "raise".
    DeadEndError
        When every run ended with a block for which no cluster was left and `on_failure` is "raise".

    Notes
    -----
    What the paper leaves open, and what we chose. Must-linked rows are merged first and go as one block to the center
    at least total squared distance, as later papers describe the method; in the paper's own pseudo-code the row met
    first decides for the others, which is `GreedyKMeans` here. The paper does not say in which order rows come.
    Iterations need not converge; labels that no longer change end a run. An empty cluster keeps its center.

    References
    ----------
    .. [1] Wagstaff, Cardie, Rogers, Schroedl (2001), "Constrained K-means Clustering with Background Knowledge",
       ICML.

    Examples
    --------
    >>> model = COPKMeans(n_clusters=2, init=[[0.0], [5.0]]).fit([[0.0], [1.0], [5.0]], cannot_link=[(0, 1)])
    >>> model.labels_.tolist(), model.n_violations_
    ([0, 1, 1], 0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseGreedyClusterer._parameter_constraints,
        "order": [StrOptions({"given", "random"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        order: str = "given",
        on_failure: str = "raise",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.order = order
        self.on_failure = on_failure

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        problem = blocks.problem
        return distances.block_costs(problem.mean, problem.weight, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        n_blocks = blocks.problem.n_blocks
        order = np.arange(n_blocks) if self.order == "given" else rng.permutation(n_blocks)
        return order.astype(np.int32)
