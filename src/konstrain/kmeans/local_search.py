"""Local search on the true objective of constrained k-means: out of poor optima in which Lloyd's loop stops.

Lloyd's loop stops when the assignment to fixed centers is the best one. A move can still lower the objective once
centers follow it: Hartigan's exact test for one block, the same test for two blocks that change places when sizes
bind, and for Kempe exchanges when cannot-links stand in the way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.assignment.resources import Resources
from konstrain.kmeans.distances import block_costs, center_sums
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps
from konstrain.links import LinkGraph
from konstrain.rounding import demand_rounding, widened
from konstrain.stop import NO_DEADLINE, Deadline

# A pass that moves nothing ends the search; this many are reached on data where improvements are tiny and endless.
MAX_PASSES = 1000


@dataclass(frozen=True, eq=False)
class LocalSearchResult:
    """Labels that no tried move improves, unless a limit came first.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_blocks,)
        Cluster of each block; feasible when the labels given were.
    cost : float
        Sum of weights times squared distances to the cluster's mean, plus the penalties of soft links. The scatter
        within blocks, a constant, is not included.
    n_moves : int
        Number of moves made; 0 when the labels are those given.
    """

    labels: NDArray[np.int32]
    cost: float
    n_moves: int


def supports(means: Any) -> bool:
    """Whether `improve` takes these means: a dense matrix of floats, rows contiguous."""
    return (
        isinstance(means, np.ndarray)
        and means.ndim == 2
        and means.dtype in (np.float32, np.float64)
        and bool(means.flags.c_contiguous)
    )


def improve(
    means: NDArray[np.float64] | NDArray[np.float32],
    weight: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
    *,
    links: LinkGraph | None = None,
    demand: NDArray[np.float64] | None = None,
    size_min: NDArray[np.float64] | None = None,
    size_max: NDArray[np.float64] | None = None,
    nonempty: bool = True,
    max_passes: int = MAX_PASSES,
    deadline: Deadline = NO_DEADLINE,
    seed: int = 0,
    movable: NDArray[np.int32] | None = None,
    resources: Resources | None = None,
    known: tuple[NDArray[np.float64], float] | None = None,
) -> LocalSearchResult:
    """Lower the objective of feasible labels by moves that keep them feasible.

    Parameters
    ----------
    means : ndarray of float64 or float32, shape (n_blocks, n_features), C-contiguous
        Mean of each block.
    weight : ndarray of float64, shape (n_blocks,)
        Weight of each block: the number of its points, or the sum of their sample weights.
    labels : ndarray of int32, shape (n_blocks,)
        Where to start: labels that keep all hard links and sizes. Not changed.
    n_clusters : int
        Number of clusters.
    links : LinkGraph or None
        Hard cannot-links and soft links with their penalties, in the unit of the objective.
    demand : ndarray of float64, shape (n_blocks,), or None
        What each block counts towards the size of its cluster; None: 1 each.
    size_min, size_max : ndarray of float64, shape (n_clusters,), or None
        Bounds on the sum of demands in each cluster.
    nonempty : bool
        Whether no cluster may lose its last block. Otherwise clusters may also be emptied for a lower penalty.
    max_passes : int
        Limit on the number of passes over all blocks or all pairs of clusters.
    deadline : Deadline
        When the labels reached so far are returned.
    seed : int
        Order in which blocks are visited. The same seed gives the same labels.
    movable : ndarray of int32, or None
        The only blocks to move, each on its own: neither swaps nor chains are tried. None: everything is.
    resources : Resources or None
        Bounds on further sums over clusters, which every move keeps too.
    known : pair of ndarray of float64, shape (n_clusters, n_features), and float, or None
        Means of the clusters and the cost of the labels, where they are known: a search among few blocks then takes
        no pass over all of them, and its `cost` is this one less what each move gains.

    Returns
    -------
    LocalSearchResult
        Labels with a cost never above that of the labels given.

    Examples
    --------
    >>> means = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> improve(means, np.ones(4), np.array([0, 1, 1, 1], dtype=np.int32), 2).labels.tolist()
    [0, 0, 1, 1]
    """
    _check(means, weight, labels, n_clusters, links)
    for name, vector, size in (
        ("demand", demand, labels.size),
        ("size_min", size_min, n_clusters),
        ("size_max", size_max, n_clusters),
    ):
        if vector is not None and vector.shape != (size,):
            raise ValueError(f"{name} must have shape ({size},), got {vector.shape}")
    if movable is not None and movable.size and not 0 <= movable.min() <= movable.max() < labels.size:
        raise ValueError(f"movable has {movable.min()}..{movable.max()}, but there are {labels.size} blocks")
    if known is not None and known[0].shape != (n_clusters, means.shape[1]):
        raise ValueError(f"known means must have shape ({n_clusters}, {means.shape[1]}), got {known[0].shape}")
    low, high = widened(
        np.full(n_clusters, -np.inf) if size_min is None else np.where(size_min > 0, size_min, -np.inf),
        np.full(n_clusters, np.inf) if size_max is None else size_max,
        demand_rounding(demand, labels.size),
    )
    rules = None if resources is None else resources.compared
    found, cost, n_moves, _ = _core.search_locally(
        means,
        weight,
        labels,
        None if links is None else links.indptr,
        None if links is None else links.indices,
        None if links is None else links.weights,
        demand,
        low,
        high,
        nonempty,
        max_passes,
        deadline.remaining(),
        seed,
        movable=movable,
        amounts=None if rules is None else rules.amounts,
        rules=None if rules is None else rules.rules,
        rule_low=None if rules is None else rules.low,
        rule_high=None if rules is None else rules.high,
        cluster_means=None if known is None else known[0],
        start_cost=0.0 if known is None else known[1],
    )
    return LocalSearchResult(labels=found, cost=cost, n_moves=n_moves)


def improve_clustering(
    steps: Steps, clustering: Clustering, seed: int, max_passes: int, movable: NDArray[np.int32] | None = None
) -> LocalSearchResult:
    """Lower the objective of a clustering by `improve`, under the constraints of its problem and in the time left."""
    problem = steps.problem
    known = None
    if movable is not None:
        assert problem.scatter is not None
        known = clustering.centers, clustering.objective - float(problem.scatter.sum())
    return improve(
        problem.mean,
        problem.weight,
        clustering.block_labels,
        problem.n_clusters,
        links=problem.links_at(steps.violation_cost),
        demand=problem.demand,
        size_min=problem.size_min,
        size_max=problem.size_max,
        nonempty=problem.nonempty,
        max_passes=max_passes,
        deadline=steps.deadline,
        seed=seed,
        movable=movable,
        resources=problem.resources,
        known=known,
    )


def relocation_candidates(
    means: NDArray[np.float64] | NDArray[np.float32],
    weight: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
    n_candidates: int,
    seed: int = 0,
    *,
    least_gain: float = -np.inf,
) -> list[NDArray[np.float64]]:
    """Propose centers to restart from: one cluster dissolved, another cut in two.

    Gains are estimated with constraints left aside; run Lloyd's loop from a proposal to know what it is worth.

    Parameters
    ----------
    means, weight, labels, n_clusters
        As in `improve`.
    n_candidates : int
        How many proposals to make at most.
    seed : int
        For the random starts of the cuts.
    least_gain : float
        Proposals whose estimated gain is not above this are left out.

    Returns
    -------
    list of ndarray of float64, shape (n_clusters, n_features)
        Centers, most promising first.

    Examples
    --------
    >>> means = np.array([[0.0], [1.0], [50.0], [60.0]])
    >>> labels = np.array([0, 1, 2, 2], dtype=np.int32)
    >>> sorted(relocation_candidates(means, np.ones(4), labels, 3, 1)[0].ravel().tolist())
    [1.0, 50.0, 60.0]
    """
    estimates = _Estimates.of(means, weight, labels, n_clusters, seed, least_gain=least_gain)
    return [estimates.centers_after([pair]) for pair in estimates.pairs(least_gain)[:n_candidates]]


def joint_relocations(
    means: NDArray[np.float64] | NDArray[np.float32],
    weight: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
    seed: int = 0,
    *,
    known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    most: int | None = None,
) -> list[NDArray[np.float64]]:
    """Propose centers to restart from: several clusters dissolved and as many others cut in two at once.

    Parameters
    ----------
    means, weight, labels, n_clusters, seed
        As in `relocation_candidates`.
    known : pair of ndarrays of float64, or None
        Means of the clusters and `block_costs` at these, where they are known.
    most : int or None
        Proposals with more relocations at once are left out; None: none is.

    Returns
    -------
    list of ndarray of float64, shape (n_clusters, n_features)
        Centers after all relocations whose estimated gain is positive and which share no cluster, after the better
        half of them, and so on down to the best one alone.

    Examples
    --------
    >>> means = np.array([[0.0], [1.0], [50.0], [60.0], [100.0], [101.0], [150.0], [160.0]])
    >>> labels = np.array([0, 1, 2, 2, 3, 4, 5, 5], dtype=np.int32)
    >>> proposals = joint_relocations(means, np.ones(8), labels, 6)
    >>> [sorted(centers.ravel().tolist()) for centers in proposals]
    [[1.0, 50.0, 60.0, 101.0, 150.0, 160.0], [1.0, 50.0, 60.0, 100.0, 101.0, 155.0]]
    """
    estimates = _Estimates.of(means, weight, labels, n_clusters, seed, known, least_gain=0.0)
    chosen: list[tuple[int, int]] = []
    used: set[int] = set()
    for removed, split in estimates.pairs(0.0):
        # The neighbour takes what the dissolved cluster held: of two that share a place only one may go.
        touched = {removed, split, estimates.neighbour[removed]}
        if used.isdisjoint(touched):
            chosen.append((removed, split))
            used |= touched
    proposals = []
    while chosen:
        if most is None or len(chosen) <= most:
            proposals.append(estimates.centers_after(chosen))
        chosen = chosen[: len(chosen) // 2]
    return proposals


@dataclass(frozen=True, eq=False)
class _Estimates:
    """What each relocation would be worth, constraints left aside."""

    centers: NDArray[np.float64]
    halves: NDArray[np.float64]  # of each cluster, two rows each
    worth: NDArray[np.float64]  # of dissolving one cluster (row) and cutting another (column)
    neighbour: list[int]  # the nearest other center of each

    @classmethod
    def of(
        cls,
        means: Any,
        weight: Any,
        labels: Any,
        n_clusters: int,
        seed: int,
        known: Any = None,
        *,
        least_gain: float,
    ) -> "_Estimates":
        _check(means, weight, labels, n_clusters, None)
        if known is None:
            sums, weights = center_sums(means, weight, labels, n_clusters)
            centers = sums / np.where(weights > 0, weights, 1.0)[:, None]
            known = centers, block_costs(means, weight, centers)
        centers, costs = known
        removal, gain, halves = _core.estimate_relocations(means, weight, labels, centers, costs, seed, least_gain)
        worth = gain[None, :] - removal[:, None]
        worth[:, gain <= 0] = -np.inf
        np.fill_diagonal(worth, -np.inf)
        apart = block_costs(centers, None, centers)
        np.fill_diagonal(apart, np.inf)
        return cls(centers, halves.reshape(n_clusters, 2, -1), worth, apart.argmin(axis=1).tolist())

    def pairs(self, least_gain: float) -> list[tuple[int, int]]:
        """Clusters to dissolve and to cut whose worth is above this, best first."""
        order = np.argsort(-self.worth, axis=None, kind="stable")
        promising = order[self.worth.ravel()[order] > least_gain]
        removed, split = np.unravel_index(promising, self.worth.shape)
        return list(zip(removed.tolist(), split.tolist(), strict=True))

    def centers_after(self, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
        centers = self.centers.copy()
        for removed, split in pairs:
            centers[[split, removed]] = self.halves[split]
        return centers


def _check(means: Any, weight: Any, labels: Any, n_clusters: int, links: LinkGraph | None) -> None:
    """Refuse what would make the kernels read where nothing is."""
    if not supports(means):
        raise ValueError("means must be a C-contiguous matrix of float32 or float64")
    n_blocks = means.shape[0]
    if weight.shape != (n_blocks,) or labels.shape != (n_blocks,):
        raise ValueError(f"{n_blocks} means, but weight has shape {weight.shape} and labels have {labels.shape}")
    if n_blocks and not 0 <= labels.min() <= labels.max() < n_clusters:
        raise ValueError(f"labels lie in {labels.min()}..{labels.max()}, but there are {n_clusters} clusters")
    if links is not None and links.n_blocks != n_blocks:
        raise ValueError(f"links are over {links.n_blocks} blocks, means over {n_blocks}")
