"""A closer look at the cluster that loses most to whole numbers, one total after the other.

Most of what whole numbers cost is often lost by one small cluster. For each of its totals that better labels could
have, the linear program is solved anew: its prices prove more than those for any total do, and its counts are nearer
to whole ones.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment.count_program import CountProgram, Counts
from konstrain.assignment.kinds import Kinds
from konstrain.assignment.sifting import Pricing
from konstrain.assignment.whole_bound import LostByTotal, WholeBound
from konstrain.assignment.whole_rules import WholeRules
from konstrain.assignment.whole_totals import whole_counts
from konstrain.stop import Deadline

# Totals beyond which a closer look takes too long.
MOST_TOTALS = 100
# Of these, the most promising ones that whole counts are looked for at.
MOST_COUNTED = 4


@dataclass(frozen=True, eq=False)
class CloserLook:
    """The costs of all blocks, and where the linear program over their counts has come."""

    costs: NDArray[np.float64]
    whole: WholeRules
    kinds: Kinds
    program: CountProgram
    bound: WholeBound

    def run(self, counts: Counts | None, target: float, deadline: Deadline) -> tuple[Counts | None, float]:
        """Return the best whole counts, and what all labels lose at least; totals that lose `target` are left out."""
        tables = self.bound.tables
        dearest = int(np.argmax([table.least for table in tables]))
        others = self.bound.lost - tables[dearest].least
        near = tables[dearest].totals[tables[dearest].lost + others < target]
        if near.size > MOST_TOTALS:
            return counts, self.bound.lost
        found = self._at_totals(dearest, near, deadline)
        if found is None:
            return counts, self.bound.lost
        for _, at_total in sorted(found, key=lambda each: each[1].cost)[:MOST_COUNTED]:
            whole = whole_counts(self.program, at_total, self.whole, deadline)
            if whole is not None and (counts is None or whole.cost < counts.cost):
                counts = whole
        beyond = _least_elsewhere(tables[dearest], near) + others
        return counts, max(self.bound.lost, min(beyond, self._least_lost(dearest, found)))

    def _at_totals(
        self, cluster: int, totals: NDArray[np.float64], deadline: Deadline
    ) -> list[tuple[float, Counts]] | None:
        """Solve the program at each total of a cluster that counts can have; None if it was not solved at one."""
        found = []
        for total in totals:
            self.program.fix_total(cluster, float(total))
            counts = self.program.solve(deadline)
            if counts is not None:
                found.append((float(total), counts))
            elif not self.program.is_infeasible:
                return None
        return found

    def _least_lost(self, cluster: int, found: list[tuple[float, Counts]]) -> float:
        """Least that is lost at any of these totals, by all clusters; the others are looked at where that decides."""
        points = [self._priced(cluster, total, counts) for total, counts in found]
        lost = np.array([point.bound - self.bound.pricing.bound for point in points])
        is_raised = np.zeros(lost.size, dtype=bool)
        while lost.size and not is_raised[least := int(lost.argmin())]:
            at_total = WholeBound(points[least], self.whole, self.kinds)
            lost[least] += at_total.lost - at_total.tables[cluster].least
            is_raised[least] = True
        return float(lost.min(initial=np.inf))

    def _priced(self, cluster: int, total: float, counts: Counts) -> Pricing:
        """Price all blocks under the bounds of whole counts for this total, and under the total itself."""
        low, high, least, most = self.whole.bounds_at(cluster, total)
        of_blocks = self.whole.total[self.kinds.of_block]
        ruled = replace(self.whole.rules, low=low, high=high).with_rule(of_blocks, least, most)
        point = Pricing.at(self.costs, ruled, np.column_stack([counts.prices, counts.total_prices]), self.kinds)
        return replace(point, prices=counts.prices)


def _least_elsewhere(table: LostByTotal, totals: NDArray[np.float64]) -> float:
    """Least that is lost at all totals but these."""
    elsewhere = table.lost[~np.isin(table.totals, totals)]
    return float(min(elsewhere.min(initial=np.inf), table.beyond))
