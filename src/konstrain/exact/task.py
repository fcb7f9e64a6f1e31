"""Rows and constraints of a proof, and the further links of a branch."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.problem import Problem
from konstrain.exact.columns.cluster_constraints import ClusterConstraint

Pair = tuple[int, int]


@dataclass(frozen=True)
class Branch:
    """Links that a node of the tree adds to the problem, as pairs of rows."""

    must: tuple[Pair, ...] = ()
    cannot: tuple[Pair, ...] = ()

    @property
    def is_root(self) -> bool:
        """Whether no links are added."""
        return not self.must and not self.cannot

    def together(self, pair: Pair) -> "Branch":
        """Return the branch in which these rows share a cluster too."""
        return Branch((*self.must, pair), self.cannot)

    def apart(self, pair: Pair) -> "Branch":
        """Return the branch in which these rows are in different clusters too."""
        return Branch(self.must, (*self.cannot, pair))


@dataclass(frozen=True, eq=False)
class ProofTask:
    """Rows and constraints, from which the problem of every node is built."""

    X: Any  # (n_samples, n_features): the rows.
    problem: Problem  # The problem of the root.
    cluster_constraints: tuple[ClusterConstraint, ...] = ()  # Anti-monotone constraints on single clusters.
    # Penalty of a broken soft link of confidence 1; needed when there are soft links.
    violation_cost: float | None = None

    def problem_of(self, branch: Branch) -> Problem:
        """Return the problem of a node; raise InfeasibleError when its links contradict each other."""
        root = self.problem
        if branch.is_root:
            return root
        return Problem.build(
            self.X,
            root.n_clusters,
            must_link=np.concatenate([self._chains, _pairs(branch.must)]),
            cannot_link=np.concatenate([self._conflicts, _pairs(branch.cannot)]),
            demand=self._row_demand,
            sample_weight=root.sample_weight,
            size_min=root.size_min,
            size_max=root.size_max,
            nonempty=root.nonempty,
        )

    def first_row(self, block: int) -> int:
        """Return the first row of a block of the root's problem."""
        return int(self.problem.first_rows[block])

    def cost_of(self, labels: NDArray[np.int32]) -> float:
        """Return the sum of squares and the penalties of labels, one per row; infinite when they are infeasible."""
        problem = self.problem
        block_labels = labels[problem.first_rows]
        if not np.array_equal(problem.expand(block_labels), labels) or not self._is_allowed(labels, block_labels):
            return float("inf")
        weight = np.ones(problem.n_samples) if problem.sample_weight is None else problem.sample_weight
        total = self._penalty(block_labels)
        for label in np.unique(labels):
            rows, w = np.asarray(self.X[labels == label], dtype=np.float64), weight[labels == label]
            if w.sum() > 0:
                total += float(w @ ((rows - w @ rows / w.sum()) ** 2).sum(axis=1))
        return total

    def _is_allowed(self, labels: NDArray[np.int32], block_labels: NDArray[np.int32]) -> bool:
        problem = self.problem
        costs = np.zeros((problem.n_blocks, problem.n_clusters))
        if not problem.assignment_problem(costs, self._link_cost).is_feasible(block_labels):
            return False
        nobody = np.zeros(0, dtype=np.int32)
        return all(
            rule.allows(nobody, np.flatnonzero(labels == label).astype(np.int32))
            for rule in self.cluster_constraints
            for label in np.unique(labels)
        )

    @property
    def _link_cost(self) -> float | None:
        return self.violation_cost if self.problem.has_soft_links else None

    @property
    def certain_penalty(self) -> float:
        """Penalty of every clustering: soft links that other links contradict."""
        return 0.0 if self.violation_cost is None else self.violation_cost * self.problem.constant_penalty

    @cached_property
    def soft_links(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Soft links between blocks of the root, with weights as in `LinkGraph`."""
        links = None if self.violation_cost is None else self.problem.links_at(self.violation_cost)
        if links is None or links.is_hard:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        first, second, weight = links.edges
        is_soft = np.isfinite(weight)
        return first[is_soft], second[is_soft], weight[is_soft]

    def _penalty(self, block_labels: NDArray[np.int32]) -> float:
        first, second, weight = self.soft_links
        together = block_labels[first] == block_labels[second]
        return self.certain_penalty + _penalties(weight, together, ~together)

    def fixed_penalty(self, problem: Problem) -> float:
        """Return the penalty of every clustering of a node: soft links that its problem breaks."""
        first, second, weight = self.soft_links
        if not weight.size:
            return self.certain_penalty
        a, b = (problem.block_of[self.problem.first_rows[ends]].astype(np.int64) for ends in (first, second))
        apart = np.zeros(weight.size, dtype=bool)
        if problem.conflicts is not None:
            u, v, _ = problem.conflicts.edges
            known = u * np.int64(problem.n_blocks) + v
            apart = np.isin(np.minimum(a, b) * problem.n_blocks + np.maximum(a, b), known)
        return self.certain_penalty + _penalties(weight, a == b, apart)

    @cached_property
    def _chains(self) -> NDArray[np.int32]:
        """Must-links that tie the blocks of the root together: each row to the next of its block."""
        rows, same = self.problem.block_rows, np.ones(self.problem.n_samples, dtype=bool)
        same[self.problem.block_indptr[1:] - 1] = False
        return np.column_stack([rows[:-1], rows[1:]])[same[:-1]]

    @cached_property
    def _conflicts(self) -> NDArray[np.int32]:
        if self.problem.conflicts is None:
            return _pairs(())
        first, second, _ = self.problem.conflicts.edges
        heads = self.problem.block_rows[self.problem.block_indptr[:-1]]
        return np.column_stack([heads[first], heads[second]])

    @cached_property
    def _row_demand(self) -> NDArray[np.float64]:
        """Demand per row; only sums over blocks matter, so the first row of a block has all of it."""
        demand = np.zeros(self.problem.n_samples)
        demand[self.problem.block_rows[self.problem.block_indptr[:-1]]] = self.problem.demand
        return demand


def _penalties(weight: NDArray[np.float64], together: NDArray[np.bool_], apart: NDArray[np.bool_]) -> float:
    """Return the penalties of links whose ends are together, or apart; see `LinkGraph` for the signs."""
    return float(weight[together & (weight > 0)].sum() - weight[apart & (weight < 0)].sum())


def _pairs(pairs: tuple[Pair, ...]) -> NDArray[np.int32]:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)
