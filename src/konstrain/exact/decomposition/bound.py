"""The decomposition bound, for any number of rows: parts that resemble the whole, bounded one by one and added up.

The bound is valid at any time: parts that are not done count with a bound that needs no work (`Partition.floors`).
See `partition.py` for why the sum of the parts' bounds is a bound of the whole.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from konstrain._messages import counted, term
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.competing import balanced_partition
from konstrain.exact.decomposition.part import PartTask, Workers
from konstrain.exact.decomposition.partition import Partition, cluster_means, largest_size, merge_equal
from konstrain.exact.decomposition.results import BoundSum, Estimate, PartFile
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.task import ProofTask
from konstrain.exceptions import UndecidedError
from konstrain.gap import relative_gap
from konstrain.stop import Budget

# Quantile of a two-sided confidence interval of 95%.
QUANTILE: Final = 0.975


@dataclass(frozen=True)
class DecompositionParams:
    """Tunable numbers of the decomposition bound."""

    # From this number of blocks on "auto" uses parts; the semidefinite bound of more blocks takes hours.
    many_blocks: int = 900
    # Blocks of the smallest parts that "auto" tries. Larger parts have higher bounds and take more work.
    first_size: int = 100
    # Ratio of successive sizes; a larger one tries fewer sizes and may choose parts larger than needed.
    size_growth: float = 1.5
    # Parts bounded before a size is judged; more make the choice surer and cost more where the size is rejected.
    n_pilot: int = 4
    # Least gap that sizes are chosen for: what parts lose to clusters of their own falls slowly with their size.
    least_gap: float = 1e-3
    # Share of the gap at which each part ends; a larger one saves iterations and raises the gap of the whole.
    gap_share: float = 0.2
    # Most work (iterations times cubes of blocks) of all parts without a time limit; half an hour. Not seconds, so
    # that the same parts are chosen on every machine.
    most_work: float = 6e12
    # Share of the remaining time for one partition, one pilot, or one search for better labels.
    time_share: float = 0.1


PARAMS = DecompositionParams()


class PartsPoint(NamedTuple):
    """State of a decomposition bound at some moment."""

    seconds: float
    lower_bound: float
    upper_bound: float
    n_done: int
    n_parts: int
    part_size: int
    projected_gap: float
    projected_gap_error: float
    processor_seconds: float

    @property
    def gap(self) -> float:
        """Relative distance of the bounds: proved, unlike the projected one."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def n_nodes(self) -> int:
        """Number of problems bounded so far, as in the points of a search tree."""
        return self.n_done


@dataclass(frozen=True, eq=False)
class PartsLimits:
    """Gap, time limit, size of parts, workers and file of a decomposition bound; see `certify`."""

    gap: float
    budget: Budget
    part_size: int | None = None
    n_jobs: int | None = None
    client: Any = None
    resume: Any = None
    seed: int = 0
    on_progress: Callable[[PartsPoint], object] | None = None


@dataclass(frozen=True, eq=False)
class PartsResult:
    """Result of a decomposition bound; `estimate` is without proof, everything else is proved."""

    lower_bound: float
    upper_bound: float
    labels: NDArray[np.int32]
    n_parts: int
    n_done: int
    part_size: int
    estimate: Estimate
    left_out: tuple[str, ...]
    interrupted: bool


def decomposition_bound(task: ProofTask, limits: PartsLimits, labels: NDArray[np.int32] | None = None) -> PartsResult:
    """Bound the cost of every clustering by the bounds of parts that resemble `labels` (None: the best found)."""
    return _Search(task, limits).run(labels)


@dataclass(eq=False)
class _PartitionTrial:
    """One partition with the bounds of its parts."""

    partition: Partition
    part_size: int
    gap: float

    def __post_init__(self) -> None:
        self.centers = cluster_means(self.partition.problem, self.partition.labels)
        self.sums = BoundSum(self.partition.costs, self.partition.floors)

    @property
    def n_parts(self) -> int:
        return self.partition.n_parts

    def task(self, part: int, seconds: float | None = None, until: float | None = None) -> PartTask:
        cost = float(self.partition.costs[part])
        return PartTask(self.partition.part_problem(part), self.centers, cost, self.gap, seconds, until)


class _Search:
    """Find labels, choose the size of parts, then bound all parts."""

    def __init__(self, task: ProofTask, limits: PartsLimits) -> None:
        self._task, self._limits = task, limits
        self._file = None if limits.resume is None else PartFile(limits.resume)
        self._workers = Workers(limits.n_jobs, limits.client)
        self._reduced, self._of_block = merge_equal(task.problem)
        self._target = max(limits.gap, PARAMS.least_gap)
        self._began = time.perf_counter()
        self._labels = np.zeros(0, dtype=np.int32)
        self._cost = np.inf
        self._trials: list[_PartitionTrial] = []
        self._is_stopped = False

    def run(self, labels: NDArray[np.int32] | None) -> PartsResult:
        """See `decomposition_bound`."""
        self._offer(self._first_labels() if labels is None else labels)
        interrupted = False
        try:
            self._improve_labels(self._bound_parts())
        except KeyboardInterrupt:
            interrupted = True
        return self._result(interrupted=interrupted)

    def _result(self, *, interrupted: bool) -> PartsResult:
        problem = self._task.problem
        assert problem.scatter is not None
        if not self._trials:
            floor = float(problem.scatter.sum()) + self._task.certain_penalty
            return PartsResult(floor, self._cost, self._labels, 0, 0, 0, Estimate(floor, np.inf), (), interrupted)
        # Each partition has a bound of its own, and all of them are valid.
        best = max(self._trials, key=lambda trial: trial.sums.lower_bound)
        return PartsResult(
            lower_bound=min(best.sums.lower_bound + self._task.certain_penalty, self._cost),
            upper_bound=self._cost,
            labels=self._labels,
            n_parts=best.n_parts,
            n_done=len(best.sums.results),
            part_size=best.part_size,
            estimate=self._estimate(best),
            left_out=tuple(_left_out(problem, best.partition)),
            interrupted=interrupted or self._is_stopped,
        )

    # ---- labels

    def _first_labels(self) -> NDArray[np.int32]:
        found = self._cluster(None)
        if found is None:
            raise UndecidedError(
                f"no clustering was found in the time for it; raise {term('time_limit')}, or give labels"
            )
        return found

    def _offer(self, labels: NDArray[np.int32]) -> None:
        cost = self._task.cost_of(labels)
        if cost < self._cost:
            self._labels, self._cost = labels, cost

    def _cluster(self, centers: NDArray[np.float64] | None, share: float = 0.5) -> NDArray[np.int32] | None:
        """Cluster the whole, from some centers or from scratch; None when no feasible labels are found in time."""
        problem = self._task.problem
        best = find_clustering(
            self._task.X,
            problem,
            self._limits.budget.part(share),
            seed=self._limits.seed,
            centers=centers,
            violation_cost=self._task.violation_cost,
        )
        if best is None:
            return None
        if best.interrupted:
            raise KeyboardInterrupt
        labels: NDArray[np.int32] = problem.expand(best.block_labels)
        return labels

    def _improve_labels(self, trial: _PartitionTrial) -> None:
        """Cluster the whole from the centers of parts with better clusterings."""
        for centers in trial.sums.better_centers()[: PARAMS.n_pilot]:
            if self._is_over():
                break
            labels = self._cluster(centers, PARAMS.time_share)
            if labels is not None:
                self._offer(labels)

    # ---- parts

    def _bound_parts(self) -> _PartitionTrial:
        """Bound all parts, of the given size or of the size with the best expected bound within the limits."""
        if self._limits.part_size is not None:
            trial = self._partition(self._limits.part_size)
            self._complete(trial)
            return trial
        sizes = self._sizes()
        chosen = self._choose(self._pilot(next(sizes)), sizes)
        while not self._finish(chosen):
            size = next(sizes, None)
            larger = chosen if size is None else self._choose(self._pilot(size), sizes)
            if self._expected_bound(larger) <= self._expected_bound(chosen):
                self._complete(chosen)
                break
            chosen = larger
        return chosen

    def _sizes(self) -> Iterator[int]:
        """Yield the sizes to try, up to the first that holds everything; a part has several blocks per cluster."""
        n, k = self._reduced.n_blocks, self._task.problem.n_clusters
        sizes = (int(PARAMS.first_size * PARAMS.size_growth**step) for step in itertools.count())
        for size in itertools.dropwhile(lambda size: size < 5 * k, sizes):
            yield size
            if size >= n:
                break

    def _choose(self, trial: _PartitionTrial, sizes: Iterator[int]) -> _PartitionTrial:
        """Try larger parts until the gap is reached or time is short; return the trial with the best expectation."""
        best = trial
        while not self._reaches_gap(trial) and self._affords_larger(trial):
            size = next(sizes, None)
            if size is None:
                break
            trial = self._pilot(size)
            best = max(best, trial, key=self._expected_bound)
        return best

    def _pilot(self, size: int) -> _PartitionTrial:
        """Bound a few parts; where they lead to better labels, make the partition again for those."""
        while True:
            trial, cost = self._partition(size), self._cost
            self._advance(trial, range(min(PARAMS.n_pilot, trial.n_parts)), PARAMS.time_share)
            self._improve_labels(trial)
            if self._is_over() or cost - self._cost <= trial.gap * cost:
                return trial

    def _finish(self, trial: _PartitionTrial) -> bool:
        """Bound the other parts in rounds; return False once they miss the gap and larger parts are affordable."""
        # The pilot is a small sample, and a few parts may lose much: the estimate is repeated with twice the sample.
        n_wanted = PARAMS.n_pilot
        while n_wanted < trial.n_parts:
            n_wanted = min(trial.n_parts, 2 * n_wanted)
            self._advance(trial, range(n_wanted))
            if self._misses_gap(trial) and self._affords_larger(trial):
                return False
        self._complete(trial)
        return True

    def _complete(self, trial: _PartitionTrial) -> None:
        """Bound all other parts, then again those that a time limit cut short."""
        self._advance(trial, range(trial.n_parts))
        self._bound(trial, trial.sums.cut_short(), 1.0)

    def _partition(self, size: int) -> _PartitionTrial:
        labels = np.empty(self._reduced.n_blocks, dtype=np.int32)
        labels[self._of_block] = self._labels[self._task.problem.first_rows]
        gap = PARAMS.gap_share * self._target
        budget = self._limits.budget.part(PARAMS.time_share)
        partition = balanced_partition(self._reduced, labels, size, self._limits.seed, gap, budget)
        self._trials.append(_PartitionTrial(partition, size, gap))
        return self._trials[-1]

    def _advance(self, trial: _PartitionTrial, parts: Iterable[int], share: float = 1.0) -> None:
        """Bound parts that have no result yet, neither here nor in the file."""
        left = [part for part in parts if part not in trial.sums.results and not self._recall(trial, part)]
        self._bound(trial, left, share)

    def _bound(self, trial: _PartitionTrial, parts: list[int], share: float) -> None:
        for part, result in self._workers.run(self._tasks(trial, parts, share)):
            trial.sums.take(part, result)
            if self._file is not None:
                self._file.put(trial.task(part).key, result)
            self._report(trial)

    def _recall(self, trial: _PartitionTrial, part: int) -> bool:
        result = None if self._file is None else self._file.get(trial.task(part).key)
        if result is not None:
            trial.sums.take(part, result)
        return result is not None

    def _tasks(self, trial: _PartitionTrial, parts: list[int], share: float) -> Iterator[tuple[int, PartTask]]:
        # A pilot has time of its own; otherwise all parts that are not finished share the remaining time.
        n_left = len(parts) if share < 1 else trial.n_parts - trial.sums.n_finished
        for n_begun, part in enumerate(parts):
            if self._is_over():
                return
            yield part, trial.task(part, self._seconds(trial, n_left - n_begun, share), self._until)

    def _seconds(self, trial: _PartitionTrial, n_left: int, share: float) -> float | None:
        """Return the time limit of one of `n_left` parts.

        It lies half way between an equal share and the time that the other parts, by the mean so far, do not need.
        """
        if not self._limits.budget.is_timed:
            return None
        remaining = share * self._limits.budget.remaining()
        turns = max(1.0, n_left / self._workers.count)
        equal, unused = remaining / turns, remaining - (turns - 1) * trial.sums.mean_elapsed
        return max(equal, (equal + unused) / 2)

    @property
    def _until(self) -> float | None:
        return time.time() + self._limits.budget.remaining() if self._limits.budget.is_timed else None

    # ---- expectations

    @property
    def _budget(self) -> float:
        """Remaining seconds under a time limit, else the work for all parts."""
        return self._limits.budget.remaining() if self._limits.budget.is_timed else PARAMS.most_work

    def _expense(self, trial: _PartitionTrial) -> float:
        """Return the seconds, or the work, of all parts, done or not."""
        per_part = (
            trial.sums.mean_elapsed / self._workers.count if self._limits.budget.is_timed else trial.sums.mean_work
        )
        return trial.n_parts * per_part

    def _remaining_expense(self, trial: _PartitionTrial) -> float:
        """Return the seconds of the parts that are not done, or the work of all parts, those from a file included."""
        share_left = 1 - len(trial.sums.results) / trial.n_parts if self._limits.budget.is_timed else 1.0
        return share_left * self._expense(trial)

    def _affords_larger(self, trial: _PartitionTrial) -> bool:
        # The work of one part grows with the cube of its size, and that of all parts with the square.
        return PARAMS.size_growth**2 * self._expense(trial) <= self._budget and not self._is_over()

    def _expected_bound(self, trial: _PartitionTrial) -> float:
        """Return the bound to expect within the budget, relative to the cost."""
        expense, budget = self._remaining_expense(trial), self._budget
        return (1 - self._projected_gap(trial)) * (1.0 if expense <= budget else budget / expense)

    def _reaches_gap(self, trial: _PartitionTrial) -> bool:
        """Return whether the upper end of the gap's confidence interval, and the expense, are within their limits."""
        most = self._projected_gap(trial) + self._projected_error(trial)
        return most <= self._target and self._remaining_expense(trial) <= self._budget

    def _misses_gap(self, trial: _PartitionTrial) -> bool:
        """Return whether the lower end of the confidence interval of the gap is above the target."""
        return self._projected_gap(trial) - self._projected_error(trial) > self._target

    def _projected_gap(self, trial: _PartitionTrial) -> float:
        return relative_gap(self._estimate(trial).bound, self._cost)

    def _projected_error(self, trial: _PartitionTrial) -> float:
        """Return half the confidence interval of the projected gap, by Student's distribution for small samples."""
        error = trial.sums.estimate().error
        if error == 0:
            return 0.0
        factor = float(stdtrit(max(1, trial.sums.n_finished - 1), QUANTILE))
        return factor * error / max(self._cost, np.finfo(float).tiny)

    def _estimate(self, trial: _PartitionTrial) -> Estimate:
        bound, error = trial.sums.estimate()
        return Estimate(bound + self._task.certain_penalty, error)

    def _is_over(self) -> bool:
        return self._is_stopped or self._limits.budget.expired()

    def _report(self, trial: _PartitionTrial) -> None:
        if self._limits.on_progress is None:
            return
        point = PartsPoint(
            seconds=time.perf_counter() - self._began,
            lower_bound=max(other.sums.lower_bound for other in self._trials) + self._task.certain_penalty,
            upper_bound=self._cost,
            n_done=len(trial.sums.results),
            n_parts=trial.n_parts,
            part_size=trial.part_size,
            projected_gap=self._projected_gap(trial),
            projected_gap_error=trial.sums.estimate().error / max(self._cost, np.finfo(float).tiny),
            processor_seconds=sum(other.sums.seconds for other in self._trials),
        )
        self._is_stopped |= bool(self._limits.on_progress(point))


def _left_out(problem: Problem, partition: Partition) -> Iterator[str]:
    """Yield the constraints that the bound leaves out: it is valid, but could be higher."""
    if partition.n_cut_links:
        assert problem.conflicts is not None
        yield f"{partition.n_cut_links} of {counted(problem.conflicts.n_edges, 'cannot-link')}, between parts"
    if problem.has_soft_links:
        yield "soft links, but for those that no clustering can keep"
    if problem.size_min is not None and problem.size_min.max() > 0:
        yield "size_min"
    largest = largest_size(problem)
    if largest is None:
        return
    assert problem.size_max is not None
    if np.bincount(partition.part_of, partition.problem.demand).max() <= largest:
        yield "size_max, which no part is large enough to reach"
    elif problem.size_max.min() < largest:
        yield "size_max of single clusters, but for the largest"
