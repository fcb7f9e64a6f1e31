"""Nodes of the tree, with one of three lower bounds."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from konstrain._tolerances import LEAST_VIOLATION
from konstrain.constraints.problem import Problem
from konstrain.exact.columns.boxes import BoxColumnBound
from konstrain.exact.columns.generation import ColumnGenerationBound
from konstrain.exact.heuristic import find_clustering
from konstrain.exact.sdp.bound import SdpBound, SdpResult
from konstrain.exact.sdp.model import conflict_matrix
from konstrain.exact.sdp.sized import SizedBound, are_known_and_differ
from konstrain.exact.task import Branch, Pair, ProofTask
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Budget


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a run of a node: why it ended, and labels of rows, if a clustering was found.

    `status` is "closed" (nothing better in this branch), "open" (branch), "limit" (time is up) or "interrupted".
    """

    status: str
    labels: NDArray[np.int32] | None = None


class Node(Protocol):
    """Interface of a node, whichever bound it uses."""

    task: ProofTask
    branch: Branch

    @property
    def prover(self) -> str:
        """Name of the bound, as in `ExactKMeans(bound=...)`."""
        ...

    @property
    def lower_bound(self) -> float:
        """Lower bound on the cost of every clustering of this branch."""
        ...

    def run(
        self, upper_bound: float, gap: float, budget: Budget, on_progress: Callable[[], bool] | None = None
    ) -> Outcome:
        """Raise the bound until it meets the upper bound, stalls, or time is up.

        `on_progress` is called now and then by bounds that rise by themselves; returning True ends the run.
        """
        ...

    def pair(self) -> Pair | None:
        """Return two rows to branch on; None: one clustering is left."""
        ...

    def children(self, pair: Pair) -> list["Node"]:
        """Return the feasible nodes with the rows together, and apart."""
        ...


class SemidefiniteNode:
    """A node whose bound is the semidefinite one; children start from where it ended.

    The bound is on squared distances. The penalties of soft links that the branch breaks are added; other soft links
    may be kept at no cost, and the tree branches on those that the relaxed clustering breaks.
    """

    prover = "sdp"

    def __init__(self, task: ProofTask, branch: Branch, bound: SdpBound, penalty: float) -> None:
        self.task, self.branch, self._bound, self._penalty = task, branch, bound, penalty

    @classmethod
    def root(cls, task: ProofTask) -> Self:
        """Return the root."""
        return cls(task, Branch(), SdpBound(task.problem), task.certain_penalty)

    @property
    def lower_bound(self) -> float:
        """See `Node`."""
        return self._bound.lower_bound + self._penalty

    def run(
        self, upper_bound: float, gap: float, budget: Budget, on_progress: Callable[[], bool] | None = None
    ) -> Outcome:
        """See `Node`."""
        result = self._run_bound(upper_bound - self._penalty, gap, budget)
        if result.interrupted:
            return Outcome("interrupted")
        labels = self._rounded(result.Z)
        if result.status == "closed" and self._bound.model.known_value is None:
            return Outcome("closed", labels)
        if result.status == "limit":
            return Outcome("limit", labels)
        return Outcome("open", labels)

    def _run_bound(self, upper_bound: float, gap: float, budget: Budget) -> SdpResult:
        """Run the bound; where it stalls at the root and sizes differ, also the bound with one matrix per size.

        Children go on with the better of the two: subset cuts are strong for sizes that hardly differ, matrices per
        size where the sizes of single clusters differ.
        """
        result = self._bound.run(upper_bound, gap, budget)
        if result.status != "stalled" or self._bound.depth > 0 or not are_known_and_differ(self.task.problem):
            return result
        sized = SizedBound(self.task.problem)
        of_sized = sized.run(upper_bound, gap, budget)
        if of_sized.interrupted or sized.lower_bound > self._bound.lower_bound:
            sized.lower_bound = max(sized.lower_bound, self._bound.lower_bound)
            self._bound, result = sized, of_sized
        return result

    def _rounded(self, Z: NDArray[np.float64]) -> NDArray[np.int32] | None:
        """Round the relaxed matrix to clusters; None unless there are k of them."""
        own = Z.diagonal()
        together = 0.5 * np.minimum.outer(own, own) < Z
        n_parts, part = connected_components(together, directed=False)
        block_of = self._bound.block_of
        if n_parts != self.task.problem.n_clusters or (block_of < 0).any():
            return None
        labels: NDArray[np.int32] = self.task.problem.expand(part[block_of].astype(np.int32))
        return labels

    def pair(self) -> Pair | None:
        """See `Node`."""
        soft, is_broken = self._soft_pair()
        chosen = soft if is_broken else self._bound.branching_pair() or self._first_open_pair() or soft
        if chosen is None:
            return None
        return self.task.first_row(chosen[0]), self.task.first_row(chosen[1])

    def _soft_pair(self) -> tuple[Pair | None, bool]:
        """Return the open soft link with the largest penalty in the relaxation, and whether it counts as broken."""
        first, second, weight = self.task.soft_links
        a, b = self._bound.block_of[first], self._bound.block_of[second]
        is_open = (a != b) & ~self._bound.model.is_conflict[a, b]
        if not is_open.any():
            return None, False
        Z = self._bound.Z
        own = np.minimum(Z[a, a], Z[b, b])
        degree = np.clip(Z[a, b] / np.maximum(own, np.finfo(float).tiny), 0.0, 1.0)
        penalty = np.where(is_open, np.where(weight > 0, weight * degree, -weight * (1 - degree)), -1.0)
        worst = int(penalty.argmax())
        return (int(first[worst]), int(second[worst])), bool(
            penalty[worst] > LEAST_VIOLATION * np.abs(weight[is_open]).max()
        )

    def _first_open_pair(self) -> Pair | None:
        """Return two blocks that are neither together nor apart, for size bounds that the relaxation ignores."""
        model = self._bound.model
        found = None if model.known_value is not None else _open_pair(model.is_conflict)
        if found is None:
            return None
        first, second = (int(np.argmax(self._bound.block_of == block)) for block in found)
        return first, second

    def children(self, pair: Pair) -> list[Node]:
        """See `Node`."""
        i, j = (int(self.task.problem.block_of[row]) for row in pair)
        make = {self.branch.together(pair): self._bound.child_must_link}
        make[self.branch.apart(pair)] = self._bound.child_cannot_link
        return [
            SemidefiniteNode(self.task, branch, make[branch](i, j), self.task.fixed_penalty(problem))
            for branch, problem in _feasible(self.task, *make)
        ]


class ColumnNode:
    """A node whose bound is column generation; children start from the columns that fit them."""

    prover = "column-generation"

    def __init__(self, task: ProofTask, branch: Branch, bound: ColumnGenerationBound, floor: float) -> None:
        self.task, self.branch, self._bound, self._floor = task, branch, bound, floor
        self.has_stalled = False  # whether the exact pricer gave up

    @classmethod
    def root(
        cls,
        task: ProofTask,
        seed: int,
        labels: NDArray[np.int32] | None = None,
        node_limit: int | None = None,
        switches: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the root; the clusters of known labels are its first columns."""
        bound = ColumnGenerationBound(
            task.problem, task.cluster_constraints, seed=seed, relax=True, node_limit=node_limit, **(switches or {})
        )
        if labels is not None:
            bound.add_clustering(labels)
        return cls(task, Branch(), bound, -np.inf)

    @property
    def lower_bound(self) -> float:
        """See `Node`; never below the parent's."""
        return max(self._bound.lower_bound, self._floor)

    def run(
        self, upper_bound: float, gap: float, budget: Budget, on_progress: Callable[[], bool] | None = None
    ) -> Outcome:
        """See `Node`."""
        result = self._bound.run(upper_bound, gap, budget)
        self.has_stalled = result.status == "stalled"
        status = {"closed": "closed", "infeasible": "closed", "limit": "limit"}.get(result.status, "open")
        return Outcome(status, result.incumbent_labels)

    def pair(self) -> Pair | None:
        """See `Node`."""
        problem = self._bound.problem
        chosen = self._bound.branching_pair() or _open_pair(conflict_matrix(problem))
        if chosen is None:
            return None
        first, second = (int(problem.rows_of(block)[0]) for block in chosen)
        return first, second

    def children(self, pair: Pair) -> list[Node]:
        """See `Node`."""
        rules = self.task.cluster_constraints
        return [
            ColumnNode(self.task, branch, self._bound.child(problem, rules), self.lower_bound)
            for branch, problem in _feasible(self.task, self.branch.together(pair), self.branch.apart(pair))
        ]


class BoxNode:
    """A node whose bound is column generation over boxes; children start from its duals and columns."""

    prover = "columns"

    def __init__(self, task: ProofTask, branch: Branch, bound: BoxColumnBound, floor: float) -> None:
        self.task, self.branch, self._bound, self._floor = task, branch, bound, floor

    @classmethod
    def root(cls, task: ProofTask, labels: NDArray[np.int32] | None, n_jobs: int | None = None) -> Self:
        """Return the root; known labels give its first duals and columns. It may use several threads."""
        return cls(task, Branch(), BoxColumnBound(task.problem, labels, n_jobs=n_jobs), -np.inf)

    @property
    def lower_bound(self) -> float:
        """See `Node`; never below the parent's."""
        return max(self._bound.lower_bound, self._floor)

    def has_few_boxes(self, budget: Budget) -> bool:
        """Return whether its bound suits the problem; see `BoxColumnBound`."""
        return self._bound.has_few_boxes(budget)

    def run(
        self, upper_bound: float, gap: float, budget: Budget, on_progress: Callable[[], bool] | None = None
    ) -> Outcome:
        """See `Node`."""
        labels = None
        try:
            while True:
                status = self._bound.run(upper_bound, gap, budget, on_progress)
                found = self._labels(upper_bound, budget) if status in ("optimal", "limit") else None
                cost = np.inf if found is None else self.task.cost_of(found)
                if not cost < upper_bound:
                    break
                # The bound may reach the better clustering.
                labels, upper_bound = found, cost
        except KeyboardInterrupt:
            return Outcome("interrupted", labels)
        return Outcome({"optimal": "open"}.get(status, status), labels)

    def _labels(self, upper_bound: float, budget: Budget) -> NDArray[np.int32] | None:
        """Return labels from the columns that the master chose; at the root, from the best choice of known ones."""
        centers = self._bound.integral_centers()
        if centers is None and self.branch.is_root:
            centers = self._bound.chosen_centers(upper_bound, budget)
        if centers is None:
            return None
        found = find_clustering(self.task.X, self.task.problem, budget, centers=centers)
        return None if found is None else self.task.problem.expand(found.block_labels)

    def pair(self) -> Pair | None:
        """See `Node`."""
        problem = self._bound.problem
        chosen = self._bound.branching_pair() or _open_pair(conflict_matrix(problem))
        if chosen is None:
            return None
        return int(problem.first_rows[chosen[0]]), int(problem.first_rows[chosen[1]])

    def children(self, pair: Pair) -> list[Node]:
        """See `Node`."""
        return [
            BoxNode(self.task, branch, BoxColumnBound(problem, parent=self._bound), self.lower_bound)
            for branch, problem in _feasible(self.task, self.branch.together(pair), self.branch.apart(pair))
        ]


def _open_pair(is_conflict: NDArray[np.bool_]) -> Pair | None:
    """Return the first two blocks without a conflict; None where all are in conflict."""
    free = np.triu(~is_conflict, 1)
    if not free.any():
        return None
    i, j = divmod(int(free.argmax()), len(free))
    return i, j


def _feasible(task: ProofTask, *branches: Branch) -> Iterator[tuple[Branch, Problem]]:
    """Yield the branches whose links do not contradict each other, with their problems."""
    for branch in branches:
        with suppress(InfeasibleError):
            yield branch, task.problem_of(branch)
