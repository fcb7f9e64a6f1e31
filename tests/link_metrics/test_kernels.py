"""Metrics learned from links, beside what they must satisfy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from konstrain import _core
from konstrain.constraints.inputs import read_links
from konstrain.link_metrics import Evidence, diagonal, itml, rca

pytestmark = pytest.mark.engine


def random_evidence(seed, n=40, d=3, n_links=12, labels=None):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(2 * n_links)])
    must, cannot = (read_links("must_link", part, n) for part in (pairs[:n_links], pairs[n_links:]))
    return Evidence(rows, must, cannot, labels)


def log_det_divergence(M, prior):
    product = M @ np.linalg.inv(prior)
    return np.trace(product) - np.linalg.slogdet(product)[1] - len(M)


def projected(differences, is_short, lengths, price, sweeps=20_000, tolerance=1e-12):
    metric = np.eye(differences.shape[1])
    n = len(lengths)
    prices = np.full(n, float(price))
    _core.learn_by_projections(metric, differences, is_short, lengths, prices, sweeps, tolerance)
    return metric


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_projections_end_at_the_nearest_metric_that_keeps_the_lengths(seed):
    """With a high price on slack this is the constrained problem of the paper: a general solver finds the same."""
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=(3, 2))
    is_short = np.array([1, 1, 0], dtype=np.int8)
    squared = (differences**2).sum(axis=1)
    lengths = squared * np.array([0.9, 0.9, 1.05])
    ours = projected(differences, is_short, lengths, 1e7)

    def metric(root):
        lower = np.array([[root[0], 0.0], [root[1], root[2]]])
        return lower @ lower.T

    def slack(root):
        return np.where(is_short == 1, 1, -1) * (
            lengths - np.einsum("ij,jk,ik->i", differences, metric(root), differences)
        )

    best = minimize(
        lambda root: log_det_divergence(metric(root), np.eye(2)),
        [1.0, 0.0, 1.0],
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert slack(best.x).min() > -1e-6
    squared_ours = np.einsum("ij,jk,ik->i", differences, ours, differences)
    assert (np.where(is_short == 1, 1, -1) * (lengths - squared_ours)).min() > -1e-4
    assert log_det_divergence(ours, np.eye(2)) < best.fun + 1e-3


def test_projections_stand_still_where_lengths_are_kept_already():
    differences = np.array([[0.1, 0.0], [3.0, 4.0]])
    metric = projected(differences, np.array([1, 0], dtype=np.int8), np.array([1.0, 4.0]), 1.0)
    assert_allclose(metric, np.eye(2))


def test_equal_rows_that_should_be_apart_leave_the_metric_finite():
    metric = projected(np.zeros((1, 2)), np.array([0], dtype=np.int8), np.array([4.0]), 1.0)
    assert_allclose(metric, np.eye(2))


def test_links_are_no_further_from_their_lengths_than_before():
    evidence = random_evidence(0)
    metric = itml(evidence, slack_price=1.0)
    before, after = (
        np.einsum("ij,jk,ik->i", evidence.differences, M, evidence.differences) for M in (np.eye(3), metric)
    )
    short = evidence.is_short == 1
    assert (after / before)[short].mean() < (after / before)[~short].mean()
    assert np.linalg.eigvalsh(metric).min() > 0


@pytest.mark.parametrize("learn", [rca, diagonal, lambda evidence: itml(evidence, slack_price=0.1)])
def test_metrics_are_symmetric_and_positive_also_with_fewer_links_than_features(learn):
    metric = learn(random_evidence(1, d=30, n_links=2))
    assert_allclose(metric, metric.T)
    assert np.linalg.eigvalsh(metric).min() > 0


def test_the_direction_in_which_linked_rows_differ_counts_less():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    rows[30:, 0] = rows[:30, 0] + 0.01
    must = read_links("must_link", np.column_stack([np.arange(30), np.arange(30, 60)]), 60)
    evidence = Evidence(rows, must, read_links("cannot_link", None, 60))
    for metric in (rca(evidence), diagonal(evidence), itml(evidence, slack_price=1.0)):
        assert metric[0, 0] > 1.5 * metric[1, 1]


def test_a_clustering_says_what_to_expect_where_there_are_no_links():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    rows = rng.normal(size=(400, 2)) * [0.1, 1.0] + np.column_stack([labels, 0 * labels])
    nothing = read_links("must_link", None, 400)
    metric = rca(Evidence(rows, nothing, nothing, labels))
    assert metric[0, 0] / metric[1, 1] == pytest.approx(100, rel=0.5)
