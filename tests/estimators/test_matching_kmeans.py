import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine

from checks import check_fit
from effort import examples
from konstrain import InfeasibleError, MatchingKMeans, Problem
from konstrain.datasets import sample_babaki
from konstrain.kmeans.start import plus_plus
from konstrain.kmeans.steps import Steps


@pytest.fixture
def steps(monkeypatch):
    """Collect the answer of every assignment step."""
    seen = []
    original = Steps.step
    monkeypatch.setattr(Steps, "step", lambda *args: seen.append(original(*args)) or seen[-1])
    return seen


def disjoint_sets(y: np.ndarray, n_sets: int, rng: np.random.Generator) -> np.ndarray:
    """Cannot-links of sets with one row of each class, no row in two sets."""
    members = [rng.permutation(np.flatnonzero(y == label))[:n_sets] for label in np.unique(y)]
    return np.array([(a, b) for group in zip(*members, strict=True) for i, a in enumerate(group) for b in group[:i]])


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("seed", range(5))
def test_cost_never_rises_and_disjoint_sets_are_matched(load, seed, steps):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    links = {"cannot_link": disjoint_sets(y, 15, rng)}
    model = MatchingKMeans(3, random_state=seed).fit(X, **links)
    costs = [step.cost for step in steps]
    assert len(costs) == model.n_iter_ > 1
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(costs))
    assert {step.engine for step in steps} == {"matching"}
    check_fit(model, X, **links)
    assert model.n_violations_ == 0


@pytest.mark.parametrize("seed", range(10))
def test_overlapping_sets_keep_the_cost_from_rising_too(seed, steps):
    X, y = load_iris(return_X_y=True)
    links = sample_babaki(y, 150, random_state=seed).links
    model = MatchingKMeans(3, random_state=seed).fit(X, **links)
    costs = [step.cost for step in steps]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(costs))
    check_fit(model, X, **links)
    assert model.n_violations_ == 0


@pytest.mark.parametrize("seed", range(examples(20)))
def test_one_step_equals_brute_force_matching_of_each_set(seed):
    """Free rows to the nearest center, each set to the cheapest of all ways to take distinct centers."""
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(16, 2)), rng.normal(size=(4, 2))
    sets = [(0, 1, 2), (3, 4, 5, 6), (7, 8)]
    pairs = [pair for group in sets for pair in itertools.combinations(group, 2)]
    costs = ((X[:, None] - centers) ** 2).sum(axis=-1)
    best = costs[9:].min(axis=1).sum()
    for group in sets:
        ways = itertools.permutations(range(4), len(group))
        best += min(costs[list(group), list(way)].sum() for way in ways)
    problem = Problem.build(X, 4, cannot_link=pairs, nonempty=False)
    assert_allclose(Steps(problem).step(centers, None).cost, best, rtol=1e-12)


def test_a_set_larger_than_the_number_of_clusters_is_refused():
    pairs = list(itertools.combinations(range(4), 2))
    with pytest.raises(InfeasibleError, match="clusters"):
        MatchingKMeans(3).fit(np.arange(8.0)[:, None], cannot_link=pairs)


def test_seeding_uses_one_draw_per_step_unless_told(monkeypatch):
    X, _ = load_iris(return_X_y=True)
    trials = []

    def spy(problem, rng, *, n_trials=None, **settings):
        trials.append(n_trials)
        return plus_plus(problem, rng, n_trials=n_trials, **settings)

    monkeypatch.setattr("konstrain.kmeans.start.plus_plus", spy)
    MatchingKMeans(3, random_state=0).fit(X)
    MatchingKMeans(3, n_local_trials=None, random_state=0).fit(X)
    assert trials == [1, None]


def test_must_linked_rows_move_as_their_mean():
    """Two far rows in one block: the block goes where its mean belongs."""
    X = np.array([[0.0], [10.0], [4.9], [0.1], [9.9]])
    model = MatchingKMeans(2, init=[[4.0], [9.0]]).fit(X, must_link=[(0, 1), (0, 2)])
    check_fit(model, X, must_link=[(0, 1), (0, 2)])
    assert model.labels_[0] == model.labels_[1] == model.labels_[2] == model.labels_[3] == 0


def test_no_cluster_ends_empty():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = MatchingKMeans(3, init=[[1.0], [100.0], [200.0]]).fit(X, cannot_link=[(0, 1)])
    check_fit(model, X, cannot_link=[(0, 1)])
