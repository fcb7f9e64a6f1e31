"""Multipliers from a clustering prove it at once where clusters are apart, and never too much."""

import numpy as np
import pytest

from effort import examples
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.bound import PARAMS, SdpBound
from konstrain.exact.sdp.model import SdpModel
from konstrain.exact.sdp.start import clustering_matrix, suggested_multipliers
from oracles import all_labelings


def blobs(n: int = 90, k: int = 4, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return rng.normal(size=(n, d)) + 12.0 * rng.permutation(np.eye(max(k, d)))[labels, :d], labels.astype(np.int32)


def cost_of(problem: Problem, labels: np.ndarray) -> float:
    model = SdpModel.of(problem)
    return model.total + model.guard + model.scale * float((model.cost * clustering_matrix(model, labels)).sum())


def test_the_matrix_of_a_clustering_has_its_cost():
    X, labels = blobs()
    inertia = sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in range(4))
    np.testing.assert_allclose(cost_of(Problem.build(X, 4), labels), inertia, rtol=1e-9)


def test_indicators_of_clusters_apart_span_an_invariant_subspace():
    X, labels = blobs()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = SdpModel.of(Problem.build(X, 4, sample_weight=weight))
    S = suggested_multipliers(model, labels)
    assert (S >= 0).all()
    np.testing.assert_array_equal(S, S.T)
    assert (S[labels[:, None] == labels] == 0).all()
    onto = clustering_matrix(model, labels)
    off_u = np.eye(len(X)) - np.outer(model.direction, model.direction)
    M = off_u @ (model.cost - S) @ off_u
    assert np.abs(M @ onto - onto @ M).max() < 1e-12


def test_clusters_apart_are_proved_at_the_first_look():
    X, labels = blobs()
    problem = Problem.build(X, 4)
    cold, warm = SdpBound(problem), SdpBound(problem)
    warm.start_at(labels)
    first, second = (bound.run(cost_of(problem, labels), 1e-3).n_iterations for bound in (cold, warm))
    assert second == PARAMS.check_every < first


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(examples(30)))
def test_no_labels_lead_above_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2)) + 3.0 * rng.integers(0, 2, (n, 1))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], n) if seed % 2 else np.ones(n)
    problem = Problem.build(X, k, sample_weight=weight, cannot_link=[(0, 1)] if seed % 3 else None)
    labelings = all_labelings(n, k)
    if problem.conflicts is not None:
        labelings = labelings[labelings[:, 0] != labelings[:, 1]]
    kept = weight > 0
    model = SdpModel.of(problem)
    matrices = (clustering_matrix(model, labels[kept]) for labels in labelings)
    best = min(model.total + model.guard + model.scale * float((model.cost * Y).sum()) for Y in matrices)
    bound = SdpBound(problem)
    bound.start_at(labelings[rng.integers(len(labelings))].astype(np.int32))
    assert bound.run(best, 1e-6, max_rounds=3).lower_bound <= best * (1 + 1e-9) + 1e-9
