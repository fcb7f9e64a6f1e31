"""Whether constraints can be satisfied, and what they imply, without clustering and without raising."""

from dataclasses import dataclass
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from konstrain._memory import CELLS
from konstrain._messages import counted, term
from konstrain.assignment import AssignmentProblem, assign_by
from konstrain.constraints.arguments import ConstraintArguments, ConstraintKeywords, Constraints, takes_constraints
from konstrain.constraints.closure import Blocks, Conflicts, SoftLinks
from konstrain.constraints.conflicts import ColoringVerdict, largest_clique
from konstrain.constraints.connectivity import BlockParts
from konstrain.constraints.feasibility import find_clashes, implied_sizes, whole_sizes
from konstrain.constraints.findings import Finding, combination, listed_rows
from konstrain.constraints.inputs import read_time_limit
from konstrain.constraints.problem import rules_of
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.links import LinkGraph
from konstrain.rounding import widened
from konstrain.stop import Budget

# Of each kind, as documented; a wrong column of groups can contradict thousands of pairs.
MAX_FINDINGS: Final = 10


@dataclass(frozen=True, eq=False)
class CheckResult:
    """What is known about constraints before any clustering.

    Parameters
    ----------
    feasible : bool or None
        True: some clustering satisfies the hard constraints; False: none does; None: not known in time.
    findings : list of Finding
        The clashes found, at most 10 of each kind: contradictions, sizes, too few clusters.
    n_omitted : int
        Number of further contradictions and conflict components that need more clusters.
    undecided : list of str
        What is not known in time, as messages.
    n_samples, n_clusters, n_blocks : int
        Number of rows, of clusters, and of blocks that rows form under the must-links.
    largest_block : ndarray of int32
        Rows of the largest block.
    n_must_links, n_cannot_links : int
        Number of pairs of rows that must, or must not, share a cluster, implied ones included.
    min_clusters : int
        At least this many clusters are needed: the size of the largest clique of conflicts that was found.
    n_conflict_components : int
        Number of connected components of the conflicts.
    largest_conflict_component : int
        Number of blocks in the largest of them.
    size_min, size_max : ndarray of float64, shape (n_clusters,)
        The bounds on each cluster that follow from all bounds, the total demand and non-empty clusters; where they
        cross, no sizes are possible.
    n_soft_must_links, n_soft_cannot_links : int
        Number of soft links given.
    n_soft_kept, n_soft_broken : int
        Number of soft links that hard links keep, or break, in every clustering.
    n_components : int or None
        Number of components of the graph of `connectivity`; None without one.
    resources, shares : tuple of str
        What each cluster may hold of each resource, and which share of each group, as messages.

    Examples
    --------
    >>> result = check(4, 2, must_link=[(0, 1), (1, 2)])
    >>> result.feasible, result.n_blocks, result.largest_block.tolist(), result.n_must_links
    (True, 2, [0, 1, 2], 3)
    """

    feasible: bool | None
    findings: list[Finding]
    n_omitted: int
    undecided: list[str]
    n_samples: int
    n_clusters: int
    n_blocks: int
    largest_block: NDArray[np.int32]
    n_must_links: int
    n_cannot_links: int
    min_clusters: int
    n_conflict_components: int
    largest_conflict_component: int
    size_min: NDArray[np.float64]
    size_max: NDArray[np.float64]
    n_soft_must_links: int
    n_soft_cannot_links: int
    n_soft_kept: int
    n_soft_broken: int
    n_components: int | None = None
    resources: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()

    def __str__(self) -> str:
        verdict = {True: "feasible", False: "infeasible", None: "undecided"}[self.feasible]
        lines = [f"{verdict}: {counted(self.n_samples, 'row')}, {counted(self.n_clusters, 'cluster')}"]
        lines += [f"- {finding.reason}: {finding.message}" for finding in self.findings]
        if self.n_omitted:
            lines.append(f"- and {self.n_omitted} more")
        lines += [f"- undecided: {message}" for message in self.undecided]
        largest = counted(self.largest_block.size, "row")
        rows = f" ({listed_rows(self.largest_block)})" if self.largest_block.size > 1 else ""
        lines.append(f"blocks: {self.n_blocks}, the largest of {largest}{rows}")
        implied = f"{counted(self.n_must_links, 'must-link')}, {counted(self.n_cannot_links, 'cannot-link')}"
        lines.append(f"implied: {implied} between rows")
        if self.n_cannot_links:
            lines.append(
                f"conflicts: {counted(self.n_conflict_components, 'component')}, the largest of "
                f"{self.largest_conflict_component} blocks; at least {self.min_clusters} clusters needed"
            )
        # Bounds that cross are a finding already.
        if (self.size_min <= self.size_max).all() and not self.resources:
            lines.append(f"cluster sizes: {_range(self.size_min)} to {_range(self.size_max)}")
        lines += [*self.resources, *self.shares]
        if self.n_components is not None:
            lines.append(f"graph of {term('connectivity')}: {counted(self.n_components, 'component')}")
        if self.n_soft_must_links or self.n_soft_cannot_links:
            lines.append(
                f"soft links: {self.n_soft_must_links} must, {self.n_soft_cannot_links} cannot; hard links already "
                f"keep {self.n_soft_kept} and break {self.n_soft_broken}"
            )
        return "\n".join(lines)


@takes_constraints()
def check(
    X_or_n: Any,
    n_clusters: int,
    *,
    labels: Any = None,
    nonempty: bool = True,
    time_limit: float | None = 5.0,
    **arguments: Unpack[ConstraintKeywords],
) -> CheckResult:
    """Return whether constraints can be satisfied, every reason why not, and what they imply.

    Parameters
    ----------
    X_or_n : array-like or sparse matrix of shape (n_samples, n_features), or int
        The rows, or only their number.
    n_clusters : int
        Number of clusters.
    time_limit : float or None, default=5.0
        Seconds for the problems that are hard in general; what is open then stays undecided.

    Returns
    -------
    CheckResult
        Reads as a short report when printed.

    Raises
    ------
    ValueError
        When an argument is malformed; clashes between well-formed constraints do not raise.

    Examples
    --------
    >>> result = check(4, 2, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    >>> result.feasible, result.findings[0].witness.rows
    (False, (0, 1, 2))
    >>> print(check(4, 2, must_link=[(0, 1)], cannot_link=[(1, 3)], size_max=2))
    feasible: 4 rows, 2 clusters
    blocks: 3, the largest of 2 rows (0, 1)
    implied: 1 must-link, 2 cannot-links between rows
    conflicts: 1 component, the largest of 2 blocks; at least 2 clusters needed
    cluster sizes: 2 to 2
    """
    budget = Budget(read_time_limit(time_limit))
    constraints = Constraints.read(
        X_or_n, n_clusters, ConstraintArguments(labels=labels, nonempty=nonempty, **arguments)
    )
    blocks = Blocks.merge(constraints)
    conflicts = Conflicts.find(constraints, blocks, cap=MAX_FINDINGS)
    findings, coloring = find_clashes(constraints, blocks, conflicts, budget, cap=MAX_FINDINGS)
    undecided = _undecided(constraints, coloring)
    if not findings:
        fitting = fit_together(constraints, blocks, conflicts.graph, budget)
        if fitting is False:
            findings = [combination(constraints)]
        elif fitting is None:
            undecided.append("whether sizes, shares, blocks and conflicts fit together; each of them alone does")
        if not findings and not _is_cut_of_a_forest(constraints, blocks, conflicts.graph):
            undecided.append(
                "whether a clustering that keeps all of this has every cluster in one piece; fit searches"
            )
    n_contradictions = sum(finding.reason == "contradiction" for finding in findings)
    omitted = conflicts.n_broken - n_contradictions + coloring.n_uncolorable - len(coloring.findings)
    return CheckResult(
        feasible=False if findings else None if undecided else True,
        findings=findings,
        n_omitted=omitted,
        undecided=undecided,
        **_implied(constraints, blocks, conflicts.graph, budget),
    )


def _is_cut_of_a_forest(constraints: Constraints, blocks: Blocks, conflicts: LinkGraph) -> bool:
    """Whether clusters in one piece are sure to exist: there is no graph, or nothing but blocks in one piece."""
    if constraints.connectivity is None:
        return True
    # Any edges of a spanning forest can be cut, which gives any number of clusters from that of the components on.
    has_bounds = (
        constraints.size_min is not None or constraints.size_max is not None or constraints.amounts is not None
    )
    is_bounded = has_bounds or any(attribute.is_bounded for attribute in constraints.attributes)
    parts = BlockParts.of(constraints.connectivity, blocks.block_of, blocks.n_blocks)
    return not is_bounded and not conflicts.n_edges and parts.block_of.size == blocks.n_blocks


def _undecided(constraints: Constraints, coloring: ColoringVerdict) -> list[str]:
    if not coloring.n_undecided:
        return []
    k, n_open = constraints.n_clusters, coloring.n_undecided
    return [f"whether {k} clusters suffice for {n_open} of the conflict components"]


def _implied(constraints: Constraints, blocks: Blocks, graph: LinkGraph, budget: Budget) -> dict[str, Any]:
    rows = blocks.sizes
    first, second, _ = graph.edges
    # Without conflicts one cluster is enough; with one, two are needed, even if no time is left for a clique.
    needed = max(2, largest_clique(graph, budget).size) if graph.n_edges else 1
    members = np.bincount(graph.components())
    soft = SoftLinks.find(constraints, blocks, graph)
    low, high = implied_sizes(constraints, blocks.total(constraints.demand))
    return {
        "n_samples": constraints.n_samples,
        "n_clusters": constraints.n_clusters,
        "n_blocks": blocks.n_blocks,
        "largest_block": blocks.rows_of(int(np.argmax(rows))),
        "n_must_links": int((rows * (rows - 1) // 2).sum()),
        "n_cannot_links": int((rows[first] * rows[second]).sum()),
        "min_clusters": needed,
        "n_conflict_components": int((members > 1).sum()),
        "largest_conflict_component": int(members.max()) if graph.n_edges else 0,
        "size_min": low,
        "size_max": high,
        "n_soft_must_links": soft.n_must,
        "n_soft_cannot_links": soft.n_cannot,
        "n_soft_kept": soft.n_kept,
        "n_soft_broken": soft.n_broken,
        "n_components": None
        if constraints.connectivity is None
        else int(constraints.connectivity.components().max()) + 1,
        "resources": _resource_lines(constraints),
        "shares": _share_lines(constraints),
    }


def _resource_lines(constraints: Constraints) -> tuple[str, ...]:
    held = constraints.amounts
    if held is None:
        return ()
    return tuple(
        f"{name} per cluster: {_range(np.maximum(held.low[:, r], 0.0))} to {_range(held.high[:, r])}"
        for r, name in enumerate(held.names)
    )


def _share_lines(constraints: Constraints) -> tuple[str, ...]:
    return tuple(
        f"share of {attribute.shown(v)} per cluster: {attribute.low[v]:.4g} to {attribute.high[v]:.4g} "
        f"({attribute.shares[v]:.4g} of all rows)"
        for attribute in constraints.attributes
        if attribute.is_bounded
        for v in range(len(attribute.values))
    )


def _range(sizes: NDArray[np.float64]) -> str:
    low, high = float(sizes.min()), float(sizes.max())
    return f"{low:g}" if low == high else f"{low:g}..{high:g}"


def fit_together(constraints: Constraints, blocks: Blocks, graph: LinkGraph, budget: Budget) -> bool | None:
    """Whether some labels keep all sizes, resources, shares and conflicts; None: not known in time.

    Each of them alone is possible.
    """
    resources, _ = rules_of(constraints, blocks)
    if resources is None and _fit_simply(constraints, blocks, graph):
        return True
    demand = blocks.total(constraints.demand)
    problem = AssignmentProblem(
        costs=np.zeros((blocks.n_blocks, constraints.n_clusters)),
        links=graph,
        demand=None if (demand == 1.0).all() else demand,
        size_min=constraints.size_min,
        size_max=constraints.size_max,
        nonempty=constraints.nonempty,
        resources=resources,
    )
    try:
        assign_by(problem, budget=budget)
    except InfeasibleError:
        return False
    except UndecidedError:
        return None
    return True


def _fit_simply(constraints: Constraints, blocks: Blocks, graph: LinkGraph) -> bool:
    """Return whether a quick attempt shows that sizes are possible; False: not known."""
    demand = blocks.total(constraints.demand)
    low, high = whole_sizes(constraints, demand)
    low_free = low is None or not bool((low > 0).any())
    high_free = high is None or not bool((high < constraints.total_demand).any())
    # Without size bounds a cluster that is left empty can take a block from one that has two.
    if low_free and high_free:
        return True
    low = np.zeros(constraints.n_clusters) if low is None else low
    high = np.full(constraints.n_clusters, constraints.total_demand) if high is None else high
    least = np.maximum(low, 1.0) if constraints.nonempty else low
    if graph.n_edges == 0 and bool((demand == 1.0).all()):
        # Single rows fill any sizes between the sums.
        return bool((least <= high).all() and least.sum() <= blocks.n_blocks <= high.sum())
    # The attempt compares every cluster for every block; where these are many, the engines begin at once.
    if blocks.n_blocks * constraints.n_clusters > CELLS:
        return False
    low, high = widened(low, high, constraints.demand_rounding)
    return _pack(demand, low, high, graph, nonempty=constraints.nonempty)


def _pack(
    demand: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    graph: LinkGraph,
    *,
    nonempty: bool,
) -> bool:
    """Place blocks one by one, large and conflicting ones first, where most is missing or most capacity remains."""
    label = np.full(demand.size, -1, dtype=np.int32)
    remaining, missing = high.copy(), low.copy()
    for block in np.lexsort((-np.diff(graph.indptr), -demand)):
        neighbours = graph.indices[graph.indptr[block] : graph.indptr[block + 1]]
        allowed = remaining >= demand[block]
        taken = label[neighbours]
        allowed[taken[taken >= 0]] = False
        if not allowed.any():
            return False
        urgency = np.where(missing > 0, missing + high.max() + 1.0, remaining)
        j = int(np.argmax(np.where(allowed, urgency, -np.inf)))
        label[block] = j
        remaining[j] -= demand[block]
        missing[j] -= demand[block]
    filled = not nonempty or np.unique(label).size == low.size
    return bool((missing <= 0).all()) and filled
