"""How far from the best possible is a clustering? A bound and a gap for any labels, within any time."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain.constraints.problem import Problem
from konstrain.exact.solve import BOUNDS, Limits, solve
from konstrain.exact.task import ProofTask
from konstrain.gap import relative_gap
from konstrain.stop import Deadline


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved about a clustering problem, and about the labels that were asked about.

    Parameters
    ----------
    lower_bound : float
        No clustering that satisfies the constraints has a smaller sum of squares; safe against rounding.
    cost : float
        Sum of squares of the labels asked about, or of the best clustering found when none were given.
    gap : float
        ``(cost - lower_bound) / cost``: how much better any clustering can be at most.
    is_optimal : bool
        Whether the gap is at most the one asked for.
    best_cost, best_labels
        The best clustering met on the way; it may be better than the labels asked about.
    n_nodes : int
        Nodes of the search tree looked at.
    seconds : float
        Time it took.
    metric : str or None
        The learned metric whose distances all costs and bounds are about; None: plain ones.

    Examples
    --------
    >>> from konstrain import ConstrainedKMeans
    >>> X = [[0.0], [0.1], [5.0], [5.2], [9.0]]
    >>> certificate = ConstrainedKMeans(2, random_state=0).fit(X).certify(X)
    >>> certificate.is_optimal, round(certificate.cost, 3)
    (True, 10.165)
    """

    lower_bound: float
    cost: float
    gap: float
    is_optimal: bool
    best_cost: float
    best_labels: NDArray[np.int32] | None
    n_nodes: int
    seconds: float
    metric: str | None = None


def certify(
    X: Any,
    n_clusters: int,
    *,
    labels: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    groups: Any = None,
    partial_labels: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    demand: Any = None,
    sample_weight: Any = None,
    bound: str = "auto",
    gap: float = 1e-6,
    time_limit: float | None = None,
    random_state: int = 0,
) -> Certificate:
    """Bound the cost of every clustering from below and say how good given labels are; also called `lower_bound`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_clusters : int
        Number of clusters.
    labels : array-like of shape (n_samples,), optional
        The clustering asked about; default: the best one found.
    must_link, cannot_link, groups, size_min, size_max, demand, sample_weight
        Constraints, hard, as in `ConstrainedKMeans`.
    partial_labels : array-like of shape (n_samples,), optional
        Known labels, -1 for unknown, that every clustering must respect.
    bound : {"auto", "column-generation", "sdp"}, default="auto"
        Which bound to use; see `ExactKMeans`.
    gap : float, default=1e-6
        Relative gap at which to end.
    time_limit : float, optional
        Seconds after which the bound reached is returned.
    random_state : int, default=0
        Seed of the search for good clusterings.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.2], [9.0]]
    >>> certify(X, 2, labels=[0, 0, 1, 1, 1]).is_optimal
    True
    >>> certify(X, 2, labels=[0, 1, 1, 1, 1]).gap > 0.5
    True
    """
    began = time.perf_counter()
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(map(repr, BOUNDS))}, got {bound!r}")
    if not 0 < gap < 1:
        raise ValueError(f"gap must lie between 0 and 1, got {gap!r}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must not be negative, got {time_limit!r}")
    X = X.toarray() if hasattr(X, "toarray") else X
    # In double precision: the means of blocks, rounded to single, could lift the bound above the optimum.
    X = check_array(X, dtype=np.float64, order="C", input_name="X")
    problem = Problem.build(
        X,
        n_clusters,
        must_link=must_link,
        cannot_link=cannot_link,
        groups=groups,
        labels=partial_labels,
        size_min=size_min,
        size_max=size_max,
        demand=demand,
        sample_weight=sample_weight,
    )
    if problem.has_soft_links:
        raise ValueError("a bound is proved for hard links only; leave the confidences out")
    task = ProofTask(X, problem)
    asked = None if labels is None else _checked_labels(task, labels)
    tree = solve(task, Limits(gap, Deadline(time_limit), seed=random_state, bound=bound), asked)
    cost = tree.upper_bound if asked is None else task.cost_of(asked)
    proved = min(tree.lower_bound, tree.upper_bound)
    distance = relative_gap(proved, cost)
    return Certificate(
        lower_bound=proved,
        cost=cost,
        gap=distance,
        is_optimal=distance <= gap,
        best_cost=tree.upper_bound,
        best_labels=tree.labels,
        n_nodes=tree.n_nodes,
        seconds=time.perf_counter() - began,
    )


# The name of the first releases. What it returns is a certificate, of which the bound is one number.
lower_bound = certify


def _checked_labels(task: ProofTask, labels: Any) -> NDArray[np.int32]:
    n_samples, k = task.problem.n_samples, task.problem.n_clusters
    values = np.asarray(labels)
    if values.shape != (n_samples,):
        raise ValueError(f"labels must have one value per row, shape ({n_samples},), got {values.shape}")
    found = np.unique(values)
    if found.size > k:
        raise ValueError(f"labels name {found.size} clusters, but n_clusters={k}")
    # Any names will do; numbers of clusters are kept, because each may have sizes of its own.
    are_numbers = values.dtype.kind in "iu" and found[0] >= 0 and found[-1] < k
    numbered = values if are_numbers else np.searchsorted(found, values)
    checked: NDArray[np.int32] = numbered.astype(np.int32)
    if not np.isfinite(task.cost_of(checked)):
        raise ValueError(
            f"labels do not satisfy the constraints they are to be certified under: {_fault(task, checked)}"
        )
    return checked


def _fault(task: ProofTask, labels: NDArray[np.int32]) -> str:
    """Say what labels break first."""
    problem = task.problem
    first_rows = problem.first_rows
    apart = np.flatnonzero(problem.expand(labels[first_rows]) != labels)
    if apart.size:
        first = int(problem.expand(first_rows)[apart[0]])
        return f"rows {first} and {apart[0]} must share a cluster, but do not"
    if problem.conflicts is not None:
        a, b, _ = problem.conflicts.edges
        together = np.flatnonzero(labels[first_rows[a]] == labels[first_rows[b]])
        if together.size:
            rows = sorted((int(first_rows[a[together[0]]]), int(first_rows[b[together[0]]])))
            return f"rows {rows[0]} and {rows[1]} must not share a cluster, but do"
    rows_in = np.bincount(labels, minlength=problem.n_clusters)
    if problem.nonempty and not rows_in.all():
        return f"there are {problem.n_clusters} clusters to fill, but labels fill {np.count_nonzero(rows_in)}"
    sizes = np.bincount(labels[first_rows], problem.demand, problem.n_clusters)
    return f"size_min and size_max are not kept by the sizes {', '.join(f'{size:g}' for size in sizes)}"
