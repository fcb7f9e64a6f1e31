"""Repair: labels that keep all rules, from labels that nearly do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, kron, vstack

from konstrain import _core
from konstrain._highs import BinaryProgram, solve_binary
from konstrain.assignment import transport
from konstrain.assignment.problem import AssignmentProblem, infeasible_combination
from konstrain.assignment.rules import Rules
from konstrain.links import LinkGraph
from konstrain.stop import Budget, solver_work


def repaired(
    costs: NDArray[np.float64],
    rules: Rules,
    labels: NDArray[np.int32],
    duals: NDArray[np.float64],
    budget: Budget,
    links: LinkGraph | None = None,
) -> NDArray[np.int32] | None:
    """Return labels that keep every rule and hard link, by moves and exchanges of blocks; None if none are found.

    Blocks of least reduced cost at `duals` move first; then blocks move for as long as that lowers the cost. The
    search of `ConstrainedKMeans` repairs labels by the same kernel (``src/cpp/search/repair.h``). `labels` stays as
    it is.
    """
    low, high = rules.widened
    edges: tuple[Any, ...] = (None, None, None)
    if links is not None and links.n_edges:
        edges = links.indptr, links.indices, links.penalties
    found, is_kept = _core.repair_labels(
        costs,
        rules.added,
        np.ascontiguousarray(low),
        np.ascontiguousarray(high),
        np.ascontiguousarray(duals),
        rules.units,
        edges[0],
        edges[1],
        edges[2],
        labels,
        time_limit=budget.remaining(),
    )
    return found if is_kept and rules.are_kept_by(found) else None


def labels_by_kind(problem: AssignmentProblem, rules: Rules, budget: Budget, most: int) -> NDArray[np.int32] | None:
    """Return labels that keep rules of few kinds, by how many blocks of each go to each cluster; None without any.

    Blocks that add the same to some rules are of one kind: for groups and sizes there are few, however many blocks.
    Links are left out, and rules that would need more than `most` numbers. HiGHS finds them, at the mean cost of a
    kind; flows then choose the blocks. Raises an `InfeasibleError` where no numbers keep the rules.
    """
    few: list[int] = []
    for rule in np.argsort([np.unique(column).size for column in rules.added.T], kind="stable"):
        if len(np.unique(rules.added[:, [*few, rule]], axis=0)) * problem.n_clusters <= most:
            few.append(rule)
    kinds, kind_of, n_of = np.unique(rules.added[:, few], axis=0, return_inverse=True, return_counts=True)
    n_kinds, k = len(kinds), problem.n_clusters
    if not few or not budget.affords(solver_work(n_kinds * k)):
        return None
    mean = np.vstack([np.bincount(kind_of, column, n_kinds) for column in problem.costs.T]).T / n_of[:, None]
    # Variable kind * k + cluster; rows: all blocks of a kind, then the rules of each cluster, then a block in each.
    # In units of the largest amount of each rule: HiGHS' tolerances are absolute.
    unit = np.where(kinds.any(axis=0), np.abs(kinds).max(axis=0), 1.0)
    low, high = (bound[:, few] / unit for bound in rules.widened)
    holds = [csr_array(kron(np.eye(n_kinds), np.ones((1, k)))), csr_array(kron((kinds / unit).T, np.eye(k)))]
    lows, highs = [n_of, low.T.ravel()], [n_of, high.T.ravel()]
    if problem.nonempty:
        holds.append(csr_array(kron(np.ones((1, n_kinds)), np.eye(k))))
        lows, highs = [*lows, np.ones(k)], [*highs, np.full(k, np.inf)]
    program = BinaryProgram(
        mean.ravel() / max(float(np.abs(mean).max()), np.finfo(float).tiny),
        csr_array(vstack(holds)),
        np.concatenate(lows).astype(float),
        np.concatenate(highs).astype(float),
        np.ones(n_kinds * k, dtype=bool),
        most=np.repeat(n_of, k).astype(float),
    )
    solution = solve_binary(program, budget=budget)
    if solution.status == "infeasible":
        raise infeasible_combination(problem)
    if solution.x is None:
        return None
    labels = np.empty(problem.n_blocks, dtype=np.int32)
    for kind, number in enumerate(np.round(solution.x).reshape(n_kinds, k)):
        own = np.flatnonzero(kind_of == kind)
        costs = np.ascontiguousarray(problem.costs[own])
        labels[own] = transport.solve(AssignmentProblem(costs, size_min=number, size_max=number)).labels
    return labels


def with_soft_links(problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Costs of blocks with what their soft links would add, if all others stayed where labels have them."""
    if problem.links is None or problem.links.is_hard:
        return problem.costs
    costs = problem.costs.copy()
    u, v, w = problem.links.edges
    soft = np.isfinite(w)
    for block, other in ((u[soft], v[soft]), (v[soft], u[soft])):
        # A negative weight is paid everywhere but in the other's cluster.
        np.add.at(costs, block, -np.minimum(w[soft], 0.0)[:, None])
        np.add.at(costs, (block, labels[other]), w[soft])
    return costs


def fill_empty(labels: NDArray[np.int32], rise: NDArray[np.float64]) -> NDArray[np.int32]:
    """Move the block of least `rise` (block, cluster) to each empty cluster, where it alone breaks no cannot-link.

    Return `labels` itself when no cluster is empty. A cluster stays empty when no other can spare a block.
    """
    counts = np.bincount(labels, minlength=rise.shape[1])
    empty = np.flatnonzero(counts == 0)
    if not empty.size:
        return labels
    filled = labels.copy()
    for cluster in empty:
        # Not the only block of another cluster: that one would be empty instead.
        block = int(np.where(counts[filled] > 1, rise[:, cluster], np.inf).argmin())
        if counts[filled[block]] > 1:
            counts[filled[block]] -= 1
            counts[cluster] = 1
            filled[block] = cluster
    return filled
