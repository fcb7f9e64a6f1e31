"""MPCK-Means: its metric update and objective equal the published formulas, computed slowly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from konstrain.baselines import MPCKMeans
from konstrain.baselines._base import LinkedRows, WeightedPairs
from konstrain.baselines.mpck_means import MetricLoop, farthest_pair, metric_costs
from konstrain.datasets import sample_ganji

N, K, D, W = 30, 3, 4, 0.7


def problem(seed, shared=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 3.0, 0.5, 2.0]
    links = sample_ganji(rng.integers(K, size=N), 24, random_state=seed).links
    must, cannot = (
        WeightedPairs(links[kind].astype(np.int32), rng.uniform(0.2, 1.0, 12))
        for kind in ("must_link", "cannot_link")
    )
    loop = MetricLoop(LinkedRows(X, K, must, cannot), W, shared, 1e-6, 50)
    labels = rng.integers(K, size=N).astype(np.int32)
    weights = rng.uniform(0.5, 2.0, size=(K, D))
    if shared:
        weights[:] = weights[0]
    return loop, labels, loop.rows.means(labels), weights


def objective(loop, labels, centers, weights, farthest):
    return loop.objective(metric_costs(loop.X, centers, weights), loop.link_prices(weights, farthest), labels)


def links_of(loop):
    for kind, pairs in (("must", loop.rows.must), ("cannot", loop.rows.cannot)):
        for (i, j), c in zip(pairs.rows.tolist(), pairs.weight, strict=True):
            yield kind, i, j, W * c


def slow_farthest(X, a):
    return max(((X[i] - X[j]) ** 2 for i in range(N) for j in range(i)), key=lambda d: d @ a)


def slow_scatter(loop, labels, centers, weights):
    X, scatter = loop.X, np.zeros((K, D))
    for i in range(N):
        scatter[labels[i]] += (X[i] - centers[labels[i]]) ** 2
    for kind, i, j, w in links_of(loop):
        gap = (X[i] - X[j]) ** 2
        if kind == "must" and labels[i] != labels[j]:
            scatter[labels[i]] += 0.5 * w * gap
            scatter[labels[j]] += 0.5 * w * gap
        if kind == "cannot" and labels[i] == labels[j]:
            scatter[labels[i]] += w * (slow_farthest(X, weights[labels[i]]) - gap)
    return scatter


@pytest.mark.parametrize("seed", range(5))
def test_the_metric_update_equals_the_formula(seed):
    loop, labels, centers, weights = problem(seed)
    scatter = slow_scatter(loop, labels, centers, weights)
    assert (scatter > 0).all()
    expected = np.bincount(labels, minlength=K)[:, None] / scatter
    np.testing.assert_allclose(loop.updated_weights(labels, centers, loop.farthest(weights)), expected)


def test_a_shared_metric_sums_over_all_clusters():
    loop, labels, centers, weights = problem(0, shared=True)
    scatter = slow_scatter(loop, labels, centers, weights).sum(axis=0)
    updated = loop.updated_weights(labels, centers, loop.farthest(weights))
    np.testing.assert_allclose(updated, np.broadcast_to(N / scatter, (K, D)))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_equals_a_direct_sum(seed, shared):
    loop, labels, centers, weights = problem(seed, shared)
    X, total = loop.X, 0.0
    for i in range(N):
        a = weights[labels[i]]
        total += ((X[i] - centers[labels[i]]) ** 2) @ a - np.log(a).sum()
    for kind, i, j, w in links_of(loop):
        gap, own, other = (X[i] - X[j]) ** 2, weights[labels[i]], weights[labels[j]]
        if kind == "must" and labels[i] != labels[j]:
            total += w * (0.5 * gap @ own + 0.5 * gap @ other)
        if kind == "cannot" and labels[i] == labels[j]:
            total += w * (slow_farthest(X, own) @ own - gap @ own)
    assert objective(loop, labels, centers, weights, loop.farthest(weights)) == pytest.approx(total)


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(3))
def test_no_step_raises_the_objective_while_the_farthest_rows_stay(seed):
    loop, labels, centers, weights = problem(seed)
    farthest = loop.farthest(weights)
    trace = [objective(loop, labels, centers, weights, farthest)]
    rng = np.random.default_rng(0)
    for _ in range(4):
        loop.assign(metric_costs(loop.X, centers, weights), loop.link_prices(weights, farthest), labels, rng)
        trace.append(objective(loop, labels, centers, weights, farthest))
        centers = loop.rows.means(labels, centers)
        trace.append(objective(loop, labels, centers, weights, farthest))
        weights = loop.updated_weights(labels, centers, farthest)
        trace.append(objective(loop, labels, centers, weights, farthest))
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[0])).all()


def test_weights_are_limited_and_constant_features_keep_weight_one():
    X = np.array([[0.0, 5.0, 7.0], [0.0, 6.0, 7.0], [9.0, 5.0, 7.0], [9.0, 6.5, 7.0]])
    model = MPCKMeans(2, init=X[[0, 2]], least_variance=0.1, random_state=0).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(model.feature_weights_[:, 0], 1 / (0.1 * X[:, 0].var()))
    np.testing.assert_allclose(model.feature_weights_[:, 1], [1 / 0.25, 1 / 0.5625])
    assert (model.feature_weights_[:, 2] == 1.0).all()


def test_links_teach_which_feature_counts():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([2 * y + 0.2 * rng.normal(size=200), rng.normal(size=200)])
    links = sample_ganji(y, 60, random_state=0).links
    model = MPCKMeans(2, random_state=0).fit(X, **links)
    assert (model.feature_weights_[:, 0] > 5 * model.feature_weights_[:, 1]).all()
    assert max((model.labels_ == y).mean(), (model.labels_ != y).mean()) == 1.0
    assert model.transform(X).shape == (200, 2)
    assert (model.predict(X) == model.labels_).mean() > 0.95
    assert model.score(X) == pytest.approx(model.score(X, sample_weight=np.ones(200)))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 600), d=st.integers(1, 5))
def test_the_farthest_pair_is_the_farthest(seed, n, d):
    points = np.random.default_rng(seed).standard_t(2, size=(n, d))
    i, j = farthest_pair(points)
    assert np.linalg.norm(points[i] - points[j]) == pytest.approx(pdist(points).max())


def test_equal_points_have_some_farthest_pair():
    assert farthest_pair(np.ones((3, 2))) == (0, 0)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_sparse_new_rows_are_refused_like_sparse_rows_to_fit(method):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = MPCKMeans(2, random_state=0).fit(X)
    with pytest.raises(TypeError, match="dense data is required"):
        getattr(model, method)(csr_array(X))
