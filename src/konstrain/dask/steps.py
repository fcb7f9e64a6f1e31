"""The steps of k-means over rows that are elsewhere: a pass over all of them, an exact answer here, and its proof.

At some prices most rows prefer their cluster by far more than prices still change: these stay, and only what they add
up to is known here. Rows near a tie come here, meet the blocks with links, and are placed exactly in the room that
the others leave. The prices of that answer say whether one of the others would now rather go elsewhere: if none
would, the answer is proved for all rows; else the next pass is made at better prices. So a step takes one pass where
prices start well, and its answer does not depend on how rows are cut into partitions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SINGLE_GUARD
from konstrain.assignment import Assignment, AssignmentProblem, assign_by
from konstrain.assignment.priced import bound_at
from konstrain.assignment.problem import only_prices
from konstrain.constraints import Problem
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import Labelling, Near, Question, Rows, Rules, Sums, amounts_in, digest_of, span
from konstrain.dask.prices import WIDEST_SHARE, Bounds, PriceSample, newton_prices, resources_of
from konstrain.dask.problem import RemoteProblem, RemoteRules, blocks_of
from konstrain.dask.sample import Sample
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget

# Rows near a tie that come here: this share of all, within these limits, and no more costs than that.
NEAR_SHARE = 1 / 32
LEAST_NEAR = 4096
MOST_COSTS = 5_000_000
# No partition sends more than this many times its part of them.
MOST_SENT = 4
# Looks at all rows after which the best labels known are taken, unproved; more rows come in every so many of them.
MOST_LOOKS = 40
LOOKS_TO_WIDEN = 6
# Prices from rows near a tie are trusted this many times as far as these rows reach.
TRUST = 2.0
# How much wider than an answer asks for the next look is: its gap may then be a little wider.
MORE_THAN_ENOUGH = 1.25
# What is left of a step of the prices that led too far.
SHORTENED = 0.3
# Where moving the centers saves more than this share of a step's cost, what is left of it is computed anew.
MOST_CANCELLED = 0.9


@dataclass(frozen=True, eq=False)
class RemoteLabels:
    """Labels of all rows as a rule, with what they add up to; never one entry per row."""

    labelling: Labelling
    tied: NDArray[np.int32]
    digest: int
    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    sizes: NDArray[np.float64]
    amounts: NDArray[np.float64]
    cost: float
    centers: NDArray[np.float64]

    def is_same(self, other: "RemoteLabels") -> bool:
        """Whether all rows have the same labels."""
        return self.digest == other.digest and bool(np.array_equal(self.tied, other.tied))


@dataclass(frozen=True, eq=False)
class _Core:
    """What is solved here: rows near a tie and the tied blocks, in the room that all other rows leave."""

    problem: AssignmentProblem
    far_cost: float


@dataclass(frozen=True, eq=False)
class _Bounded:
    """What has prices in a step: sizes, or rules; their bounds, the sample that tells prices, and what a row counts.

    `least` is what a row counts at least, in units of demand or of the rules, if it counts anything.
    """

    rules: Rules | None
    bounds: Bounds
    guide: PriceSample
    least: float

    def held(self, sizes: NDArray[np.float64], amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What clusters hold of what has prices, by their sizes and amounts."""
        held: NDArray[np.float64] = sizes if self.rules is None else amounts @ self.rules.weights.T
        return held

    def charges(self, rows: Rows, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """What rows pay in each cluster."""
        paid: NDArray[np.float64] = (
            rows.demands()[:, None] * prices if self.rules is None else self.rules.of(rows) @ prices.T
        )
        return paid

    def span(self, moved: NDArray[np.float64]) -> float:
        """By how much a change of prices sets clusters apart at most, per unit that a row counts."""
        return span(self.rules, moved)


class _View:
    """All rows at some prices: one pass over them, and for prices nearby only over those that could change."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._kept: list[Any] = []
        self._prices = np.zeros(0)
        self._horizon = -1.0
        self.is_new = False

    def at(self, question: Question, budget: Budget) -> Sums:
        """Add up all rows; `is_new` tells whether that took a pass over all of them."""
        moved = span(question.rules, question.prices - self._prices) if self._kept else np.inf
        self.is_new = not moved + question.near_gap <= self._horizon
        if self.is_new:
            self._kept = self._partitions.keep(passes.keep, question)
            self._prices, self._horizon = question.prices, question.width
        found: Sums = self._partitions.ask(passes.look_again, question, budget, kept=self._kept)
        return found


class _PriceSearch:
    """Better prices from look to look: the bound that prices prove rises, or the step is taken back by half."""

    def __init__(self, bounded: _Bounded, width: float) -> None:
        self._bounded = bounded
        self._width = width
        self._best: tuple[float, NDArray[np.float64], NDArray[np.float64]] | None = None

    def next(
        self,
        prices: NDArray[np.float64],
        found: Sums,
        held: NDArray[np.float64],
        nearby: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Return where to look next; `nearby` are prices that the rows near a tie speak for."""
        if nearby is not None or not 0.0 < self._width < np.inf:
            return prices if nearby is None else nearby
        bounds, rules = self._bounded.bounds, self._bounded.rules
        bound = found.cost + found.paid + float((held * prices).sum()) - bounds.paid(prices)
        if self._best is not None and bound < self._best[0]:
            _, best, aim = self._best
            aim = best + SHORTENED * (aim - best)
            self._best = (self._best[0], best, aim)
            return aim
        together = self._bounded.held(found.sizes, found.amounts) + held
        aim = newton_prices(prices, found, together, self._width, bounds, rules)
        self._best = (bound, prices, aim)
        return aim


@dataclass(eq=False)
class RemoteSteps(Steps):
    """`Steps` over partitions of rows on a cluster.

    Parameters
    ----------
    problem : RemoteProblem
        Bounds and tied rows.
    partitions : Partitions
        The rows.
    sample : Sample
        Rows that say how prices change.
    tell : callable
        Told the labels of each step.
    """

    problem: Any
    partitions: Partitions = field(kw_only=True)
    sample: Sample = field(kw_only=True)
    tell: Callable[[RemoteLabels], None] = field(default=lambda _: None, kw_only=True)
    n_passes: int = field(default=0, init=False)
    _any: bool = field(default=False, init=False, repr=False)
    _fills: bool = field(default=False, init=False, repr=False)

    def step(self, centers: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Solve one assignment step over all rows."""
        answer = None if self._asked.has_bounds else self._step_without_bounds(centers)
        if answer is None:
            answer = self._step_with_bounds(centers, None if warm is None else warm.prices)
        self._any = True
        self.tell(_remote(answer.labels))
        return answer

    @property
    def _asked(self) -> RemoteProblem:
        return cast("RemoteProblem", self.problem)

    @property
    def _due(self) -> Budget:
        """The budget; the first step is taken however late it is: without it there would be no labels."""
        return self.budget if self._any else UNLIMITED

    @cached_property
    def _blocks(self) -> Rows:
        return blocks_of(self._asked.tied, self.partitions.source.n_features, len(self._asked.overview.held))

    def _costs_of(self, rows: Rows, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        return distances.block_costs(rows.values, rows.weight, centers, n_threads=self.n_threads)

    def _step_without_bounds(self, centers: NDArray[np.float64]) -> Assignment | None:
        """Send free rows to their nearest centers and place the tied blocks; None when a cluster ends empty."""
        prices = np.zeros(len(centers))
        self.n_passes += 1
        found: Sums = self.partitions.ask(passes.sum_up, Question(centers, prices), self._due)
        costs = self._costs_of(self._blocks, centers)
        answer = Assignment(np.zeros(0, dtype=np.int32), 0.0, 0.0, True, "nearest")
        if len(costs):
            answer = self.solve(AssignmentProblem(costs, self._asked.links_at(self.violation_cost)))
        labels = self._labels(centers, prices, found, _no_rows(found.near), found.near.labels[:0], answer.labels)
        held = found.counts + np.bincount(answer.labels, minlength=len(centers))
        if self._asked.nonempty and not held.all():
            return None
        cost = found.cost + answer.cost
        return Assignment(
            cast("Any", labels), cost, min(cost, found.cost + answer.lower_bound), answer.proven, answer.engine
        )

    def _step_with_bounds(self, centers: NDArray[np.float64], warm: NDArray[np.float64] | None) -> Assignment:
        """Place all rows within the bounds; clusters that must not be empty are looked after once one is."""
        answer = self._step_with_prices(centers, warm)
        rules = self._asked.filling
        if not self._fills and rules is not None and not _remote(answer.labels).amounts[:, -1].all():
            self._fills = True
            answer = self._step_with_prices(centers, None)
        return answer

    def _step_with_prices(self, centers: NDArray[np.float64], warm: NDArray[np.float64] | None) -> Assignment:
        """Look at all rows at better and better prices until those near a tie can be placed, and that is proved."""
        bounded = self._bounded
        bounds, guide = bounded.bounds, bounded.guide
        if warm is not None and warm.shape != bounds.low.shape:
            warm = None
        prices = bounds.admissible(guide.follow(centers, warm))
        width = guide.gap_of(WIDEST_SHARE, centers, prices)
        share, fallback, view, enough = self._near_share, None, _View(self.partitions), 0.0
        search = _PriceSearch(bounded, width)
        for look in range(MOST_LOOKS):
            if look and look % LOOKS_TO_WIDEN == 0:
                share = min(1.0, 2 * share)
            near_gap = max(guide.gap_of(share, centers, prices), enough)
            question = Question(centers, prices, near_gap, MOST_SENT * share, max(width, near_gap), bounded.rules)
            found = view.at(question, self._due)
            self.n_passes += view.is_new
            core = self._core(centers, found, bounded)
            answer = self._solved(core, prices)
            nearby = None
            if answer is not None:
                verdict = self._judged(core, answer, bounded, prices, found.reach)
                step = self._assembled(centers, prices, found, core, answer, verdict)
                if verdict.is_final:
                    return step
                enough = verdict.enough
                if fallback is None or step.cost < fallback.cost:
                    fallback = step
                assert answer.prices is not None
                if bounded.span(answer.prices - prices) <= TRUST * found.reach:
                    nearby = bounds.admissible(answer.prices)
            prices = search.next(prices, found, self._held_by_tied(centers, bounded, prices), nearby)
        if fallback is None:
            raise UndecidedError(
                f"no labels within the bounds were found in {MOST_LOOKS} looks at all rows, most likely because very "
                "many rows are equally near to several centers; relax the bounds on sizes, resources or shares"
            )
        return fallback

    @property
    def _bounded(self) -> _Bounded:
        return self._bounded_and_filled if self._fills else self._only_bounded

    @cached_property
    def _only_bounded(self) -> _Bounded:
        asked = self._asked.resources
        if asked is not None:
            return self._bounded_by(asked)
        guide = PriceSample(self.sample.rows, self.bounds.times(self.sample.share))
        return _Bounded(None, self.bounds, guide, self._asked.overview.demand.least)

    @cached_property
    def _bounded_and_filled(self) -> _Bounded:
        assert self._asked.filling is not None
        return self._bounded_by(self._asked.filling)

    def _bounded_by(self, asked: RemoteRules) -> _Bounded:
        guide = PriceSample(self.sample.rows, asked.bounds.times(self.sample.share), asked.rules)
        return _Bounded(asked.rules, asked.bounds, guide, asked.least)

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds that prices of sizes answer for: those asked for, and clusters that must not be empty."""
        bounds = self._asked.bounds
        if not self._asked.nonempty:
            return bounds
        return Bounds(np.maximum(bounds.low, min(self._asked.overview.demand.least, bounds.high.min())), bounds.high)

    def with_room_for_tied(self, labels: RemoteLabels) -> Problem:
        """Return the problem of the tied rows with the room that these labels leave them."""
        assert self._asked.tied is not None
        problem, bounded = self._asked.tied.problem, self._bounded
        sizes = labels.sizes - np.bincount(labels.tied, problem.demand, self._asked.n_clusters)
        held = bounded.held(sizes, self.amounts_with(labels, None))
        low, high = bounded.bounds.low - held, bounded.bounds.high - held
        if bounded.rules is None:
            return replace(problem, size_min=low, size_max=high)
        return replace(problem, resources=resources_of(bounded.rules.weights, self._blocks.amounts(), low, high))

    def amounts_with(self, labels: RemoteLabels, tied: NDArray[np.int32] | None) -> NDArray[np.float64]:
        """What clusters hold of each amount when the tied blocks stand elsewhere; None: without them."""
        if not labels.amounts.shape[1]:
            return labels.amounts
        amounts = labels.amounts - amounts_in(self._blocks, labels.tied, self._asked.n_clusters)
        return amounts if tied is None else amounts + amounts_in(self._blocks, tied, self._asked.n_clusters)

    @property
    def _near_share(self) -> float:
        n, k = self._asked.n_samples, self._asked.n_clusters
        wanted = max(LEAST_NEAR, NEAR_SHARE * n)
        return min(1.0, min(wanted, max(LEAST_NEAR, MOST_COSTS / k)) / n)

    def _held_by_tied(
        self, centers: NDArray[np.float64], bounded: _Bounded, prices: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What the tied blocks add to each cluster, if each took its cheapest."""
        blocks, k = self._blocks, len(centers)
        costs = self._costs_of(blocks, centers) + bounded.charges(blocks, prices)
        cheapest = costs.argmin(axis=1).astype(np.int32)
        sizes = np.bincount(cheapest, blocks.demands(), k).astype(np.float64)
        return bounded.held(sizes, amounts_in(blocks, cheapest, k))

    def _core(self, centers: NDArray[np.float64], found: Sums, bounded: _Bounded) -> _Core:
        """Ask where rows near a tie and tied blocks go, all other rows staying."""
        near, k = found.near, len(centers)
        near_costs, tied_costs = self._costs_of(near.rows, centers), self._costs_of(self._blocks, centers)
        links = self._asked.links_at(self.violation_cost)
        problem = AssignmentProblem(
            costs=np.concatenate([near_costs, tied_costs]),
            links=None if links is None else _shifted(links, len(near_costs)),
        )
        low, high = bounded.bounds.low, bounded.bounds.high
        if bounded.rules is None:
            far_sizes = found.sizes - np.bincount(near.labels, near.rows.demands(), k)
            demand = np.concatenate([near.rows.demands(), self._blocks.demands()])
            problem = replace(
                problem,
                demand=None if (demand == 1.0).all() else demand,
                size_min=low - far_sizes,
                size_max=high - far_sizes,
            )
        else:
            far = bounded.held(found.sizes, found.amounts - amounts_in(near.rows, near.labels, k))
            amounts = np.concatenate([near.rows.amounts(), self._blocks.amounts()])
            problem = replace(problem, resources=resources_of(bounded.rules.weights, amounts, low - far, high - far))
        own = float(near_costs[np.arange(len(near_costs)), near.labels].sum())
        return _Core(problem, found.cost - own)

    def _solved(self, core: _Core, prices: NDArray[np.float64]) -> Assignment | None:
        """Solve it; None when the rows that stay leave no room that would do."""
        has_rules = core.problem.resources is not None
        if not has_rules and (np.asarray(core.problem.size_max) < 0).any():
            return None
        try:
            answer = self.solve(core.problem, only_prices(prices))
        except InfeasibleError:
            return None
        except UndecidedError:
            if not has_rules or self.budget.expired():
                raise
            return None  # with other rows it may be easier
        if answer.prices is None:
            return replace(answer, prices=np.zeros_like(prices))
        return answer

    def solve(self, question: AssignmentProblem, warm: Assignment | None = None) -> Assignment:
        """Solve an assignment problem within the budget of a step; with rules, only if time suffices."""
        if question.resources is None or self.step_work is None:
            return super().solve(question, warm)
        return assign_by(question, warm=warm, budget=self.budget.part(work=self.step_work))

    def _judged(
        self, core: _Core, answer: Assignment, bounded: _Bounded, prices: NDArray[np.float64], reach: float
    ) -> "_Verdict":
        """Say what the prices of an answer prove about the rows that stayed."""
        assert answer.prices is not None
        moved, least = bounded.span(answer.prices - prices), bounded.least
        # What a row that stayed would lose by leaving now, at least.
        rise = least * (reach * (1.0 - SINGLE_GUARD) - moved) if np.isfinite(reach) else np.inf
        if rise < 0:
            return _Verdict(False, False, -np.inf, 0.0)
        if not answer.proven or rise == np.inf:
            bound = answer.lower_bound
            if rise < np.inf:
                bound = min(bound, bound_at(core.problem, answer.prices, self.budget) + rise)
            return _Verdict(True, answer.proven, bound, 0.0)
        relaxed = (
            answer.lower_bound if answer.engine == "transport" else bound_at(core.problem, answer.prices, self.budget)
        )
        bound = min(answer.lower_bound, relaxed + rise)
        is_proved = core.problem.closes_gap(answer.cost, bound)
        enough = MORE_THAN_ENOUGH * ((answer.cost - relaxed) / least + moved)
        return _Verdict(is_proved, is_proved, bound, enough)

    def _assembled(
        self,
        centers: NDArray[np.float64],
        prices: NDArray[np.float64],
        found: Sums,
        core: _Core,
        answer: Assignment,
        verdict: "_Verdict",
    ) -> Assignment:
        n_near = found.near.labels.size
        labels = self._labels(centers, prices, found, found.near, answer.labels[:n_near], answer.labels[n_near:])
        cost = core.far_cost + answer.cost
        bound = core.far_cost + verdict.bound
        return Assignment(
            cast("Any", labels), cost, min(bound, cost), verdict.is_proved, answer.engine, answer.prices
        )

    def _labels(
        self,
        centers: NDArray[np.float64],
        prices: NDArray[np.float64],
        found: Sums,
        near: Near,
        near_labels: NDArray[np.int32],
        tied_labels: NDArray[np.int32],
    ) -> RemoteLabels:
        """Put together what all rows add up to, with rows near a tie where the answer has them."""
        moved = np.flatnonzero(near.labels != near_labels)
        rows, before, after = near.rows.at(moved), near.labels[moved], near_labels[moved]
        held = _Held(found.sums.copy(), found.weights.copy(), found.sizes.copy(), found.amounts.copy())
        for sign, where in ((-1.0, before), (1.0, after)):
            held.add(rows, np.ascontiguousarray(where), sign)
        held.add(self._blocks, tied_labels, 1.0)
        numbers = near.numbers[moved]
        digest = (found.digest - digest_of(numbers, before) + digest_of(numbers, after)) % 2**64
        own = distances.block_costs(rows.values, rows.weight, centers)
        at = np.arange(moved.size)
        cost = found.cost + float((own[at, after] - own[at, before]).sum())
        tied = self._asked.tied
        if tied is not None:
            costs = self._costs_of(self._blocks, centers)
            cost += float(costs[np.arange(len(costs)), tied_labels].sum())
        return RemoteLabels(
            self._labelling(centers, prices, near, near_labels, tied_labels),
            tied_labels,
            digest,
            held.sums,
            held.weights,
            held.sizes,
            held.amounts,
            cost,
            centers,
        )

    def _labelling(
        self,
        centers: NDArray[np.float64],
        prices: NDArray[np.float64],
        near: Near,
        near_labels: NDArray[np.int32],
        tied_labels: NDArray[np.int32],
    ) -> Labelling:
        # Where two clusters cost the same but for rounding another processor might see it otherwise.
        scale = SINGLE_GUARD * float(np.abs(near.gaps).max(initial=0.0))
        told = (near.labels != near_labels) | (near.gaps <= scale)
        numbers, labels = near.numbers[told], near_labels[told]
        tied = self._asked.tied
        if tied is not None:
            numbers = np.concatenate([numbers, tied.numbers])
            labels = np.concatenate([labels, tied.problem.expand(tied_labels)])
        order = np.argsort(numbers)
        rules = self._bounded.rules if self._asked.has_bounds else None
        return Labelling(centers, prices, numbers[order], labels[order].astype(np.int32), rules)

    def are_same(self, labels: Any, others: Any) -> bool:
        """Whether two labelings of all rows are the same."""
        return _remote(labels).is_same(_remote(others))

    def centers_of(self, labels: Any, previous: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted means of the clusters; a cluster without weight keeps its center."""
        remote = _remote(labels)
        return centers_from(remote.sums, remote.weights, previous)

    def cluster_weights(self, labels: Any) -> NDArray[np.float64]:
        """Total weight of each cluster."""
        return _remote(labels).weights

    def inertia(self, labels: Any, centers: NDArray[np.float64]) -> float:
        """Weighted squared distances of all rows to their centers."""
        tied = self._asked.tied
        scatter = 0.0 if tied is None or tied.problem.scatter is None else float(tied.problem.scatter.sum())
        return self._own_cost(labels, centers) + scatter

    def penalty(self, labels: Any) -> float:
        """What the soft links that these labels break cost."""
        return super().penalty(_remote(labels).tied)

    def _own_cost(self, labels: Any, centers: NDArray[np.float64]) -> float:
        """What all rows cost in their own clusters; from what they add up to, as long as that keeps its digits."""
        remote = _remote(labels)
        means = centers_from(remote.sums, remote.weights, centers)
        saved = float(remote.weights @ ((means - remote.centers) ** 2).sum(axis=1))
        if saved <= MOST_CANCELLED * remote.cost:
            return remote.cost - saved + float(remote.weights @ ((means - centers) ** 2).sum(axis=1))
        total: passes.Total = self.partitions.ask(passes.costs_of, (remote.labelling, centers), self.budget)
        tied = self._asked.tied
        scatter = 0.0 if tied is None or tied.problem.scatter is None else float(tied.problem.scatter.sum())
        return total.value - scatter


@dataclass(frozen=True)
class _Verdict:
    """Whether a step may end with an answer, whether that is proved, and the bound for what was solved here.

    `enough` is the gap up to which rows would have to come here for a proof, as far as that is known.
    """

    is_final: bool
    is_proved: bool
    bound: float
    enough: float


def _remote(labels: Any) -> RemoteLabels:
    # Loops hand labels on without looking into them.
    return cast("RemoteLabels", labels)


def _no_rows(near: Near) -> Near:
    nothing = np.zeros(0, dtype=np.intp)
    return Near(near.numbers[nothing], near.rows.at(nothing), near.labels[nothing], near.gaps[nothing])


def _shifted(links: LinkGraph, by: int) -> LinkGraph:
    """Return links over as many more blocks, which come first and have none."""
    u, v, weights = links.edges
    return LinkGraph.from_edges(by + links.n_blocks, u + by, v + by, None if links.is_hard else weights)


@dataclass(frozen=True, eq=False)
class _Held:
    """What clusters hold, changed in place."""

    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    sizes: NDArray[np.float64]
    amounts: NDArray[np.float64]

    def add(self, rows: Rows, labels: NDArray[np.int32], sign: float) -> None:
        """Add rows to clusters, or take them out."""
        n_clusters = len(self.sums)
        more, heavier = distances.center_sums(rows.values, rows.weight, labels, n_clusters)
        self.sums[:] += sign * more
        self.weights[:] += sign * heavier
        self.sizes[:] += sign * np.bincount(labels, rows.demand, n_clusters)
        if self.amounts.shape[1]:
            self.amounts[:] += sign * amounts_in(rows, labels, n_clusters)
