"""The restricted master: choose at most k known clusters that cover every block, at least cost.

    minimise  sum_t c_t x_t    subject to  sum_{t holds b} x_t >= 1  (lambda_b >= 0)  for each block b,
                                           sum_t x_t <= k            (-sigma <= 0),        x >= 0.

Covering suffices where Babaki, Guns and Nijssen (2014, Table 2) require equality: all cluster constraints are closed
under taking parts, and a part never costs more, so a block covered twice can leave one of its clusters. For the same
reason "at most k" suffices: a cluster can be split without cost as long as there are k blocks.

A clustering costs at least ``sum(lambda) + k min(0, min_X cost(X) - lambda(X))`` for any lambda >= 0: each of its at
most k clusters contributes at least the minimum. That bound needs no trust in the solver that proposed lambda.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._highs import BinaryProgram, GrowingProgram, solve_binary
from konstrain._tolerances import INTEGRAL
from konstrain.exact.columns.pricing import Column
from konstrain.stop import UNLIMITED, Budget


class ColumnPool:
    """Different columns with their costs, in the order in which they came."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.costs: list[float] = []
        self._known: set[Column] = set()

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, column: object) -> bool:
        return column in self._known

    def add(self, column: Column, cost: float) -> bool:
        """Add a column unless it is there already; return whether it was added."""
        if column in self._known:
            return False
        # An interrupt between these lines leaves a cost or an entry too much, never a column without its cost.
        del self.costs[len(self.columns) :]
        self.costs.append(cost)
        self.columns.append(column)
        self._known.add(column)
        return True


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Optimum of the restricted master: value, duals, value of each column."""

    value: float  # Least cost of a fractional cover, or least missing cover in the feasibility master.
    duals: NDArray[np.float64]  # (n_blocks,): lambda, clipped to be non-negative.
    sigma: float  # Dual of the number of clusters, non-negative.
    use: NDArray[np.float64]  # Value of each column of the pool.
    rest: float  # Value of the artificial columns: of the incumbent, or of missing cover.

    def between(self, other: "MasterSolution", share: float) -> "MasterSolution":
        """Return this solution with its duals moved towards those of another optimum."""
        duals = (1.0 - share) * self.duals + share * other.duals
        return replace(self, duals=duals, sigma=(1.0 - share) * self.sigma + share * other.sigma)


class Master:
    """The restricted master as a linear program that grows with its pool.

    Costs are divided by `scale`, so that the solver's absolute tolerances mean the same on all data. `incumbent_cost`
    is the cost of an artificial column that covers all blocks and uses all clusters, which keeps the program feasible
    and its value at most this; None: the pool must hold a clustering. With `feasibility` costs are 0 and the missing
    cover is minimised: 0 if and only if a fractional clustering exists among the columns; the duals, in [0, 1], are
    the Farkas duals. With `central` duals come from the middle of the optimal ones, not from a corner. With
    `perturbed` covers have the slack of `perturb`, at a cost (Babaki, Guns and Nijssen 2014, Table 4).
    """

    def __init__(
        self,
        pool: ColumnPool,
        n_blocks: int,
        n_clusters: int,
        *,
        scale: float = 1.0,
        incumbent_cost: float | None = None,
        feasibility: bool = False,
        central: bool = False,
        perturbed: bool = False,
    ) -> None:
        self.pool = pool
        self.n_blocks = n_blocks
        self.n_clusters = n_clusters
        self.scale = 1.0 if feasibility else scale
        self.feasibility = feasibility
        low = np.append(np.ones(n_blocks), -np.inf)
        high = np.append(np.full(n_blocks, np.inf), float(n_clusters))
        self._program = GrowingProgram(low, high, central=central)
        blocks = np.arange(n_blocks, dtype=np.int32)
        if feasibility:
            self._program.add_columns(np.ones(n_blocks), blocks, blocks, np.ones(n_blocks))
        elif incumbent_cost is not None:
            rows = np.append(blocks, np.int32(n_blocks))
            values = np.append(np.ones(n_blocks), float(n_clusters))
            cost = np.array([incumbent_cost / self.scale])
            self._program.add_columns(cost, np.zeros(1, dtype=np.int32), rows, values)
        self._n_rest = self._program.n_columns
        if perturbed:
            self._program.add_columns(np.zeros(n_blocks), blocks, blocks, np.ones(n_blocks))
        self._n_artificial = self._program.n_columns

    def perturb(self, theta: NDArray[np.float64], mu: float) -> None:
        """Allow slack up to `mu` in the cover of each block at the cost `theta`, which attracts the duals."""
        columns = np.arange(self._n_rest, self._n_artificial, dtype=np.int32)
        self._program.change_columns(columns, theta / self.scale, mu)

    def solve(self, budget: Budget) -> MasterSolution | None:
        """Solve with all columns of the pool; None when time ran out or the pool holds no cover."""
        self._take_up()
        solution = self._program.solve(budget)
        if solution.status != "optimal":
            return None
        use = solution.x[self._n_artificial :]
        return MasterSolution(
            value=solution.value * self.scale,
            duals=np.maximum(solution.duals[:-1], 0.0) * self.scale,
            sigma=max(0.0, -float(solution.duals[-1])) * self.scale,
            use=np.where(use > 0.0, use, 0.0),
            rest=float(solution.x[: self._n_rest].sum()),
        )

    def _take_up(self) -> None:
        # Counted by the solver: an interrupted call leaves nothing half done.
        known = self._program.n_columns - self._n_artificial
        new = self.pool.columns[known:]
        if not new:
            return
        costs = np.zeros(len(new)) if self.feasibility else np.array(self.pool.costs[known : known + len(new)])
        starts, rows = _compressed(new, self.n_blocks)
        self._program.add_columns(costs / self.scale, starts, rows, np.ones(rows.size))


def _compressed(columns: Sequence[Column], n_blocks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Entries of columns by block, each with one more in the row that counts clusters."""
    lengths = np.array([len(column) + 1 for column in columns])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    rows = [block for column in columns for block in (*column, n_blocks)]
    return starts, np.array(rows, dtype=np.int32)


def exact_cover(columns: Iterable[Column], use: Iterable[float], n_blocks: int) -> list[tuple[Column, float]]:
    """Trim a fractional cover until each block is covered exactly once; costs do not rise by that."""
    missing = np.ones(n_blocks)
    parts: dict[Column, float] = {}
    # Most used first: their overlap with the rest is taken off the rest.
    for share, column in sorted(zip(use, columns, strict=True), reverse=True):
        while share > INTEGRAL:
            kept = tuple(b for b in column if missing[b] > INTEGRAL)
            if not kept:
                break
            part = min(share, float(missing[list(kept)].min()))
            parts[kept] = parts.get(kept, 0.0) + part
            missing[list(kept)] -= part
            share -= part
    return list(parts.items())


def togetherness(parts: Iterable[tuple[Column, float]], n_blocks: int) -> NDArray[np.float64]:
    """Return the share, from 0 to 1, in which each pair of blocks shares a cluster in a fractional clustering."""
    together = np.zeros((n_blocks, n_blocks))
    for column, share in parts:
        together[np.ix_(column, column)] += share
    return together


def integer_master(
    pool: ColumnPool,
    n_blocks: int,
    n_clusters: int,
    *,
    chosen: NDArray[np.intp] | None = None,
    scale: float = 1.0,
    budget: Budget = UNLIMITED,
) -> list[Column] | None:
    """Return the best clustering of columns of the pool, or of `chosen` ones; a block may be covered twice.

    None when there is none or time ran out before the first; costs are divided by `scale`.
    """
    numbers = np.arange(len(pool)) if chosen is None else chosen
    columns = [pool.columns[i] for i in numbers]
    if not columns:
        return None
    starts, rows = _compressed(columns, n_blocks)
    indptr = np.append(starts, rows.size)
    by_column = csr_array((np.ones(rows.size), rows, indptr), shape=(len(columns), n_blocks + 1))
    program = BinaryProgram(
        cost=np.array([pool.costs[i] for i in numbers]) / scale,
        rows=csr_array(by_column.T),
        row_low=np.append(np.ones(n_blocks), -np.inf),
        row_high=np.append(np.full(n_blocks, np.inf), float(n_clusters)),
        integer=np.ones(len(columns), dtype=bool),
    )
    solution = solve_binary(program, budget=budget)
    if solution.x is None:
        return None
    return [column for column, x in zip(columns, solution.x, strict=True) if x > 0.5]
