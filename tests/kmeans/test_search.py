"""The search of ConstrainedKMeans: feasible whenever that is possible, at the optimum of small problems."""

import math
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from effort import examples
from konstrain import ConstrainedKMeans, _core
from konstrain.constraints import Problem
from konstrain.exceptions import InfeasibleError
from konstrain.kmeans import search
from konstrain.kmeans.search import Search, n_seeds, suits
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget
from oracles import best_cost, costs_of_all_labelings
from problems import KINDS, MIXES, drawn_problem

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("mix", MIXES, ids=" and ".join)
def test_small_problems_of_every_kind_end_at_the_optimum_of_enumeration(mix):
    rng = np.random.default_rng([len(mix), KINDS.index(mix[0]), 3])
    n_optimal = n_feasible = 0
    for _ in range(6):
        X, given = drawn_problem(rng, mix, n=7)
        cost = 0.8 if "soft" in mix else None
        try:
            problem = Problem.build(X, 3, **given)
        except InfeasibleError:
            continue
        optimum = costs_of_all_labelings(problem, cost)[1].min(initial=np.inf)
        if np.isinf(optimum):
            with pytest.raises(InfeasibleError):
                Search(Steps(problem, violation_cost=cost), Start(X, "k-means++")).best([1, 2, 3, 4])
            continue
        found = Search(Steps(problem, violation_cost=cost), Start(X, "k-means++")).best([1, 2, 3, 4])
        n_feasible += 1
        assert problem.assignment_problem(np.zeros((problem.n_blocks, 3)), cost).is_feasible(found.block_labels)
        assert found.objective >= optimum * (1.0 - 1e-9)
        n_optimal += found.objective <= optimum * (1.0 + 1e-9)
    assert n_optimal >= n_feasible - 1


@pytest.mark.parametrize("mix", MIXES, ids=" and ".join)
def test_the_gap_of_the_last_step_never_hides_better_labels(mix):
    """The bound is below the cost of all feasible labels at the centers that were found."""
    rng = np.random.default_rng([KINDS.index(mix[0]), 8])
    for _ in range(4):
        X, given = drawn_problem(rng, mix, n=7)
        cost = 0.8 if "soft" in mix else None
        try:
            problem = Problem.build(X, 3, **given)
            found = Search(Steps(problem, violation_cost=cost), Start(X, "k-means++"), n_runs=1).best([1, 2, 3, 4])
        except InfeasibleError:
            continue
        steps = Steps(problem, violation_cost=cost)
        own = steps.cost_of(found.block_labels, found.centers)
        costs = problem.weight[:, None] * ((problem.mean[:, None] - found.centers) ** 2).sum(axis=-1)
        least = best_cost(problem.assignment_problem(costs, cost))
        assert own * (1.0 - found.step_gap) <= least * (1.0 + 1e-9) + 1e-12


def test_without_constraints_labels_are_the_nearest_centers():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = ConstrainedKMeans(6, random_state=0).fit(X)
    assert (model.labels_ == model.predict(X)).all()
    assert model.step_gap_ == 0.0


def test_a_search_is_decided_by_its_seed_whatever_the_number_of_workers():
    X = np.random.default_rng(1).normal(size=(60, 2))
    fits = [
        ConstrainedKMeans(4, 10, 20, random_state=3, n_init=250, n_jobs=n_jobs).fit(X, cannot_link=[(0, 1)])
        for n_jobs in (None, 1, 3)
    ]
    assert all((fit.labels_ == fits[0].labels_).all() for fit in fits)


def test_more_runs_never_end_higher():
    X = np.random.default_rng(2).normal(size=(120, 2))
    ends = [ConstrainedKMeans(9, 10, 16, random_state=0, n_init=n_init).fit(X).inertia_ for n_init in (1, 5, 30, 100)]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] < ends[0]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_a_hundred_runs_or_two_hundred_never_end_higher_than_the_default(seed):
    X = np.random.default_rng(seed).normal(size=(150, 4))
    demand = np.random.default_rng(seed).uniform(1.0, 3.0, 150)
    equal = demand.sum() / 8
    ends = []
    for n_init in ("auto", 100, 200):
        model = ConstrainedKMeans(8, 0.97 * equal, 1.03 * equal, random_state=seed, n_init=n_init)
        ends.append(model.fit(X, demand=demand).inertia_)
    assert ends == sorted(ends, reverse=True)


def test_runs_are_reported_and_a_callback_ends_them():
    X = np.random.default_rng(3).normal(size=(50, 2))
    reports = []
    ConstrainedKMeans(4, n_init=7, callback=reports.append).fit(X)
    assert [(report.n_done, report.n_init) for report in reports] == [(i, 7) for i in range(1, 8)]
    reports.clear()
    ConstrainedKMeans(4, callback=lambda report: reports.append(report) or len(reports) == 3).fit(X)
    assert len(reports) == 3


def test_a_callback_may_interrupt_and_the_best_so_far_is_kept():
    def interrupt(report):
        if report.n_done == 2:
            raise KeyboardInterrupt

    X = np.random.default_rng(3).normal(size=(50, 2))
    with pytest.warns(RuntimeWarning, match="interrupted after 2 runs"):
        model = ConstrainedKMeans(4, 10, 15, callback=interrupt).fit(X)
    assert model.cluster_sizes_.max() <= 15


@pytest.mark.filterwarnings("ignore::konstrain.exceptions.NotProvenWarning")
@pytest.mark.parametrize("given", [{}, {"demand": np.linspace(1.0, 2.0, 3000)}])
def test_a_time_limit_ends_a_search_and_labels_are_there(given):
    X = np.random.default_rng(4).normal(size=(3000, 8))
    total = given.get("demand", np.ones(3000)).sum()
    began = time.perf_counter()
    model = ConstrainedKMeans(20, 0.9 * total / 20, 1.1 * total / 20, time_limit=0.3, random_state=0).fit(X, **given)
    assert time.perf_counter() - began < 10.0
    assert np.bincount(model.labels_, given.get("demand")).max() <= 1.1 * total / 20 * (1 + 1e-9)


def test_one_iteration_is_one_iteration():
    X = np.random.default_rng(5).normal(size=(300, 4))
    with pytest.warns(UserWarning, match="max_iter"):
        model = ConstrainedKMeans(8, max_iter=1, random_state=0).fit(X)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
def test_weights_of_all_magnitudes_far_from_the_origin_end(offset, seed):
    X = offset + np.array([[0.91], [1.21], [1.08], [-0.06], [0.87]])
    model = ConstrainedKMeans(3, random_state=seed)
    model.fit(X, sample_weight=[1e-9, 1e-6, 1e8, 1e-2, 1e5], must_link=[(2, 1)])
    assert model.objective_ < 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_each_cluster_find_the_centers_that_suit_them(seed):
    X = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]], float)
    demand = [
        0.00945596,
        0.00341593,
        0.00328665,
        0.0014275,
        0.00341587,
        0.00137463,
        0.00952508,
        0.00445186,
        0.00143028,
    ]
    low, high = [0.00923956, 0.00611013, 0.01487731], [0.01385935, 0.0091652, 0.02231596]
    model = ConstrainedKMeans(3, low, high, violation_cost=0.0247, random_state=seed).fit(
        X,
        sample_weight=[2, 4, 2, 2, 2, 2, 3, 1, 3],
        demand=demand,
        must_link=[(2, 7, 1.0), (1, 7, 0.5)],
        cannot_link=[(2, 4, 0.5), (3, 4, 0.301777), (2, 6, 0.25), (0, 8, 0.25)],
    )
    assert model.objective_ == pytest.approx(0.85068, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_are_searched_like_dense_ones(seed):
    X = np.array([[-0.745125], [-0.744835], [2.771446], [0.359858], [-0.128466]])
    links = [(0, 1), (3, 0), (3, 1), (1, 2), (2, 4)]
    for rows in (X, csr_array(X)):
        model = ConstrainedKMeans(4, local_search=True, random_state=seed)
        assert model.fit(rows, sample_weight=[2, 3, 1, 1, 2], cannot_link=links).objective_ < 0.16


def test_a_search_over_sparse_rows_that_are_too_many_is_refused(monkeypatch):
    monkeypatch.setattr(search, "MOST_NUMBERS", 10)
    X = csr_array(np.eye(8))
    with pytest.raises(ValueError, match="local_search=True needs dense rows, and 8 x 8"):
        ConstrainedKMeans(2, local_search=True).fit(X)
    ConstrainedKMeans(2).fit(X)


def test_which_problems_are_searched(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    free, shared = Problem.build(X, 4), Problem.build(X, 4, category=np.resize([0, 1], 40), share_min=0.3)
    drawn_centers, given = Start(X, "k-means++"), Start(X, X[:4])
    assert suits(free, drawn_centers, "auto")
    assert suits(free, given, True)
    assert not suits(free, given, "auto")
    assert not suits(free, drawn_centers, False)
    monkeypatch.setattr(
        search, "PARAMS", search.SearchParams(most_work=2 * search.RESTARTS.iterations * 40 * 4 * 3 - 1)
    )
    assert not suits(free, drawn_centers, "auto")
    assert suits(shared, drawn_centers, "auto")
    assert suits(free, drawn_centers, True)


def test_many_runs_are_independent_searches_of_a_hundred():
    assert n_seeds(None) == n_seeds(1) == n_seeds(100) == search.PARAMS.n_starts
    assert n_seeds(101) == 2 * search.PARAMS.n_starts
    assert search._runs_of_searches(250) == [100, 100, 50]


def test_labels_that_repair_does_not_find_come_from_the_exact_engines(monkeypatch):
    """Demands that fill every cluster exactly, in one way only."""
    demand = np.array([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0, 5.0])
    X = np.random.default_rng(0).normal(size=(10, 2))
    problem = Problem.build(X, 5, demand=demand, size_min=10, size_max=10)
    exact = []
    monkeypatch.setattr(Search, "_find_labels", lambda self, *a: exact.append(1) or FIND(self, *a))
    found = Search(Steps(problem), Start(X, "k-means++"), n_runs=1).best([1, 2, 3, 4])
    assert np.bincount(found.block_labels, demand).tolist() == [10.0] * 5


FIND = Search._find_labels


def test_the_search_ends_by_its_deadline_with_feasible_labels():
    X = np.random.default_rng(0).normal(size=(2000, 4))
    problem = Problem.build(X, 10, size_min=150, size_max=260)
    found = Search(Steps(problem, budget=Budget(0.05)), Start(X, "k-means++")).best([1, 2, 3, 4])
    assert problem.assignment_problem(np.zeros((2000, 10))).is_feasible(found.block_labels)


@pytest.mark.parametrize("seed", range(3))
def test_without_rules_nearest_centers_are_followed_through_relocations_and_no_single_move_is_left(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.random((300, 2)), rng.choice([0.5, 1.0, 3.0], 300)
    arguments, offset = search.kernel_arguments(Problem.build(X, 25, sample_weight=weight), None)
    kernel = _core.Search(**arguments, seed=seed)
    kernel.run_from(X[:25] - offset, True, 1, 0.0, math.inf)
    for run in range(60):
        # The first runs are cut off on the way; the last ones end where nothing moves any more.
        kernel.relocate(True, 300 if run > 30 else 1 + run % 3, 0.0, math.inf)
        centers = kernel.centers.reshape(25, -1)
        costs = weight[:, None] * (((X - offset)[:, None] - centers) ** 2).sum(axis=2)
        assert kernel.step_bound() == pytest.approx(costs.min(axis=1).sum(), rel=1e-9)
    labels = kernel.labels
    total = np.bincount(labels, weight, 25)
    own = total[labels]
    saved = own / (own - weight) * costs[np.arange(300), labels]
    entered = total / (total + weight[:, None]) * costs
    entered[np.arange(300), labels] = np.inf
    assert (entered.min(axis=1) >= saved * (1 - 1e-6))[own > weight].all()


def test_a_default_search_of_many_clusters_ends_when_its_work_is_spent():
    X = np.random.default_rng(3).random((20_000, 2))
    runs = []
    model = ConstrainedKMeans(
        300, size_max=80, random_state=0, callback=lambda progress: runs.append(progress.n_done)
    )
    model.fit(X)
    assert 1 <= len(runs) <= 3  # four starts and a relocation before work ended searches
    assert model.cluster_sizes_.max() <= 80


def test_no_swap_that_gains_at_the_centers_is_left():
    """Polish leaves out pairs of clusters that no exchange can gain between, and only these."""
    n_left = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, demand = rng.normal(size=(48, 2)), rng.integers(1, 4, 48)
        most = demand.sum() // 6 + 1
        model = ConstrainedKMeans(6, size_max=most, n_init=1, random_state=seed).fit(X, demand=demand)
        costs, labels = ((X[:, None] - model.cluster_centers_) ** 2).sum(-1), model.labels_
        for a in range(48):
            for b in range(a):
                change = costs[a, labels[b]] + costs[b, labels[a]] - costs[a, labels[a]] - costs[b, labels[b]]
                more = np.bincount(labels, demand, 6)
                more[labels[a]] += demand[b] - demand[a]
                more[labels[b]] += demand[a] - demand[b]
                n_left += change < -1e-9 and more.max() <= most
    assert n_left == 0
