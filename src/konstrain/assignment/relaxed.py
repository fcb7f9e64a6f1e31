"""An assignment by shares: the linear program that prices solve, whose blocks may be split between clusters.

Where blocks hold amounts of their own it takes milliseconds, and labels that keep all bounds ten times as long.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import SHARED_RELATIVE
from konstrain.assignment.free_blocks import has_own_amounts
from konstrain.assignment.problem import AssignmentProblem
from konstrain.assignment.resource_search import all_rules
from konstrain.assignment.sifting import sift
from konstrain.stop import Deadline


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Shares of clusters (n_blocks, n_clusters) that each block takes, what they cost at least, and the prices."""

    shares: NDArray[np.float64]
    bound: float
    prices: NDArray[np.float64]


def suits(problem: AssignmentProblem) -> bool:
    """Whether shares are much easier to find than labels."""
    return not problem.has_links and problem.has_resources and has_own_amounts(problem.costs, all_rules(problem))


def relax(problem: AssignmentProblem, near: Relaxed | None, deadline: Deadline) -> Relaxed:
    """Solve the linear program of a problem that it suits, near the answer to a similar one."""
    rules, unit = all_rules(replace(problem, nonempty=False)).compared.scaled
    start = np.zeros_like(rules.low) if near is None else near.prices * unit
    found = sift(problem.costs, rules, start, deadline, SHARED_RELATIVE)
    return Relaxed(found.shares, found.bound, found.prices / unit)
