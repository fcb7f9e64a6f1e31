"""The pair to branch on: moves are priced as in k-means, and what is tied to a block counts with it."""

import numpy as np
import pytest

from konstrain import ExactKMeans
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.bound import branching_scores, move_costs
from konstrain.exact.sdp.model import SdpModel


def shared(labels, weight):
    """Z of a clustering."""
    inside = np.equal.outer(labels, labels)
    return inside / (inside @ weight)[:, None]


def test_in_a_clustering_a_move_costs_the_difference_of_squared_distances():
    rng = np.random.default_rng(0)
    X, labels, weight = rng.normal(size=(12, 3)) + 5.0, np.arange(12) % 3, rng.random(12) + 0.5
    model = SdpModel.of(Problem.build(X, 3, sample_weight=weight))
    centers = np.array([np.average(X[labels == c], axis=0, weights=weight[labels == c]) for c in range(3)])
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    own = distance[np.arange(12), labels]
    expected = weight[:, None] * (distance[:, labels] - own[:, None])
    np.testing.assert_allclose(move_costs(model, shared(labels, weight)), expected, atol=1e-10)


def test_nothing_is_to_gain_where_all_is_decided_or_in_conflict():
    X, labels = np.random.default_rng(1).normal(size=(8, 2)), np.arange(8) % 2
    model = SdpModel.of(Problem.build(X, 2, cannot_link=[(0, 3)]))
    assert not branching_scores(model, shared(labels, np.ones(8))).any()
    undecided = np.full((8, 8), 0.1) + 0.15 * np.eye(8)
    scores = branching_scores(model, undecided)
    assert scores[0, 3] == 0
    assert (scores >= 0).all()
    assert scores.any()


def test_blocks_with_many_tied_to_them_come_first():
    """Rows 0 to 3 are tied, rows 4 to 7 too, and the two groups share a cluster as much as the lone rows 8 and 9."""
    X = np.array([[0.0]] * 4 + [[1.0]] * 4 + [[0.0], [1.0]])
    degree = np.eye(10)
    degree[:4, :4] = degree[4:8, 4:8] = 1.0
    degree[:4, 4:8] = degree[4:8, :4] = degree[8, 9] = degree[9, 8] = 0.25
    scores = branching_scores(SdpModel.of(Problem.build(X, 4)), degree / 4)
    i, j = divmod(int(scores.argmax()), 10)
    assert i < 4 <= j < 8
    assert scores[8, 9] > 0


@pytest.mark.slow
@pytest.mark.published
def test_balanced_glass_is_proved(data_folder):
    X = np.loadtxt(data_folder / "pairwise" / "glass" / "data.txt", skiprows=1)
    model = ExactKMeans(6, size_min=35, size_max=36, gap=1e-4, random_state=0).fit(X)
    assert model.is_optimal_
    np.testing.assert_allclose(model.inertia_, 97.21069, rtol=1e-6)
