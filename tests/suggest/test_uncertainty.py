"""Normalised point-based uncertainty, beside what the paper's formulas give by hand."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.metrics.cluster import contingency_matrix

from konstrain import ConstrainedKMeans, suggest_pairs
from konstrain.suggest import uncertainty
from konstrain.suggest.uncertainty import chance_of_each, worth_of_new, worth_of_rows


def test_chances_are_mean_shares_of_common_leaves():
    leaves = np.array([[0, 0, 1, 1], [0, 1, 1, 2]])
    # Row 1 shares a leaf with row 0 in one of two trees, with rows 2 and 3 in (1 + 0) / 2 of two.
    chances = chance_of_each(leaves, [np.array([0]), np.array([2, 3])])
    assert_allclose(chances[1], [0.5 / 0.75, 0.25 / 0.75])
    assert_allclose(chances.sum(axis=1), 1.0)


def test_a_row_that_shares_no_leaf_with_a_known_one_may_be_anywhere():
    leaves = np.array([[0, 1, 2]])
    assert_allclose(chance_of_each(leaves, [np.array([0]), np.array([1])])[2], [0.5, 0.5])


def test_worth_is_entropy_over_the_expected_number_of_questions():
    chances = np.array([[0.2, 0.5, 0.3]])
    entropy = -(0.2 * np.log(0.2) + 0.5 * np.log(0.5) + 0.3 * np.log(0.3))
    assert_allclose(worth_of_rows(chances, is_complete=False), entropy / (0.5 + 2 * 0.3 + 3 * 0.2))
    # With all clusters known the third question need not be asked.
    assert_allclose(worth_of_rows(chances, is_complete=True), entropy / (0.5 + 2 * 0.3 + 2 * 0.2))


def test_looking_for_new_clusters_is_worth_less_the_longer_none_was_found():
    chances = np.array([[0.9, 0.1]])
    worths = [worth_of_new(chances, novelty)[0] for novelty in (0.3, 0.1, 0.01)]
    assert worths == sorted(worths, reverse=True)


def test_every_cluster_is_met_before_doubtful_rows_are_asked_about():
    """The middle rows of four clusters take 1 + 2 + 3 questions at most; then all clusters are known."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 20)
    X = 9.0 * np.eye(4)[groups] + rng.normal(0, 0.3, (80, 4))
    pairs = suggest_pairs(X, 4, ask=6, random_state=0)
    assert sorted(tuple(sorted(pair)) for pair in groups[pairs].tolist()) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]


def test_rows_between_two_clusters_are_asked_about():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([[-1.5, 0.0], [1.5, 0.0]], 100, axis=0)
    left, right = np.argmin(X[:, 0]), np.argmax(X[:, 0])
    asked = np.concatenate(
        [suggest_pairs(X, 2, ask=5, cannot_link=[(left, right)], random_state=seed)[:, 0] for seed in range(6)]
    )
    assert np.median(np.abs(X[asked, 0])) < 0.5 * np.median(np.abs(X[:, 0]))


def test_with_a_learned_metric_distances_find_misplaced_rows_that_the_forest_does_not(monkeypatch):
    X, cultivars = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = ConstrainedKMeans(3, metric="itml", random_state=0).fit(X).labels_
    place = contingency_matrix(found, cultivars).argmax(axis=1)
    misplaced = np.flatnonzero(place[found] != cultivars)

    def n_asked_about():
        asked = [suggest_pairs(X, 3, ask=20, metric="itml", random_state=seed)[:, 0] for seed in range(3)]
        return np.isin(np.concatenate(asked), misplaced).sum()

    with_distances = n_asked_about()
    monkeypatch.setattr(uncertainty, "doubt_of_rows", lambda squared: np.ones(len(squared)))
    assert with_distances > n_asked_about()
