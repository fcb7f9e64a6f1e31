"""LCC (Ganji et al. 2016): must-links always, cannot-links by multipliers that grow while they stay violated."""

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from konstrain._sklearn import Interval, StrOptions
from konstrain.assignment import Assignment
from konstrain.assignment.priced.repair import fill_empty
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.inputs import read_links
from konstrain.estimators._base import BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Iterations, Loop
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.metrics import Violations
from konstrain.stop import Budget

# Beyond this a multiplier grows no more: products with weights and costs must stay finite.
LARGEST_MULTIPLIER: Final = 1e100


@estimator
class LagrangianKMeans(BaseConstrainedKMeans):
    """LCC: k-means with must-links merged and Lagrange multipliers on cannot-links.

    Blocks of must-linked rows go to their nearest center one after the other. A block that meets a conflict there
    either stays and pays for the violation, or it or the other one moves to its next nearest center, whichever is
    cheapest; a violation that stays doubles its multiplier, and the block that could leave it most cheaply pulls the
    center it would go to. The labels with the fewest violations, then the least squared error, are kept [1]_. A last
    repair of these labels, which is ours, moves single blocks as long as that makes violations fewer.

    Cannot-links may end violated, also when they could all be kept; `n_violations_` counts them.

    Parameters
    ----------
    init : {"random-partition", "k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, \
default="random-partition"
        Where runs start: the means of a random assignment of blocks (the paper), block-aware k-means++, random
        blocks, given centers, or ``callable(X, n_clusters, random_state=...)``.
    multiplier : float, default=1.0
        Where the multiplier of each cannot-link starts; the paper leaves it open.
    growth : float, default=2.0
        What a multiplier is multiplied by when its cannot-link stays violated; more than 1.
    n_iter_no_change : int, default=25
        Iterations without better labels after which a run ends.
    repair : bool, default=True
        Whether single blocks move in the end, as long as that makes violations fewer. This is ours; False: as in the
        paper.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters, without the pull of conflicts.
    n_cannot_link_violations_ : int
        Broken cannot-links: all of `n_violations_`, for must-links always hold.

    Notes
    -----
    What the paper leaves open, and what we chose. Violations are counted anew from the labels after each pass, not by
    the running counter of the pseudo-code, which misses what later moves change; given pairs are counted, so that
    several links between two blocks count as several. The squared error that decides between equally many violations
    is that of the clusters' own means, not of the centers before their update. Until the first pass reaches a block,
    it stands where the random assignment put it (line 1), or at its nearest center with another `init`. The first of
    the best labels are those of the first pass; lines 4 to 6, which begin with the random assignment as if it broke
    every cannot-link, differ only where the first pass breaks them all. A random assignment leaves no cluster
    empty; later an empty cluster keeps its center, and if it is still empty in the labels to be
    returned, the block that costs most where it is moves there, which breaks nothing. Links that contradict each
    other are accepted, as in the paper's experiment with wrong ones. When a pass changes nothing and nothing pulls,
    all later ones would do the same, and the run ends.

    By the pseudo-code alone, runs stick at a few violations that need not be. A block that one conflict keeps away
    from its nearest center would gain by going back there, so that leaving another conflict costs it less than
    nothing, and the second conflict stays violated, the more surely the larger its multiplier. Other readings do not
    break clearly fewer links. The repair leaves about an eighth of them (`docs/results/ganji2016.md`).

    References
    ----------
    .. [1] Ganji, Bailey, Stuckey (2016), "Lagrangian Constrained Clustering", SDM.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = LagrangianKMeans(n_clusters=2, random_state=0).fit(X, must_link=[(0, 2)], cannot_link=[(0, 1)])
    >>> model.n_cannot_link_violations_, bool(model.labels_[0] == model.labels_[2])
    (0, True)
    """

    _: KW_ONLY
    init: Any = "random-partition"
    multiplier: float = 1.0
    growth: float = 2.0
    n_iter_no_change: int = 25
    repair: bool = True
    max_iter: int = 100

    _takes_confidences: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConstrainedKMeans._parameter_constraints,
        "init": [StrOptions({"random-partition", "k-means++", "random"}), callable, "array-like"],
        "multiplier": [Interval(Real, 0, None, closed="neither")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "repair": ["boolean"],
    }

    def _build_problem(self, X: Any, arguments: ConstraintArguments) -> Problem:
        pairs = read_links("cannot_link", arguments.cannot_link, X.shape[0]).hard
        if pairs.size:
            # As links that may break: sets that cannot all be kept are this method's business, not an error.
            arguments = replace(arguments, cannot_link=np.column_stack([pairs, np.ones(len(pairs))]))
        return super()._build_problem(X, arguments)

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = LagrangianSteps(
            problem,
            budget=budget,
            n_threads=default_threads(),
            conflicts=CannotLinks.of(problem),
            multiplier=self.multiplier,
            growth=self.growth,
            patience=self.n_iter_no_change,
            repair=self.repair,
        )
        if isinstance(start.rule, str) and start.rule == "random-partition":
            start = PartitionStart(X, start.rule)
        return Run(Loop(passes_and_pulls, steps, self.max_iter), start)

    def _report(self, violations: Violations) -> None:
        super()._report(violations)
        self.n_cannot_link_violations_ = violations.cannot_link


@dataclass(frozen=True, eq=False)
class PartitionStart(Start):
    """Start at the means of a random assignment of blocks (lines 1 to 3 of the paper's pseudo-code)."""

    def centers(self, steps: Steps, seed: int) -> NDArray[np.float64]:
        """Return the centers one run starts from; the first pass starts from the assignment itself."""
        assert isinstance(steps, LagrangianSteps)
        rng = np.random.default_rng(seed)
        problem = steps.problem
        labels = rng.integers(problem.n_clusters, size=problem.n_blocks).astype(np.int32)
        some = rng.permutation(problem.n_blocks)[: problem.n_clusters]
        labels[some] = np.arange(some.size)
        steps.first_labels = labels
        return steps.centers_of(labels, np.zeros((problem.n_clusters, self.X.shape[1])))


@dataclass(frozen=True, eq=False)
class CannotLinks:
    """The cannot-links between blocks, in the order of one pass."""

    # `first` and `second`: (n_conflicts,): the two blocks of each conflict.
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    n_pairs: NDArray[np.int64]  # (n_conflicts,): how many given cannot-links stand behind each.
    n_contradictions: int  # Cannot-links within one block: violated whatever the labels are.

    @classmethod
    def of(cls, problem: Problem) -> "CannotLinks":
        """Collect the cannot-links of a problem."""
        constant = round(problem.constant_penalty)
        if problem.links is None:
            none = np.zeros(0, dtype=np.int32)
            return cls(none, none, np.zeros(0, dtype=np.int64), constant)
        first, second, weight = problem.links.edges
        # Partial labels make hard links, of infinite weight.
        return cls(first, second, np.where(np.isinf(weight), 1.0, weight).round().astype(np.int64), constant)

    @cached_property
    def by_block(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """Each block that has conflicts, in order, with the other blocks and the conflicts' numbers."""
        neighbours: dict[int, list[tuple[int, int]]] = {}
        for number, (u, v) in enumerate(zip(self.first.tolist(), self.second.tolist(), strict=True)):
            neighbours.setdefault(u, []).append((v, number))
            neighbours.setdefault(v, []).append((u, number))
        return sorted(neighbours.items())

    def n_met(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int64]:
        """Count the cannot-links that each block has with each cluster: what it would break there."""
        met = np.zeros((labels.size, n_clusters), dtype=np.int64)
        np.add.at(met, (self.first, labels[self.second]), self.n_pairs)
        np.add.at(met, (self.second, labels[self.first]), self.n_pairs)
        return met

    def n_violated(self, labels: NDArray[np.int32]) -> int:
        """Count the cannot-links that labels violate."""
        together = labels[self.first] == labels[self.second]
        return int(self.n_pairs[together].sum()) + self.n_contradictions


# A member of a conflict set: the center it pulls, the block that pulls, the conflict whose multiplier it pulls with.
Pull = tuple[int, int, int]


def passes_and_pulls(
    steps: "LagrangianSteps", centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None = None
) -> Clustering:
    """Alternate passes over the conflicts and pulled centers; returns the best labels on the way."""
    multipliers = [steps.multiplier] * steps.conflicts.first.size
    labels = steps.first_labels
    if labels is None:
        labels = steps.costs(centers).argmin(axis=1).astype(np.int32)
    best: Clustering | None = None
    last_better = 0
    converged = False
    for n_iter in iterations:
        before = labels
        labels, pulls = steps.one_pass(steps.costs(centers), labels, multipliers)
        best, is_better = steps.better_of(best, labels, centers)
        last_better = n_iter if is_better else last_better
        still = not pulls and np.array_equal(labels, before)
        converged = (still and n_iter > 1) or n_iter - last_better >= steps.patience
        if converged:
            break
        centers = steps.pulled_centers(labels, centers, pulls, multipliers)
    assert best is not None
    return replace(steps.finished(best), n_iter=iterations.n_iter, converged=converged)


@dataclass(eq=False)
class LagrangianSteps(Steps):
    """The steps of LCC: one pass over the blocks in conflict, and centers that they pull."""

    # Cannot-links between blocks.
    conflicts: CannotLinks = field(default_factory=lambda: CannotLinks.of(Problem.build(1, 1)))
    # `multiplier` and `growth`: where multipliers start, and what they grow by.
    multiplier: float = 1.0
    growth: float = 2.0
    patience: int = 25  # Iterations without better labels after which a run ends.
    repair: bool = True  # Whether single blocks move in the end, as long as that makes violations fewer.
    # Where blocks stand before the first pass reaches them; None: at their nearest centers.
    first_labels: NDArray[np.int32] | None = None

    def one_pass(
        self, costs: NDArray[np.float64], labels: NDArray[np.int32], multipliers: list[float]
    ) -> tuple[NDArray[np.int32], set[Pull]]:
        """Lines 8 to 35 of the pseudo-code; `multipliers` grow in place."""
        nearest, next_nearest = _two_nearest(costs)
        moved = nearest.copy()
        pulls: set[Pull] = set()
        if costs.shape[1] == 1 or not self.conflicts.by_block:
            return moved, pulls
        one_by_one = _Pass(costs, nearest, next_nearest, labels)
        for block, others in self.conflicts.by_block:
            one_by_one.at[block] = one_by_one.nearest[block]
            for other, conflict in others:
                if one_by_one.at[block] == one_by_one.at[other]:
                    pull = one_by_one.resolve(block, other, multipliers[conflict])
                    if pull is not None:
                        multipliers[conflict] = min(multipliers[conflict] * self.growth, LARGEST_MULTIPLIER)
                        pulls.add((*pull, conflict))
        linked = [block for block, _ in self.conflicts.by_block]
        moved[linked] = [one_by_one.at[block] for block in linked]
        return moved, pulls

    def better_of(
        self, best: Clustering | None, labels: NDArray[np.int32], centers: NDArray[np.float64]
    ) -> tuple[Clustering, bool]:
        """Keep the labels with fewer violations, or as many and less squared error."""
        n_violations = self.conflicts.n_violated(labels)
        if best is not None and n_violations > best.n_violations:
            return best, False
        new = self.clustering(labels, self.centers_of(labels, centers), 0, converged=False)
        new = replace(new, n_violations=n_violations)
        if best is None or (n_violations, new.inertia) < (best.n_violations, best.inertia):
            return new, True
        return best, False

    def finished(self, best: Clustering) -> Clustering:
        """Fill empty clusters, then repair; neither is in the paper."""
        labels = self.filled(best.block_labels, best.centers)
        centers = self.centers_of(labels, best.centers)
        if self.repair and self.conflicts.n_violated(labels) > self.conflicts.n_contradictions:
            labels = self.repaired(labels, centers)
        return best if labels is best.block_labels else self.better_of(None, labels, centers)[0]

    def filled(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give each empty cluster the block that costs most where it is; alone it breaks nothing."""
        if np.bincount(labels, minlength=len(centers)).all():
            return labels
        own = np.take_along_axis(self.costs(centers), labels[:, None], axis=1)
        return fill_empty(labels, np.broadcast_to(-own, (labels.size, len(centers))))

    def repaired(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Move the block whose move saves most violations, at least cost, until no single move saves any."""
        moved = labels.copy()
        costs, linked = self.costs(centers), np.unique([self.conflicts.first, self.conflicts.second])
        while not self.budget.expired():
            met = self.conflicts.n_met(moved, len(centers))[linked]
            saved = np.take_along_axis(met, moved[linked, None], axis=1) - met
            most = saved.max()
            if most <= 0:
                break
            row, goal = np.nonzero(saved == most)
            block = linked[row]
            cheapest = (costs[block, goal] - costs[block, moved[block]]).argmin()
            moved[block[cheapest]] = goal[cheapest]
        return moved

    def pulled_centers(
        self, labels: NDArray[np.int32], previous: NDArray[np.float64], pulls: set[Pull], multipliers: list[float]
    ) -> NDArray[np.float64]:
        """Centers by equation (3.4): members of conflict sets pull with their weight times the multiplier."""
        problem = self.problem
        sums, weights = self.sums_of(labels)
        if pulls:
            # Sorted: the sums below must not depend on the order within a set.
            cluster, block, conflict = np.array(sorted(pulls)).T
            strength = problem.weight[block] * np.array(multipliers)[conflict]
            rows = problem.mean[block]
            rows = rows.toarray() if issparse(rows) else rows
            np.add.at(sums, cluster, strength[:, None] * rows)
            np.add.at(weights, cluster, strength)
        return centers_from(sums, weights, previous)


class _Pass:
    """One pass over the blocks that have conflicts; plain lists, for they are read one number at a time."""

    def __init__(
        self,
        costs: NDArray[np.float64],
        nearest: NDArray[np.int32],
        next_nearest: NDArray[np.int32],
        labels: NDArray[np.int32],
    ) -> None:
        self.costs: list[list[float]] = costs.tolist()
        self.nearest: list[int] = nearest.tolist()
        self.next_nearest: list[int] = next_nearest.tolist()
        self.at: list[int] = labels.tolist()

    def resolve(self, block: int, other: int, multiplier: float) -> tuple[int, int] | None:
        """Move one of two blocks that share a cluster, or return the center to be pulled and the block that pulls."""
        goal, swap = self.way_out(block)
        other_goal, other_swap = self.way_out(other)
        stay = multiplier * min(swap, other_swap)
        if stay <= swap and stay <= other_swap:
            return (goal, block) if swap < other_swap else (other_goal, other)
        if swap <= other_swap:
            self.at[block] = goal
        else:
            self.at[other] = other_goal
        return None

    def way_out(self, block: int) -> tuple[int, float]:
        """Return the nearest center but the block's own, and what moving there costs."""
        here = self.at[block]
        goal = self.nearest[block] if here != self.nearest[block] else self.next_nearest[block]
        costs = self.costs[block]
        return goal, costs[goal] - costs[here]


def _two_nearest(costs: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    nearest = costs.argmin(axis=1)
    others = costs.copy()
    np.put_along_axis(others, nearest[:, None], np.inf, axis=1)
    return nearest.astype(np.int32), others.argmin(axis=1).astype(np.int32)
