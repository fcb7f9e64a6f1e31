"""Linked blocks taken out of a large problem answer as they do within it."""

import numpy as np
import pytest

from konstrain.constraints import Problem
from konstrain.kmeans import linked_part
from konstrain.kmeans.linked_part import LinkedPart
from konstrain.kmeans.steps import Steps

CONFIDENCE = {"soft": 0.5, "hard": np.inf}


@pytest.mark.parametrize("kind", CONFIDENCE)
def test_a_step_over_the_linked_part_costs_what_the_whole_does(kind, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    pairs = rng.permutation(200)[:80].reshape(2, 20, 2)
    links = np.concatenate([pairs, np.full((2, 20, 1), CONFIDENCE[kind])], axis=2)
    problem = Problem.build(X, 3, must_link=links[0], cannot_link=links[1])
    price = 1.0 if problem.has_soft_links else None
    centers = X[:3].copy()
    whole = Steps(problem, price).step(centers, None)
    monkeypatch.setattr(linked_part, "MIN_COSTS", 0)
    assert LinkedPart.of(problem, price) is not None
    part = Steps(problem, price).step(centers, None)
    assert part.cost == pytest.approx(whole.cost, rel=1e-12)
    assert part.proven
