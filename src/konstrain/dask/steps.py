"""The steps of k-means over rows on a cluster: passes over all rows, an exact solution on the client, its proof.

At given duals most rows prefer their cluster by far more than duals still change: these stay, and only their sums
reach the client. Rows near a tie are sent to the client and placed exactly, with the blocks that have links, in the
capacity that the others leave. At the duals of that solution a row that stayed might prefer another cluster: if none
does, the solution is proved for all rows; else the next pass is made at better duals. So a step takes one pass where
duals start well, and its result does not depend on the partitions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from konstrain import stop
from konstrain._memory import KEPT_NUMBERS
from konstrain._tolerances import MOST_CANCELLED, SINGLE_GUARD
from konstrain.assignment import Assignment, AssignmentProblem, assign_by
from konstrain.assignment.priced import bound_at, duals_of
from konstrain.assignment.problem import warm_start
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import (
    Labelling,
    Near,
    PartitionRows,
    Scan,
    Sums,
    Totals,
    amounts_in,
    digest_of,
    reduced_labels,
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
    """The reduced problem of rows near a tie and tied blocks, all other rows staying, and its solution."""

    problem: AssignmentProblem
    far_cost: float  # Cost of the other rows.
    solution: Assignment
    duals: Reals  # Those of the solution.


class DualSample:
    """A sample of the rows, by which the duals at which all rows keep the rules are estimated.

    At the same duals clusters of the sample have somewhat more or less of a rule than their share. A pass over all
    rows measures this excess, which is nearly the same at duals and centers nearby.
    """

    def __init__(self, sample: Sample, rules: RemoteRules) -> None:
        self._rows, self._share, self._rules = sample.rows, sample.share, rules
        self._excess: Reals = np.zeros_like(rules.rules.low)  # (n_clusters, n_rules): of the sample above its share.
        self._last: Reals | None = None

    def calibrate(self, scan: Scan, values: Reals) -> None:
        """Store the excess of the sample over its share of what all rows have of each rule, from a pass."""
        labels, _ = reduced_labels(self._rows, scan.centers, scan.duals, scan.rules)
        own = self._rules.values(amounts_in(self._rows, labels, len(scan.centers)))
        self._excess = own - self._share * values

    def duals_at(self, centers: Reals) -> Reals:
        """Return the duals at which all rows keep the rules, estimated from the sample."""
        rules, amounts = self._rules.rules, self._rows.amounts()
        low, high = (self._share * bound + self._excess for bound in (rules.low, rules.high))
        bounds = replace(self._rules, rules=replace(rules, low=low, high=high)).over(amounts)
        if self._rules.is_size:
            bounds = {
                "size_min": np.floor(bounds["size_min"]).clip(min=0.0),
                "size_max": np.ceil(bounds["size_max"]).clip(min=0.0),
                "demand": self._rows.demand,
            }
        problem = AssignmentProblem(distances.block_costs(self._rows.values, self._rows.weight, centers), **bounds)
        found: Reals = np.zeros_like(rules.low)
        if problem.has_sizes or problem.has_resources:  # A share of a bound may bind nothing.
            start = None if self._last is None else self._rules.for_engine(self._last)
            found = self._rules.from_engine(duals_of(problem, start))
        self._last = found
        return rules.payable(found)

    def gap_of(self, share: float, centers: Reals, duals: Reals) -> float:
        """Return the gap per unit that this share of the rows has at most."""
        if share >= 1.0 or len(duals) == 1:
            return np.inf
        _, gaps = reduced_labels(self._rows, centers, duals, self._rules.terms)
        gaps = gaps[np.isfinite(gaps)]
        return float(np.quantile(gaps, share)) if gaps.size else np.inf


@dataclass(eq=False)
class RemoteSteps(Steps):
    """`Steps` over partitions of rows on a cluster."""

    problem: Any  # Bounds and tied rows.
    partitions: Partitions = field(kw_only=True)  # The rows.
    sample: Sample = field(kw_only=True)  # Rows by which duals are estimated.
    # Called with the labels of each step.
    report: Callable[[RemoteLabels], None] = field(default=lambda _: None, kw_only=True)
    _has_labels: bool = field(default=False, init=False, repr=False)
    _must_fill: bool = field(default=False, init=False, repr=False)

    def step(self, centers: Reals, warm: Assignment | None) -> Assignment:
        """Solve one assignment step over all rows."""
        found = self._step_without_rules(centers) if self._remote_problem.rules is None else None
        if found is None:
            found = self._step_with_rules(centers)
        self._has_labels = True
        self.report(_remote(found.labels))
        return found

    @property
    def _remote_problem(self) -> RemoteProblem:
        return cast("RemoteProblem", self.problem)

    @property
    def _pass_budget(self) -> Budget:
        """Budget of a pass; the first step has no limit, so that there are labels."""
        return self.budget if self._has_labels else UNLIMITED

    def _costs_of(self, rows: PartitionRows, centers: Reals) -> Reals:
        return distances.block_costs(rows.values, rows.weight, centers, n_threads=self.n_threads)

    def _step_without_rules(self, centers: Reals) -> Assignment | None:
        """Assign free rows to their nearest centers and place the tied blocks; None when a cluster ends empty."""
        scan = Scan.nearest(centers)
        found: Sums = self.partitions.run(passes.sum_up, scan, self._pass_budget)
        costs = self._costs_of(self._remote_problem.blocks, centers)
        placed = Assignment(np.zeros(0, dtype=np.int32), 0.0, 0.0, True, "nearest")
        if len(costs):
            placed = self.solve(AssignmentProblem(costs, self._remote_problem.links_at(self.violation_cost)))
        labels = self._labels(scan, found, found.near.labels, placed.labels)
        if self._remote_problem.nonempty and not labels.totals.counts.all():
            return None
        cost = found.cost + placed.cost
        bound = min(cost, found.cost + placed.lower_bound)
        return Assignment(cast("Any", labels), cost, bound, placed.proven, placed.engine)

    def _step_with_rules(self, centers: Reals) -> Assignment:
        """Place all rows within the rules; a rule that fills clusters joins them once one is empty."""
        found = self._step_with_duals(centers)
        can_fill = self._remote_problem.filled is not None and self._rules is not self._remote_problem.filled
        if can_fill and not _remote(found.labels).totals.counts.all():
            self._must_fill = True
            found = self._step_with_duals(centers)
        return found

    @property
    def _rules(self) -> RemoteRules:
        rules = (
            self._remote_problem.filled
            if self._must_fill or self._remote_problem.rules is None
            else self._remote_problem.rules
        )
        assert rules is not None
        return rules

    @property
    def _guide(self) -> DualSample:
        """The sample under the present rules."""
        if self._must_fill not in self._guides:
            self._guides[self._must_fill] = DualSample(self.sample, self._rules)
        return self._guides[self._must_fill]

    @cached_property
    def _guides(self) -> dict[bool, DualSample]:
        return {}

    def _step_with_duals(self, centers: Reals) -> Assignment:
        """Pass over all rows until those near a tie can be placed with a proof; each pass sends more of them."""
        rules, guide, share = self._rules, self._guide, self._first_share
        while True:
            at = guide.duals_at(centers)
            # A partition may send more than its share, if the client could hold as much of each.
            most = min(1.0, max(share, self._largest_share))
            scan = Scan(centers, at, rules.terms, guide.gap_of(share, centers, at), most)
            found: Sums = self.partitions.run(passes.sum_up, scan, self._pass_budget)
            guide.calibrate(scan, rules.values(found.totals.amounts) + self._values_of_tied(scan))
            reduced = self._solved(scan, found)
            proved = None if reduced is None else self._proved(scan, reduced, found.reach)
            if reduced is not None and proved is not None:
                return self._assembled(scan, found, reduced, *proved)
            if share >= 1.0:
                raise UndecidedError(
                    "no labels within the bounds were found; relax the bounds on sizes, resources or shares"
                )
            share = min(1.0, 2.0 * share)

    def _values_of_tied(self, scan: Scan) -> Reals:
        """Return what the tied blocks add to the rules if each is in its cluster of least reduced cost."""
        blocks = self._remote_problem.blocks
        labels, _ = reduced_labels(blocks, scan.centers, scan.duals, scan.rules)
        return self._rules.values(amounts_in(blocks, labels, len(scan.centers)))

    @property
    def _first_share(self) -> float:
        """Share of all rows that is sent at first: the expected error of sums estimated by the sample."""
        return min(1.0, self._largest_share, math.sqrt(self._remote_problem.n_clusters / len(self.sample.rows)))

    @property
    def _largest_share(self) -> float:
        """Share of all rows whose costs take the memory of one array on the client."""
        return KEPT_NUMBERS / (self._remote_problem.n_samples * self._remote_problem.n_clusters)

    def _solved(self, scan: Scan, found: Sums) -> _Reduced | None:
        """Place rows near a tie and tied blocks, all others staying; None when these leave too little capacity."""
        near, blocks, rules = found.near, self._remote_problem.blocks, self._rules
        near_costs, links = (
            self._costs_of(near.rows, scan.centers),
            self._remote_problem.links_at(self.violation_cost),
        )
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
            solution = self.solve(problem, warm_start(rules.for_engine(scan.duals)))
        except InfeasibleError:
            return None
        except UndecidedError:
            if rules.is_size or self.budget.expired():
                raise
            return None  # With more rows it may be easier.
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
            # No labels yet: they are worth more work, within a limit.
            return assign_by(problem, warm=warm, budget=self.budget.part(work=stop.PARAMS.work))

    def _proved(self, scan: Scan, reduced: _Reduced, reach: float) -> tuple[bool, float] | None:
        """Return whether the labels are optimal, and the bound of the reduced problem; None: another pass is needed.

        Rows that stayed must not prefer another cluster at the duals of the solution.
        """
        solution, rules = reduced.solution, self._rules
        moved = rules.terms.span(reduced.duals - scan.duals)
        # Least rise of the cost if a row that stayed moves.
        rise = rules.least * (reach * (1.0 - SINGLE_GUARD) - moved) if np.isfinite(reach) else np.inf
        if rise < 0:
            return None
        if rise == np.inf:
            return solution.proven, solution.lower_bound
        relaxed = solution.lower_bound
        if not (solution.proven and solution.engine == "transport"):
            relaxed = bound_at(reduced.problem, rules.for_engine(reduced.duals), self.budget)
        bound = min(solution.lower_bound, relaxed + rise)
        if not solution.proven:
            return False, bound
        return (True, bound) if reduced.problem.closes_gap(solution.cost, bound) else None

    def _assembled(self, scan: Scan, found: Sums, reduced: _Reduced, is_proved: bool, bound: float) -> Assignment:
        n_near, solution = found.near.labels.size, reduced.solution
        labels = self._labels(scan, found, solution.labels[:n_near], solution.labels[n_near:])
        cost = reduced.far_cost + solution.cost
        bound = min(cost, reduced.far_cost + bound)
        return Assignment(cast("Any", labels), cost, bound, is_proved, solution.engine, reduced.duals)

    def _labels(self, scan: Scan, found: Sums, near_labels: Labels, tied_labels: Labels) -> RemoteLabels:
        """Return the labels of all rows: as scanned, but for rows near a tie and tied blocks."""
        near, k = found.near, len(scan.centers)
        moved = np.flatnonzero(near.labels != near_labels)
        rows, before, after = near.rows.at(moved), near.labels[moved], near_labels[moved]
        totals = found.totals.plus(Totals.of(rows, before, k), -1.0).plus(Totals.of(rows, after, k))
        numbers, own, at = near.numbers[moved], self._costs_of(rows, scan.centers), np.arange(moved.size)
        tied_costs = self._costs_of(self._remote_problem.blocks, scan.centers)
        return RemoteLabels(
            self._labelling(scan, near, near_labels, tied_labels),
            tied_labels,
            digest=(found.digest - digest_of(numbers, before) + digest_of(numbers, after)) % 2**64,
            totals=totals.plus(Totals.of(self._remote_problem.blocks, tied_labels, k)),
            cost=found.cost
            + float((own[at, after] - own[at, before]).sum())
            + float(tied_costs[np.arange(len(tied_costs)), tied_labels].sum()),
        )

    def _labelling(self, scan: Scan, near: Near, near_labels: Labels, tied_labels: Labels) -> Labelling:
        # Where two clusters cost the same up to rounding, another processor might choose the other one.
        scale = SINGLE_GUARD * float(np.abs(near.gaps).max(initial=0.0))
        is_listed = (near.labels != near_labels) | (near.gaps <= scale)
        numbers, labels, tied = near.numbers[is_listed], near_labels[is_listed], self._remote_problem.tied
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
        """Return the penalties of broken soft links."""
        return super().penalty(_remote(labels).tied)

    @property
    def _tied_scatter(self) -> float:
        """Squared distances of the tied rows to the means of their blocks."""
        tied = self._remote_problem.tied
        return 0.0 if tied is None or tied.problem.scatter is None else float(tied.problem.scatter.sum())

    def _own_cost(self, labels: Any, centers: Reals) -> float:
        """Return the cost of all rows in their own clusters, from sums where rounding allows it."""
        remote = _remote(labels)
        weights, means = remote.totals.weights, self.centers_of(labels, centers)
        saved = float(weights @ ((means - remote.centers) ** 2).sum(axis=1))
        if saved <= MOST_CANCELLED * remote.cost:
            return remote.cost - saved + float(weights @ ((means - centers) ** 2).sum(axis=1))
        total: float = self.partitions.run(passes.costs_of, (remote.labelling, centers), self.budget, join=sum)
        return total - self._tied_scatter

    def place_weightless(self, best: Clustering) -> Clustering:
        """Move the gathered rows of weight zero to the nearest centers that links and rules allow."""
        tied, labels = self._remote_problem.tied, _remote(best.block_labels)
        if tied is None:
            return best
        blocks, k = self._remote_problem.blocks, self._remote_problem.n_clusters
        others = labels.totals.amounts - amounts_in(blocks, labels.tied, k)
        if self._remote_problem.rules is None:
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
    # Loops pass labels on unread.
    return cast("RemoteLabels", labels)


def _shifted(links: LinkGraph, by: int) -> LinkGraph:
    """Return links after `by` further blocks, which come first and have none."""
    u, v, weights = links.edges
    return LinkGraph.from_edges(by + links.n_blocks, u + by, v + by, None if links.is_hard else weights)
