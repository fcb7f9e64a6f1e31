"""Part cuts: valid for every clustering within its sizes, after merges too, and worth their rows."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from effort import examples
from konstrain import ConstrainedKMeans, certify
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp import size_cuts
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.cuts import Cuts
from konstrain.exact.sdp.model import SdpModel, merge_matrix, place_after_merge
from konstrain.exact.sdp.size_cuts import Parts, least_torn
from oracles import costs_of_all_labelings


def fewest_torn(inside, total, n_clusters, least, most):
    """The least sum over whole numbers, by trying all."""
    pairs = [(x, size - x) for size in range(least, most + 1) for x in range(size + 1)]
    best = np.inf
    for clusters in itertools.combinations_with_replacement(pairs, n_clusters):
        if sum(x for x, _ in clusters) == inside and sum(y for _, y in clusters) == total - inside:
            best = min(best, sum(x * y / (x + y) for x, y in clusters))
    return best


@pytest.mark.parametrize(
    ("n_clusters", "least", "most", "total"),
    [(2, 4, 5, 9), (3, 3, 4, 10), (3, 3, 3, 9), (4, 2, 3, 11), (3, 2, 5, 10)],
)
def test_no_clustering_tears_less(n_clusters, least, most, total):
    for inside in range(total + 1):
        bound = least_torn(inside, total, ((least, most),) * n_clusters)
        exact = fewest_torn(inside, total, n_clusters, least, most)
        assert bound <= exact + 1e-12
        if least == most:
            np.testing.assert_allclose(bound, exact, atol=1e-12)


@pytest.mark.parametrize(
    "sizes", [((2, 2), (3, 3), (5, 5)), ((1, 2), (2, 4), (4, 4)), ((1, 1), (2, 3), (2, 3), (4, 5))]
)
def test_no_clustering_with_sizes_of_its_own_tears_less(sizes):
    for total in range(sum(low for low, _ in sizes), sum(high for _, high in sizes) + 1):
        for inside in range(total + 1):
            choices = [
                [(x, size - x) for size in range(low, high + 1) for x in range(size + 1)] for low, high in sizes
            ]
            fits = [c for c in itertools.product(*choices) if np.sum(c, axis=0).tolist() == [inside, total - inside]]
            exact = min((sum(x * y / (x + y) for x, y in clusters) for clusters in fits), default=np.inf)
            bound = least_torn(inside, total, sizes)
            assert bound <= exact + 1e-12
            if all(low == high for low, high in sizes):
                np.testing.assert_allclose(bound, exact, atol=1e-12)


def test_many_sizes_of_their_own_count_as_the_widest(monkeypatch):
    sizes = ((2.0, 2.0), (5.0, 5.0), (8.0, 8.0), (9.0, 9.0))
    exact = least_torn(4.0, 24.0, sizes)
    monkeypatch.setattr(size_cuts, "PARAMS", replace(size_cuts.PARAMS, most_cases=3))
    monkeypatch.setattr(size_cuts, "_cases", size_cuts._cases.__wrapped__)
    assert least_torn(4.0, 24.0, ((2.0, 9.0),) * 4) == least_torn(4.0, 24.0, sizes) < exact


def test_sizes_that_differ_by_one_are_known():
    model = SdpModel.of(Problem.build(np.arange(11.0)[:, None], 3, size_min=3, size_max=4))
    assert model.sizes == ((3.0, 3.0), (4.0, 4.0), (4.0, 4.0))


@pytest.mark.parametrize("seed", range(examples(12)))
def test_sizes_of_single_clusters_are_proved_as_enumeration_says(seed):
    rng = np.random.default_rng(seed)
    sizes = [(1, 3, 4), (2, 2, 5), (1, 2, 2, 3)][seed % 3]
    n, k = sum(sizes), len(sizes)
    X = rng.normal(size=(n, 2)) + 5.0 * rng.integers(0, 3, (n, 1))
    high = np.array(sizes) + (seed % 2)
    problem = Problem.build(X, k, size_min=np.array(sizes) - (seed % 2), size_max=high)
    _, costs = costs_of_all_labelings(problem)
    proof = certify(X, k, size_min=np.array(sizes) - (seed % 2), size_max=high, bound="sdp", gap=1e-5)
    np.testing.assert_allclose(proof.best_cost, costs.min(), rtol=1e-7)
    assert proof.is_optimal
    assert proof.lower_bound <= costs.min() * (1 + 1e-9)


def test_equal_sizes_tear_what_is_left_over():
    np.testing.assert_allclose(least_torn(50, 150, ((50, 50),) * 3), 0.0, atol=1e-6)
    np.testing.assert_allclose(least_torn(60, 150, ((50, 50),) * 3), 10 * 40 / 50)


def clustering(rng, weight, k):
    labels = rng.permutation(np.r_[np.arange(k), rng.integers(0, k, weight.size - k)])
    inside = labels[:, None] == labels
    sizes = inside @ weight
    return labels, sizes, np.where(inside, np.sqrt(np.outer(weight, weight)) / sizes[:, None], 0.0)


def model_of(weight, k, least, most):
    X = np.random.default_rng(0).normal(size=(weight.size, 2))
    model = SdpModel.of(Problem.build(X, k, sample_weight=weight))
    return type(model)(**{**vars_of(model), "sizes": ((least, most),) * k})


def vars_of(model):
    return {name: getattr(model, name) for name in type(model).__dataclass_fields__}


def values(cuts, Y):
    """<A_t, Y> - limit of each cut."""
    start, position, coefficient, _, limit = cuts.rows
    return np.add.reduceat(coefficient * np.ravel(Y)[position], start[:-1]) - limit


def test_every_clustering_satisfies_every_part_before_and_after_a_merge():
    rng = np.random.default_rng(1)
    for _ in range(examples(100)):
        m, k = int(rng.integers(6, 12)), int(rng.integers(2, 5))
        weight = rng.random(m) * 2 + 0.5
        labels, sizes, Y = clustering(rng, weight, k)
        model = model_of(weight, k, sizes.min(), sizes.max())
        parts = Parts.of(model, rng.random((30, m)) < rng.random((30, 1)) * 0.8 + 0.2)
        parts = parts.chosen(parts.share.any(axis=1))
        cuts = Cuts.make(model, np.zeros((0, 6), dtype=np.int32), parts, np.ones(len(parts)))
        assert values(cuts, Y).max() <= 1e-9
        together = [(i, j) for i, j in itertools.combinations(range(m), 2) if labels[i] == labels[j]]
        if m - 1 > k and together:
            i, j = together[0]
            moved = cuts.moved(model.merged(i, j), weight, place_after_merge(m, i, j))
            before = values(cuts, Y) * cuts.norm
            np.testing.assert_allclose(values(moved, merge_matrix(Y, weight, i, j)) * moved.norm, before, atol=1e-9)


def test_the_bound_of_equal_sizes_never_exceeds_the_best_cost():
    rng = np.random.default_rng(2)
    for n, k in [(8, 2), (9, 3), (8, 3), (8, 4)]:
        for _ in range(examples(8)):
            X = rng.normal(size=(n, 2)) + 6.0 * (rng.random((n, 1)) < 0.4)
            least, most = n // k, -(-n // k)
            problem = Problem.build(X, k, size_min=least, size_max=most)
            best = costs_of_all_labelings(problem)[1].min()
            root = SdpBound(problem)
            root.run(max_rounds=8)
            assert root.lower_bound <= best * (1 + 1e-9)
            i, j = root.branching_pair() or (0, 1)
            children = [root.child_must_link(i, j), root.child_cannot_link(i, j)]
            for child in children:
                child.run(max_rounds=3)
            assert min(child.lower_bound for child in children) <= best * (1 + 1e-9)


def test_a_group_that_sizes_cut_through_no_longer_counts_as_a_fraction_of_clusters():
    X = load_iris().data
    best = ConstrainedKMeans(4, size_min=37, size_max=38, random_state=0).fit(X).inertia_
    bound = SdpBound(Problem.build(X, 4, size_min=37, size_max=38))
    bound.run(best, max_rounds=8)
    # Without part cuts the bound stays 40 % below.
    assert 0.97 * best <= bound.lower_bound <= best
