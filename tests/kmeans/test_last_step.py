"""Steps on the way need only be good, the last one is proved; with soft links there are always labels."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from konstrain import ConstrainedKMeans, NotProvenWarning
from konstrain.assignment import AssignmentProblem, milp, priced
from konstrain.assignment.priced import PricedSearch
from konstrain.assignment.priced.reduced import ReducedProblem
from konstrain.constraints import Problem
from konstrain.kmeans import last_step
from konstrain.kmeans.last_step import prove_last_step
from konstrain.kmeans.loop import Loop, lloyd_with_momentum
from konstrain.kmeans.steps import Steps
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED, Budget
from switches import set_to


def soft_problem(seed, n=60, k=4, n_links=180):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(n_links, 2))
    first, second = ends[ends[:, 0] != ends[:, 1]].T
    links = LinkGraph.from_edges(n, first, second, rng.choice([-1.0, 1.0], first.size) * rng.random(first.size))
    return AssignmentProblem(rng.random((n, k)), links, None, np.full(k, 5.0), np.full(k, 0.3 * n))


@pytest.mark.parametrize("seed", range(8))
def test_soft_links_and_sizes_have_labels_however_little_time_there_is(seed):
    problem = soft_problem(seed)
    answer = priced.solve(problem, budget=Budget(0.0))
    assert problem.is_feasible(answer.labels)
    assert answer.lower_bound <= answer.cost


@pytest.mark.parametrize("kind", ["demand", "links"])
def test_the_last_step_is_optimal_however_little_work_the_others_have(kind):
    rng = np.random.default_rng(0)
    X, demand = rng.normal(size=(40, 2)), rng.integers(1, 9, 40).astype(float)
    given = {"demand": demand} if kind == "demand" else {"cannot_link": rng.permutation(40).reshape(20, 2)}
    mean = (demand.sum() if kind == "demand" else 40.0) / 3
    with set_to({"konstrain.stop.PARAMS.step_work": 0.0}):
        model = ConstrainedKMeans(3, 0.95 * mean, 1.05 * mean, n_init=1, random_state=0).fit(X, **given)
    problem = Problem.build(X, 3, size_min=0.95 * mean, size_max=1.05 * mean, **given)
    costs = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    question = problem.assignment_problem(np.ascontiguousarray(costs))
    best = milp.solve(question)
    assert best.proven
    assert question.cost_of(model.labels_[problem.block_rows[problem.block_indptr[:-1]]]) <= best.cost * (1 + 1e-9)


def test_an_interrupt_while_the_last_step_is_proved_keeps_the_clustering(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 2))
    problem = Problem.build(X, 2, size_max=11, cannot_link=[(0, 1)])
    loop = Loop(lloyd_with_momentum, Steps(problem, step_work=0.0))
    best = last_step.replace(loop.run(X[:2]), proven=False)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Steps, "step", interrupt)
    with pytest.warns(RuntimeWarning, match="interrupted while the last step was proved"):
        kept = prove_last_step(loop, best)
    assert kept.interrupted
    np.testing.assert_array_equal(kept.block_labels, best.block_labels)


@pytest.mark.parametrize(("size_max", "status"), [(2.0, "optimal"), (1.0, "infeasible")])
def test_reduced_problem_without_a_choice_is_solved_without_the_solver(size_max, status):
    problem = AssignmentProblem(np.eye(3, 2), None, None, np.zeros(2), np.full(2, size_max))
    allowed = np.array([[True, False], [True, False], [False, True]])
    assert ReducedProblem(problem, allowed).solve(PricedSearch(problem, UNLIMITED)).status == status


def test_an_interrupt_inside_the_first_run_keeps_the_labels_it_had(monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 2))
    taken, step = [], Steps.step

    def interrupted_second_step(*arguments):
        taken.append(1)
        if len(taken) == 2:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(Steps, "step", interrupted_second_step)
    with pytest.warns(RuntimeWarning, match="interrupted after 0 of 4 restarts"):
        model = ConstrainedKMeans(3, size_max=11, n_init=4, local_search=False, random_state=0).fit(X)
    assert len(taken) == 2
    assert np.bincount(model.labels_).max() <= 11


def wrong_answers(seed):
    """Iris with 300 soft answers of which every fifth is wrong, in 3 clusters of 40 to 60."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(150, 2, replace=False) for _ in range(300)])
    is_must = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (rng.random(300) < 0.2)
    links = np.column_stack([pairs, np.full(300, 0.8)])
    return X, {"must_link": links[is_must], "cannot_link": links[~is_must]}


def test_without_a_limit_the_last_proof_ends_after_the_same_work_and_tells_the_gap():
    X, links = wrong_answers(0)
    with set_to({"konstrain.stop.PARAMS.work": 2e7}):
        first, second = (
            fit_not_proven(ConstrainedKMeans(3, 40, 60, local_search=False, init=X[:3]), X, links) for _ in range(2)
        )
    assert first.objective_ == second.objective_
    np.testing.assert_array_equal(first.labels_, second.labels_)


def fit_not_proven(model, X, links):
    with pytest.warns(NotProvenWarning, match=r"limit on work.* \(at most 0\.\d+ of its cost could be saved\)"):
        return model.fit(X, **links)


def test_all_proofs_of_the_last_step_share_one_amount_of_work(monkeypatch):
    """Better labels lead to another proof; together they may not take more work than one alone."""
    X, links = wrong_answers(0)
    problem = Problem.build(X, 3, size_min=40, size_max=60, **links)
    loop = Loop(lloyd_with_momentum, Steps(problem, violation_cost=10.0, step_work=0.0))
    best, spent, spend = last_step.replace(loop.run(X[:3]), proven=False), [], Budget.spend

    def count(budget, work):
        spent.append(work if budget._whole is UNLIMITED else 0.0)
        spend(budget, work)

    monkeypatch.setattr(Budget, "spend", count)
    with set_to({"konstrain.stop.PARAMS.work": 2e7}):
        found = prove_last_step(loop, best)
    assert not found.proven
    assert 0.0 < found.step_gap < 1.0
    # Work that ends the solver does so at its next callback, not at once.
    assert 1e7 < sum(spent) < 4e7


def test_labels_that_break_soft_links_are_proved_in_one_reduced_problem(monkeypatch):
    asked, solve = [], ReducedProblem.solve

    def spy(*arguments):
        asked.append(1)
        return solve(*arguments)

    monkeypatch.setattr(ReducedProblem, "solve", spy)
    problem = soft_problem(0, n=30, n_links=60)
    with set_to({"konstrain.assignment.priced.reduced.PARAMS.first_choices": 1}):
        answer = priced.solve(problem, budget=Budget(work=1e9))
    assert problem.is_feasible(answer.labels)
    assert len(asked) == 1
