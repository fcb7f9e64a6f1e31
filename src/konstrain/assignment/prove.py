"""What prices leave open, closed by cores: small ones that improve labels, then one that proves them.

What a block would lose by another cluster at the best prices (its regret) tells which choices can matter at all. A
first small core improves the labels, a second one holds every choice that could still be part of something better, so
its optimum is the optimum.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import PROOF_RELATIVE
from konstrain.assignment.core_problem import CoreAnswer, solve_core
from konstrain.assignment.linked import LinkedAnswer
from konstrain.assignment.problem import AssignmentProblem
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Deadline

# Choices of least regret in the first core; it grows by this factor while no feasible labels are known.
FIRST_CORE = 200
CORE_GROWTH = 8


class Point(Protocol):
    """What is known at some prices: labels without the bounds that have prices, and the bound they prove."""

    @property
    def relaxed(self) -> LinkedAnswer:
        """Labels that keep the links, with what they cost at these prices."""
        ...

    @property
    def bound(self) -> float:
        """What the prices prove."""
        ...


class Search(Protocol):
    """A search for prices and labels, as far as it has come."""

    problem: AssignmentProblem
    deadline: Deadline
    labels: NDArray[np.int32] | None
    cost: float

    @property
    def best(self) -> Point | None:
        """The prices with the best bound."""
        ...

    @property
    def bound(self) -> float:
        """Best lower bound so far."""
        ...

    def is_closed(self) -> bool:
        """Whether the best labels are proved optimal."""
        ...

    def offer(self, labels: NDArray[np.int32]) -> None:
        """Keep labels if they are feasible and better than what was known."""
        ...

    def priced_costs(self) -> NDArray[np.float64]:
        """Costs of all choices at the best prices, prices included."""
        ...


def prove(search: Search, most_choices: int | None = None) -> float:
    """Improve and prove by cores; returns the best bound reached.

    Where branchings are limited, a core of more than `most_choices` beyond one per block is not taken up.
    """
    # Where branchings are limited a proof is not what is asked for; with soft links the core alone takes too long.
    is_brief = search.deadline.is_brief
    has_soft_labels = search.labels is not None and not search.problem.graph.is_hard
    if is_brief and has_soft_labels:
        return search.bound
    regret = _regrets(search)
    allowed = _worth_trying(search, regret)
    # Regrets do not see what soft links cost: with these the second core takes hardly longer than the first.
    if allowed.sum() > regret.shape[0] + FIRST_CORE and not has_soft_labels:
        _improve(search, regret)
        if search.is_closed() or search.deadline.expired() or (is_brief and search.labels is not None):
            return search.bound
        allowed = _worth_trying(search, regret)
        is_limited = most_choices is not None and search.deadline.max_nodes is not None
        if is_limited and search.labels is not None and allowed.sum() > regret.shape[0] + (most_choices or 0):
            return search.bound
    answer = _try_core(search, allowed)
    if answer.status == "infeasible" and search.labels is None:
        raise InfeasibleError(
            f"no assignment of {search.problem.n_blocks} blocks to {search.problem.n_clusters} clusters keeps all "
            "links and all sizes; relax a size bound or remove links",
            reason="combination",
        )
    # What the core leaves out costs at least as much as the labels known when it was made.
    return max(search.bound, min(answer.bound, search.cost))


def _improve(search: Search, regret: NDArray[np.float64]) -> None:
    """Find better labels among the choices of least regret; among more and more while there are no labels at all."""
    n_choices = FIRST_CORE
    while n_choices < regret.size and not search.deadline.expired():
        _try_core(search, _least_regret(search, regret, n_choices))
        if search.labels is not None:
            return
        n_choices *= CORE_GROWTH


def _regrets(search: Search) -> NDArray[np.float64]:
    """What each block pays in each cluster above its cheapest one, at the best prices."""
    priced = search.priced_costs()
    regrets: NDArray[np.float64] = priced - priced.min(axis=1, keepdims=True)
    return regrets


def _least_regret(search: Search, regret: NDArray[np.float64], n_choices: int) -> NDArray[np.bool_]:
    """Allow the choices of least regret beside the labels known so far."""
    assert search.best is not None
    allowed = np.zeros(regret.shape, dtype=bool)
    rows = np.arange(regret.shape[0])
    known = [search.best.relaxed.labels] + ([] if search.labels is None else [search.labels])
    for labels in known:
        allowed[rows, labels] = True
    others = np.where(allowed, np.inf, regret).ravel()
    allowed.ravel()[np.argpartition(others, n_choices)[:n_choices]] = True
    return allowed


def _worth_trying(search: Search, regret: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Allow every choice that labels cheaper than the known ones could make."""
    assert search.best is not None
    if search.labels is None:
        return np.ones(regret.shape, dtype=bool)
    allowed: NDArray[np.bool_] = regret <= reach(search)[:, None]
    allowed[np.arange(regret.shape[0]), search.labels] = True
    return allowed


def reach(search: Search) -> NDArray[np.float64]:
    """Return the regret of each block beyond which no labels cheaper than the known ones go."""
    assert search.best is not None
    slack = search.best.relaxed.slack()
    gap = search.cost - search.best.bound
    # A little more than can matter: the sums behind gap and slack are rounded.
    rounding = 4 * search.problem.rounding(search.cost) + PROOF_RELATIVE * abs(gap)
    return gap + slack + rounding


def _try_core(search: Search, allowed: NDArray[np.bool_]) -> CoreAnswer:
    answer = solve_core(search.problem, allowed, search.deadline, search.labels)
    if answer.labels is not None:
        search.offer(answer.labels)
    return answer
