"""What soft links cost: counted whole, the same in `fit` and `predict`, found without a matrix of all costs."""

import tracemalloc

import numpy as np
import pytest

from konstrain import ConstrainedKMeans, NotProvenWarning
from konstrain.assignment import assign as solve
from konstrain.estimators import _base

X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize("size_max", [None, 20])
def test_penalties_that_cannot_be_avoided_are_counted(size_max):
    links = {"must_link": [(0, 1, 1.0)], "cannot_link": [(0, 1, 1.0)]}
    model = ConstrainedKMeans(2, size_max=size_max, violation_cost=5.0, random_state=0).fit(X, **links)
    assert model.objective_ == pytest.approx(model.inertia_ + 5.0)
    hard = {"must_link": [(0, 1, np.inf), (2, 3, 0.5)], "cannot_link": [(0, 1, 0.25)]}
    model = ConstrainedKMeans(2, size_max=size_max, violation_cost=8.0, random_state=0).fit(X, **hard)
    broken = model.labels_[2] != model.labels_[3]
    assert model.objective_ == pytest.approx(model.inertia_ + 8.0 * 0.25 + 8.0 * 0.5 * broken)


@pytest.mark.parametrize(("price", "together"), [(1e-9, False), (1e9, True)])
def test_predict_breaks_soft_links_at_the_price_of_the_fit(price, together):
    rows = np.array([[-3.0, 0.0], [3.0, 0.0], [-3.0, 1.0], [3.0, 1.0]])
    model = ConstrainedKMeans(2, violation_cost=price, random_state=0).fit(rows)
    labels = model.predict(rows, must_link=[(0, 1, 1.0)])
    assert (labels[0] == labels[1]) == together


def test_predict_takes_the_automatic_price_from_the_fit():
    rows = np.array([[-3.0, 0.0], [3.0, 0.0], [-3.0, 1.0], [3.0, 1.0]])
    model = ConstrainedKMeans(2, random_state=0).fit(1000 * rows, must_link=[(0, 2, 1.0)])
    # At the large rows' price no link between small ones is worth breaking.
    labels = model.predict(rows + np.array([1000.0, 0.0]), cannot_link=[(0, 1, 1.0)])
    assert labels[0] != labels[1]


def test_predict_warns_when_the_time_limit_ends_it(monkeypatch):
    model = ConstrainedKMeans(2, time_limit=5.0, random_state=0).fit(X)

    def cut_short(problem, **options):
        answer = solve(problem)
        return type(answer)(answer.labels, answer.cost, 0.9 * answer.cost, False, answer.engine)

    monkeypatch.setattr(_base, "assign", cut_short)
    with pytest.warns(NotProvenWarning, match="cost at most 0.1 of their cost too much; raise time_limit"):
        model.predict(X, size_max=16)


def test_the_automatic_price_needs_no_matrix_of_all_costs():
    rows = np.random.default_rng(0).normal(size=(40_000, 1)).astype(np.float32)
    model = ConstrainedKMeans(100, n_init=1, max_iter=1, local_search=False, init="random", random_state=0)
    tracemalloc.start()
    with pytest.warns(match="did not converge"):
        model.fit(rows, must_link=[(0, 1, 0.5)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16e6  # the matrix alone would be 32e6
