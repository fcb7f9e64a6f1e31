"""Linked blocks taken out of a large problem answer as they do within it."""

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.kmeans.linked_part import LinkedPart
from konstrain.kmeans.steps import Steps

CONFIDENCE = {"soft": 0.5, "hard": np.inf}


@pytest.mark.parametrize("kind", CONFIDENCE)
def test_a_step_over_the_linked_part_costs_what_the_whole_does(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    pairs = rng.permutation(200)[:80].reshape(2, 20, 2)
    links = np.concatenate([pairs, np.full((2, 20, 1), CONFIDENCE[kind])], axis=2)
    problem = Problem.build(X, 3, must_link=links[0], cannot_link=links[1])
    price = 1.0 if problem.has_soft_links else None
    centers = X[:3].copy()
    steps = Steps(problem, price)
    whole = steps.assign(steps.costs(centers), None)
    assert LinkedPart.of(problem, price) is not None
    part = Steps(problem, price).step(centers, None)
    assert part.cost == pytest.approx(whole.cost, rel=1e-12)
    assert part.proven


def test_a_cluster_that_links_empty_keeps_its_center():
    """Three hundred weights leave it that were added up in another order: the 1e-13 that remains is no weight."""
    rng = np.random.default_rng(3)
    X, weight = rng.uniform(-1.0, 1.0, (40_000, 1)), rng.random(40_000)
    leaving, staying = rng.permutation(40_000)[:600].reshape(2, 300)
    X[leaving] += 11.0
    weight[staying] += 5.0
    links = np.column_stack([leaving, staying, np.ones(300)])
    problem = Problem.build(X, 2, sample_weight=weight, must_link=links, nonempty=False)
    steps, centers = Steps(problem, 1e6), np.array([[0.0], [11.0]])
    assert LinkedPart.of(problem, 1e6) is not None
    labels = steps.step(centers, None).labels
    assert not labels.any()
    expected = [[np.average(X[:, 0], weights=weight)], [11.0]]
    np.testing.assert_allclose(steps.centers_of(labels, centers), expected)
