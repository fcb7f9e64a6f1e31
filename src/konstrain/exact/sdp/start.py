"""Multipliers that a clustering suggests: where the semidefinite bound of a part begins.

Where clusters are well apart these multipliers prove the clustering at once [1]_, [2]_; elsewhere they save the
iterations that would find out which pairs of blocks are in different clusters.

Let <D / 2, Z> be the cost, D the squared distances, and let S >= 0 be the multipliers of Z >= 0, which vanish within
clusters. The bound equals the cost of the clustering when the indicators of its clusters are eigenvectors of
D / 2 - S, up to the multipliers of Z 1 = 1, at the lower end -z of the spectrum. The first of the two conditions is,
for block i of cluster a, and of each other cluster b,

    (S 1_b)_i = r_bi = W_b / 2 (|x_i - m_b|^2 - |x_i - m_a|^2 - z (1 / W_a + 1 / W_b)),

which the matrix of rank one r_b r_a' / (sum of r_b over a) does. z is at least the largest variance of a cluster in
any direction times its weight; r cannot be negative, so blocks nearly between clusters favour a small one, and the
smallest possible is taken. Any z and any r >= 0 give a bound that holds, see `bound`.

References
----------
.. [1] Awasthi et al. (2015), "Relax, no need to round: integrality of clustering formulations".
.. [2] Iguchi, Mixon, Peterson, Villar (2017), "Probably certifiably correct k-means clustering".
"""

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.sdp.model import SdpModel


def clustering_matrix(model: SdpModel, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Matrix Y of a clustering of the model's blocks."""
    root = np.sqrt(model.weight)
    size = np.bincount(labels, model.weight, model.n_clusters)
    same = labels[:, None] == labels
    return np.where(same, np.outer(root, root) / size[labels], 0.0)


def suggested_multipliers(model: SdpModel, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Multipliers S of Y >= 0, scaled like the model's cost, that a clustering suggests."""
    weight, k = model.weight, model.n_clusters
    size = np.bincount(labels, weight, k).astype(np.float64)
    nearer = _distance_beyond_own(model, labels, size)
    z = _largest_variance(model, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = z * (1 / size[:, None] + 1 / size[labels])
    # r[b, i]; clusters without blocks have no one to be apart from.
    r = np.where(size[:, None] > 0, 0.5 * size[:, None] * np.maximum(nearer - least, 0.0), 0.0)
    r[labels, np.arange(labels.size)] = 0.0
    # sums[a, b]: r_b over the blocks of a; both ways the same unless something was cut off at 0.
    sums = np.zeros((k, k))
    np.add.at(sums, labels, (r * weight).T)
    norm = np.sqrt(sums * sums.T)[np.ix_(labels, labels)]
    toward = r[labels]
    root = np.sqrt(weight)
    product = toward * toward.T
    S = np.divide(product, norm, out=np.zeros_like(product), where=norm > 0)
    return np.asarray(S * np.outer(root, root) / model.scale)


def _distance_beyond_own(
    model: SdpModel, labels: NDArray[np.int32], size: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of each block to each center less that to its own, clusters by blocks."""
    weight = model.weight
    root = np.sqrt(weight)
    gram = -model.scale * model.cost / np.outer(root, root)
    member = np.zeros((model.n_clusters, weight.size))
    member[labels, np.arange(weight.size)] = weight
    share = member / np.maximum(size, np.finfo(float).tiny)[:, None]
    toward = share @ gram
    distance = (toward * share).sum(axis=1)[:, None] - 2 * toward
    return np.asarray(distance - distance[labels, np.arange(weight.size)])


def _largest_variance(model: SdpModel, labels: NDArray[np.int32]) -> float:
    """Largest eigenvalue of the weighted scatter within any cluster."""
    root = np.sqrt(model.weight)
    largest = 0.0
    for label in np.unique(labels):
        inside = np.flatnonzero(labels == label)
        u = root[inside] / np.linalg.norm(root[inside])
        gram = -model.scale * model.cost[np.ix_(inside, inside)]
        h = gram @ u
        gram = gram - np.outer(u, h) - np.outer(h, u) + (u @ h) * np.outer(u, u)
        largest = max(largest, float(np.linalg.eigvalsh(gram)[-1]))
    return largest
