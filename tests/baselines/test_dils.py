"""DILS: the fitness by its definition, however labels came about; small optima by enumeration."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from konstrain import _core, count_violations
from konstrain.baselines import DILS

NO_LINKS = np.zeros((0, 2), dtype=np.int32)
OPTIONS = {
    "max_evaluations": 2000,
    "segment": 5,
    "max_neighbours": 200,
    "inheritance": 0.3,
    "restart_gap": 0.1,
    "seed": 3,
    "time_limit": np.inf,
}


def fitness_of(X, labels, must_link, cannot_link):
    """Mean over filled clusters of the mean distance within, times one plus the broken links."""
    within = [pdist(X[labels == j]) for j in np.unique(labels)]
    spread = np.mean([d.mean() if d.size else 0.0 for d in within])
    return spread * (1 + count_violations(labels, must_link=must_link, cannot_link=cannot_link).total)


def random_case(seed, n, k, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * scale + 100 * scale
    pairs = rng.integers(n, size=(2 * n, 2)).astype(np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.concatenate([pairs, pairs[:3]])  # repeated ones count again
    labels = rng.integers(k, size=n).astype(np.int32)
    return rng, X, np.ascontiguousarray(pairs[::2]), np.ascontiguousarray(pairs[1::2]), labels


@pytest.mark.engine
def test_evaluations_are_spent_and_counted():
    _, X, must_link, cannot_link, _ = random_case(2, 60, 4)
    labels, fitness, n_evaluations, n_generations, _ = _core.search_dually(X, 4, must_link, cannot_link, **OPTIONS)
    assert n_evaluations == 2000
    assert n_generations >= 2000 / 201 - 1
    assert fitness == pytest.approx(fitness_of(X, labels, must_link, cannot_link), rel=1e-10)


@pytest.mark.engine
def test_a_child_far_ahead_sends_the_better_parent_away():
    _, X, must_link, cannot_link, _ = random_case(2, 60, 4)
    restarts = {
        gap: _core.search_dually(X, 4, must_link, cannot_link, **(OPTIONS | {"restart_gap": gap}))[4]
        for gap in (0.0, 1e9)
    }
    assert restarts[0.0] > 0
    assert restarts[1e9] == 0


@pytest.mark.parametrize("seed", range(5))
def test_small_optima_are_found(seed):
    _, X, must_link, cannot_link, _ = random_case(seed, 8, 2)
    must_link, cannot_link = must_link[:3], cannot_link[:3]
    least = min(
        fitness_of(X, np.array(labels), must_link, cannot_link) for labels in itertools.product(range(2), repeat=8)
    )
    model = DILS(2, max_evaluations=20_000, random_state=seed).fit(X, must_link=must_link, cannot_link=cannot_link)
    assert model.objective_ == pytest.approx(least)
    assert model.violations_ == count_violations(model.labels_, must_link=must_link, cannot_link=cannot_link)


def test_one_seed_gives_one_answer_and_more_runs_only_help():
    _, X, must_link, cannot_link, _ = random_case(4, 80, 3)
    links = {"must_link": must_link, "cannot_link": cannot_link}
    first, again, other = (DILS(3, max_evaluations=3000, random_state=s).fit(X, **links) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    assert (first.labels_ != other.labels_).any()
    assert DILS(3, max_evaluations=3000, n_init=4, random_state=0).fit(X, **links).objective_ <= first.objective_


def test_contradicting_links_are_broken_and_counted():
    model = DILS(2, max_evaluations=500, random_state=0).fit([[0.0], [1.0]], must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert model.n_violations_ == 1


def test_one_cluster_and_no_time_are_fine():
    X = np.arange(12.0).reshape(6, 2)
    assert DILS(1, random_state=0).fit(X).labels_.tolist() == [0] * 6
    assert DILS(2, time_limit=0.0, random_state=0).fit(X).n_iter_ == 0


def test_links_decide_where_the_geometry_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    true = np.arange(60) % 2
    pairs = rng.integers(60, size=(300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = true[pairs[:, 0]] == true[pairs[:, 1]]
    model = DILS(2, max_neighbors=2000, random_state=0).fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    assert model.n_violations_ == 0
    assert (model.labels_ == true).all() or (model.labels_ != true).all()
