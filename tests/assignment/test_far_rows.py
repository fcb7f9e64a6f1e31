"""One row or demand of another magnitude excuses nothing in the rest: proofs and sizes are judged by what is left."""

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, check, describe
from konstrain.assignment import AssignmentProblem, assign, milp, priced, transport
from konstrain.links import LinkGraph
from oracles import all_labelings, best_cost
from problems import random_problem

pytestmark = pytest.mark.engine


def with_a_far_row(problem, rng, size):
    """Add a block that costs nothing in one cluster and very much in all others."""
    row = np.full(problem.n_clusters, size)
    row[rng.integers(problem.n_clusters)] = 0.0
    links = problem.links
    if links is not None:
        u, v, w = links.edges
        links = LinkGraph.from_edges(problem.n_blocks + 1, u, v, None if links.weights is None else w)
    demand = None if problem.demand is None else np.append(problem.demand, problem.demand[0])
    room = 1.0 if demand is None else demand[-1]
    return AssignmentProblem(
        np.vstack([problem.costs, row]),
        links,
        demand,
        problem.size_min,
        None if problem.size_max is None else problem.size_max + room,
        problem.nonempty,
    )


@pytest.mark.parametrize(("ends", "best"), [(((0, 1), (2, 3), (4, 5)), 2.9056), (((1, 4), (2, 7), (10, 12)), 2.9415)])
def test_the_case_that_was_called_proved(ends, best):
    costs = np.vstack([np.random.default_rng(3).random((12, 3)), [0.0, 1e9, 1e9]])
    links = LinkGraph.from_edges(13, *np.transpose(ends))
    problem = AssignmentProblem(costs, links, size_max=np.array([5.0, 4.0, 4.0]))
    for engine in (priced, milp):
        answer = engine.solve(problem)
        assert answer.proven
        assert answer.cost == pytest.approx(best, abs=1e-4), engine.name


@pytest.mark.parametrize("links", [None, "hard", "cliques", "soft"])
@pytest.mark.parametrize("demand", [None, "integer", "real"])
@pytest.mark.parametrize("size", [1e6, 1e9, 1e13])
def test_a_far_row_hides_nothing(links, demand, size):
    rng = np.random.default_rng([links is None, len(links or ""), len(demand or ""), int(np.log10(size))])
    n_proved = 0
    for _ in range(examples(25)):
        problem = random_problem(rng, links=links, sizes=True, demand=demand, max_labelings=700)
        problem = with_a_far_row(problem, rng, size * float(np.abs(problem.costs).max()))
        best = best_cost(problem)
        for engine in (priced, milp, transport):
            if not engine.supports(problem):
                continue
            if not np.isfinite(best):
                with pytest.raises(InfeasibleError):
                    engine.solve(problem)
                continue
            answer = engine.solve(problem)
            excess = problem.excess(best)
            assert problem.is_feasible(answer.labels)
            assert answer.proven
            assert answer.cost <= best + 1e-8 * excess + 4 * problem.rounding(best), engine.name
            assert answer.lower_bound <= best + 1e-8 * excess + 4 * problem.rounding(best), engine.name
            n_proved += 1
    assert n_proved > examples(25) / 2 or examples(25) < 6  # few may all be infeasible


def test_predict_with_a_far_row_is_exact():
    rng = np.random.default_rng(0)
    model = ConstrainedKMeans(3, random_state=0).fit(rng.normal(size=(60, 2)))
    for _ in range(10):
        X = rng.normal(size=(9, 2))
        X[0] = 3e4
        labels = model.predict(X, size_max=4, cannot_link=[(1, 2), (2, 3), (4, 5)])
        costs = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        near = costs - costs.min(axis=1, keepdims=True)
        problem = AssignmentProblem(near, LinkGraph.from_edges(9, [1, 2, 4], [2, 3, 5]), size_max=np.full(3, 4.0))
        assert problem.cost_of(labels) <= best_cost(problem) + 1e-6


def test_a_large_demand_does_not_loosen_the_other_bounds():
    X = np.concatenate([[[50.0]], np.linspace(0.0, 1.0, 14)[:, None], np.linspace(9.0, 10.0, 6)[:, None]])
    demand = np.array([4e9] + [1.0] * 20)
    bounds = np.array([4e9, 10.0, 10.0])
    model = ConstrainedKMeans(3, size_max=bounds, random_state=0).fit(X, demand=demand)
    assert sorted(model.cluster_sizes_.tolist()) == [10.0, 10.0, 4e9]
    wrong = np.array([0] + [1] * 14 + [2] * 6)
    assert describe(X, wrong, size_max=bounds, demand=demand).wrong_sizes == (1,)
    assert check(21, 3, size_max=bounds, demand=demand).feasible is True
    assert check(21, 3, size_max=[4e9, 9, 9], demand=demand).feasible is False


@pytest.mark.parametrize("largest", [1.0, 1e6, 4e9, 1e13])
@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_sizes_of_all_engines_are_judged_each_by_its_own_bound(largest, unit):
    """Against enumeration in whole numbers, where sums are exact."""
    rng = np.random.default_rng(int(np.log10(largest)))
    verdicts = []
    for _ in range(examples(60)):
        n, k = 7, 3
        whole = np.append(rng.integers(1, 4, n - 1), int(largest)).astype(np.float64)
        high = np.array([largest + rng.integers(0, 3), rng.integers(3, 8), rng.integers(3, 8)], dtype=np.float64)
        low = np.array([0.0, rng.integers(0, 4), 0.0])
        costs = rng.random((n, k))
        labelings = all_labelings(n, k)
        sizes = np.stack([(labelings == j) @ whole for j in range(k)], axis=1)
        fits = ((sizes >= low) & (sizes <= high)).all(axis=1)
        problem = AssignmentProblem(costs, None, whole * unit, low * unit, high * unit)
        verdicts.append(fits.any())
        for engine in (priced, milp):
            if not fits.any():
                with pytest.raises(InfeasibleError):
                    engine.solve(problem)
                continue
            answer = engine.solve(problem)
            found = np.bincount(answer.labels, whole, k)
            assert ((found >= low) & (found <= high)).all()
            best = costs[np.arange(n), labelings[fits]].sum(axis=1).min()
            assert answer.cost == pytest.approx(best)
    assert 0 < sum(verdicts) < len(verdicts)


def test_many_equal_real_demands_may_miss_a_bound_by_their_rounding():
    # Added up one by one, 100,000 times 0.1 is 10000.000000018848.
    problem = AssignmentProblem(np.random.default_rng(0).random((200_000, 2)), None, np.full(200_000, 0.1))
    bounded = AssignmentProblem(problem.costs, None, problem.demand, np.full(2, 10_000.0), np.full(2, 10_000.0))
    assert np.bincount(assign(bounded).labels).tolist() == [100_000, 100_000]
