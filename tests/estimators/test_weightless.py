"""Rows of weight zero go to the nearest center that the constraints leave them."""

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from oracles import all_labelings


def fitted(X, weight, k, *, links=None, **params):
    return ConstrainedKMeans(k, random_state=0, **params).fit(X, sample_weight=weight, **(links or {}))


def blobs(seed, n_weightless):
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.concatenate([centers.repeat(8, axis=0), centers[rng.integers(3, size=n_weightless)]])
    X = X + rng.normal(size=X.shape)
    return X, np.r_[np.ones(24), np.zeros(n_weightless)]


@pytest.mark.parametrize(
    "constraint",
    [
        {},
        {"size_max": 20},
        {"size_min": 2},
        {"links": {"cannot_link": [(0, 8)]}},
        {"links": {"must_link": [(0, 1, 0.5)]}},
        {"links": {"must_link": [(0, 1)]}},
    ],
    ids=str,
)
def test_constraints_elsewhere_do_not_move_them(constraint):
    X, weight = blobs(0, 10)
    model = fitted(X, weight, 3, **constraint)
    nearest = ((X[24:, None] - model.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.labels_[24:], nearest)


@pytest.mark.parametrize("seed", range(6))
def test_what_constraints_leave_is_chosen_at_least_distance(seed):
    X, weight = blobs(seed, 6)
    rng = np.random.default_rng(seed)
    cannot = [(24, int(rng.integers(24))), (25, 26), (27, 3)]
    soft = (28, int(rng.integers(24)), 0.5)
    must = [(24, 24, np.inf), soft] if seed % 2 else None
    links = {"cannot_link": cannot, "must_link": must}
    sizes = {"size_min": 9, "size_max": 11}
    model = fitted(X, weight, 3, links=links, violation_cost=3.0, **sizes)
    costs = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    best = np.inf
    for few in all_labelings(6, 3):
        labels = np.r_[model.labels_[:24], few]
        sizes_ = np.bincount(labels, minlength=3)
        kept = all(labels[a] != labels[b] for a, b in cannot) and sizes_.min() >= 9 and sizes_.max() <= 11
        broken = must is not None and labels[soft[0]] != labels[soft[1]]
        if kept:
            best = min(best, 1e6 * broken + costs[np.arange(24, 30), few].sum())
    broken = must is not None and model.labels_[soft[0]] != model.labels_[soft[1]]
    assert 1e6 * broken + costs[np.arange(24, 30), model.labels_[24:]].sum() == pytest.approx(best)


def test_a_cluster_is_not_emptied():
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    model = fitted(X, [1.0, 1.0, 0.0, 0.0], 3)
    assert set(model.labels_.tolist()) == {0, 1, 2}
