"""No engine hangs: a limit gives feasible labels with a valid bound, or says that nothing was decided."""

import contextlib

import numpy as np
import pytest

from konstrain.assignment import AssignmentProblem, assign, assign_by, linked, milp, priced
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.links import LinkGraph
from konstrain.stop import Budget
from oracles import check_assignment


def planted_colouring(n_blocks, n_clusters, degree, seed):
    """Links that keep some random labelling apart, with costs that know nothing of it: as hard as it gets."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_blocks)
    pairs = rng.integers(0, n_blocks, (20 * n_blocks * degree, 2))
    pairs = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]][: n_blocks * degree // 2]
    return AssignmentProblem(
        rng.random((n_blocks, n_clusters)), LinkGraph.from_edges(n_blocks, pairs[:, 0], pairs[:, 1])
    )


@pytest.mark.parametrize("engine", [linked, milp], ids=lambda engine: engine.name)
def test_a_hard_colouring_returns_in_time_with_an_honest_bound(engine):
    problem = planted_colouring(300, 8, 10, seed=0)
    # Both engines would search for hours: that this returns at all is the point.
    with contextlib.suppress(UndecidedError):
        answer = engine.solve(problem, budget=Budget(1.0))
        check_assignment(problem, answer)
        assert answer.lower_bound >= problem.costs.min(axis=1).sum() - 1e-9


def test_an_answer_cut_short_is_feasible_and_not_called_proven():
    problem = planted_colouring(200, 8, 6, seed=1)
    answer = linked.solve(problem, budget=Budget(0.0))
    check_assignment(problem, answer)
    assert not answer.proven
    assert answer.gap > 0


def half_wrong(seed=0):
    """Soft links that contradict each other, with sizes: hours for the solver."""
    rng = np.random.default_rng(seed)
    first, second = np.array([rng.choice(100, 2, replace=False) for _ in range(400)]).T
    links = LinkGraph.from_edges(100, first, second, rng.choice([-1.0, 1.0], 400))
    return AssignmentProblem(rng.random((100, 4)), links, None, np.full(4, 20.0), np.full(4, 30.0))


def test_work_ends_the_solver_with_a_bound_and_is_gone_for_what_follows():
    problem, budget = half_wrong(), Budget(work=3e8)
    answer = priced.solve(problem, budget=budget)
    check_assignment(problem, answer)
    assert not answer.proven
    assert answer.lower_bound > 0
    assert not budget.affords(4e7)
    assert not budget.expired()


def test_an_interrupt_gets_through_to_the_solver():
    class Interrupted(Budget):
        n_spent = 0

        def spend(self, work):
            self.n_spent += 1
            if self.n_spent == 4:
                raise KeyboardInterrupt

    budget = Interrupted(60.0)
    with pytest.raises(KeyboardInterrupt):
        milp.solve(half_wrong(), budget=budget)
    assert budget.n_spent == 4


def test_seconds_and_a_budget_limit_alike():
    problem = planted_colouring(200, 8, 6, seed=1)
    for answer in (assign(problem, time_limit=0.0), assign_by(problem, budget=Budget(0.0))):
        check_assignment(problem, answer)
        assert not answer.proven
    small = planted_colouring(20, 8, 2, seed=1)
    for answer in (assign(small), assign_by(small), assign_by(small, budget=Budget(600.0))):
        assert answer.proven


def test_no_model_is_written_down_when_time_is_up(monkeypatch):
    # Components grow one by one: a model for each, unsolved, once took eight times as long as the limit.
    monkeypatch.setattr(linked, "AssignmentModel", lambda *_, **__: pytest.fail("a model after the limit"))
    problem = planted_colouring(200, 8, 6, seed=1)
    check_assignment(problem, linked.solve(problem, budget=Budget(0.0)))


def test_sizes_and_links_cut_short_give_labels_or_say_undecided():
    base = planted_colouring(200, 8, 6, seed=2)
    problem = AssignmentProblem(base.costs, base.links, None, np.full(8, 20.0), np.full(8, 30.0))
    with contextlib.suppress(UndecidedError):
        check_assignment(problem, priced.solve(problem, budget=Budget(0.2)))
    tight = AssignmentProblem(base.costs, base.links, None, np.full(8, 25.0), np.full(8, 25.0))
    with pytest.raises(UndecidedError, match="raise time_limit"):
        priced.solve(tight, budget=Budget(0.0))


def test_conflicts_that_need_more_clusters_are_refused_with_their_blocks():
    problem = AssignmentProblem(np.zeros((4, 2)), LinkGraph.from_edges(4, [0, 1, 0], [1, 3, 3]))
    with pytest.raises(InfeasibleError, match=r"need more than 2 clusters") as error:
        assign(problem)
    assert error.value.reason == "too few clusters"
    assert error.value.witness["blocks"].tolist() == [0, 1, 3]


def test_links_and_sizes_that_clash_only_together_are_refused():
    links = LinkGraph.from_edges(4, [0, 0, 0], [1, 2, 3])
    problem = AssignmentProblem.checked(np.zeros((4, 2)), links=links, size_max=2)
    with pytest.raises(InfeasibleError, match="keeps all links and all sizes") as error:
        assign(problem)
    assert error.value.reason == "combination"


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"size_max": 1}, "upper bounds add up to 2 of demand, but the total is 3"),
        ({"size_min": 2}, "lower bounds add up to 4 of demand, but the total is 3"),
        ({"size_min": [4, 0]}, "cluster 0 must hold at least 4"),
    ],
)
def test_sums_that_cannot_work_out_are_named(bounds, message):
    problem = AssignmentProblem.checked(np.zeros((3, 2)), links=LinkGraph.from_edges(3, [0], [1]), **bounds)
    with pytest.raises(InfeasibleError, match=message):
        assign(problem)
