"""Algorithm 1 of Jia et al. (2023): the law of its draw, its guarantee, and the counterexample that it is for."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from konstrain import kmeans_plusplus
from konstrain.constraints import Problem
from konstrain.kmeans.start import plus_plus, rows_of_means
from oracles import all_labelings

N_DRAWS = 5_000


def cost_at(problem, centers):
    """What the rows cost when every block goes to its nearest center."""
    squared = ((problem.mean[:, None] - centers) ** 2).sum(axis=2)
    return float(problem.weight @ squared.min(axis=1) + problem.scatter.sum())


def optimum(X, k, must):
    """The least sum of squares over all labels that keep the must-links."""
    best = np.inf
    for labels in all_labelings(len(X), k):
        if all(labels[i] == labels[j] for i, j in must):
            groups = (X[labels == j] for j in np.unique(labels))
            best = min(best, sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups))
    return best


def test_a_block_is_drawn_as_often_as_its_rows_would_be():
    X = np.array([[0.0], [1.0], [4.0], [6.0], [9.0]])
    problem = Problem.build(X, 2, must_link=[(0, 3)])
    rng = np.random.default_rng(0)
    counts = np.zeros((problem.n_blocks, problem.n_blocks))
    for _ in range(N_DRAWS):
        first, second = plus_plus(problem, rng, n_trials=1)
        counts[first, second] += 1
    # Step 1: every row alike. Steps 3 to 8: a row by its own distance, or that of its mean plus its own to the mean.
    means = problem.expand(np.arange(problem.n_blocks, dtype=np.int32))
    mean_of_row = problem.mean[means]
    for first in range(problem.n_blocks):
        by_row = ((mean_of_row - problem.mean[first]) ** 2 + (X - mean_of_row) ** 2).ravel()
        expected = np.bincount(means, by_row) / by_row.sum()
        n = counts[first].sum()
        deviation = np.sqrt(n * expected * (1 - expected)) + 1e-9
        assert (np.abs(counts[first] - n * expected) <= 5 * deviation).all()
    shares = counts.sum(axis=1) / N_DRAWS
    expected = np.bincount(means) / len(X)
    assert np.abs(shares - expected).max() <= 5 * np.sqrt(0.25 / N_DRAWS)


@pytest.mark.parametrize("k", [2, 3])
def test_the_expected_cost_is_within_the_factor_of_theorem_1(k, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2)) * rng.choice([0.1, 1.0, 10.0], size=(8, 1))
    must = [(0, 1), (2, 3)]
    problem = Problem.build(X, k, must_link=must)
    costs = [cost_at(problem, rows_of_means(problem, plus_plus(problem, rng, n_trials=1))) for _ in range(200)]
    least = optimum(X, k, must)
    assert least * (1 - 1e-9) <= min(costs)
    assert np.mean(costs) <= 8 * (math.log(k) + 2) * least


def test_the_mean_of_a_must_link_set_is_drawn_and_not_one_of_its_rows():
    # Fig. 1: x2 is heavy and near the first center, x1 is light and far away; by rows x1 would be drawn next.
    heavy = 10_000.0
    p, x2, x1 = [0.0], [0.001], [10.0]
    X, weight = np.array([p, x2, x1]), np.array([heavy, heavy, 1.0])
    by_row = weight * (X[:, 0] - p[0]) ** 2
    assert by_row[2] / by_row.sum() > 0.99
    problem = Problem.build(X, 2, must_link=[(1, 2)], sample_weight=weight)
    mean = (heavy * x2[0] + x1[0]) / (heavy + 1.0)
    n_from_p = 0
    for seed in range(50):
        centers = rows_of_means(problem, plus_plus(problem, np.random.default_rng(seed), n_trials=1))
        if centers[0, 0] == p[0]:
            n_from_p += 1
            assert centers[1, 0] == pytest.approx(mean)
            # What the set costs anywhere, not its weight times the distance of its two rows.
            assert cost_at(problem, centers) == pytest.approx(problem.scatter.sum())
    assert n_from_p > 10
    assert heavy * (x1[0] - x2[0]) ** 2 > 1_000 * problem.scatter.sum()


def test_the_public_function_draws_as_the_engine_does_and_names_the_rows():
    X = np.random.default_rng(0).normal(size=(30, 3))
    must = [(0, 7), (7, 20), (3, 4)]
    problem = Problem.build(X, 6, must_link=must)
    names = {0: [0, 7, 20], 3: [3, 4]}
    seen = set()
    for seed in range(20):
        centers, rows = kmeans_plusplus(X, 6, must_link=must, random_state=seed, n_local_trials=1)
        assert centers.shape == (6, 3)
        for center, row in zip(centers, rows.tolist(), strict=True):
            np.testing.assert_allclose(center, X[names.get(row, [row])].mean(axis=0))
        assert set(rows.tolist()) <= set(problem.first_rows.tolist())
        again = kmeans_plusplus(X, 6, must_link=must, random_state=seed, n_local_trials=1)
        np.testing.assert_array_equal(centers, again[0])
        seen |= set(rows.tolist())
    assert {0, 3} <= seen
    sparse, _ = kmeans_plusplus(csr_array(X), 6, must_link=must, random_state=0)
    np.testing.assert_allclose(sparse, kmeans_plusplus(X, 6, must_link=must, random_state=0)[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 4}, "n_samples=3 should be >= n_clusters=4"),
        ({"n_clusters": 2, "must_link": [(0, 5)]}, "must_link"),
        ({"n_clusters": 2, "n_local_trials": 0}, "n_local_trials is 0; give at least one draw"),
        ({"n_clusters": 0}, "n_clusters"),
    ],
)
def test_the_public_function_refuses_what_makes_no_sense(options, words):
    with pytest.raises(ValueError, match=words):
        kmeans_plusplus([[0.0], [1.0], [2.0]], **options)
