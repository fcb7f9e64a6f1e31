"""Relocation of centers after Lloyd's loop with exact steps."""

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.kmeans import restarts
from konstrain.kmeans.loop import Loop, lloyd_with_momentum
from konstrain.kmeans.restarts import relocate_centers
from konstrain.kmeans.steps import Steps


def blobs(seed):
    """Return three groups of rows far apart, two centers in one group and one between the others."""
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], 40, axis=0) + rng.normal(size=(120, 2))
    return X, np.array([[20.0, 1.0], [20.0, -1.0], [0.0, 10.0]])


@pytest.mark.parametrize("seed", range(3))
def test_a_center_that_two_groups_share_is_found_from_given_centers_under_sizes(seed):
    X, centers = blobs(seed)
    found = ConstrainedKMeans(3, 10, 90, init=centers).fit(X)
    assert sorted(found.cluster_sizes_) == [40, 40, 40]
    plain = ConstrainedKMeans(3, 10, 90, init=centers, local_search=False).fit(X)
    assert found.inertia_ < 0.2 * plain.inertia_


def test_what_a_merge_adds_is_estimated_with_the_center_of_the_merged_cluster():
    # Rows of a dissolved cluster would pay 160 at the other center as it is, and 80 at the center of both.
    X = np.repeat([-1.0, 1.0, 100.0, 102.6], 40)[:, None]
    found = ConstrainedKMeans(3, 10, 90, init=np.array([[-1.0], [1.0], [101.3]])).fit(X)
    assert found.inertia_ == pytest.approx(80.0)


def test_without_constraints_given_centers_are_followed_by_lloyds_loop_alone():
    X, centers = blobs(0)
    fits = [ConstrainedKMeans(3, init=centers, local_search=search).fit(X) for search in ("auto", False)]
    assert (fits[0].labels_ == fits[1].labels_).all()


@pytest.mark.parametrize("seed", range(5))
def test_relocations_never_raise_the_objective_and_keep_the_sizes(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    problem = Problem.build(X, 6, size_min=10, size_max=16)
    loop = Loop(lloyd_with_momentum, Steps(problem), max_iter=100)
    start = loop.run(X[:6])
    found = relocate_centers(loop, start, seed)
    assert found.objective <= start.objective
    assert found.n_iter <= 2 * start.n_iter + 100
    assert set(np.bincount(found.block_labels)) <= set(range(10, 17))


def test_problems_whose_costs_would_fill_the_memory_are_left_as_they_are(monkeypatch):
    X, centers = blobs(0)
    loop = Loop(lloyd_with_momentum, Steps(Problem.build(X, 3, size_min=10, size_max=90)))
    start = loop.run(centers)
    monkeypatch.setattr(restarts, "KEPT_NUMBERS", 3 * 120 - 1)
    assert relocate_centers(loop, start, 0) is start
    monkeypatch.setattr(restarts, "KEPT_NUMBERS", 3 * 120)
    assert relocate_centers(loop, start, 0).objective < start.objective
