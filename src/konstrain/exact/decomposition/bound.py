"""A lower bound for any number of rows: parts that look like the whole, bounded one by one and added up.

Any time: parts that are not done count with what every clustering pays in them, so the sum is a bound whenever the
search ends. See `splitting.py` for why the sum is a bound at all.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from konstrain._messages import counted
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition.competing import deal_against_rivals
from konstrain.exact.decomposition.file import PartFile
from konstrain.exact.decomposition.ledger import Ledger, Projection
from konstrain.exact.decomposition.partition import Split, cluster_means, largest_size, merge_equal
from konstrain.exact.decomposition.task import PartTask
from konstrain.exact.decomposition.workers import Workers
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.task import ProofTask
from konstrain.exceptions import UndecidedError
from konstrain.gap import relative_gap
from konstrain.stop import Deadline

# From this many blocks on, the semidefinite bound of the whole takes hours.
MANY_BLOCKS = 900
# Blocks per part that "auto" tries, smallest first: the work for all of them grows with the square.
PART_SIZES = (100, 200, 300, 450, 650, 900, 1300)
# Parts bounded before it is decided whether larger ones are worth it; the second number if need be.
N_PILOT = (3, 6)
# The pilot is a small sample, and a few parts may lose much: the rest is bounded in rounds that grow by this factor,
# and after each it is asked again whether larger parts are needed.
ROUND_GROWTH = 2
# How sure it has to be, on either side, that the projected gap is or is not the one asked for.
SURE = 0.975
# Parts can hardly reach less: what they lose to clusters of their own falls with their size, at the cube of the work.
LEAST_GAP = 1e-3
# Each part ends when its own gap is this share of the one asked for.
PART_SHARE = 0.2
# Without a time limit larger parts are tried while all of them should take less than this, at so many seconds per
# iteration and cube of blocks; work and not time, so that the same parts are chosen on every machine.
AUTO_SECONDS = 1800.0
SECONDS_PER_WORK = 3e-10
# Parts of the next size take about so many times as long, all of them together.
NEXT_SIZE_WORK = 2.0
# Under a time limit a part may take its share of the time left, and this share of what the others will leave over.
SPARE_SHARE = 0.5
# Share of the time left that goes to the search for labels, to dealing rows, to each look at parts of one size, and
# to a better clustering.
LABEL_SHARE, DEAL_SHARE, PILOT_SHARE, BETTER_SHARE = 0.3, 0.1, 0.15, 0.1
# Better clusterings of the whole taken up before the parts are dealt for good, and tried when all is done.
MOST_RELABELS = 2
LAST_TRIALS = 3


class PartsPoint(NamedTuple):
    """State of a bound by parts at some moment."""

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
        """Problems bounded so far, as in the points of a search tree."""
        return self.n_done


@dataclass(frozen=True, eq=False)
class PartsLimits:
    """How far, how long and by whom parts are bounded; see `lower_bound`."""

    gap: float
    deadline: Deadline
    part_size: int | None = None
    n_jobs: int | None = None
    client: Any = None
    resume: Any = None
    seed: int = 0
    on_progress: Callable[[PartsPoint], object] | None = None


@dataclass(frozen=True, eq=False)
class PartsResult:
    """What a bound by parts ends with; `projection` is an estimate, everything else is proved."""

    lower_bound: float
    upper_bound: float
    labels: NDArray[np.int32]
    n_parts: int
    n_done: int
    part_size: int
    projection: Projection
    left_out: tuple[str, ...]
    interrupted: bool


def bound_by_parts(task: ProofTask, limits: PartsLimits, labels: NDArray[np.int32] | None = None) -> PartsResult:
    """Bound the cost of every clustering by parts.

    Parameters
    ----------
    task : ProofTask
        Rows and constraints.
    limits : PartsLimits
        Gap, time, size of parts, workers, file.
    labels : ndarray of int32, shape (n_samples,), or None
        The clustering that parts are to look like; None: the best one found.

    Returns
    -------
    PartsResult
    """
    return _PartsSearch(task, limits).run(labels)


@dataclass(eq=False)
class _Dealt:
    """One split, its parts as tasks, and what is known of them."""

    split: Split
    part_size: int
    gap: float

    def __post_init__(self) -> None:
        self.centers = cluster_means(self.split.problem, self.split.labels)
        self.ledger = Ledger(self.split.costs, self.split.floors)

    def task(self, part: int, seconds: float | None = None, until: float | None = None) -> PartTask:
        """Return a part to bound."""
        cost = float(self.split.costs[part])
        return PartTask(self.split.part_problem(part), self.centers, cost, self.gap, seconds, until)


class _PartsSearch:
    """Labels, then parts of the size that pays, then all of them."""

    def __init__(self, task: ProofTask, limits: PartsLimits) -> None:
        self._task, self._limits = task, limits
        self._file = None if limits.resume is None else PartFile(limits.resume)
        self._workers = Workers(limits.n_jobs, limits.client)
        self._reduced, self._of_block = merge_equal(task.problem)
        self._target = max(limits.gap, LEAST_GAP)
        self._began = time.perf_counter()
        self._is_limited = bool(np.isfinite(limits.deadline.remaining()))
        self._labels = np.zeros(0, dtype=np.int32)
        self._cost = np.inf
        self._dealt: list[_Dealt] = []
        self._is_stopped = False

    def run(self, labels: NDArray[np.int32] | None) -> PartsResult:
        """See `bound_by_parts`."""
        self._offer(self._first_labels() if labels is None else labels)
        interrupted = False
        try:
            self._feed_back(self._bound_parts(), LAST_TRIALS)
        except KeyboardInterrupt:
            interrupted = True
        return self._result(interrupted=interrupted)

    def _result(self, *, interrupted: bool) -> PartsResult:
        problem = self._task.problem
        assert problem.scatter is not None
        if not self._dealt:
            floor = float(problem.scatter.sum()) + self._task.certain_penalty
            return PartsResult(floor, self._cost, self._labels, 0, 0, 0, Projection(floor, np.inf), (), interrupted)
        # Each split has a bound of its own, and the best of them holds.
        best = max(self._dealt, key=lambda dealt: dealt.ledger.lower_bound)
        return PartsResult(
            lower_bound=min(best.ledger.lower_bound + self._task.certain_penalty, self._cost),
            upper_bound=self._cost,
            labels=self._labels,
            n_parts=best.ledger.n_parts,
            n_done=len(best.ledger.answers),
            part_size=best.part_size,
            projection=self._projection(best),
            left_out=tuple(_left_out(problem, best.split)),
            interrupted=interrupted or self._is_stopped,
        )

    # ---- labels

    def _first_labels(self) -> NDArray[np.int32]:
        found = self._cluster(None, LABEL_SHARE)
        if found is None:
            raise UndecidedError("no clustering was found in the time for it; raise time_limit, or give labels")
        return found

    def _offer(self, labels: NDArray[np.int32]) -> bool:
        cost = self._task.cost_of(labels)
        is_better = cost < self._cost
        if is_better:
            self._labels, self._cost = labels, cost
        return is_better

    def _cluster(self, centers: NDArray[np.float64] | None, share: float) -> NDArray[np.int32] | None:
        """Cluster the whole, from some centers or from scratch; None when nothing feasible turns up in time."""
        problem = self._task.problem
        best = find_clustering(
            self._task.X,
            problem,
            self._deadline_of(share),
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

    def _feed_back(self, dealt: _Dealt, most: int) -> bool:
        """Try the centers of parts that found better clusters on the whole; returns whether that helped."""
        helped = False
        for centers in dealt.ledger.better_centers()[:most]:
            if self._is_over():
                break
            labels = self._cluster(centers, BETTER_SHARE)
            helped |= labels is not None and self._offer(labels)
        return helped

    # ---- parts

    def _bound_parts(self) -> _Dealt:
        """Bound all parts: of the size asked for, or of the one that promises the best bound in the time there is."""
        if self._limits.part_size is not None:
            dealt = self._deal(self._limits.part_size)
            self._complete(dealt)
            return dealt
        sizes = self._sizes()
        chosen = self._choose(self._pilot(next(sizes)), sizes)
        while not self._finish(chosen):
            size = next(sizes, None)
            larger = chosen if size is None else self._choose(self._pilot(size), sizes)
            if self._worth(larger) <= self._worth(chosen):
                self._complete(chosen)
                break
            chosen = larger
        return chosen

    def _choose(self, dealt: _Dealt, sizes: Iterator[int]) -> _Dealt:
        """Try larger parts until some reach the gap or there is no time for them; return the most promising."""
        best = dealt
        while not self._reaches(dealt) and self._affords_larger(dealt):
            size = next(sizes, None)
            if size is None:
                break
            dealt = self._pilot(size)
            best = max(best, dealt, key=self._worth)
        return best

    def _finish(self, dealt: _Dealt) -> bool:
        """Bound the parts left, or give up once they surely miss the gap and there is time for larger ones."""
        n_parts = dealt.ledger.n_parts
        n_wanted = max(N_PILOT)
        while n_wanted < n_parts:
            n_wanted = min(n_parts, ROUND_GROWTH * n_wanted)
            self._advance(dealt, range(n_wanted))
            if self._misses(dealt) and self._affords_larger(dealt):
                return False
        self._complete(dealt)
        return True

    def _complete(self, dealt: _Dealt) -> None:
        """Bound all parts left, then again those that a limit cut short, should there be time."""
        self._advance(dealt, range(dealt.ledger.n_parts))
        self._bound(dealt, dealt.ledger.cut_short(), 1.0)

    def _worth(self, dealt: _Dealt) -> float:
        """What the bound would be at the end, as a share of the cost."""
        seconds, budget = self._expected_seconds(dealt), self._budget
        return (1 - self._projected_gap(dealt)) * (1.0 if seconds <= budget else budget / seconds)

    def _reaches(self, dealt: _Dealt) -> bool:
        """Whether the projected gap is, beyond the error of a small sample, the one asked for."""
        most = self._projected_gap(dealt) + self._projected_error(dealt)
        return most <= self._target and self._expected_seconds(dealt) <= self._budget

    def _misses(self, dealt: _Dealt) -> bool:
        """Whether the projected gap is, beyond that error, above the one asked for."""
        return self._projected_gap(dealt) - self._projected_error(dealt) > self._target

    def _affords_larger(self, dealt: _Dealt) -> bool:
        return NEXT_SIZE_WORK * self._seconds_of_all(dealt) <= self._budget and not self._is_over()

    def _sizes(self) -> Iterator[int]:
        """Sizes to try, up to the first that holds everything; never fewer rows than clusters need to show."""
        n, k = self._reduced.n_blocks, self._task.problem.n_clusters
        sizes = [size for size in PART_SIZES if size >= 5 * k] or [PART_SIZES[-1]]
        for size in sizes:
            yield size
            if size >= n:
                break

    def _pilot(self, size: int) -> _Dealt:
        """Bound a few parts; where they show a better clustering of the whole, deal again to look like that one."""
        for trial in range(MOST_RELABELS + 1):
            dealt = self._deal(size)
            for n_wanted in N_PILOT:
                self._advance(dealt, range(min(n_wanted, dealt.ledger.n_parts)), PILOT_SHARE)
                if self._misses(dealt):
                    break
            if trial == MOST_RELABELS or self._is_over() or not self._feed_back(dealt, 1):
                break
        return dealt

    def _deal(self, size: int) -> _Dealt:
        problem = self._task.problem
        labels = np.empty(self._reduced.n_blocks, dtype=np.int32)
        labels[self._of_block] = self._labels[problem.block_rows[problem.block_indptr[:-1]]]
        split = deal_against_rivals(
            self._reduced, labels, size, self._limits.seed, self._target, self._deadline_of(DEAL_SHARE)
        )
        self._dealt.append(_Dealt(split, size, PART_SHARE * self._target))
        return self._dealt[-1]

    def _advance(self, dealt: _Dealt, parts: Iterable[int], share: float = 1.0) -> None:
        """Bound parts that were not looked at, those in the file for nothing."""
        left = [part for part in parts if part not in dealt.ledger.answers and not self._recall(dealt, part)]
        self._bound(dealt, left, share)

    def _bound(self, dealt: _Dealt, parts: list[int], share: float) -> None:
        for part, answer in self._workers.run(self._tasks(dealt, parts, share)):
            dealt.ledger.take(part, answer)
            if self._file is not None:
                self._file.put(dealt.task(part).key, answer)
            self._tell(dealt)

    def _recall(self, dealt: _Dealt, part: int) -> bool:
        answer = None if self._file is None else self._file.get(dealt.task(part).key)
        if answer is not None:
            dealt.ledger.take(part, answer)
        return answer is not None

    def _tasks(self, dealt: _Dealt, parts: list[int], share: float) -> Iterator[tuple[int, PartTask]]:
        # A look has time of its own; otherwise all parts that are not finished share what is left.
        n_left = len(parts) if share < 1 else dealt.ledger.n_parts - dealt.ledger.n_finished
        for done, part in enumerate(parts):
            if self._is_over():
                return
            yield part, dealt.task(part, self._seconds(dealt, n_left - done, share), self._until)

    def _seconds(self, dealt: _Dealt, n_left: int, share: float) -> float | None:
        """Time of a part: its share of what is left, and more where the others need less than theirs."""
        if not self._is_limited:
            return None
        remaining = share * self._limits.deadline.remaining()
        turns = n_left / self._workers.count
        spare = max(0.0, remaining - turns * dealt.ledger.mean_elapsed)
        return min(remaining, remaining / turns + SPARE_SHARE * spare)

    def _deadline_of(self, share: float) -> Deadline:
        """Return the end of a share of the time left."""
        return Deadline(share * self._limits.deadline.remaining()) if self._is_limited else Deadline(None)

    @property
    def _until(self) -> float | None:
        return time.time() + self._limits.deadline.remaining() if self._is_limited else None

    @property
    def _budget(self) -> float:
        return self._limits.deadline.remaining() if self._is_limited else AUTO_SECONDS

    def _seconds_of_all(self, dealt: _Dealt) -> float:
        """Seconds for all parts, done or not: on the clock under a limit, else by their work."""
        ledger = dealt.ledger
        if not self._is_limited:
            return ledger.n_parts * ledger.mean_work * SECONDS_PER_WORK
        return ledger.n_parts * ledger.mean_elapsed / self._workers.count

    def _expected_seconds(self, dealt: _Dealt) -> float:
        """Seconds until all parts are done; without a limit those done count too, wherever they came from."""
        ledger = dealt.ledger
        share_left = 1 - len(ledger.answers) / ledger.n_parts if self._is_limited else 1.0
        return share_left * self._seconds_of_all(dealt)

    def _projected_gap(self, dealt: _Dealt) -> float:
        return relative_gap(self._projection(dealt).bound, self._cost)

    def _projected_error(self, dealt: _Dealt) -> float:
        """By how much the projected gap may be off: Student's factor for few parts, times its standard error."""
        error = dealt.ledger.projection().error
        if error == 0:
            return 0.0
        factor = float(stdtrit(max(1, dealt.ledger.n_finished - 1), SURE))
        return factor * error / max(self._cost, np.finfo(float).tiny)

    def _projection(self, dealt: _Dealt) -> Projection:
        bound, error = dealt.ledger.projection()
        return Projection(bound + self._task.certain_penalty, error)

    def _is_over(self) -> bool:
        return self._is_stopped or self._limits.deadline.expired()

    def _tell(self, dealt: _Dealt) -> None:
        if self._limits.on_progress is None:
            return
        ledger, projection = dealt.ledger, dealt.ledger.projection()
        point = PartsPoint(
            seconds=time.perf_counter() - self._began,
            lower_bound=max(other.ledger.lower_bound for other in self._dealt) + self._task.certain_penalty,
            upper_bound=self._cost,
            n_done=len(ledger.answers),
            n_parts=ledger.n_parts,
            part_size=dealt.part_size,
            projected_gap=self._projected_gap(dealt),
            projected_gap_error=projection.error / max(self._cost, np.finfo(float).tiny),
            processor_seconds=sum(other.ledger.seconds for other in self._dealt),
        )
        self._is_stopped |= bool(self._limits.on_progress(point))


def _left_out(problem: Problem, split: Split) -> Iterator[str]:
    """Say which constraints the bound does not see: it holds, but could be higher."""
    if split.n_torn:
        assert problem.conflicts is not None
        yield f"{split.n_torn} of {counted(problem.conflicts.n_edges, 'cannot-link')}, between parts"
    if problem.has_soft_links:
        yield "soft links, but for those that no clustering can keep"
    if problem.size_min is not None and problem.size_min.max() > 0:
        yield "size_min"
    largest = largest_size(problem)
    if largest is None:
        return
    assert problem.size_max is not None
    if np.bincount(split.part_of, split.problem.demand).max() <= largest:
        yield "size_max, which no part is large enough to reach"
    elif problem.size_max.min() < largest:
        yield "size_max of single clusters, but for the largest"
