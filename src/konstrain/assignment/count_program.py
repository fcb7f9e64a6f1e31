"""How many blocks of each kind each cluster should hold: a linear program over transfers between clusters.

Which blocks these are does not matter to the rules. A program over single blocks has a row for each of thousands;
this one has a row per kind and cluster, and its prices are those of the program over blocks but for transfers that
name the same block twice.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from konstrain._highs import GrowingProgram
from konstrain._tolerances import BINARY
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.transfers import Transfers
from konstrain.assignment.whole_rules import WholeRules
from konstrain.stop import Deadline


@dataclass(frozen=True, eq=False)
class Counts:
    """Blocks of each kind in each cluster, what they cost, and prices.

    `prices` are those of the rules, shape (n_clusters, n_rules), and `total_prices` those of totals that are asked
    for; `charges` is what a block of each kind pays in each cluster, shape (n_kinds, n_clusters).
    """

    held: NDArray[np.float64]
    cost: float
    prices: NDArray[np.float64]
    total_prices: NDArray[np.float64]
    charges: NDArray[np.float64]

    @property
    def are_whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return bool((np.abs(self.held - np.round(self.held)) <= BINARY * np.maximum(1.0, self.held)).all())


class CountProgram:
    """The program: transfers change counts, and counts keep the rules.

    Parameters
    ----------
    held : ndarray of float64, shape (n_kinds, n_clusters)
        Counts before any transfer.
    cost : float
        What these cost.
    transfers : Transfers
        What may change them, at costs without prices.
    whole : WholeRules
        The rules.
    kinds : Kinds
        What blocks add to these.
    """

    def __init__(
        self, held: NDArray[np.float64], cost: float, transfers: Transfers, whole: WholeRules, kinds: Kinds
    ) -> None:
        self._held, self._cost, self._transfers, self._whole = held, cost, transfers, whole
        self._scale = float(np.abs(transfers.cost).max(initial=0.0)) or 1.0
        n_clusters, rules = held.shape[1], whole.rules
        counted = held.ravel()
        any_total = np.full(n_clusters, np.inf)
        self._program = GrowingProgram(
            np.concatenate([counted, rules.low.ravel(), -any_total]),
            np.concatenate([counted, rules.high.ravel(), any_total]),
        )
        matrix = self._columns(rules.amounts[kinds.examples] @ rules.rules.T)
        paid = np.concatenate([transfers.cost / self._scale, np.zeros(held.size)])
        most = np.concatenate([transfers.capacity, np.full(held.size, np.inf)])
        self._program.add_columns(paid, matrix.indptr[:-1], matrix.indices, matrix.data, most)
        self._n_transfers = transfers.cost.size
        # Whether there were no counts at all when it was last solved.
        self.is_infeasible = False
        self._rule_rows = np.arange(held.size, held.size + (rules.n_rules + 1) * n_clusters, dtype=np.int32)

    def solve(self, deadline: Deadline) -> Counts | None:
        """Return the counts of least cost under the bounds in force; None if there are none or time is up."""
        answer = self._program.solve(deadline)
        self.is_infeasible = answer.status == "infeasible"
        if answer.status != "optimal":
            return None
        rules = self._whole.rules
        duals = self._scale * answer.duals
        n_counts = self._held.size
        prices = rules.payable(-duals[n_counts : n_counts + rules.low.size].reshape(rules.low.shape))
        return Counts(
            answer.x[self._n_transfers :].reshape(self._held.shape),
            self._cost + self._scale * answer.value,
            prices,
            -duals[n_counts + rules.low.size :],
            duals[:n_counts].reshape(self._held.shape),
        )

    def fix_total(self, cluster: int, total: float) -> None:
        """Ask for this total of one cluster, and there for no more of any rule than whole counts allow."""
        self._ask(*self._whole.bounds_at(cluster, total))

    def fix_totals(self, totals: NDArray[np.float64]) -> None:
        """Ask for these totals of the clusters, and for no more of any rule than whole counts allow."""
        self._ask(*self._whole.bounds(totals), totals, totals)

    def _ask(
        self,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        least: NDArray[np.float64],
        most: NDArray[np.float64],
    ) -> None:
        """Bound the rules of all clusters, and their totals."""
        self._program.change_rows(
            self._rule_rows, np.concatenate([low.ravel(), least]), np.concatenate([high.ravel(), most])
        )

    def _columns(self, added: NDArray[np.float64]) -> csc_array:
        """One column per transfer, from one count to another, and one per count, what it adds to rules and total."""
        n_clusters = self._held.shape[1]
        n_rules, n_counts = added.shape[1], self._held.size
        moved = self._transfers
        transfer = np.arange(moved.cost.size)
        count = np.arange(n_counts)
        kind, cluster = np.divmod(count, n_clusters)
        rule_rows = n_counts + (cluster * n_rules)[:, None] + np.arange(n_rules)
        total_rows = n_counts + n_clusters * n_rules + cluster
        entries = (
            (moved.kind * n_clusters + moved.target, transfer, -np.ones(transfer.size)),
            (moved.kind * n_clusters + moved.source, transfer, np.ones(transfer.size)),
            (count, transfer.size + count, np.ones(n_counts)),
            (rule_rows.ravel(), transfer.size + np.repeat(count, n_rules), added[kind].ravel()),
            (total_rows, transfer.size + count, self._whole.total[kind]),
        )
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (n_counts + n_clusters * (n_rules + 1), transfer.size + n_counts)
        return csc_array(coo_array((values, (rows, columns)), shape=shape))
