"""Suggested pairs: new, open, repeatable, and worth more than random ones."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from konstrain import ConstrainedKMeans, suggest_pairs
from konstrain.suggest import STRATEGIES, clusters_met

IRIS, SPECIES = load_iris(return_X_y=True)


def answered(pairs, classes):
    """The links that someone who knows the classes answers."""
    pairs = np.asarray(pairs).reshape(-1, 2)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def asked_in_rounds(X, classes, *, n_rounds, ask, strategy, seed):
    """All pairs of some rounds of questions, each knowing the answers of the earlier ones."""
    pairs = np.zeros((0, 2), dtype=np.int64)
    for _ in range(n_rounds):
        known = answered(pairs, classes)
        new = suggest_pairs(X, 3, ask=ask, strategy=strategy, random_state=seed, **known)
        pairs = np.concatenate([pairs, new])
    return pairs


def agreement(X, classes, pairs):
    return adjusted_rand_score(
        classes, ConstrainedKMeans(3, random_state=0).fit(X, **answered(pairs, classes)).labels_
    )


@pytest.mark.parametrize("strategy", ["uncertainty", "margin"])
@pytest.mark.parametrize("load", [load_iris, load_wine], ids=["iris", "wine"])
def test_suggested_pairs_raise_agreement_more_than_random_ones(load, strategy):
    X, classes = load(return_X_y=True)
    X = X if load is load_iris else scale(X)
    suggested, random = [], []
    for seed in range(3):
        pairs = asked_in_rounds(X, classes, n_rounds=10, ask=5, strategy=strategy, seed=seed)
        suggested.append(agreement(X, classes, pairs))
        rng = np.random.default_rng(seed)
        random.append(agreement(X, classes, [rng.choice(len(X), 2, replace=False) for _ in range(50)]))
    assert np.mean(suggested) > np.mean(random) + 0.02


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pairs_are_open_different_and_repeatable(strategy):
    X, species = IRIS[::3], SPECIES[::3]
    pairs = asked_in_rounds(X, species, n_rounds=2, ask=8, strategy=strategy, seed=1)
    again = asked_in_rounds(X, species, n_rounds=2, ask=8, strategy=strategy, seed=1)
    np.testing.assert_array_equal(pairs, again)
    assert pairs.shape == (16, 2)
    assert len({frozenset(pair) for pair in pairs.tolist()}) == 16
    assert all(len(set(pair)) == 2 for pair in pairs.tolist())


@pytest.mark.parametrize("strategy", ["explore-consolidate", "min-max"])
def test_exploration_meets_every_cluster_when_asked_one_by_one(strategy):
    """Farthest-first meets three far groups at the third row, whatever row it starts from."""
    X = np.concatenate([np.random.default_rng(0).normal(center, 0.1, (20, 2)) for center in ((0, 0), (9, 0), (0, 9))])
    groups = np.repeat([0, 1, 2], 20)
    pairs = asked_in_rounds(X, groups, n_rounds=3, ask=1, strategy=strategy, seed=0)
    assert set(groups[pairs].ravel()) == {0, 1, 2}
    assert answered(pairs, groups)["must_link"].size == 0


def test_a_row_that_may_be_in_one_cluster_only_is_not_asked_about():
    X = np.array([[0.0], [1.0], [9.0], [10.0], [5.0]])
    known = {"cannot_link": [(0, 3), (4, 0)]}
    pairs = suggest_pairs(X, 2, ask=10, strategy="min-max", random_state=0, **known)
    assert 4 not in pairs.ravel()


def test_min_max_asks_about_the_row_furthest_from_all_known():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [4.0]])
    pairs = suggest_pairs(X, 2, ask=1, strategy="min-max", cannot_link=[(0, 3)], random_state=0)
    assert pairs.tolist() == [[4, 0]]


def test_fewer_pairs_come_when_nothing_else_is_open():
    assert len(suggest_pairs([[0.0], [1.0], [9.0]], 2, ask=50, strategy="min-max", random_state=0)) <= 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ask": 0}, "ask must be at least 1"),
        ({"strategy": "luck"}, "'margin'"),
        ({"noise": 0.5}, "noise must be a share of wrong answers from 0 to below 0.5, got 0.5"),
        ({"noise": -0.1}, "got -0.1"),
    ],
)
def test_impossible_questions_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        suggest_pairs(IRIS, 3, **options)


def test_questions_in_a_learned_metric_are_asked_about_the_same_rows():
    """The metric is chosen by links: without any it is the plain one."""
    X, classes = load_wine(return_X_y=True)
    plain = suggest_pairs(X, 3, ask=5, random_state=0)
    np.testing.assert_array_equal(plain, suggest_pairs(X, 3, ask=5, metric="learned", random_state=0))
    rng = np.random.default_rng(0)
    known = answered([rng.choice(len(X), 2, replace=False) for _ in range(60)], classes)
    with_metric = suggest_pairs(X, 3, ask=5, metric="learned", random_state=0, **known)
    assert with_metric.tolist() != suggest_pairs(X, 3, ask=5, random_state=0, **known).tolist()


def groups_on_a_line(k, seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(k), 15)
    return np.column_stack([10.0 * groups, np.zeros(groups.size)]) + rng.normal(0, 0.5, (groups.size, 2)), groups


@pytest.mark.parametrize("k", [2, 4])
def test_an_unknown_number_of_clusters_is_found_by_asking(k):
    X, groups = groups_on_a_line(k, seed=0)
    pairs = np.zeros((0, 2), dtype=np.int64)
    for _ in range(12):
        new = suggest_pairs(X, ask=1, random_state=0, **answered(pairs, groups))
        pairs = np.concatenate([pairs, new])
    assert clusters_met(len(X), **answered(pairs, groups)) == k


def test_with_an_unknown_number_of_clusters_no_row_counts_as_settled_by_exclusion():
    X = np.array([[0.0], [1.0], [9.0], [10.0], [5.0]])
    known = {"cannot_link": [(0, 3), (4, 0)]}
    asked = suggest_pairs(X, ask=10, random_state=0, **known)
    assert (4, 3) in {tuple(sorted(pair, reverse=True)) for pair in asked.tolist()}
