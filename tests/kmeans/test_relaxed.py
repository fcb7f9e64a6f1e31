"""Centers led by shares."""

import warnings

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.assignment.relaxed import relax
from konstrain.constraints import Problem
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans import relaxed, thorough
from konstrain.kmeans.steps import Steps
from konstrain.stop import Deadline


def territories(n=300, k=6, seed=0):
    """Places around ten towns, and three amounts of their own for each."""
    rng = np.random.default_rng(seed)
    towns = rng.uniform(0, 10, (10, 2))
    X = towns[rng.integers(0, 10, n)] + rng.normal(size=(n, 2))
    held = np.column_stack([rng.lognormal(0.0, 0.7, n), rng.poisson(3.0, n) + 1.0, rng.gamma(2.0, 1.0, n)])
    return X, held, held.sum(axis=0) / k


def fitted(X, held, mean, k, **options):
    model = ConstrainedKMeans(k, size_min=0.9 * mean, size_max=1.1 * mean, n_init=1, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotProvenWarning)
        return model.fit(X, demand=held)


@pytest.fixture
def answers(monkeypatch):
    """Every step by labels."""
    seen = []
    solve = Steps.solve

    def watched(self, *arguments, **options):
        seen.append(solve(self, *arguments, **options))
        return seen[-1]

    monkeypatch.setattr(Steps, "solve", watched)
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_near_their_bound_in_every_step_and_keep_all_bounds(seed, answers):
    X, held, mean = territories(600, 6, seed)
    sizes = fitted(X, held, mean, 6).cluster_sizes_
    assert (sizes >= 0.9 * mean * (1 - 1e-9)).all()
    assert (sizes <= 1.1 * mean * (1 + 1e-9)).all()
    assert answers
    assert max(answer.gap for answer in answers) <= 0.01


def test_shares_end_no_higher_than_labels_alone(monkeypatch):
    """Over some sets: single ones may end either way."""
    sets = [territories(seed=seed) for seed in range(4)]
    led = sum(fitted(*one, 6).inertia_ for one in sets)
    monkeypatch.setattr(thorough.relaxed, "supports", lambda steps: False)
    assert led <= 1.01 * sum(fitted(*one, 6).inertia_ for one in sets)


def steps_of(X, held, mean, k, **asked):
    return Steps(Problem.build(X, k, size_min=0.9 * mean, size_max=1.1 * mean, demand=held, **asked))


def test_steps_go_by_shares_where_rows_hold_amounts_of_their_own_and_nothing_else_binds_them():
    X, held, mean = territories()
    assert relaxed.supports(steps_of(X, held, mean, 6))
    assert not relaxed.supports(steps_of(X, held, mean, 6, cannot_link=[(0, 1)]))
    few = np.round(held).clip(1, 3)
    assert not relaxed.supports(steps_of(X, few, few.sum(axis=0) / 6, 6))


def test_every_step_by_shares_lowers_what_they_cost():
    X, held, mean = territories()
    search = relaxed._ByShares(steps_of(X, held, mean, 6), 0, 100)
    place = search.step(X[:6].copy(), None)
    costs = [place.cost]
    for _ in range(8):
        place = search.step(place.centers, place.answer)
        costs.append(place.cost)
        assert place.cost <= place.answer.bound * (1.0 + 1e-4)
    assert (np.diff(costs) <= 1e-4 * costs[0]).all()
    assert costs[-1] < 0.9 * costs[0]
    assert search.n_left == 91


@pytest.mark.parametrize("most", [1, 5])
def test_a_search_by_shares_takes_no_more_steps_than_it_may(most, monkeypatch):
    taken = []
    monkeypatch.setattr(relaxed, "relax", lambda *given: taken.append(1) or relax(*given))
    monkeypatch.setattr(relaxed, "ALL_STEPS", most)
    X, held, mean = territories()
    relaxed.led_by_shares(steps_of(X, held, mean, 6), X[:6].copy(), 0)
    assert len(taken) == most


def test_time_that_is_up_ends_the_search_by_shares():
    X, held, mean = territories()
    steps = steps_of(X, held, mean, 6)
    steps.deadline = Deadline(0.0)
    assert np.isfinite(relaxed.led_by_shares(steps, X[:6].copy(), 0)).all()
