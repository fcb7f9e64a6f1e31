import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine

from checks import check_fit
from effort import examples
from konstrain import BLPKMeans, Problem
from konstrain.assignment import milp
from konstrain.datasets import sample_babaki
from konstrain.estimators.blp_kmeans import DistanceSteps, distinct_rows


def distances_to(X, centers):
    return np.sqrt(((X[:, None] - centers) ** 2).sum(axis=-1))


def reference_run(X, k, links, centers):
    """BLPKM-CC written down anew: the whole program to HiGHS in each step; totals per step, labels, steps."""
    problem = Problem.build(X, k, **links)
    totals, kept = [], None
    while True:
        rows = distances_to(X, centers)
        costs = np.array([rows[problem.block_of == b].sum(axis=0) for b in range(problem.n_blocks)])
        answer = milp.solve(problem.assignment_problem(np.ascontiguousarray(costs)))
        labels = problem.expand(answer.labels)
        centers = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        totals.append(distances_to(X, centers)[np.arange(len(X)), labels].sum())
        if len(totals) > 1 and totals[-1] >= totals[-2]:
            return totals, kept
        kept = labels


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("seed", range(5))
def test_run_equals_the_whole_program_in_highs_step_by_step(load, seed, monkeypatch):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    links = sample_babaki(y, 105, random_state=seed).links
    # Off the grid that the data lie on: ties between centers may be broken either way.
    start = X[rng.choice(len(X), 3, replace=False)] + rng.normal(scale=1e-3, size=(3, X.shape[1]))
    totals, labels = reference_run(X, 3, links, start)
    seen = []
    original = DistanceSteps.total_of
    monkeypatch.setattr(DistanceSteps, "total_of", lambda *args: seen.append(original(*args)) or seen[-1])
    model = BLPKMeans(3, init=start).fit(X, **links)
    assert_allclose(seen, totals, rtol=1e-9)
    assert model.n_iter_ == len(totals)
    assert_allclose(model.objective_, min(totals), rtol=1e-9)
    assert np.array_equal(model.labels_, labels)
    check_fit(model, X, **links)
    assert model.n_violations_ == 0


def test_first_step_equals_enumeration_of_all_rows():
    """Blocks cost the sum over their rows, weighted: the mean of a block would give another answer."""
    rng = np.random.default_rng(7)
    for _ in range(examples(30)):
        X, centers, weight = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 2, 6)
        links = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 3), (3, 4)]}
        model = BLPKMeans(3, init=centers, max_iter=1)
        with pytest.warns(UserWarning, match="did not converge"):
            model.fit(X, sample_weight=weight, **links)
        costs = weight[:, None] * distances_to(X, centers)
        feasible = [
            labels
            for labels in map(np.array, itertools.product(range(3), repeat=6))
            if labels[0] == labels[1] == labels[2] != labels[3] != labels[4] and len(set(labels)) == 3
        ]
        best = min(costs[np.arange(6), labels].sum() for labels in feasible)
        assert_allclose(costs[np.arange(6), model.labels_].sum(), best, rtol=1e-9)
        check_fit(model, X, sample_weight=weight, **links)


def test_objective_is_the_total_distance_to_the_reported_centers():
    X = load_wine().data
    weight = np.random.default_rng(0).uniform(0.5, 3, len(X))
    model = BLPKMeans(3, random_state=0).fit(X, sample_weight=weight)
    own = distances_to(X, model.cluster_centers_)[np.arange(len(X)), model.labels_]
    assert_allclose(model.objective_, own @ weight, rtol=1e-9)
    check_fit(model, X, sample_weight=weight)


def test_centers_start_at_distinct_rows_drawn_uniformly():
    X = np.arange(5.0)[:, None]
    drawn = np.array([distinct_rows(X, 2, random_state=np.random.RandomState(s)).ravel() for s in range(2000)])
    assert (drawn[:, 0] != drawn[:, 1]).all()
    counts = np.bincount(drawn.ravel().astype(int), minlength=5)
    assert_allclose(counts / 2000, 0.4, atol=0.05)


def test_no_cluster_stays_empty_when_all_rows_are_nearest_to_one_center():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = BLPKMeans(3, init=[[1.0], [100.0], [200.0]]).fit(X)
    check_fit(model, X)
