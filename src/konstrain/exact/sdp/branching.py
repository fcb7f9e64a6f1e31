"""Which two blocks to branch on, read off the relaxed clustering of the semidefinite bound.

A good pair raises both children. Together, one of the two has to leave for the cluster of the other, which costs at
least the cheaper of the two moves. Apart, the relaxation loses the degree to which they shared a cluster, and all the
more if many blocks are tied to either: they go with it.
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.sdp.model import SdpModel

# A block counts as tied to another by the degree to which they share a cluster, to this power.
TIE_POWER = 20


def branching_scores(model: SdpModel, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what there is to gain from branching on blocks i < j, relative to other pairs; 0: nothing.

    The score is min(F, 1 - F) * sqrt(t_i t_j / (t_i + t_j)) * move, where F = Z_ij / min(Z_ii, Z_jj) is the degree to
    which they share a cluster, t the weight of all blocks tied to a block, and move the cost of the cheaper move.
    """
    own = Z.diagonal()
    degree = np.clip(Z / np.maximum(np.minimum.outer(own, own), np.finfo(float).tiny), 0.0, 1.0)
    tied = degree**TIE_POWER @ model.weight
    reach = np.sqrt(np.multiply.outer(tied, tied) / np.add.outer(tied, tied))
    move = move_costs(model, Z)
    scores = np.minimum(degree, 1 - degree) * reach * np.maximum(np.minimum(move, move.T), 0.0)
    return np.asarray(np.triu(np.where(model.is_conflict, 0.0, scores), 1))


def move_costs(model: SdpModel, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much more block i costs in the relaxed cluster of block j than in its own, both centers fixed."""
    gram = -model.scale * model.cost / np.sqrt(np.outer(model.weight, model.weight))
    # Row i weighs the members of the relaxed cluster of block i: these weights sum to 1.
    member = np.maximum(Z, 0.0) * model.weight
    member /= member.sum(axis=1)[:, None]
    to_center = gram @ member.T
    centers = (member * to_center.T).sum(axis=1)
    cost = model.weight[:, None] * (centers - 2 * to_center)
    return np.asarray(cost - cost.diagonal()[:, None])
