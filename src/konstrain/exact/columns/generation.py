"""Column generation: the lower bound of Babaki, Guns and Nijssen (2014), and good clusterings on the way.

The loop solves the restricted master, prices new clusters by local descent at smoothed duals, and calls the exact
pricer only when descent finds nothing. The proof of the exact pricer gives a bound that is valid despite
rounding of the solver (see `konstrain.exact.columns.master`).
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from konstrain._messages import term
from konstrain._tolerances import FARKAS, INTEGRAL, PRICING_RELATIVE
from konstrain.constraints.feasibility import match_sizes
from konstrain.constraints.problem import Problem
from konstrain.exact.columns import pricing
from konstrain.exact.columns.cluster_constraints import ClusterConstraint, ClusterRules
from konstrain.exact.columns.master import (
    ColumnPool,
    Master,
    MasterSolution,
    exact_cover,
    integer_master,
    togetherness,
)
from konstrain.exact.columns.pricing import Column, ExactPrice, Pricer
from konstrain.stop import UNLIMITED, Budget

# How duals can be kept from jumping.
STABILIZATIONS = ("smoothing", "perturbation")
# Section 5.3 of the paper: first and last slack of the covers.
FIRST_PERTURBATION: Final = 0.99
LAST_PERTURBATION: Final = 1e-6


class ColumnStep(NamedTuple):
    """State after one iteration: seconds since the start, master value, lower bound, columns."""

    seconds: float
    master_value: float
    lower_bound: float
    n_columns: int


@dataclass(frozen=True, eq=False)
class ColumnGenerationResult:
    """Result of a run of column generation.

    Parameters
    ----------
    lower_bound : float
        No clustering has a smaller sum of squared distances, scatter within blocks included; infinite when there is
        no clustering.
    status : str
        "closed": the bound has reached the upper bound, up to the gap. "optimal": the linear relaxation is solved,
        but lies below the upper bound. "infeasible": proved that no clustering exists. "stalled": the exact pricer
        gave up. "limit": time ran out.
    is_integral : bool
        Whether the last master solution is a clustering.
    labels : ndarray of int32, shape (n_samples,), or None
        That clustering.
    incumbent_labels : ndarray of int32, shape (n_samples,), or None
        Best clustering found or given.
    incumbent_cost : float
        Its sum of squared distances; infinite when there is none.
    master_value : float
        Value of the last restricted master.
    n_columns, n_iterations, n_pricer_nodes : int
        Clusters generated, masters solved, nodes of the exact pricer.
    trace : tuple of ColumnStep
        One entry per iteration.

    Examples
    --------
    >>> result = ColumnGenerationBound(Problem.build([[0.0], [1.0], [5.0], [6.0]], 2)).run()
    >>> result.status, result.is_integral, result.incumbent_cost
    ('closed', True, 1.0)
    """

    lower_bound: float
    status: str
    is_integral: bool
    labels: NDArray[np.int32] | None
    incumbent_labels: NDArray[np.int32] | None
    incumbent_cost: float
    master_value: float
    n_columns: int
    n_iterations: int
    n_pricer_nodes: int
    trace: tuple[ColumnStep, ...]


class ColumnGenerationBound:
    """Lower bound on the cost of constrained clusterings by column generation.

    Covers must-links, cannot-links, one upper bound on the size of all clusters, and anti-monotone cluster
    constraints. An interrupted run can be resumed: columns and bound are kept.

    Parameters
    ----------
    problem : Problem
        Blocks with means, and their conflicts.
    cluster_constraints : sequence of ClusterConstraint
        Constraints on every cluster.
    columns : iterable of sequences of int
        First clusters, as rows: those of a parent node (`rows_of_columns`), or of known clusterings. Inadmissible
        ones are reduced to an admissible part. Default: the clusters of Ward's method.
    budget : Budget, optional
        End of all work, unless `run` is given another.
    seed : int
        For the starts of local pricing when there are many blocks.
    relax : bool
        Leave out what is not anti-monotone (lower bounds on sizes, upper bounds that differ, soft links) instead of
        refusing it: the bound stays valid but may stay below the optimum.
    node_limit : int, optional
        Nodes after which the exact pricer gives up; default 2,000,000.
    stabilization : {"smoothing", "perturbation"}
        How duals are kept from jumping: columns are priced at a mean of the last duals, or the master may violate
        covers at a cost, with a slack that shrinks (Section 5.3 of the paper).
    local_pricing : bool
        Whether descent prices first, and branch and bound only where it finds nothing; False: branch and bound alone,
        as in the paper.

    Examples
    --------
    >>> problem = Problem.build([[0.0], [1.0], [5.0], [6.0]], 2, cannot_link=[(2, 3)])
    >>> result = ColumnGenerationBound(problem).run()
    >>> round(result.lower_bound, 6), result.status, result.labels.tolist()
    (14.0, 'closed', [0, 0, 0, 1])
    """

    def __init__(
        self,
        problem: Problem,
        cluster_constraints: Sequence[ClusterConstraint] = (),
        columns: Iterable[Sequence[int] | NDArray[Any]] = (),
        budget: Budget = UNLIMITED,
        seed: int = 0,
        *,
        relax: bool = False,
        node_limit: int | None = None,
        stabilization: str = "smoothing",
        local_pricing: bool = True,
    ) -> None:
        if stabilization not in STABILIZATIONS:
            raise ValueError(f"stabilization is {stabilization!r}; it must be one of {', '.join(STABILIZATIONS)}")
        if problem.mean is None or problem.scatter is None:
            raise ValueError("the problem has no means: build it from the rows of X, not from their number")
        if not relax:
            _refuse_what_is_not_anti_monotone(problem)
        self.problem = problem
        self.rules = ClusterRules.of(problem, cluster_constraints)
        self.pricer = Pricer(problem, self.rules)
        self.pool = ColumnPool()
        self.lower_bound = 0.0
        self.incumbent: NDArray[np.int32] | None = None
        self.incumbent_cost = np.inf
        self.n_iterations = 0
        self.n_pricer_nodes = 0
        self._budget = budget
        self._node_limit = pricing.PARAMS.node_limit if node_limit is None else node_limit
        self._switches: dict[str, Any] = {"stabilization": stabilization, "local_pricing": local_pricing}
        self._smoothing = pricing.PARAMS.smoothing if stabilization == "smoothing" else 0.0
        self._rng = np.random.default_rng(seed)
        self._solution: MasterSolution | None = None
        self._upper = np.inf
        self._began = time.perf_counter()
        self._trace: list[ColumnStep] = []
        total = np.average(self.pricer.mean, axis=0, weights=_positive(problem.weight))
        spread = problem.weight @ ((self.pricer.mean - total) ** 2).sum(axis=1) + problem.scatter.sum()
        self._scale = float(spread) / problem.n_clusters or 1.0
        for column in columns:
            self._add_rows(column)
        self._has_start = len(self.pool) > 0

    def add_clustering(self, labels: Any) -> None:
        """Offer a clustering, one label per row: its clusters become columns, itself an incumbent if allowed."""
        labels = np.asarray(labels)
        columns = [self._add_rows(np.flatnonzero(labels == label)) for label in np.unique(labels)]
        covered = sorted(block for column in columns for block in column)
        if covered == list(range(self.problem.n_blocks)) and len(columns) <= self.problem.n_clusters:
            self._offer(columns)

    def rows_of_columns(self) -> list[NDArray[np.int32]]:
        """Rows of each column so far: what a child node, whose blocks differ, starts from."""
        return [self.rules.rows_of(np.array(column)) for column in self.pool.columns]

    def child(self, problem: Problem, constraints: Sequence[ClusterConstraint]) -> "ColumnGenerationBound":
        """Return the bound of a node below, with the same switches, which starts from the columns so far."""
        return ColumnGenerationBound(problem, constraints, self.rows_of_columns(), relax=True, **self._switches)

    def run(
        self, upper_bound: float = np.inf, gap: float = PRICING_RELATIVE, budget: Budget | None = None
    ) -> ColumnGenerationResult:
        """Raise the lower bound until within `gap` of the upper bound, the relaxation is solved, or time is over.

        The upper bound is the cost of a known clustering, which need not be one of this problem.
        """
        budget = self._budget if budget is None else budget
        self._upper = min(upper_bound, self.incumbent_cost)
        self._began = time.perf_counter()
        self._trace = []
        if not self._has_start:
            self._start_with_hierarchy()
        status = self._find_cover(budget)
        if status is None and self._smoothing == 0.0:
            self._solve_perturbed(gap, budget)
        status = status or self._solve_relaxation(gap, budget)
        parts = self._parts()
        labels = None if parts is None else self._labels_of(parts)
        # The solver's reductions before its search do not read the clock.
        if labels is None and status in ("optimal", "stalled", "limit") and not budget.expired():
            self.round_up(Budget(min(pricing.PARAMS.integer_seconds, budget.remaining())))
            status = "closed" if self._is_closed(gap) and status != "limit" else status
        return self._result(status, labels)

    def round_up(self, budget: Budget = UNLIMITED) -> float:
        """Solve the integer master over the columns; return the cost of the best known clustering."""
        solution = self._solution
        chosen = np.arange(len(self.pool))
        if solution is not None and np.isfinite(self._upper):
            # Fixing by reduced cost: a clustering with a column costs at least the bound plus its reduced cost.
            reduced = self._reduced_costs(solution)
            slack_of_bound = self._upper - (solution.duals.sum() - self.problem.n_clusters * solution.sigma)
            slack = -self.problem.n_clusters * min(0.0, float(reduced.min(initial=0.0)))
            chosen = np.flatnonzero(reduced <= slack_of_bound + slack + PRICING_RELATIVE * abs(self._upper))
        n, k = self.problem.n_blocks, self.problem.n_clusters
        found = integer_master(self.pool, n, k, chosen=chosen, scale=self._scale, budget=budget)
        if found is not None:
            self._offer([column for column, _ in exact_cover(found, np.ones(len(found)), n)])
        return self.incumbent_cost

    def branching_pair(self) -> tuple[int, int] | None:
        """Pair of blocks that the last master solution puts together only in part (Ryan and Foster), or None.

        Among all such pairs the one whose separation would cost most; any row of each block represents it in a link.
        """
        parts = self._parts()
        if parts is None:
            return None
        n, weight = self.problem.n_blocks, self.problem.weight
        together = togetherness(parts, n)
        fractional = np.triu(np.minimum(together, 1.0 - together), 1)
        first, second = np.nonzero(fractional > INTEGRAL)
        if first.size == 0:
            return None
        gap = np.linalg.norm(self.pricer.mean[first] - self.pricer.mean[second], axis=1)
        mass = np.sqrt(weight[first] * weight[second] / _positive(weight[first] + weight[second]))
        # Ties, between blocks at the same place, go to the most fractional pair.
        best = np.lexsort((fractional[first, second], fractional[first, second] * mass * gap))[-1]
        return int(first[best]), int(second[best])

    def _start_with_hierarchy(self) -> None:
        """Take single blocks and the clusters of Ward's method: some of them suit every number of clusters."""
        n = self.problem.n_blocks
        clusters = [[block] for block in range(n)]
        if n > 1:
            for first, second in linkage(pdist(self.pricer.mean), "ward")[:, :2].astype(int):
                clusters.append(sorted(clusters[first] + clusters[second]))
        self._add_new(column for column in map(self.pricer.admissible_part, clusters) if column)
        self._has_start = True

    def _find_cover(self, budget: Budget) -> str | None:
        """Generate columns until some fractional clustering exists (Farkas pricing); a status when there is none."""
        n, k = self.problem.n_blocks, self.problem.n_clusters
        if np.isfinite(self._upper):
            return None  # an artificial column at the cost of the upper bound keeps the master feasible
        if self.problem.nonempty and n < k:
            self.lower_bound = np.inf
            return "infeasible"
        master = Master(self.pool, n, k, feasibility=True)
        while True:
            solution = master.solve(budget)
            if solution is None:
                return "limit" if budget.expired() else "stalled"
            self.n_iterations += 1
            if solution.value <= FARKAS:
                return None
            # Half of what is missing, shared among k clusters: if no column gains more, the other half proves that
            # no columns at all can cover everything.
            cutoff = -solution.sigma - solution.value / (2 * k)
            if self._add_new(self._locally(solution.duals, cutoff, solution, costless=True)):
                continue
            exact = self.pricer.exactly(solution.duals, cutoff, budget, self._node_limit, costless=True)
            self.n_pricer_nodes += exact.n_nodes
            if self._add_new(exact.columns):
                continue
            if solution.duals.sum() + k * exact.bound > FARKAS / 4:
                self.lower_bound = np.inf
                return "infeasible"
            return "limit" if budget.expired() else "stalled"

    def _solve_perturbed(self, gap: float, budget: Budget) -> None:
        """Section 5.3: solve masters with slack in the covers, at the duals of the last one, with ever less slack."""
        n, k = self.problem.n_blocks, self.problem.n_clusters
        master = self._master(perturbed=True)
        upper = self._upper if np.isfinite(self._upper) else self._scale * k
        theta, mu, n_updates = self._first_theta(upper / n), FIRST_PERTURBATION, 0
        while mu > LAST_PERTURBATION and not self._is_closed(gap):
            master.perturb(theta, mu)
            solution = master.solve(budget)
            if solution is None:
                return
            self.n_iterations += 1
            tolerance = self._tolerance(upper, gap)
            cutoff = -solution.sigma - tolerance
            if self._add_new(self._locally(solution.duals, cutoff, solution)):
                continue
            exact = self._price_exactly(
                solution.duals, cutoff, budget, min(pricing.PARAMS.few_nodes, self._node_limit)
            )
            if self._add_new(exact.columns):
                continue
            if not exact.finished:
                return
            n_updates += 1
            theta, mu = solution.duals, mu / 2.0**n_updates

    def _first_theta(self, share: float) -> NDArray[np.float64]:
        """Return lower bounds of the duals (Section 6 of the paper); all alike where no clustering is known.

        A block's dual is at least what its cluster costs less without it: a cluster of the best clustering has
        reduced cost 0, and without the block no less.
        """
        if self.incumbent is None:
            return np.full(self.problem.n_blocks, share)
        labels = self.incumbent[self.problem.first_rows]
        theta = np.empty(self.problem.n_blocks)
        for label in np.unique(labels):
            members = tuple(np.flatnonzero(labels == label).tolist())
            cost = self.pricer.cost(members)
            for at, block in enumerate(members):
                rest = members[:at] + members[at + 1 :]
                theta[block] = cost - (self.pricer.cost(rest) if rest else 0.0)
        return np.maximum(theta, 0.0)

    def _solve_relaxation(self, gap: float, budget: Budget) -> str:
        master = self._master()
        smooth: NDArray[np.float64] | None = None
        middle: Master | None = None
        vertex_nodes = pricing.PARAMS.few_nodes
        while not self._is_closed(gap):
            solution = master.solve(budget)
            if solution is None:
                return "limit" if budget.expired() else "stalled"
            self._note(solution)
            if budget.expired():
                return "limit"
            tolerance = self._tolerance(solution.value, gap)
            before = solution.duals if smooth is None else smooth
            smooth = self._smoothing * before + (1.0 - self._smoothing) * solution.duals
            if self._price_locally(solution, smooth, tolerance):
                continue
            if middle is not None:
                solution = _central(solution, middle.solve(budget))
                if self._add_new(self._locally(solution.duals, -solution.sigma - tolerance, solution)):
                    continue
            node_limit = self._node_limit if middle is not None else min(vertex_nodes, self._node_limit)
            # When nothing lies below, the bound is the master's value less k tolerances, despite sigma's rounding.
            cutoff = (solution.value - float(solution.duals.sum())) / self.problem.n_clusters - tolerance
            exact = self._price_exactly(solution.duals, cutoff, budget, node_limit)
            vertex_nodes -= exact.n_nodes
            found_any = self._add_new(exact.columns)
            if not found_any and (exact.finished or middle is not None or budget.expired()):
                return self._end(exact.finished, gap, budget)
            if middle is None and (not found_any or vertex_nodes <= 0):
                # Vertices of the optimal dual face have a few huge entries, which make pricing hard.
                middle = self._master(central=True)
        return "closed"

    def _master(self, *, central: bool = False, perturbed: bool = False) -> Master:
        artificial = self._upper if self.incumbent is None and np.isfinite(self._upper) else None
        n, k = self.problem.n_blocks, self.problem.n_clusters
        return Master(
            self.pool, n, k, scale=self._scale, incumbent_cost=artificial, central=central, perturbed=perturbed
        )

    def _price_exactly(
        self, duals: NDArray[np.float64], cutoff: float, budget: Budget, node_limit: int
    ) -> ExactPrice:
        """Price at these duals and raise the lower bound by what is proved."""
        k, total = self.problem.n_clusters, float(duals.sum())
        exact = self.pricer.exactly(duals, cutoff, budget, node_limit)
        self.n_pricer_nodes += exact.n_nodes
        self.lower_bound = max(self.lower_bound, total + k * min(0.0, exact.bound))
        return exact

    def _end(self, finished: bool, gap: float, budget: Budget) -> str:
        if self._is_closed(gap):
            return "closed"
        if finished:
            return "optimal"
        return "limit" if budget.expired() else "stalled"

    def _price_locally(self, solution: MasterSolution, smooth: NDArray[np.float64], tolerance: float) -> bool:
        """Add columns from local pricing; at the smoothed duals first, then at the true ones."""
        if self._add_new(self._locally(smooth, 0.0, solution), solution, tolerance):
            return True
        found = self._locally(solution.duals, -solution.sigma - tolerance, solution)
        return self._add_new(found, solution, tolerance)

    def _locally(
        self, duals: NDArray[np.float64], cutoff: float, solution: MasterSolution, *, costless: bool = False
    ) -> list[Column]:
        """Return the columns below the cutoff that descent finds; none where it is switched off."""
        if not self._switches["local_pricing"]:
            return []
        return self.pricer.locally(duals, cutoff, self._starts(solution), costless=costless)

    def _starts(self, solution: MasterSolution) -> list[Column]:
        """Single blocks and the columns in use."""
        n = self.problem.n_blocks
        most = pricing.PARAMS.per_round
        blocks = np.arange(n) if n <= most else self._rng.choice(n, most, replace=False)
        used = np.flatnonzero(solution.use > INTEGRAL)
        return [self.pool.columns[i] for i in used] + [(int(b),) for b in blocks]

    def _add_new(
        self, columns: Iterable[Column], solution: MasterSolution | None = None, tolerance: float = 0.0
    ) -> bool:
        """Take the columns that are new and, at the master's duals, cheaper than the tolerance."""
        added = False
        for column in columns:
            if column in self.pool:
                continue
            cost = self.pricer.cost(column)
            if solution is not None:
                reduced = cost - solution.duals[list(column)].sum() + solution.sigma
                if reduced >= -tolerance:
                    continue
            added |= self.pool.add(column, cost)
        return added

    def _add_rows(self, rows: Sequence[int] | NDArray[Any]) -> Column:
        """Take the largest allowed part of some rows as a column: whole blocks, one after the other."""
        counts = np.bincount(self.problem.block_of[np.asarray(rows, dtype=np.intp)], minlength=self.problem.n_blocks)
        whole = np.flatnonzero((counts > 0) & (counts == np.diff(self.problem.block_indptr)))
        column = self.pricer.admissible_part(whole.tolist())
        if column:
            self._add_new([column])
        return column

    def _note(self, solution: MasterSolution) -> None:
        self._solution = solution
        self.n_iterations += 1
        parts = self._parts()
        if parts is not None:
            self._labels_of(parts)
        seconds = time.perf_counter() - self._began
        self._trace.append(ColumnStep(seconds, solution.value, self.lower_bound, len(self.pool)))

    def _tolerance(self, value: float, gap: float) -> float:
        """Reduced costs above minus this are not worth a column: together they cost half of the gap."""
        upper = self._upper if np.isfinite(self._upper) else value
        return max(gap / 2.0, PRICING_RELATIVE / 2.0) * abs(upper) / self.problem.n_clusters

    def _is_closed(self, gap: float) -> bool:
        allowed = max(gap, PRICING_RELATIVE) * abs(self._upper)
        return bool(np.isfinite(self._upper) and self.lower_bound >= self._upper - allowed)

    def _reduced_costs(self, solution: MasterSolution) -> NDArray[np.float64]:
        duals = np.array([solution.duals[list(column)].sum() for column in self.pool.columns], dtype=np.float64)
        costs = np.array(self.pool.costs[: duals.size], dtype=np.float64)
        return costs - duals + solution.sigma

    def _parts(self) -> list[tuple[Column, float]] | None:
        """The last master solution as a fractional clustering; None when it uses the artificial column."""
        solution = self._solution
        if solution is None or solution.rest > INTEGRAL:
            return None
        used = np.flatnonzero(solution.use > INTEGRAL)
        columns = [self.pool.columns[i] for i in used]
        return exact_cover(columns, solution.use[used].tolist(), self.problem.n_blocks)

    def _labels_of(self, parts: list[tuple[Column, float]]) -> NDArray[np.int32] | None:
        """Labels of the rows when the parts form a clustering that keeps everything; also offered as incumbent."""
        if any(share < 1.0 - INTEGRAL for _, share in parts):
            return None
        return self._offer([column for column, _ in parts])

    def _offer(self, columns: list[Column]) -> NDArray[np.int32] | None:
        """Make labels of disjoint clusters that cover everything; remember them if they are the best so far."""
        if self.problem.has_soft_links:
            return None  # relaxed away: what the labels pay for broken links is not known here
        if self.problem.nonempty:
            columns = _split(columns, self.problem.n_clusters)
        block_labels = np.full(self.problem.n_blocks, -1, dtype=np.int32)
        for label, column in enumerate(sorted(columns)):
            block_labels[list(column)] = label
        if block_labels.min() < 0 or len(columns) > self.problem.n_clusters:
            return None
        cluster_of = self._matching_clusters(block_labels)
        if cluster_of is None:
            return None
        labels: NDArray[np.int32] = self.problem.expand(cluster_of[block_labels])
        cost = sum(self.pricer.cost(column) for column in columns)
        if cost < self.incumbent_cost:
            self.incumbent, self.incumbent_cost = labels, cost
            self._upper = min(self._upper, cost)
        return labels

    def _matching_clusters(self, block_labels: NDArray[np.int32]) -> NDArray[np.int32] | None:
        """Numbers for the clusters of a relaxed problem with which each keeps the bounds on its size, if any."""
        problem, k = self.problem, self.problem.n_clusters
        low, high = problem.widened_bounds
        sizes = np.bincount(block_labels, problem.demand, minlength=k).astype(np.float64, copy=False)
        return match_sizes(sizes, low, high)

    def _result(self, status: str, labels: NDArray[np.int32] | None) -> ColumnGenerationResult:
        return ColumnGenerationResult(
            lower_bound=self.lower_bound,
            status=status,
            is_integral=labels is not None,
            labels=labels,
            incumbent_labels=self.incumbent,
            incumbent_cost=self.incumbent_cost,
            master_value=np.inf if self._solution is None else self._solution.value,
            n_columns=len(self.pool),
            n_iterations=self.n_iterations,
            n_pricer_nodes=self.n_pricer_nodes,
            trace=tuple(self._trace),
        )


def _central(vertex: MasterSolution, middle: MasterSolution | None) -> MasterSolution:
    """Return duals between a vertex and the middle of the optimal face, near the vertex of unbounded faces."""
    if middle is None:
        return vertex
    most = 2.0 * vertex.sigma + vertex.value
    return vertex.between(middle, min(1.0, most / middle.sigma) if middle.sigma > 0.0 else 1.0)


def _split(columns: list[Column], n_clusters: int) -> list[Column]:
    """Separate single blocks from the largest clusters until there are enough clusters; no cost rises."""
    columns = sorted(columns, key=len)
    while len(columns) < n_clusters and columns and len(columns[-1]) > 1:
        *others, last = columns
        columns = sorted([*others, last[:-1], last[-1:]], key=len)
    return columns


def _positive(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive weights to divide by."""
    return np.maximum(weight, np.finfo(np.float64).tiny)


def has_real_minimum(problem: Problem) -> bool:
    """Return whether some cluster must hold more than the smallest block."""
    if problem.size_min is None:
        return False
    least = float(problem.demand.min(initial=np.inf)) if problem.nonempty else 0.0
    return bool((problem.size_min > least).any())


def has_unequal_maxima(problem: Problem) -> bool:
    """Return whether upper bounds on sizes differ between clusters."""
    return problem.size_max is not None and np.unique(problem.size_max).size > 1


def _refuse_what_is_not_anti_monotone(problem: Problem) -> None:
    way_out = "give relax=True to bound the problem without it, or use another bound"
    if has_real_minimum(problem):
        assert problem.size_min is not None
        raise ValueError(
            f"{term('size_min')} = {problem.size_min.max():g} is a lower bound on sizes, which parts of a "
            "cluster need not "
            f"keep, so column generation cannot bound it; {way_out}"
        )
    if has_unequal_maxima(problem):
        assert problem.size_max is not None
        raise ValueError(
            f"{term('size_max')} differs between clusters ({problem.size_max.min():g} to "
            f"{problem.size_max.max():g}), but "
            f"column generation treats clusters alike; {way_out}"
        )
    if problem.has_soft_links:
        raise ValueError(f"there are soft links, whose penalties are no part of a cluster's cost; {way_out}")
