"""The steps of k-means over rows that are elsewhere: passes over all of them, an exact solution here, and its proof.

At some duals most rows prefer their cluster by far more than duals still change: these stay, and only their sums are
on the client. Rows near a tie are sent to the client and placed there exactly, with the blocks that have links, in
the capacity that the others leave. The duals of that solution show whether one of the others would now prefer another
cluster: if none does, the solution is proved for all rows; else the next pass is made at better duals. So a step
takes one pass where duals start well, and its result does not depend on how rows are cut into partitions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from konstrain import stop
from konstrain._tolerances import MOST_CANCELLED, SINGLE_GUARD
from konstrain.assignment import Assignment, AssignmentProblem, assign_by
from konstrain.assignment.priced import bound_at
from konstrain.assignment.problem import only_prices
from konstrain.dask import duals, passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.duals import DualSample, newton_duals
from konstrain.dask.passes import (
    MAX_NUMBERS,
    Labelling,
    Near,
    PartitionRows,
    Scan,
    Sums,
    Totals,
    amounts_in,
    digest_of,
)
from konstrain.dask.problem import RemoteProblem, RemoteRules
from konstrain.dask.start import Sample
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans import distances, weightless
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget

Reals = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class StepParams:
    """How many rows are sent to the client, and how often."""

    near_share: float = 1 / 32  # Share of all rows that is sent; larger: fewer passes, and more work on the client.
    least_near: int = 4096  # Least rows that are sent.
    # How many times its part of these a partition may send; larger: more memory, for sorted rows fewer passes.
    uneven: int = 4
    # Share of all rows that workers keep for further passes; larger: fewer passes over all rows.
    kept_share: float = 0.1
    max_passes: int = 40  # Passes after which the best labels found are taken, unproved.
    # Passes after which twice as many rows are sent; larger: less work on the client, and more passes.
    widen_every: int = 6
    # How much more than a proof needs is sent; larger: more rows, and fewer proofs that fail by little.
    margin: float = 1.25


PARAMS = StepParams()


@dataclass(frozen=True, eq=False)
class RemoteLabels:
    """Labels of all rows as a `Labelling`, with what they add up to; never one entry per row."""

    labelling: Labelling
    tied: Labels
    digest: int
    totals: Totals
    cost: float

    @property
    def centers(self) -> Reals:
        """The centers at which the labels were found."""
        return self.labelling.centers

    def is_same(self, other: "RemoteLabels") -> bool:
        """Whether all rows have the same labels."""
        return self.digest == other.digest and bool(np.array_equal(self.tied, other.tied))


@dataclass(frozen=True, eq=False)
class _Reduced:
    """What is solved here, and its solution: rows near a tie and the tied blocks, all other rows staying.

    `far_cost` is the cost of the others; `duals` are those of the solution.
    """

    problem: AssignmentProblem
    far_cost: float
    solution: Assignment
    duals: Reals


@dataclass(frozen=True)
class _Verdict:
    """Whether a step may end with a solution, whether that is proved, and the bound for what was solved here.

    `enough` is the gap up to which rows would have to be sent for a proof, as far as that is known.
    """

    is_final: bool
    is_proved: bool
    bound: float
    enough: float = 0.0


class _View:
    """All rows at some duals: one pass over them, and for similar duals only over those that could change."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._kept: list[Any] = []
        self._duals: Reals | None = None
        self._width = -1.0
        self.n_passes = 0

    def at(self, scan: Scan, budget: Budget) -> Sums:
        """Add up all rows; `n_passes` counts the passes over all of them."""
        moved = np.inf if self._duals is None else scan.rules.span(scan.duals - self._duals)
        if not moved + scan.near_gap <= self._width:
            self._kept = self._partitions.keep(passes.keep, scan)
            self._duals, self._width = scan.duals, scan.width
            self.n_passes += 1
        found: Sums = self._partitions.ask(passes.scan_kept, scan, budget, kept=self._kept)
        return found


class _DualSearch:
    """Better duals from pass to pass: the bound that duals prove rises, or the step is halved."""

    def __init__(self, rules: RemoteRules, width: float) -> None:
        self._rules = rules
        self._width = width
        self._best: tuple[float, Reals, Reals] | None = None

    def next(self, at: Reals, found: Sums, tied: Reals) -> Reals:
        """Return duals for the next pass; `tied` is what the tied blocks add to the values of the rules."""
        if not 0.0 < self._width < np.inf:
            return at
        values = self._rules.values(found.totals.amounts) + tied
        bound = found.cost + float((values * at).sum()) - self._rules.rules.paid_by_bounds(at)
        if self._best is not None and bound < self._best[0]:
            proved, best, aim = self._best
            self._best = proved, best, (best + aim) / 2
        else:
            self._best = bound, at, newton_duals(at, found, values, self._width, self._rules)
        return self._best[2]


@dataclass(eq=False)
class RemoteSteps(Steps):
    """`Steps` over partitions of rows on a cluster."""

    problem: Any  # Bounds and tied rows.
    partitions: Partitions = field(kw_only=True)  # The rows.
    sample: Sample = field(kw_only=True)  # Rows that show how duals change.
    # Called with the labels of each step.
    report: Callable[[RemoteLabels], None] = field(default=lambda _: None, kw_only=True)
    n_passes: int = field(default=0, init=False)
    _has_labels: bool = field(default=False, init=False, repr=False)
    _must_fill: bool = field(default=False, init=False, repr=False)

    def step(self, centers: Reals, warm: Assignment | None) -> Assignment:
        """Solve one assignment step over all rows."""
        found = self._step_without_rules(centers) if self._asked.rules is None else None
        if found is None:
            found = self._step_with_rules(centers, None if warm is None else warm.prices)
        self._has_labels = True
        self.report(_remote(found.labels))
        return found

    @property
    def _asked(self) -> RemoteProblem:
        return cast("RemoteProblem", self.problem)

    @property
    def _pass_budget(self) -> Budget:
        """The budget of a pass; the first step has no limit: without it there would be no labels."""
        return self.budget if self._has_labels else UNLIMITED

    def _costs_of(self, rows: PartitionRows, centers: Reals) -> Reals:
        return distances.block_costs(rows.values, rows.weight, centers, n_threads=self.n_threads)

    def _step_without_rules(self, centers: Reals) -> Assignment | None:
        """Send free rows to their nearest centers and place the tied blocks; None when a cluster ends empty."""
        scan = Scan.nearest(centers)
        self.n_passes += 1
        found: Sums = self.partitions.ask(passes.sum_up, scan, self._pass_budget)
        costs = self._costs_of(self._asked.blocks, centers)
        placed = Assignment(np.zeros(0, dtype=np.int32), 0.0, 0.0, True, "nearest")
        if len(costs):
            placed = self.solve(AssignmentProblem(costs, self._asked.links_at(self.violation_cost)))
        labels = self._labels(scan, found, found.near.labels, placed.labels)
        if self._asked.nonempty and not labels.totals.counts.all():
            return None
        cost = found.cost + placed.cost
        bound = min(cost, found.cost + placed.lower_bound)
        return Assignment(cast("Any", labels), cost, bound, placed.proven, placed.engine)

    def _step_with_rules(self, centers: Reals, warm: Reals | None) -> Assignment:
        """Place all rows within the rules; a rule that fills clusters joins them once one is empty."""
        found = self._step_with_duals(centers, warm)
        can_fill = self._asked.filled is not None and self._rules is not self._asked.filled
        if can_fill and not _remote(found.labels).totals.counts.all():
            self._must_fill = True
            found = self._step_with_duals(centers, None)
        return found

    @property
    def _rules(self) -> RemoteRules:
        rules = self._asked.filled if self._must_fill or self._asked.rules is None else self._asked.rules
        assert rules is not None
        return rules

    @property
    def _guide(self) -> DualSample:
        """The sample under the present rules."""
        if self._must_fill not in self._guides:
            self._guides[self._must_fill] = DualSample(self.sample.rows, self._rules.times(self.sample.share))
        return self._guides[self._must_fill]

    @cached_property
    def _guides(self) -> dict[bool, DualSample]:
        return {}

    def _step_with_duals(self, centers: Reals, warm: Reals | None) -> Assignment:
        """Scan all rows at better and better duals until those near a tie can be placed, and that is proved."""
        rules, guide = self._rules, self._guide
        warm = None if warm is None or warm.shape != rules.rules.low.shape else warm
        at = rules.rules.payable(guide.follow(centers, warm))
        width = guide.gap_of(PARAMS.kept_share, centers, at)
        view, search, best, enough = _View(self.partitions), _DualSearch(rules, width), None, 0.0
        for n_done in range(PARAMS.max_passes):
            share = min(1.0, self._near_share * 2 ** (n_done // PARAMS.widen_every))
            near_gap = max(guide.gap_of(share, centers, at), enough)
            scan = Scan(centers, at, rules.terms, near_gap, PARAMS.uneven * share, max(width, near_gap))
            before = view.n_passes
            found = view.at(scan, self._pass_budget)
            self.n_passes += view.n_passes - before
            reduced = self._solved(scan, found)
            if reduced is not None:
                verdict = self._judged(scan, reduced, found.reach)
                step = self._assembled(scan, found, reduced, verdict)
                if verdict.is_final:
                    return step
                enough = verdict.enough
                best = step if best is None or step.cost < best.cost else best
                if rules.terms.span(reduced.duals - at) <= duals.PARAMS.trust * found.reach:
                    at = rules.rules.payable(reduced.duals)
                    continue
            at = search.next(at, found, self._values_of_tied(scan))
        if best is None:
            raise UndecidedError(
                f"no labels within the bounds were found in {PARAMS.max_passes} passes over all rows, most likely "
                "because very many rows are equally near to several centers; relax the bounds on sizes, resources or "
                "shares"
            )
        return best

    @property
    def _near_share(self) -> float:
        n, k = self._asked.n_samples, self._asked.n_clusters
        wanted = min(PARAMS.near_share * n, MAX_NUMBERS / k)
        return min(1.0, max(PARAMS.least_near, wanted) / n)

    def _values_of_tied(self, scan: Scan) -> Reals:
        """Return what the tied blocks add to the rules of each cluster, if each took its cheapest."""
        blocks = self._asked.blocks
        costs = self._costs_of(blocks, scan.centers) + scan.rules.of(blocks) @ scan.duals.T
        return self._rules.values(amounts_in(blocks, costs.argmin(axis=1).astype(np.int32), len(scan.centers)))

    def _solved(self, scan: Scan, found: Sums) -> _Reduced | None:
        """Place rows near a tie and tied blocks, all others staying; None when these leave too little capacity."""
        near, blocks, rules = found.near, self._asked.blocks, self._rules
        near_costs, links = self._costs_of(near.rows, scan.centers), self._asked.links_at(self.violation_cost)
        far = found.totals.amounts - amounts_in(near.rows, near.labels, len(scan.centers))
        amounts = np.concatenate([near.rows.amounts(), blocks.amounts()])
        demand = amounts[:, -2] if rules.is_size and (amounts[:, -2] != 1.0).any() else None
        problem = AssignmentProblem(
            costs=np.concatenate([near_costs, self._costs_of(blocks, scan.centers)]),
            links=None if links is None else _shifted(links, len(near_costs)),
            demand=None if demand is None else np.ascontiguousarray(demand),
            **rules.over(amounts, far),
        )
        if problem.size_max is not None and (problem.size_max < 0).any():
            return None
        try:
            solution = self.solve(problem, only_prices(rules.for_engine(scan.duals)))
        except InfeasibleError:
            return None
        except UndecidedError:
            if rules.is_size or self.budget.expired():
                raise
            return None  # with other rows it may be easier
        own = float(near_costs[np.arange(len(near_costs)), near.labels].sum())
        at = np.zeros_like(scan.duals) if solution.prices is None else rules.from_engine(solution.prices)
        return _Reduced(problem, found.cost - own, solution, at)

    def solve(self, problem: AssignmentProblem, warm: Assignment | None = None) -> Assignment:
        """Solve an assignment within the budget of a step; under several rules good labels are enough."""
        if problem.resources is None or self.step_work is None:
            return super().solve(problem, warm)
        try:
            return assign_by(problem, warm=warm, budget=self.budget.part(work=0.0))
        except UndecidedError:
            # No labels at all yet: they are worth more work, though not all there is.
            return assign_by(problem, warm=warm, budget=self.budget.part(work=stop.PARAMS.work))

    def _judged(self, scan: Scan, reduced: _Reduced, reach: float) -> _Verdict:
        """Return what the duals of a solution prove about the rows that stayed."""
        solution, rules = reduced.solution, self._rules
        moved = rules.terms.span(reduced.duals - scan.duals)
        # What a row that stayed would lose by leaving now, at least.
        rise = rules.least * (reach * (1.0 - SINGLE_GUARD) - moved) if np.isfinite(reach) else np.inf
        if rise < 0:
            return _Verdict(False, False, -np.inf)
        if rise == np.inf:
            return _Verdict(True, solution.proven, solution.lower_bound)
        relaxed = solution.lower_bound
        if not (solution.proven and solution.engine == "transport"):
            relaxed = bound_at(reduced.problem, rules.for_engine(reduced.duals), self.budget)
        bound = min(solution.lower_bound, relaxed + rise)
        if not solution.proven:
            return _Verdict(True, False, bound)
        is_proved = reduced.problem.closes_gap(solution.cost, bound)
        enough = PARAMS.margin * ((solution.cost - relaxed) / rules.least + moved)
        return _Verdict(is_proved, is_proved, bound, enough)

    def _assembled(self, scan: Scan, found: Sums, reduced: _Reduced, verdict: _Verdict) -> Assignment:
        n_near, solution = found.near.labels.size, reduced.solution
        labels = self._labels(scan, found, solution.labels[:n_near], solution.labels[n_near:])
        cost, bound = reduced.far_cost + solution.cost, reduced.far_cost + verdict.bound
        return Assignment(
            cast("Any", labels), cost, min(bound, cost), verdict.is_proved, solution.engine, reduced.duals
        )

    def _labels(self, scan: Scan, found: Sums, near_labels: Labels, tied_labels: Labels) -> RemoteLabels:
        """Return the labels of all rows: as scanned, but for rows near a tie and tied blocks."""
        near, k = found.near, len(scan.centers)
        moved = np.flatnonzero(near.labels != near_labels)
        rows, before, after = near.rows.at(moved), near.labels[moved], near_labels[moved]
        totals = found.totals.plus(Totals.of(rows, before, k), -1.0).plus(Totals.of(rows, after, k))
        numbers, own, at = near.numbers[moved], self._costs_of(rows, scan.centers), np.arange(moved.size)
        tied_costs = self._costs_of(self._asked.blocks, scan.centers)
        return RemoteLabels(
            self._labelling(scan, near, near_labels, tied_labels),
            tied_labels,
            digest=(found.digest - digest_of(numbers, before) + digest_of(numbers, after)) % 2**64,
            totals=totals.plus(Totals.of(self._asked.blocks, tied_labels, k)),
            cost=found.cost
            + float((own[at, after] - own[at, before]).sum())
            + float(tied_costs[np.arange(len(tied_costs)), tied_labels].sum()),
        )

    def _labelling(self, scan: Scan, near: Near, near_labels: Labels, tied_labels: Labels) -> Labelling:
        # Where two clusters cost the same but for rounding another processor might decide otherwise.
        scale = SINGLE_GUARD * float(np.abs(near.gaps).max(initial=0.0))
        is_listed = (near.labels != near_labels) | (near.gaps <= scale)
        numbers, labels, tied = near.numbers[is_listed], near_labels[is_listed], self._asked.tied
        if tied is not None:
            numbers = np.concatenate([numbers, tied.numbers])
            labels = np.concatenate([labels, tied.problem.expand(tied_labels)])
        order = np.argsort(numbers)
        return Labelling(scan.centers, scan.duals, scan.rules, numbers[order], labels[order].astype(np.int32))

    def are_same(self, labels: Any, others: Any) -> bool:
        """Whether two labelings of all rows are the same."""
        return _remote(labels).is_same(_remote(others))

    def centers_of(self, labels: Any, previous: Reals) -> Reals:
        """Weighted means of the clusters; a cluster without weight keeps its center."""
        totals = _remote(labels).totals
        return centers_from(totals.sums, totals.weights, previous)

    def cluster_weights(self, labels: Any) -> Reals:
        """Total weight of each cluster."""
        return _remote(labels).totals.weights

    def inertia(self, labels: Any, centers: Reals) -> float:
        """Weighted squared distances of all rows to their centers."""
        return self._own_cost(labels, centers) + self._tied_scatter

    def penalty(self, labels: Any) -> float:
        """What the soft links that these labels break cost."""
        return super().penalty(_remote(labels).tied)

    @property
    def _tied_scatter(self) -> float:
        """Squared distances of the tied rows to the means of their blocks."""
        tied = self._asked.tied
        return 0.0 if tied is None or tied.problem.scatter is None else float(tied.problem.scatter.sum())

    def _own_cost(self, labels: Any, centers: Reals) -> float:
        """Return what all rows cost in their own clusters; from their sums, as long as that keeps its digits."""
        remote = _remote(labels)
        weights, means = remote.totals.weights, self.centers_of(labels, centers)
        saved = float(weights @ ((means - remote.centers) ** 2).sum(axis=1))
        if saved <= MOST_CANCELLED * remote.cost:
            return remote.cost - saved + float(weights @ ((means - centers) ** 2).sum(axis=1))
        total: float = self.partitions.ask(passes.costs_of, (remote.labelling, centers), self.budget, join=sum)
        return total - self._tied_scatter

    def place_weightless(self, best: Clustering) -> Clustering:
        """Put the gathered rows of weight zero where they are nearest, within what links and rules leave them."""
        tied, labels = self._asked.tied, _remote(best.block_labels)
        if tied is None:
            return best
        blocks, k = self._asked.blocks, self._asked.n_clusters
        others = labels.totals.amounts - amounts_in(blocks, labels.tied, k)
        if self._asked.rules is None:
            # A cluster without any weight might be empty otherwise: its blocks stay.
            weight = np.where(labels.totals.weights[labels.tied] > 0, tied.problem.weight, 1.0)
            here = replace(tied.problem, weight=weight)
        else:
            here = replace(tied.problem, **self._rules.over(blocks.amounts(), others))
        local = replace(best, block_labels=labels.tied)
        placed = weightless.place_weightless(here, local, self.budget).block_labels
        listed = labels.labelling.labels.copy()
        listed[np.searchsorted(labels.labelling.numbers, tied.numbers)] = tied.problem.expand(placed)
        moved = replace(
            labels,
            tied=placed,
            labelling=replace(labels.labelling, labels=listed),
            totals=replace(labels.totals, amounts=others + amounts_in(blocks, placed, k)),
        )
        return replace(best, block_labels=cast("Any", moved))


def _remote(labels: Any) -> RemoteLabels:
    # Loops pass labels on without reading them.
    return cast("RemoteLabels", labels)


def _shifted(links: LinkGraph, by: int) -> LinkGraph:
    """Return links over as many more blocks, which come first and have none."""
    u, v, weights = links.edges
    return LinkGraph.from_edges(by + links.n_blocks, u + by, v + by, None if links.is_hard else weights)
