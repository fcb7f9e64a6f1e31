"""Column generation for few features: a proximal master, and pricing by branch and bound over boxes of space.

For any duals lambda of the points, every clustering into at most k clusters costs at least

    sum(lambda) + k min(0, v),    v = min over clusters S of cost(S) - lambda(S),

for each point is in one cluster, and each cluster costs at least lambda(S) + v. The duals come from the proximal
master (`konstrain.exact.columns.proximal`), the bound on v from boxes that may hold the center of S
(`box_search.cpp`). Neither the master nor its clusters need to be exact: the bound holds for the duals
as they are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.cluster import KMeans

from konstrain import _core
from konstrain._highs import BinaryProgram, solve_binary
from konstrain._tolerances import LEAST_FRACTION, LEAST_USE, PRICING_RELATIVE, SUM_RELATIVE
from konstrain.constraints.problem import Problem
from konstrain.exact.columns import pricing
from konstrain.exact.columns.proximal import ColumnSets, MasterPoint, solve_master
from konstrain.exact.sdp.model import rounding_guard
from konstrain.exact.sdp.spectral import one_blas_thread
from konstrain.gap import relative_gap
from konstrain.stop import UNLIMITED, Budget

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
# Bytes of memory for open boxes; a search that needs more ends with the bound reached.
MEMORY: Final = 2**29
# As usual for proximal bundle methods: shares of the promised gain at which a step is good, and above which it is not
# poor. A good one halves the weight of the quadratic term, a poor one doubles it.
GOOD_STEP: Final = 0.5
POOR_STEP: Final = 0.1
# Starts of one task of descents. The tasks, and so the columns, are the same for any number of workers.
TASK: Final = 512


@dataclass(frozen=True)
class BoxParams:
    """Tunable numbers of column generation over boxes."""

    # Shares of the way from the cost of a point to that in the next cluster, tried for the first duals, and factors
    # of these duals at which further columns are generated; more: a better start, slower.
    first_duals: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
    first_scales: tuple[float, ...] = (0.35, 0.6, 0.8, 1.25, 1.6, 2.2)
    # Shares of the way from the best duals to those of the master at which bounds are computed.
    steps: tuple[float, ...] = (1.0, 0.5)
    # Least weight of the quadratic term; smaller: the relaxation is solved further, in more iterations.
    last_penalty: float = 1e-5
    # Weight at which the relaxation counts as solved far below the upper bound; smaller: later branching.
    coarse_penalty: float = 4e-3
    # Relative distance from the upper bound that counts as far; larger: last digits are computed more often, which
    # may be all that is missing.
    far: float = 1e-3
    # Share of the gap to reach, and of the distance from the upper bound, that iterations are worth; smaller: more
    # and longer iterations.
    last_share: float = 0.2
    # Most columns added per descent, most points and most known columns that descents start from; larger: a better
    # and slower master.
    per_round: int = 600
    # Columns per point above which those of high reduced cost are dropped; larger: a better and slower master.
    columns_per_point: int = 8
    # Tolerances of master and pricing relative to the remaining gap; smaller: fewer and longer iterations.
    accuracy: float = 0.05
    # Most boxes per search for `has_few_boxes`; larger: boxes are tried on more problems, in vain on most of them.
    few_boxes: int = 3000


PARAMS = BoxParams()


class _PricedDuals(NamedTuple):
    """Duals with their bound, in the scale of the points; `is_proved`: not only an estimate."""

    duals: Vector
    sigma: float
    value: float
    is_proved: bool


@dataclass(frozen=True, eq=False)
class Points:
    """Blocks of a problem as points: centered, scaled, blocks at one place merged, in the order of a main axis."""

    x: Vector  # (n_points, n_features): positions.
    weight: Vector
    demand: Vector
    of_block: Indices  # The point of each block.
    # Bounds on the demand of a cluster, the widest ones if they differ.
    size_min: float
    size_max: float
    # Conflicts in compressed rows.
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    scale: float  # Squared distances are divided by it: a power of two, so that nothing is rounded.

    @classmethod
    def of(cls, problem: Problem, cost: float) -> "Points":
        """Make the points of a problem whose clusters have about this cost."""
        mean = np.asarray(problem.mean, dtype=np.float64)
        # Any fixed shift changes no distance, and its rounding is relative to the shifted values.
        shifted = mean - np.average(mean, axis=0)
        halvings = round(math.log2(cost) / 2) if cost > 0 else 0
        x = np.ldexp(shifted, -halvings)
        low, high = problem.widened_bounds
        size_min, size_max = float(low.min()), float(high.max())
        size_max = size_max if size_max < problem.demand.sum() else np.inf
        has_conflicts = np.zeros(problem.n_blocks, dtype=bool)
        first = second = np.zeros(0, dtype=np.intp)
        if problem.conflicts is not None:
            first, second = (ends.astype(np.intp) for ends in problem.conflicts.edges[:2])
            has_conflicts[first] = has_conflicts[second] = True
        # Blocks at one place may share a cluster in an optimum, unless sizes or conflicts forbid it.
        alone = np.arange(problem.n_blocks) + 1 if size_min > 0 or np.isfinite(size_max) else None
        marks = np.where(has_conflicts, np.arange(problem.n_blocks) + 1, 0) if alone is None else alone
        _, chosen, of_block = np.unique(np.column_stack([x, marks]), axis=0, return_index=True, return_inverse=True)
        of_block = of_block.ravel()
        axes = np.linalg.eigh(np.cov(x[chosen], rowvar=False, bias=True).reshape(x.shape[1], -1))[1]
        order = np.argsort(x[chosen] @ axes[:, -1], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        of_block = rank[of_block]
        n = order.size
        a, b = of_block[first], of_block[second]
        graph = csr_array((np.ones(2 * a.size), (np.append(a, b), np.append(b, a))), shape=(n, n))
        graph.sort_indices()
        return cls(
            x=np.ascontiguousarray(x[chosen[order]]),
            weight=_sums(of_block, problem.weight, n),
            demand=_sums(of_block, problem.demand, n),
            of_block=of_block,
            size_min=size_min,
            size_max=size_max,
            indptr=graph.indptr.astype(np.int64),
            indices=graph.indices.astype(np.int32),
            scale=math.ldexp(1.0, 2 * halvings),
        )

    @property
    def size(self) -> int:
        """Number of points."""
        return self.weight.size

    def kernel(self) -> "_core.ClusterPoints":
        """Return the points for the kernels."""
        return _core.ClusterPoints(
            self.x, self.weight, self.demand, self.size_min, self.size_max, self.indptr, self.indices
        )


class BoxColumnBound:
    """Lower bound on the cost of constrained clusterings, for few features and any number of clusters.

    Covers must-links, cannot-links, and bounds on sizes or demand that are the same for all clusters. A run that ends
    early can be continued: duals, columns and bound are kept. `labels` are a good clustering to start from; `parent`
    is a bound of the same rows with fewer links, whose duals and columns are taken over.
    """

    def __init__(
        self,
        problem: Problem,
        labels: NDArray[np.int32] | None = None,
        parent: "BoxColumnBound | None" = None,
        n_jobs: int | None = None,
    ) -> None:
        assert problem.scatter is not None
        self.problem = problem
        self.constant = math.fsum(problem.scatter)
        self._guard = self._rounding()
        self.lower_bound = max(0.0, self.constant - self._guard)
        self.n_boxes = 0
        self.n_iterations = 0
        self.use: Vector | None = None
        self._labels, self._parent, self._n_jobs = labels, parent, n_jobs
        cost = self._start_cost() / problem.n_clusters
        self.points = Points.of(problem, cost)
        self.columns = ColumnSets(self.points.size, self.points.x.shape[1])
        self._kernel = self.points.kernel()
        self._best: _PricedDuals | None = None
        self._most_boxes = np.iinfo(np.int64).max
        self._penalty = 1.0
        self._left = cost / self.points.scale * problem.n_clusters  # estimate of what the bound may still gain
        self._is_trivial = cost <= 0.0

    def run(
        self,
        upper_bound: float = np.inf,
        gap: float = PRICING_RELATIVE,
        budget: Budget = UNLIMITED,
        on_progress: Callable[[], bool] | None = None,
    ) -> str:
        """Raise the lower bound; return why it ended.

        "closed": the bound has reached the upper bound, up to the relative `gap`. "optimal": the linear relaxation is
        solved, but lies below. "limit": time ran out. "interrupted": `on_progress`, called after each iteration,
        returned True. The upper bound need not be the cost of a clustering of this problem.
        """
        if self._is_trivial:
            return "closed" if relative_gap(self.lower_bound, upper_bound) <= gap else "optimal"
        with one_blas_thread():
            return self._run(upper_bound, gap, budget, on_progress)

    def has_few_boxes(self, budget: Budget = UNLIMITED) -> bool:
        """Return whether pricing at the first duals ends soon; a run goes on from there.

        Boxes grow in number with the power of the features in which points are spread, which may be few of many.
        """
        if self._is_trivial:
            return True
        self._most_boxes = PARAMS.few_boxes
        try:
            with one_blas_thread():
                return self._start(budget)
        finally:
            self._most_boxes = np.iinfo(np.int64).max

    def chosen_centers(self, upper_bound: float, budget: Budget) -> Vector | None:
        """Return the centers of k known columns that cover all points at least cost, by HiGHS; None: not found."""
        best, k = self._best, self.problem.n_clusters
        if best is None or len(self.columns) < k:
            return None
        # Fixing by reduced cost: a clustering with a column costs at least the bound plus its reduced cost.
        reduced = self.columns.cost - self.columns.sums(best.duals) + best.sigma
        slack = (upper_bound - self.constant) / self.points.scale - best.value
        numbers = np.flatnonzero(reduced <= slack)
        if numbers.size < k:
            return None
        covers = self.columns.matrix()[numbers].T
        n = self.points.size
        program = BinaryProgram(
            cost=self.columns.cost[numbers],
            rows=csr_array(vstack([covers, np.ones((1, numbers.size))])),
            row_low=np.append(np.ones(n), -np.inf),
            row_high=np.append(np.full(n, np.inf), float(k)),
            integer=np.ones(numbers.size, dtype=bool),
        )
        solution = solve_binary(program, budget=Budget(min(pricing.PARAMS.integer_seconds, budget.remaining())))
        if solution.x is None or np.count_nonzero(solution.x > 0.5) != k:
            return None
        return self._centers_of(numbers[solution.x > 0.5])

    def integral_centers(self) -> Vector | None:
        """Return the centers of the columns that the master chose, if it chose k of them in whole; else None."""
        chosen = None if self.use is None else np.flatnonzero(self.use > 0.5)
        return None if chosen is None or chosen.size != self.problem.n_clusters else self._centers_of(chosen)

    def _centers_of(self, numbers: Indices) -> Vector:
        """Return the centers of some columns where the rows are."""
        mean = np.asarray(self.problem.mean, dtype=np.float64)
        return np.asarray(self.columns.centers[numbers] * math.sqrt(self.points.scale) + np.average(mean, axis=0))

    def branching_pair(self) -> tuple[int, int] | None:
        """Return two blocks that the master puts together only in part (Ryan and Foster), or None.

        Among all such pairs the one whose separation would cost most.
        """
        if self.use is None:
            return None
        used = np.flatnonzero(self.use > LEAST_USE)
        covers = self.columns.matrix()[used]
        together = csr_array(covers.T @ (covers * self.use[used, None])).tocoo()
        is_pair = together.row < together.col
        first, second, share = together.row[is_pair], together.col[is_pair], together.data[is_pair]
        x, weight = self.points.x, np.maximum(self.points.weight, np.finfo(float).tiny)
        squared = ((x[first] - x[second]) ** 2).sum(axis=1)
        squared *= weight[first] * weight[second] / (weight[first] + weight[second])
        score = np.minimum(share, 1.0 - share) * np.sqrt(squared)
        if not score.size or np.minimum(share, 1.0 - share)[best := int(score.argmax())] < LEAST_FRACTION:
            return None
        block = np.zeros(self.points.size, dtype=np.intp)
        block[self.points.of_block[::-1]] = np.arange(self.problem.n_blocks)[::-1]
        return int(block[first[best]]), int(block[second[best]])

    def _run(self, upper_bound: float, gap: float, budget: Budget, on_progress: Callable[[], bool] | None) -> str:
        upper = (upper_bound - self.constant) / self.points.scale
        if self._best is None:
            self._start(budget)
        if len(self.columns) == 0 and not budget.expired():
            return "optimal"  # a branch in which clusters are hard to find, if there are any
        while True:
            best = self._best
            assert best is not None
            if relative_gap(self.lower_bound, upper_bound) <= gap:
                return "closed"
            if budget.expired():
                return "limit"
            if on_progress is not None and on_progress():
                return "interrupted"
            model = self._solve_master(best, budget)
            promise = model.value - best.value
            size = upper if np.isfinite(upper) else max(best.value, 1e-300)
            self._left = max(promise, PARAMS.last_share * max(gap * size, size - best.value))
            n_columns = len(self.columns)
            self._improve(best, model, promise, budget)
            assert self._best is not None
            # Pricing that ends early may neither prove the value of the master nor find the columns that lower it.
            has_stalled = self._best.value <= best.value and len(self.columns) == n_columns
            # Where the relaxation is nearer to the lower bound than to the upper, branching gains more than digits.
            is_below = size - model.value > model.value - self._best.value
            goal = max(
                PARAMS.last_share * gap * size, PARAMS.accuracy * (size - self._best.value) if is_below else 0.0
            )
            if has_stalled or min(promise, model.value - self._best.value) < goal:
                # Near the upper bound the last digits may be all that is missing.
                is_far = is_below and size - self._best.value > PARAMS.far * size
                if self._penalty <= (PARAMS.coarse_penalty if is_far else 4 * PARAMS.last_penalty):
                    return "closed" if relative_gap(self.lower_bound, upper_bound) <= gap else "optimal"
                self._penalty = max(0.1 * self._penalty, PARAMS.last_penalty)
            self._drop_columns(model)

    def _solve_master(self, best: _PricedDuals, budget: Budget) -> MasterPoint:
        k = self.problem.n_clusters
        # Between rounding and an accuracy at which duals are still of use, costs being about 1.
        tolerance = min(1e-2, max(1e-7, PARAMS.accuracy * self._left / k))
        penalty = self._penalty * self.points.size / k
        are_signed = self.points.size_min > 0
        model = solve_master(
            self.columns, k, best.duals, best.sigma, penalty, tolerance, are_signed=are_signed, budget=budget
        )
        self.use = model.use
        self.n_iterations += 1
        return model

    def _improve(self, old: _PricedDuals, model: MasterPoint, promise: float, budget: Budget) -> None:
        """Bound and generate columns at duals between the best ones and those of the master."""
        reduced = self.columns.cost - self.columns.sums(model.duals) + model.sigma
        low = np.argsort(reduced, kind="stable")[: PARAMS.per_round]
        starts = self._starts(self.columns.centers[low[reduced[low] < 0.1 * model.sigma]])
        for step in PARAMS.steps:
            duals = old.duals + step * (model.duals - old.duals)
            sigma = old.sigma + step * (model.sigma - old.sigma)
            self._take(self._price(duals, starts, sigma, PARAMS.per_round, budget))
        assert self._best is not None
        gain = self._best.value - old.value
        if gain >= GOOD_STEP * promise:
            self._penalty = max(0.5 * self._penalty, PARAMS.last_penalty)
        elif gain < POOR_STEP * promise:
            self._penalty *= 2.0

    def _price(self, duals: Vector, starts: Vector, sigma: float, most: int, budget: Budget) -> _PricedDuals:
        """Add columns below sigma at these duals; bound the rest where descents promise a better bound."""
        k, total = self.problem.n_clusters, math.fsum(duals)
        least = self._descend(duals, starts, -sigma, most, budget)
        value = total + k * least
        if self._best is not None and value <= self._best.value:
            return _PricedDuals(duals, -least, value, False)
        tolerance = 2.0 * PARAMS.accuracy * self._left / k
        bound, least, _, n_boxes, centers, clusters = self._kernel.bound_reduced_cost(
            duals,
            least * (1 + PRICING_RELATIVE),
            tolerance,
            min(-sigma, least),
            PARAMS.per_round,
            self._most_boxes,
            MEMORY,
            budget.remaining(),
        )
        self.n_boxes += n_boxes
        start, members, cost, _, means = clusters
        self.columns.add(start, members, cost, means)
        if centers.size:
            self._descend(duals, centers.reshape(-1, self.points.x.shape[1]), -sigma, most, budget)
        # Sums of n duals and k times the bound, each rounded once more.
        value = total + k * bound
        value -= 8 * SUM_RELATIVE * (math.fsum(np.abs(duals)) - k * bound)
        return _PricedDuals(duals, -least, value, True)

    def _descend(self, duals: Vector, starts: Vector, threshold: float, most: int, budget: Budget) -> float:
        """Add the columns that descents find below the threshold; return the least reduced cost, at most 0."""
        d = self.points.x.shape[1]
        tasks = np.split(starts, range(TASK, len(starts), TASK))
        with Parallel(n_jobs=self._n_jobs if len(tasks) > 1 else 1, prefer="threads") as parallel:
            calls = (delayed(self._kernel.descend)(duals, task, 0.0, most, budget.remaining()) for task in tasks)
            found = list(parallel(calls))
        all_reduced = np.concatenate([reduced for _, _, _, reduced, _ in found])
        if all_reduced.size > most:
            threshold = min(threshold, float(np.partition(all_reduced, most)[most]))
        for start, members, cost, reduced, centers in found:
            count = int(np.searchsorted(reduced, threshold))
            self.columns.add(start[: count + 1], members[: start[count]], cost[:count], centers[: count * d])
        return float(all_reduced.min(initial=0.0))

    def _take(self, trial: _PricedDuals) -> None:
        """Keep proved duals that are better than the best."""
        if trial.is_proved and (self._best is None or trial.value > self._best.value):
            self._best = trial
            self.lower_bound = max(self.lower_bound, trial.value * self.points.scale + self.constant - self._guard)

    def _rounding(self) -> float:
        """Return what rounding in means, scatter and sums may add to the cost of any clustering."""
        problem = self.problem
        mean, weight = np.asarray(problem.mean, dtype=np.float64), problem.weight
        shifted = mean - np.average(mean, axis=0)
        spread = float(weight @ (shifted**2).sum(axis=1))
        total = spread + self.constant
        return rounding_guard(problem, np.flatnonzero(weight > 0), spread, total) + 8 * SUM_RELATIVE * total

    def _starts(self, centers: Vector) -> Vector:
        """Return these centers and some points, spread along the main axis, other ones in each iteration."""
        stride = -(-self.points.size // PARAMS.per_round)
        return np.concatenate([self.points.x[self.n_iterations % stride :: stride], centers])

    def _drop_columns(self, model: MasterPoint) -> None:
        """Drop columns of high reduced cost at the best duals and at those of the master."""
        most = PARAMS.columns_per_point * self.points.size
        if len(self.columns) <= most:
            return
        assert self._best is not None
        known = (self._best.duals, self._best.sigma), (model.duals, model.sigma)
        reduced = np.minimum(*(self.columns.cost - self.columns.sums(duals) + sigma for duals, sigma in known))
        kept = 3 * most // 4
        self.columns.keep(reduced <= np.partition(reduced, kept)[kept])
        self.use = None

    def _start_cost(self) -> float:
        """Return the cost of a clustering, without the scatter of blocks, that sets the scale."""
        if self._parent is not None:
            return self._parent.points.scale * self.problem.n_clusters
        mean, weight = np.asarray(self.problem.mean, dtype=np.float64), self.problem.weight
        if self._labels is None:
            found = KMeans(min(self.problem.n_clusters, len(np.unique(mean, axis=0))), n_init=1, random_state=0)
            self._block_labels = found.fit(mean, sample_weight=weight).labels_
        else:
            self._block_labels = self._labels[self.problem.first_rows]
        total = 0.0
        for label in np.unique(self._block_labels):
            inside = self._block_labels == label
            if weight[inside].sum() > 0:
                center = np.average(mean[inside], axis=0, weights=weight[inside])
                total += float(weight[inside] @ ((mean[inside] - center) ** 2).sum(axis=1))
        return total

    def _start(self, budget: Budget) -> bool:
        """Find first duals and columns: those of the parent, or from a clustering; False: a search took too long."""
        starts = self._starts(np.zeros((0, self.points.x.shape[1])))
        if self._parent is not None:
            duals = self._inherit(self._parent)
            self._penalty, self._left = self._parent._penalty, self._parent._left
            self._take(self._price(duals, starts, 0.0, PARAMS.per_round, budget))
            self._parent = None
            return True
        labels = np.zeros(self.points.size, dtype=np.intp)
        labels[self.points.of_block] = self._block_labels
        labels = np.unique(labels, return_inverse=True)[1]
        n = labels.size
        weight = np.maximum(np.bincount(labels, self.points.weight), np.finfo(float).tiny)
        centers = np.array([np.bincount(labels, self.points.weight * a) for a in self.points.x.T]).T / weight[:, None]
        if self._labels is not None:
            start = np.concatenate([[0], np.cumsum(np.bincount(labels))])
            members = np.argsort(labels, kind="stable").astype(np.int32)
            self.columns.add(start, members, *_costs(self.points, start, members))
        squared = ((self.points.x[:, None, :] - centers) ** 2).sum(axis=2) * self.points.weight[:, None]
        own = squared[np.arange(n), labels]
        squared[np.arange(n), labels] = np.inf
        surplus = np.maximum(squared.min(axis=1), own) - own
        surplus[~np.isfinite(surplus)] = own[~np.isfinite(surplus)]
        per_cluster = np.bincount(labels, surplus)
        middle = max(float(np.median(per_cluster)), np.finfo(float).tiny)
        starts = self._starts(centers)
        for share in PARAMS.first_duals:
            moved = np.minimum(0.95, 2.0 * share * middle / np.maximum(per_cluster, share * middle))
            n_before = self.n_boxes
            self._take(self._price(own + moved[labels] * surplus, starts, 0.0, starts.shape[0], budget))
            if budget.expired() or self.n_boxes - n_before >= self._most_boxes:
                return False
        assert self._best is not None
        for factor in PARAMS.first_scales:
            self._descend(self._best.duals * factor, starts, 0.0, starts.shape[0], budget)
        return True

    def _inherit(self, parent: "BoxColumnBound") -> Vector:
        """Take over the columns of a parent that fit, and return its duals for the points of this problem."""
        assert parent._best is not None
        assert parent.problem.scatter is not None
        assert self.problem.scatter is not None
        # Blocks of the parent lie in blocks of this problem; a merged block needs less, by the scatter it adds.
        into = self.points.of_block[self.problem.block_of[parent.problem.first_rows]]
        own = parent.points.weight[parent.points.of_block]
        share = np.where(own > 0, parent.problem.weight / np.maximum(own, np.finfo(float).tiny), 1.0)
        duals = _sums(into, share * parent._best.duals[parent.points.of_block], self.points.size)
        scatter = _sums(self.points.of_block, self.problem.scatter, self.points.size)
        scatter -= _sums(into, parent.problem.scatter, self.points.size)
        duals = duals - scatter / self.points.scale
        duals = duals if self.points.size_min > 0 else np.maximum(duals, 0.0)
        n_blocks = np.bincount(into, minlength=self.points.size)
        ones = np.ones(into.size)
        moved = csr_array((ones, (parent.points.of_block, into)), shape=(parent.points.size, self.points.size))
        counts = csr_array(parent.columns.matrix() @ moved)
        counts.sort_indices()
        is_whole = counts.data == n_blocks[counts.indices]
        fits = np.diff(np.concatenate([[0], np.cumsum(is_whole)])[counts.indptr]) == np.diff(counts.indptr)
        inside = csr_array((np.ones(counts.indices.size), counts.indices, counts.indptr), shape=counts.shape)
        ones = np.ones(self.points.indices.size)
        conflicts = csr_array((ones, self.points.indices, self.points.indptr), shape=2 * (self.points.size,))
        n_conflicts = np.asarray((inside @ conflicts).multiply(inside).sum(axis=1)).ravel()
        kept = inside[np.flatnonzero(fits & (n_conflicts == 0))]
        start, members = kept.indptr.astype(np.int64), kept.indices.astype(np.int32)
        self.columns.add(start, members, *_costs(self.points, start, members))
        return duals


def _sums(numbers: Indices, values: Vector, size: int) -> Vector:
    return np.asarray(np.bincount(numbers, values, size), dtype=np.float64)


def _costs(points: Points, start: NDArray[np.int64], members: NDArray[np.int32]) -> tuple[Vector, Vector]:
    """Return the cost and the center of each cluster."""
    if start.size == 1:
        return np.zeros(0), np.zeros((0, points.x.shape[1]))
    weight = points.weight[members]
    total = np.add.reduceat(weight, start[:-1])
    moment = np.add.reduceat(weight[:, None] * points.x[members], start[:-1], axis=0)
    centers = moment / np.maximum(total, np.finfo(float).tiny)[:, None]
    gaps = points.x[members] - np.repeat(centers, np.diff(start), axis=0)
    return np.add.reduceat(weight * (gaps**2).sum(axis=1), start[:-1]), centers
