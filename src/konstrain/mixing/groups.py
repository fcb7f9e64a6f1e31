"""Mixed groups (anticlustering): rows partitioned so that every group resembles the whole.

Clusters have little variance within and much between; here it is the other way round (Späth 1986; Papenberg and Klau
2021). All variance is shared out between "within" and "between": groups whose means agree are as mixed as can be.

1. Rows are partitioned by strata, as for decomposition bounds: one row of each stratum of near rows for every group.
2. One exact assignment repairs what the constraints forbid of that, with as few changes as possible.
3. Blocks change places while that brings the means of the groups nearer to each other (`Exchange`).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from konstrain import _core
from konstrain._messages import counted
from konstrain.assignment import assign_by
from konstrain.assignment.problem import AssignmentProblem
from konstrain.constraints import Problem
from konstrain.constraints.arguments import CONNECTIVITY, ConstraintArguments, ConstraintKeywords, takes_constraints
from konstrain.constraints.inputs import usable_rows
from konstrain.constraints.shares import shares_by_group
from konstrain.exact.decomposition.partition import PARAMS as PARTITION
from konstrain.kmeans.restarts import draw_seeds
from konstrain.mixing.exchange import Exchange


@dataclass(frozen=True, eq=False)
class MixedGroups:
    """Groups that are alike to each other.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_samples,)
        Group of each row.
    sizes : tuple of float
        Rows, or demand, in each group.
    means : ndarray of shape (n_groups, n_features)
        Mean of each group.
    between, total : float
        Squared distances of the groups' means to the mean of all rows, one for each row, and those of the rows
        themselves.
    shares : dict
        Share of each category in each group, as `ConstrainedKMeans.cluster_shares_` has it; empty without `category`.

    Examples
    --------
    >>> groups = mixed_groups([[0.0], [1.0], [8.0], [9.0]], 2)
    >>> groups.total, groups.share
    (65.0, 0.0)
    """

    labels: NDArray[np.int32]
    sizes: tuple[float, ...]
    means: NDArray[np.float64]
    between: float
    total: float
    shares: dict[Any, Any] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The part of the variance that lies between groups: 0 when all have the same mean."""
        return self.between / self.total if self.total > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything but the labels, as plain values."""
        values = {name: value for name, value in asdict(self).items() if name != "labels"}
        return {**values, "means": self.means.tolist(), "share": self.share, "shares": _plain(self.shares)}

    def __str__(self) -> str:
        lines = [
            f"{counted(self.labels.size, 'row')} in {counted(len(self.sizes), 'mixed group')}, alike to each other: "
            f"{self.share:.2%} of the variance lies between them",
            "",
            "  group      rows",
        ]
        lines += [f"{j:>7}{size:>10g}" for j, size in enumerate(self.sizes)]
        if self.shares:
            lines += ["", "shares of categories, group by group:", *_share_lines(self.shares)]
        return "\n".join(lines)


def _plain(shares: Any) -> Any:
    """Shares as lists under text, which is what JSON knows."""
    if isinstance(shares, dict):
        return {str(name): _plain(inner) for name, inner in shares.items()}
    return shares.tolist()


def _share_lines(shares: dict[Any, Any], attribute: str = "") -> Iterator[str]:
    for name, inner in shares.items():
        if isinstance(inner, dict):
            yield from _share_lines(inner, f"{name}=")
        else:
            yield f"  {attribute}{name}: {', '.join(f'{share:.1%}' for share in inner)}"


@takes_constraints("groups", "sample_weight", "diameter_max", "separation_min", *CONNECTIVITY)
def mixed_groups(
    X: Any,
    n_groups: int,
    *,
    n_init: int = 10,
    random_state: Any = 0,
    **asked: Unpack[ConstraintKeywords],
) -> MixedGroups:
    """Partition rows into groups that are alike to each other, each as mixed as all rows.

    Links are hard and sizes, where none are given, as equal as rows that must stay together allow. Shares of a
    category hold exactly; a category that is only a feature is spread as evenly as the others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows; features count by their spread, so put them on one scale first. A category as 0/1 columns is
        spread evenly over the groups.
    n_groups : int
        Number of groups.
    n_init : int, default=10
        Number of starts, of which the best counts.
    random_state : int, RandomState instance or None, default=0
        Source of randomness.

    Returns
    -------
    MixedGroups

    Raises
    ------
    InfeasibleError
        When no groups satisfy the constraints; says which of them clash.

    Examples
    --------
    >>> groups = mixed_groups([[0.0], [1.0], [8.0], [9.0]], 2)
    >>> groups.sizes, groups.means.ravel().tolist(), groups.share
    ((2.0, 2.0), [4.5, 4.5], 0.0)
    """
    X = usable_rows(check_array(X, dtype=np.float64, order="C", input_name="X"))
    if len(X) < n_groups:
        raise ValueError(f"n_samples={len(X)} should be >= n_groups={n_groups}.")
    constraints = ConstraintArguments(**asked)
    has_sizes = constraints.size_min is not None or constraints.size_max is not None
    if not has_sizes and len(np.shape(constraints.demand)) < 2:
        least, most = _equal_sizes(X, n_groups, constraints)
        constraints = replace(constraints, size_min=least, size_max=most)
    problem = Problem.of(X, n_groups, constraints)
    if problem.has_soft_links:
        raise ValueError("mixed groups keep every link; leave out the confidences")
    best: tuple[float, NDArray[np.int32]] | None = None
    for seed in draw_seeds(check_random_state(random_state), n_init):
        exchange = Exchange(problem, _start(problem, seed))
        between = exchange.run(np.random.default_rng(seed))
        if best is None or between < best[0]:
            best = between, exchange.labels
    assert best is not None
    return _result(X, problem, best[1])


def _equal_sizes(X: NDArray[np.float64], n_groups: int, asked: ConstraintArguments) -> tuple[float, float]:
    """Sizes as equal as blocks allow: none may differ by more than the largest block."""
    free = Problem.build(X, n_groups, **asked.links, demand=asked.demand)
    total, largest = float(free.demand.sum()), float(free.demand.max())
    if largest == 1.0 and asked.demand is None:
        return float(len(X) // n_groups), float(-(-len(X) // n_groups))
    return max(0.0, total / n_groups - largest), total / n_groups + largest


def _start(problem: Problem, seed: int) -> NDArray[np.int32]:
    """Partition blocks by strata, and repair what the constraints forbid."""
    groups = np.full(problem.n_blocks, -1, dtype=np.int32)
    kinds, n_kinds = _kinds(problem)
    _core.deal_rows(
        np.ascontiguousarray(problem.mean, dtype=np.float64),
        problem.weight,
        kinds,
        n_kinds,
        problem.n_clusters,
        PARTITION.n_sweeps,
        PARTITION.n_partners,
        seed,
        groups,
    )
    costs = np.repeat(problem.weight[:, None], problem.n_clusters, axis=1)
    costs[np.arange(problem.n_blocks), groups] = 0.0
    return assign_by(
        AssignmentProblem(
            costs,
            links=problem.conflicts,
            demand=problem.demand,
            size_min=problem.size_min,
            size_max=problem.size_max,
            nonempty=problem.nonempty,
            resources=problem.resources,
        )
    ).labels


def _kinds(problem: Problem) -> tuple[NDArray[np.int32], int]:
    """Which categories the first row of each block has: every kind is spread evenly, so shares nearly hold."""
    if not problem.attributes:
        return np.zeros(problem.n_blocks, dtype=np.int32), 1
    codes = np.column_stack([attribute.codes[problem.first_rows] for attribute in problem.attributes])
    kinds, kind_of = np.unique(codes, axis=0, return_inverse=True)
    return kind_of.ravel().astype(np.int32), len(kinds)


def _result(X: NDArray[np.float64], problem: Problem, block_labels: NDArray[np.int32]) -> MixedGroups:
    labels = problem.expand(block_labels)
    k = problem.n_clusters
    means = np.array([X[labels == j].mean(axis=0) if (labels == j).any() else X.mean(axis=0) for j in range(k)])
    between = float((np.bincount(labels, minlength=k) * ((means - X.mean(axis=0)) ** 2).sum(axis=1)).sum())
    sizes = np.bincount(block_labels, problem.demand, k)
    total = float(((X - X.mean(axis=0)) ** 2).sum())
    shares = shares_by_group(problem.attributes, labels, k)
    return MixedGroups(labels, tuple(sizes.tolist()), means, between, total, shares)
