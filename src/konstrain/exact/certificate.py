"""Certificates: a lower bound and a gap for any labels, within any time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain._messages import term
from konstrain.constraints.arguments import CONNECTIVITY, SHARES, ConstraintKeywords, takes_constraints
from konstrain.constraints.connectivity import by_row_number, count_pieces
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.bound import PARAMS as PARTS
from konstrain.exact.decomposition.bound import PartsLimits, decomposition_bound
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.solve import BOUNDS, Limits, are_parts_better, differing_sizes, solve
from konstrain.exact.task import ProofTask
from konstrain.exceptions import UndecidedError
from konstrain.gap import relative_gap
from konstrain.stop import Budget


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proved lower bound of a clustering problem, and the gap of given labels.

    Parameters
    ----------
    lower_bound : float
        No clustering that satisfies the constraints has a smaller cost; safe against rounding.
    cost : float
        Sum of squares and penalties of broken soft links: of the given labels, or of the best clustering found when
        none were given.
    gap : float
        ``(cost - lower_bound) / cost``: the largest possible improvement.
    is_optimal : bool
        Whether the gap is at most the requested one.
    best_cost, best_labels
        The best clustering found; it may be better than the given labels.
    n_nodes : int
        Number of nodes of the search tree, or parts, that were bounded.
    seconds : float
        Time it took.
    n_parts, part_size : int
        Of a bound by parts: the number of parts, and of blocks in a part; 0 otherwise.
    projected_gap, projected_gap_error : float or None
        Of a bound by parts: an estimate, not a proof, of the gap when all parts are done, and its standard error.
    left_out : tuple of str
        Constraints that the bound leaves out: shares, resources, connectivity, and by parts some others. The bound is
        valid; it could be higher.
    metric : str or None
        The learned metric of all costs and bounds; None: squared Euclidean distances.
    prover : str
        The bound that was used: "columns", "column-generation", "sdp" or "parts"; empty if interrupted before.

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
    best_labels: NDArray[np.int32] | None = field(repr=False)
    n_nodes: int
    seconds: float
    n_parts: int = 0
    part_size: int = 0
    projected_gap: float | None = None
    projected_gap_error: float | None = None
    left_out: tuple[str, ...] = ()
    metric: str | None = None
    prover: str = ""


@takes_constraints()
def certify(
    X: Any,
    n_clusters: int,
    *,
    labels: Any = None,
    partial_labels: Any = None,
    violation_cost: float | None = None,
    bound: str = "auto",
    gap: float = 1e-6,
    time_limit: float | None = None,
    random_state: int = 0,
    part_size: int | str = "auto",
    n_jobs: int | None = None,
    client: Any = None,
    resume: Any = None,
    callback: Callable[[Any], object] | None = None,
    **arguments: Unpack[ConstraintKeywords],
) -> Certificate:
    """Bound the cost of every clustering from below, and the gap of given labels; also called `lower_bound`.

    Links may be soft. The bound leaves out shares of groups, several resources and that clusters are in one piece of
    `connectivity`: it is valid, but that of the other constraints. `Certificate.left_out` lists what was left out.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_clusters : int
        Number of clusters.
    labels : array-like of shape (n_samples,), optional
        The clustering to certify; default: the best one found.
    partial_labels : array-like of shape (n_samples,), optional
        Known labels, -1, None or NaN for unknown, that every clustering must respect.
    violation_cost : float, optional
        Penalty of a broken soft link of confidence 1; needed when there are soft links. A fitted
        `ConstrainedKMeans` has it in `violation_cost_`.
    bound : {"auto", "columns", "column-generation", "sdp", "parts"}, default="auto"
        Which bound to use; see `ExactKMeans`. "parts": the decomposition bound, a sum over parts that
        resemble the whole, works for any number of rows; "auto" does so from 900 blocks on, unless there are so few
        features that "columns" is stronger.
    gap : float, default=1e-6
        Relative gap at which to end. By parts, sizes of parts are chosen to reach it, or 1e-3 if that is more.
    time_limit : float, optional
        Seconds after which the bound reached is returned.
    random_state : int, default=0
        Seed of the search for good clusterings, and of the partition into parts.
    part_size : int or "auto", default="auto"
        Blocks in a part. Larger parts have higher bounds; time grows with the cube. "auto" bounds a few parts of
        several sizes and chooses the size with the highest expected bound in the remaining time.
    n_jobs : int, optional
        Parts, or nodes, bounded at the same time. The parts and their bound are the same for any number.
    client : distributed.Client, optional
        A Dask cluster that bounds the parts; needs ``konstrain[dask]``.
    resume : path-like, optional
        A file of finished parts; a later call with the same problem reads them.
    callback : callable, optional
        Called with the state after each part or round of nodes (bounds, gap, and by parts the projected gap);
        returning True ends the search with the bound reached.

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
    size = _checked_options(bound, gap, time_limit, part_size, n_clusters)
    if "connectivity" in arguments:
        arguments["connectivity"] = by_row_number(arguments["connectivity"], X)
    X = X.toarray() if hasattr(X, "toarray") else X
    # In double precision: the means of blocks, rounded to single, could lift the bound above the optimum.
    X = check_array(X, dtype=np.float64, order="C", input_name="X")
    problem = Problem.build(X, n_clusters, labels=partial_labels, **arguments)
    if problem.has_soft_links:
        _check_soft(problem, violation_cost, bound)
    task = ProofTask(X, problem, violation_cost=violation_cost if problem.has_soft_links else None)
    given = None if labels is None else _checked_labels(task, labels)
    if problem.connectivity is not None and given is None:
        raise ValueError(
            f"{term('connectivity')} needs labels to certify: fit ConstrainedKMeans, and give its labels_"
        )
    if problem.resources is not None or problem.connectivity is not None:
        rules = CONNECTIVITY if problem.resources is None else (*CONNECTIVITY, *SHARES)
        # Several resources bound by `size_min` and `size_max` are left out together with their bounds.
        rules = rules if problem.amounts is None else (*rules, "size_min", "size_max", "demand")
        others: dict[str, Any] = {name: value for name, value in arguments.items() if name not in rules}
        options = {"bound": bound, "gap": gap, "random_state": random_state, "part_size": part_size}
        options |= {"n_jobs": n_jobs, "client": client, "resume": resume, "callback": callback}
        options |= {"partial_labels": partial_labels, "violation_cost": violation_cost}
        return _certificate_without_rules(task, given, Budget(time_limit), {**others, **options}, began)
    wants_parts = client is not None or resume is not None or size is not None
    if bound == "auto" and problem.n_blocks >= PARTS.many_blocks:
        bound = "parts" if wants_parts or are_parts_better(problem) else "columns"
    if bound == "parts":
        by_parts = PartsLimits(gap, Budget(time_limit), size, n_jobs, client, resume, random_state, callback)
        return _by_parts(task, by_parts, given, began)
    if wants_parts:
        raise ValueError(
            f"{term('part_size')}, client and resume are for bound='parts'; {_why_not_parts(bound, problem)}"
        )
    by_tree = Limits(gap, Budget(time_limit), None, n_jobs, random_state, bound, callback)
    return _by_tree(task, by_tree, given, began)


# The name of the first releases.
lower_bound = certify


def _by_tree(task: ProofTask, limits: Limits, given: NDArray[np.int32] | None, began: float) -> Certificate:
    tree = solve(task, limits, given)
    return _certificate(
        task,
        given,
        limits.gap,
        lower_bound=min(tree.lower_bound, tree.upper_bound),
        best_cost=tree.upper_bound,
        best_labels=tree.labels,
        n_nodes=tree.n_nodes,
        seconds=time.perf_counter() - began,
        prover=tree.prover,
        left_out=tuple(
            f"{name} of single clusters, but for the widest"
            for name in (differing_sizes(task.problem) if tree.prover == "columns" else ())
        ),
    )


def _certificate_without_rules(
    task: ProofTask, given: NDArray[np.int32] | None, budget: Budget, arguments: dict[str, Any], began: float
) -> Certificate:
    """Certify labels under shares, resources and connectivity by a bound that leaves these out."""
    problem = task.problem
    if given is None:
        # The search of the bound ignores these constraints.
        found = find_clustering(
            task.X, problem, budget.part(), seed=arguments["random_state"], violation_cost=task.violation_cost
        )
        if found is None:
            raise UndecidedError(
                f"no clustering that keeps all constraints was found in time; raise {term('time_limit')}"
            )
        given = problem.expand(found.block_labels).astype(np.int32)
    arguments["time_limit"] = budget.remaining() if budget.is_timed else None
    bounded = certify(task.X, problem.n_clusters, **arguments)
    cost = task.cost_of(given)
    proved = min(bounded.lower_bound, cost)
    names = ["shares"] * any(a.is_bounded for a in problem.attributes) + ["resources"] * (problem.amounts is not None)
    names += ["connectivity"] * (problem.connectivity is not None)
    distance = relative_gap(proved, cost)
    return replace(
        bounded,
        lower_bound=proved,
        cost=cost,
        gap=distance,
        is_optimal=distance <= arguments["gap"],
        best_cost=cost,
        best_labels=given,
        seconds=time.perf_counter() - began,
        left_out=(*names, *bounded.left_out),
    )


def _by_parts(task: ProofTask, limits: PartsLimits, given: NDArray[np.int32] | None, began: float) -> Certificate:
    found = decomposition_bound(task, limits, given)
    proved = _certificate(
        task,
        given,
        limits.gap,
        lower_bound=found.lower_bound,
        best_cost=found.upper_bound,
        best_labels=found.labels,
        n_nodes=found.n_done,
        seconds=time.perf_counter() - began,
        prover="parts",
        n_parts=found.n_parts,
        part_size=found.part_size,
        left_out=found.left_out,
    )
    return replace(
        proved,
        projected_gap=relative_gap(found.estimate.bound, proved.cost),
        projected_gap_error=found.estimate.error / max(proved.cost, np.finfo(float).tiny),
    )


def _certificate(
    task: ProofTask, given: NDArray[np.int32] | None, gap: float, *, lower_bound: float, best_cost: float, **more: Any
) -> Certificate:
    """Return the certificate of the given labels, or of the best ones found."""
    cost = best_cost if given is None else task.cost_of(given)
    distance = relative_gap(lower_bound, cost)
    return Certificate(
        lower_bound=lower_bound, cost=cost, gap=distance, is_optimal=distance <= gap, best_cost=best_cost, **more
    )


def _checked_options(bound: str, gap: float, time_limit: float | None, part_size: Any, n_clusters: int) -> int | None:
    """Raise for invalid options; return the blocks in a part, None: automatic."""
    if bound not in (*BOUNDS, "parts"):
        raise ValueError(f"bound must be one of {', '.join(map(repr, (*BOUNDS, 'parts')))}, got {bound!r}")
    if not 0 < gap < 1:
        raise ValueError(f"gap must lie between 0 and 1, got {gap!r}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"{term('time_limit')} must not be negative, got {time_limit!r}")
    return _checked_part_size(part_size, n_clusters)


def _check_soft(problem: Problem, violation_cost: float | None, bound: str) -> None:
    """Raise for soft links without a penalty, or where they cannot be bounded."""
    if violation_cost is None:
        raise ValueError(
            f"there are soft links: give {term('violation_cost')}, the penalty of a broken link of confidence 1"
        )
    if not (np.isfinite(violation_cost) and violation_cost >= 0):
        raise ValueError(f"{term('violation_cost')} must be finite and not negative, got {violation_cost!r}")
    if bound in ("columns", "column-generation"):
        raise ValueError("column generation bounds hard links only; take another bound, or leave the confidences out")
    if (problem.weight == 0).any():
        row = int(problem.first_rows[int(np.argmin(problem.weight))])
        raise ValueError(f"row {row} has weight 0, and there are soft links; leave rows without weight out")


def _checked_part_size(part_size: Any, n_clusters: int) -> int | None:
    """Return the blocks in a part; None: automatic."""
    if part_size == "auto":
        return None
    if isinstance(part_size, bool) or not isinstance(part_size, Integral) or int(part_size) <= n_clusters:
        raise ValueError(
            f"{term('part_size')} must be 'auto' or a number of blocks above {term('n_clusters', n_clusters)}, "
            f"got {part_size!r}"
        )
    return int(part_size)


def _why_not_parts(bound: str, problem: Problem) -> str:
    if bound != "auto":
        return f"this is bound={bound!r}"
    return f"'auto' takes another bound below {PARTS.many_blocks} blocks, and here are {problem.n_blocks}"


def _checked_labels(task: ProofTask, labels: Any) -> NDArray[np.int32]:
    n_samples, k = task.problem.n_samples, task.problem.n_clusters
    values = np.asarray(labels)
    if values.shape != (n_samples,):
        raise ValueError(f"labels must have one value per row, shape ({n_samples},), got {values.shape}")
    found = np.unique(values)
    if found.size > k:
        raise ValueError(f"labels name {found.size} clusters, but {term('n_clusters', k)}")
    # Any names will do; numbers of clusters are kept, because each may have sizes of its own.
    are_numbers = values.dtype.kind in "iu" and found[0] >= 0 and found[-1] < k
    numbered = values if are_numbers else np.searchsorted(found, values)
    checked: NDArray[np.int32] = numbered.astype(np.int32)
    graph = task.problem.connectivity
    if graph is not None and (n_pieces := count_pieces(graph, checked, k)).max() > 1:
        j = int(n_pieces.argmax())
        raise ValueError(
            f"labels are to be certified under {term('connectivity')}: cluster {j} has {n_pieces[j]} pieces"
        )
    if not np.isfinite(task.cost_of(checked)):
        raise ValueError(
            f"labels do not satisfy the constraints they are to be certified under: {_fault(task, checked)}"
        )
    return checked


def _fault(task: ProofTask, labels: NDArray[np.int32]) -> str:
    """Return the first constraint that labels break."""
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
    if problem.resources is not None and not problem.resources.are_kept_by(labels[first_rows]):
        return "shares or resources are not within their bounds"
    sizes = np.bincount(labels[first_rows], problem.demand, problem.n_clusters)
    held = ", ".join(f"{size:g}" for size in sizes)
    return f"{term('size_min')} and {term('size_max')} are not kept by the sizes {held}"
