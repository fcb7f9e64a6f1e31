"""The steps of k-means over rows that are elsewhere: a pass over all of them, an exact answer here, and its proof.

At some prices most rows prefer their cluster by far more than prices still change: these stay, and only what they add
up to is known here. Rows near a tie come here, meet the blocks with links, and are placed exactly in the room that
the others leave. The prices of that answer say whether one of the others would now rather go elsewhere: if none
would, the answer is proved for all rows; else the next pass is made at better prices. So a step takes one pass where
prices start well, and its answer does not depend on how rows are cut into partitions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SINGLE_GUARD
from konstrain.assignment import Assignment, AssignmentProblem
from konstrain.assignment.lagrangian import Lagrangian
from konstrain.assignment.problem import only_prices
from konstrain.dask import passes
from konstrain.dask.cluster import Partitions
from konstrain.dask.passes import Labelling, Near, Question, Rows, Sums, digest_of
from konstrain.dask.prices import WIDEST_SHARE, Bounds, PriceSample, newton_prices
from konstrain.dask.problem import RemoteProblem, blocks_of
from konstrain.dask.sample import Sample
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.links import LinkGraph
from konstrain.stop import NO_DEADLINE, Deadline

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
    far_sizes: NDArray[np.float64]


class _View:
    """All rows at some prices: one pass over them, and for prices nearby only over those that could change."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._kept: list[Any] = []
        self._prices = np.zeros(0)
        self._horizon = -1.0
        self.is_new = False

    def at(self, question: Question, deadline: Deadline) -> Sums:
        """Add up all rows; `is_new` tells whether that took a pass over all of them."""
        moved = float(np.ptp(question.prices - self._prices)) if self._kept else np.inf
        self.is_new = not moved + question.near_gap <= self._horizon
        if self.is_new:
            self._kept = self._partitions.keep(passes.keep, question)
            self._prices, self._horizon = question.prices, question.width
        found: Sums = self._partitions.ask(passes.look_again, question, deadline, kept=self._kept)
        return found


class _PriceSearch:
    """Better prices from look to look: the bound that prices prove rises, or the step is taken back by half."""

    def __init__(self, bounds: Bounds, width: float) -> None:
        self._bounds = bounds
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
        bound = found.cost + found.paid + float(held @ prices) - self._bounds.paid(prices)
        if self._best is not None and bound < self._best[0]:
            _, best, aim = self._best
            aim = best + SHORTENED * (aim - best)
            self._best = (self._best[0], best, aim)
            return aim
        aim = newton_prices(prices, found, self._width, self._bounds, held)
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

    def step(self, centers: NDArray[np.float64], warm: Assignment | None) -> Assignment:
        """Solve one assignment step over all rows."""
        answer = None if self._asked.has_sizes else self._step_without_sizes(centers)
        if answer is None:
            answer = self._step_with_sizes(centers, None if warm is None else warm.prices)
        self._any = True
        self.tell(_remote(answer.labels))
        return answer

    @property
    def _asked(self) -> RemoteProblem:
        return cast("RemoteProblem", self.problem)

    @property
    def _due(self) -> Deadline:
        """The deadline; the first step is taken however late it is: without it there would be no labels."""
        return self.deadline if self._any else NO_DEADLINE

    @cached_property
    def _blocks(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        return blocks_of(self._asked.tied, self.partitions.source.n_features)

    def _block_costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        means, weight, _ = self._blocks
        return distances.block_costs(means, weight, centers, n_threads=self.n_threads)

    def _step_without_sizes(self, centers: NDArray[np.float64]) -> Assignment | None:
        """Send free rows to their nearest centers and place the tied blocks; None when a cluster ends empty."""
        prices = np.zeros(len(centers))
        self.n_passes += 1
        found: Sums = self.partitions.ask(passes.sum_up, Question(centers, prices), self._due)
        costs = self._block_costs(centers)
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

    def _step_with_sizes(self, centers: NDArray[np.float64], warm: NDArray[np.float64] | None) -> Assignment:
        """Look at all rows at better and better prices until those near a tie can be placed, and that is proved."""
        bounds = self.bounds
        prices = bounds.admissible(self._guide.follow(centers, warm))
        width = self._guide.gap_of(WIDEST_SHARE, centers, prices)
        share, fallback, view = self._near_share, None, _View(self.partitions)
        search = _PriceSearch(bounds, width)
        for look in range(MOST_LOOKS):
            if look and look % LOOKS_TO_WIDEN == 0:
                share = min(1.0, 2 * share)
            near_gap = self._guide.gap_of(share, centers, prices)
            found = view.at(Question(centers, prices, near_gap, MOST_SENT * share, max(width, near_gap)), self._due)
            self.n_passes += view.is_new
            core = self._core(centers, found, bounds)
            answer = self._solved(core, prices)
            nearby = None
            if answer is not None:
                verdict = self._judged(core, answer, prices, found.reach)
                step = self._assembled(centers, prices, found, core, answer, verdict)
                if verdict.is_final:
                    return step
                if fallback is None or step.cost < fallback.cost:
                    fallback = step
                assert answer.prices is not None
                if np.ptp(answer.prices - prices) <= TRUST * found.reach:
                    nearby = bounds.admissible(answer.prices)
            prices = search.next(prices, found, self._held_by_tied(centers, prices), nearby)
        if fallback is None:
            raise UndecidedError(
                f"no labels within the sizes were found in {MOST_LOOKS} looks at all rows, most likely because very "
                "many rows are equally near to several centers; relax size_min or size_max"
            )
        return fallback

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds that prices answer for: those asked for, and clusters that must not be empty."""
        bounds = self._asked.bounds
        if not self._asked.nonempty:
            return bounds
        return Bounds(np.maximum(bounds.low, min(self._asked.overview.demand.least, bounds.high.min())), bounds.high)

    @cached_property
    def _guide(self) -> PriceSample:
        share, bounds = self.sample.share, self.bounds
        return PriceSample(self.sample.rows, Bounds(share * bounds.low, share * bounds.high))

    @property
    def _near_share(self) -> float:
        n, k = self._asked.n_samples, self._asked.n_clusters
        wanted = max(LEAST_NEAR, NEAR_SHARE * n)
        return min(1.0, min(wanted, max(LEAST_NEAR, MOST_COSTS / k)) / n)

    def _held_by_tied(self, centers: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Demand of the tied blocks in each cluster, if each took its cheapest."""
        costs, demand = self._block_costs(centers), self._blocks[2]
        cheapest = (costs + demand[:, None] * prices).argmin(axis=1)
        return np.bincount(cheapest, demand, len(centers)).astype(np.float64)

    def _core(self, centers: NDArray[np.float64], found: Sums, bounds: Bounds) -> _Core:
        """Ask where rows near a tie and tied blocks go, all other rows staying."""
        near, k = found.near, len(centers)
        near_costs = distances.block_costs(near.rows.values, near.rows.weight, centers, n_threads=self.n_threads)
        near_demand = near.rows.demands()
        far_sizes = found.sizes - np.bincount(near.labels, near_demand, k)
        tied_costs, tied_demand = self._block_costs(centers), self._blocks[2]
        demand = np.concatenate([near_demand, tied_demand])
        links = self._asked.links_at(self.violation_cost)
        problem = AssignmentProblem(
            costs=np.concatenate([near_costs, tied_costs]),
            links=None if links is None else _shifted(links, len(near_costs)),
            demand=None if (demand == 1.0).all() else demand,
            size_min=bounds.low - far_sizes,
            size_max=bounds.high - far_sizes,
        )
        own = float(near_costs[np.arange(len(near_costs)), near.labels].sum())
        return _Core(problem, found.cost - own, far_sizes)

    def _solved(self, core: _Core, prices: NDArray[np.float64]) -> Assignment | None:
        """Solve it; None when the rows that stay leave no room that would do."""
        if (np.asarray(core.problem.size_max) < 0).any():
            return None
        try:
            answer = self.solve(core.problem, only_prices(prices))
        except InfeasibleError:
            return None
        if answer.prices is None:
            return Assignment(
                answer.labels, answer.cost, answer.lower_bound, answer.proven, answer.engine, np.zeros(prices.size)
            )
        return answer

    def _judged(self, core: _Core, answer: Assignment, prices: NDArray[np.float64], reach: float) -> "_Verdict":
        """Say what the prices of an answer prove about the rows that stayed."""
        assert answer.prices is not None
        moved = answer.prices - prices
        # What a row that stayed would lose by leaving now, at least.
        least = self._asked.overview.demand.least
        rise = (
            least * (reach * (1.0 - SINGLE_GUARD) - float(moved.max() - moved.min()))
            if np.isfinite(reach)
            else np.inf
        )
        if rise < 0:
            return _Verdict(False, False, -np.inf)
        if not answer.proven or rise == np.inf:
            bound = answer.lower_bound
            if rise < np.inf:
                bound = min(bound, self._relaxed(core, answer) + rise)
            return _Verdict(True, answer.proven, bound)
        relaxed = answer.lower_bound if answer.engine == "transport" else self._relaxed(core, answer)
        bound = min(answer.lower_bound, relaxed + rise)
        is_proved = core.problem.closes_gap(answer.cost, bound)
        return _Verdict(is_proved, is_proved, bound)

    def _relaxed(self, core: _Core, answer: Assignment) -> float:
        """Return the bound that the prices of an answer prove."""
        assert answer.prices is not None
        return Lagrangian(core.problem, self.deadline).evaluate(answer.prices).bound

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
        k = len(centers)
        moved = np.flatnonzero(near.labels != near_labels)
        rows, before, after = near.rows.at(moved), near.labels[moved], near_labels[moved]
        sums, weights, sizes = found.sums.copy(), found.weights.copy(), found.sizes.copy()
        for sign, where in ((-1.0, before), (1.0, after)):
            _add(sums, weights, sizes, rows, np.ascontiguousarray(where), sign, k)
        means, weight, demand = self._blocks
        _add(sums, weights, sizes, Rows(means, weight, demand), tied_labels, 1.0, k)
        numbers = near.numbers[moved]
        digest = (found.digest - digest_of(numbers, before) + digest_of(numbers, after)) % 2**64
        own = distances.block_costs(rows.values, rows.weight, centers)
        at = np.arange(moved.size)
        cost = found.cost + float((own[at, after] - own[at, before]).sum())
        tied = self._asked.tied
        if tied is not None:
            costs = self._block_costs(centers)
            cost += float(costs[np.arange(len(costs)), tied_labels].sum())
        return RemoteLabels(
            self._labelling(centers, prices, near, near_labels, tied_labels),
            tied_labels,
            digest,
            sums,
            weights,
            sizes,
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
        return Labelling(centers, prices, numbers[order], labels[order].astype(np.int32))

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
        total: passes.Total = self.partitions.ask(passes.costs_of, (remote.labelling, centers), self.deadline)
        tied = self._asked.tied
        scatter = 0.0 if tied is None or tied.problem.scatter is None else float(tied.problem.scatter.sum())
        return total.value - scatter


@dataclass(frozen=True)
class _Verdict:
    """Whether a step may end with an answer, whether that is proved, and the bound for what was solved here."""

    is_final: bool
    is_proved: bool
    bound: float


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


def _add(
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
    sizes: NDArray[np.float64],
    rows: Rows,
    labels: NDArray[np.int32],
    sign: float,
    n_clusters: int,
) -> None:
    """Add rows to clusters, or take them out, in place."""
    more, heavier = distances.center_sums(rows.values, rows.weight, labels, n_clusters)
    sums += sign * more
    weights += sign * heavier
    sizes += sign * np.bincount(labels, rows.demand, n_clusters)
