"""COP-KMeans (Wagstaff et al. 2001): each block to the nearest center that breaks no link, until none is left."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from konstrain._sklearn import StrOptions
from konstrain.baselines._greedy import BaseGreedyClusterer, GreedyBlocks
from konstrain.estimators._conventions import estimator
from konstrain.kmeans import distances


@estimator
class COPKMeans(BaseGreedyClusterer):
    """COP-KMeans: k-means in which rows go, one after the other, to the nearest center that breaks no link.

    What is assigned stays until the next iteration. So the order of the rows matters, and rows that come late may
    find no cluster left although a clustering that keeps all links exists [1]_.

    Parameters
    ----------
    order : {"given", "random"}, default="given"
        Order in which blocks are assigned: that of their first rows, or one drawn at random for each run.

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

    _: KW_ONLY
    order: str = "given"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseGreedyClusterer._parameter_constraints,
        "order": [StrOptions({"given", "random"})],
    }

    def _costs(self, blocks: GreedyBlocks, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        problem = blocks.problem
        return distances.block_costs(problem.mean, problem.weight, centers, n_threads=blocks.rows.n_threads)

    def _order(self, blocks: GreedyBlocks, rng: np.random.Generator) -> NDArray[np.int32]:
        n_blocks = blocks.problem.n_blocks
        order = np.arange(n_blocks) if self.order == "given" else rng.permutation(n_blocks)
        return order.astype(np.int32)
