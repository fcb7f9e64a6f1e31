"""CVQE and LCVQE: assignment steps, penalties and pulls equal direct slow computations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstrain import _core
from konstrain.baselines import CVQE, LCVQE
from konstrain.baselines._base import LinkedRows, WeightedPairs

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] != p[1]), max_size=8)
clusters = st.integers(2, 4)
seeds = st.integers(0, 1000)


def squared(a, b):
    return float(((a - b) ** 2).sum())


def made(seed, k, must, cannot):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(10, 2)), rng.normal(size=(k, 2))
    both = (WeightedPairs(np.array(p, dtype=np.int32).reshape(-1, 2), np.ones(len(p))) for p in (must, cannot))
    return LinkedRows(X, k, *both), centers, rng.integers(k, size=10).astype(np.int32)


def nearest_other(centers, j):
    return min((h for h in range(len(centers)) if h != j), key=lambda h: squared(centers[h], centers[j]))


def slow_cvqe(X, centers, must, cannot):
    k = len(centers)
    labels = [min(range(k), key=lambda j, x=x: squared(x, centers[j])) for x in X]
    for kind, links in (("must", must), ("cannot", cannot)):
        for p, q in links:
            if (labels[p] == labels[q]) == (kind == "must"):
                continue

            def cost(move, p=p, q=q, kind=kind):
                a, b = move
                broken = (a != b) if kind == "must" else (a == b)
                target = b if kind == "must" else nearest_other(centers, a)
                penalty = squared(centers[a], centers[target]) if broken else 0.0
                return 0.5 * (squared(X[p], centers[a]) + squared(X[q], centers[b]) + penalty)

            labels[p], labels[q] = min(itertools.product(range(k), repeat=2), key=cost)
    return labels


def slow_lcvqe(X, centers, must, cannot):
    k = len(centers)
    cost = lambda i, j: squared(X[i], centers[j])  # noqa: E731 - a formula
    labels = [min(range(k), key=lambda j, i=i: cost(i, j)) for i in range(len(X))]
    for p, q in must:
        a, b = labels[p], labels[q]
        if a != b:
            stay = 0.5 * (cost(p, a) + cost(q, b)) + 0.25 * (cost(p, b) + cost(q, a))
            moves = {(a, b): stay, (a, a): 0.5 * (cost(p, a) + cost(q, a)), (b, b): 0.5 * (cost(p, b) + cost(q, b))}
            labels[p], labels[q] = min(moves, key=moves.get)
    for p, q in cannot:
        a = labels[p]
        if a == labels[q]:
            next_p, next_q = (min((j for j in range(k) if j != a), key=lambda j, i=i: cost(i, j)) for i in (p, q))
            outer = cost(p, next_p) if cost(p, a) >= cost(q, a) else cost(q, next_q)
            moves = {
                (a, a): cost(p, a) + cost(q, a) + outer,
                (next_p, a): cost(p, next_p) + cost(q, a),
                (a, next_q): cost(p, a) + cost(q, next_q),
            }
            labels[p], labels[q] = min(moves, key=moves.get)
    return labels


@pytest.mark.engine
@pytest.mark.parametrize(("method", "slow"), [(CVQE, slow_cvqe), (LCVQE, slow_lcvqe)], ids=["CVQE", "LCVQE"])
@given(seed=seeds, k=clusters, must=pairs, cannot=pairs)
def test_the_assignment_step_equals_the_definition(method, slow, seed, k, must, cannot):
    rows, centers, _ = made(seed, k, must, cannot)
    assert method(k)._assign(rows, centers).tolist() == slow(rows.X, centers, must, cannot)


def cvqe_penalties(X, labels, centers, must, cannot):
    """Yield the pulled cluster, the point that pulls, and how strongly."""
    for p, q in must:
        if labels[p] != labels[q]:
            yield labels[p], centers[labels[q]], 1.0
    for p, q in cannot:
        if labels[p] == labels[q]:
            yield labels[p], centers[nearest_other(centers, labels[p])], 1.0


def lcvqe_penalties(X, labels, centers, must, cannot):
    for p, q in must:
        if labels[p] != labels[q]:
            yield labels[p], X[q], 0.5
            yield labels[q], X[p], 0.5
    for p, q in cannot:
        a = labels[p]
        if a == labels[q]:
            outer = p if squared(X[p], centers[a]) >= squared(X[q], centers[a]) else q
            target = min((j for j in range(len(centers)) if j != a), key=lambda j, i=outer: squared(X[i], centers[j]))
            yield target, X[outer], 1.0


PENALTIES = pytest.mark.parametrize(
    ("method", "penalties"), [(CVQE, cvqe_penalties), (LCVQE, lcvqe_penalties)], ids=["CVQE", "LCVQE"]
)


@PENALTIES
@given(seed=seeds, k=clusters, must=pairs, cannot=pairs)
def test_objective_and_centers_equal_direct_sums(method, penalties, seed, k, must, cannot):
    rows, centers, labels = made(seed, k, must, cannot)
    broken = list(penalties(rows.X, labels, centers, must, cannot))
    objective = sum(0.5 * squared(x, centers[j]) for x, j in zip(rows.X, labels, strict=True))
    objective += sum(0.5 * strength * squared(centers[j], point) for j, point, strength in broken)
    assert method(k)._objective(rows, labels, centers) == pytest.approx(objective)
    for j in range(k):
        points = [(x, 1.0) for x, label in zip(rows.X, labels, strict=True) if label == j]
        points += [(point, strength) for cluster, point, strength in broken if cluster == j]
        total = sum(strength for _, strength in points)
        expected = sum(strength * point for point, strength in points) / total if points else centers[j]
        np.testing.assert_allclose(method(k)._pulled_centers(rows, labels, centers)[j], expected)


@PENALTIES
def test_without_links_it_is_k_means(method, penalties):
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris

    X = load_iris().data
    start = X[[0, 60, 120]]
    model = method(3, init=start).fit(X)
    plain = KMeans(3, init=start, n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.objective_ == pytest.approx(0.5 * plain.inertia_)


@pytest.mark.engine
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_labels_of_another_kind_are_refused(dtype):
    none = np.zeros((0, 2), dtype=np.int32)
    with pytest.raises(TypeError):
        _core.lcvqe_pass(np.zeros((2, 2)), none, none, np.zeros(2, dtype=dtype))
