"""PCK-Means: its price list, an objective that never rises, neighborhoods and what they entail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from konstrain.baselines import MPCKMeans, PCKMeans, _neighborhoods
from konstrain.baselines._base import LinkedRows, WeightedPairs
from konstrain.baselines._neighborhoods import Neighborhoods
from konstrain.baselines.pck_means import PenaltyLoop
from konstrain.datasets import sample_ganji


def linked(X, n_clusters, must=(), cannot=(), must_weight=None):
    pairs = [np.array(p, dtype=np.int32).reshape(-1, 2) for p in (must, cannot)]
    weight = np.ones(len(pairs[0])) if must_weight is None else np.array(must_weight, dtype=float)
    return LinkedRows(
        np.array(X, dtype=float),
        n_clusters,
        WeightedPairs(pairs[0], weight),
        WeightedPairs(pairs[1], np.ones(len(pairs[1]))),
    )


def slow_objective(X, labels, centers, must, cannot, w):
    distances = sum(0.5 * ((x - centers[j]) ** 2).sum() for x, j in zip(X, labels, strict=True))
    broken = sum(labels[i] != labels[j] for i, j in must) + sum(labels[i] == labels[j] for i, j in cannot)
    return distances + w * broken


@pytest.mark.parametrize("closure", [False, True])
def test_the_objective_equals_a_direct_sum(closure):
    X, y = load_iris(return_X_y=True)
    links = sample_ganji(y, 40, random_state=1).links
    model = PCKMeans(3, violation_cost=0.3, closure=closure, random_state=0).fit(X, **links)
    must, cannot = links["must_link"].tolist(), links["cannot_link"].tolist()
    if closure:
        closed = Neighborhoods.of(linked(X, 3, must, cannot)).closure()
        must, cannot = closed.must.rows.tolist(), closed.cannot.rows.tolist()
    expected = slow_objective(X, model.labels_, model.cluster_centers_, must, cannot, 0.3)
    assert model.objective_ == pytest.approx(expected)


@pytest.mark.engine
@given(seed=st.integers(0, 10_000), w=st.sampled_from([0.05, 1.0, 20.0]))
def test_the_objective_never_rises(seed, w):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    links = sample_ganji(rng.integers(3, size=40), 30, random_state=seed).links
    loop = PenaltyLoop(linked(X, 3, links["must_link"], links["cannot_link"]), w, max_iter=100)
    centers, labels, trace = X[:3].copy(), np.full(40, -1, dtype=np.int32), []
    for _ in range(8):
        loop.assign(centers, labels, rng)
        trace.append(loop.objective(labels, centers))
        centers = loop.rows.means(labels, centers)
        trace.append(loop.objective(labels, centers))
    assert (np.diff(trace) <= 1e-9 * abs(trace[0])).all()


def test_settled_labels_cannot_be_improved_by_any_single_row():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    links = sample_ganji(rng.integers(3, size=30), 30, random_state=3).links
    must, cannot = links["must_link"].tolist(), links["cannot_link"].tolist()
    model = PCKMeans(3, violation_cost=0.5, closure=False, random_state=0).fit(X, **links)
    for row in range(30):
        for j in range(3):
            other = model.labels_.copy()
            other[row] = j
            moved = slow_objective(X, other, model.cluster_centers_, must, cannot, 0.5)
            assert moved >= model.objective_ - 1e-9


def test_a_high_price_keeps_all_links_and_no_price_is_k_means():
    X, y = load_iris(return_X_y=True)
    links = sample_ganji(y, 40, random_state=1).links
    assert PCKMeans(3, violation_cost=1e6, random_state=0).fit(X, **links).n_violations_ == 0
    free = PCKMeans(3, violation_cost=0.0, init=X[[0, 60, 120]], random_state=0).fit(X, **links)
    plain = PCKMeans(3, init=X[[0, 60, 120]], random_state=0).fit(X)
    np.testing.assert_array_equal(free.labels_, plain.labels_)


def test_confidences_scale_the_price():
    X = [[0.0], [1.0], [9.0], [10.0]]
    kwargs = {"n_clusters": 2, "violation_cost": 100.0, "init": [[0.0], [10.0]], "random_state": 0}
    assert PCKMeans(**kwargs).fit(X, must_link=[(0, 3, 0.01)]).n_violations_ == 1
    assert PCKMeans(**kwargs).fit(X, must_link=[(0, 3, 0.9)]).n_violations_ == 0


def test_neighborhoods_entail_all_pairs_within_and_across():
    rows = linked(np.zeros((7, 1)), 2, must=[(0, 1), (1, 2), (4, 5)], cannot=[(2, 4), (6, 0), (3, 6)])
    neighborhoods = Neighborhoods.of(rows)
    assert [members.tolist() for members in neighborhoods.members] == [[0, 1, 2], [4, 5]]
    closed = neighborhoods.closure()
    assert {tuple(sorted(p)) for p in closed.must.rows.tolist()} == {(0, 1), (0, 2), (1, 2), (4, 5)}
    across = {(a, b) for a in (0, 1, 2) for b in (4, 5)} | {(0, 6), (1, 6), (2, 6), (3, 6)}
    assert {tuple(sorted(p)) for p in closed.cannot.rows.tolist()} == across


def test_unsure_links_entail_nothing_and_keep_their_weight():
    rows = linked(np.zeros((4, 1)), 2, must=[(0, 1), (1, 2)], must_weight=[1.0, 0.5])
    closed = Neighborhoods.of(rows).closure()
    assert closed.must.rows.tolist() == [[0, 1], [1, 2]]
    assert closed.must.weight.tolist() == [1.0, 0.5]


def test_the_largest_neighborhoods_start_pck_and_distant_ones_start_mpck():
    X = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 90.0, 90.0])[:, None]
    rows = linked(X, 2, must=[(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (7, 8)])
    neighborhoods, rng = Neighborhoods.of(rows), np.random.default_rng(0)
    for chosen, expected in ((neighborhoods.largest(), [0.0, 1.0]), (neighborhoods.distant(), [0.0, 90.0])):
        centers, labels = neighborhoods.starts(chosen)(rng)
        assert centers.ravel().tolist() == expected
        assert [np.unique(labels[neighborhoods.members[i]]).tolist() for i in chosen] == [[0], [1]]
        assert (labels == -1).sum() == len(labels) - neighborhoods.sizes[chosen].sum()


def test_further_starts_are_means_of_three_quarters():
    X = np.array([0.0, 1.0, 3.0, 8.0, 100.0, 104.0, 116.0, 120.0])[:, None]
    neighborhoods = Neighborhoods.of(linked(X, 2, must=[(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]))
    start, rng = neighborhoods.starts([0, 1]), np.random.default_rng(0)
    assert start(rng)[0].ravel().tolist() == [3.0, 110.0]
    later = np.array([3.0 * start(rng)[0].ravel() for _ in range(40)]).round()
    assert set(later[:, 0]) == {4.0, 9.0, 11.0, 12.0}
    assert set(later[:, 1]) == {320.0, 324.0, 336.0, 340.0}


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans])
def test_no_row_carries_its_neighborhood_to_the_center_of_another(method):
    # The first row of each set is nearer to the other's mean; without labels at the start it may decide for all.
    X = np.array([[9.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [10.0, 0.0], [10.0, 1.0], [9.0, 0.0]])
    must, cannot = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)], [(0, 4)]
    for seed in range(30):
        model = method(2, violation_cost=100.0, random_state=seed).fit(X, must_link=must, cannot_link=cannot)
        assert model.labels_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_too_few_neighborhoods_are_topped_up_with_a_row_apart_from_all():
    X = np.arange(6.0)[:, None]
    rows = linked(X, 4, must=[(0, 1), (2, 3)], cannot=[(0, 4), (5, 1), (3, 5)])
    neighborhoods = Neighborhoods.of(rows)
    centers, _ = neighborhoods.starts(neighborhoods.largest())(np.random.default_rng(0))
    assert centers[:3].ravel().tolist() == [0.5, 2.5, 5.0]
    assert centers.shape == (4, 1)


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans])
def test_too_many_entailed_links_are_refused(method, monkeypatch):
    monkeypatch.setattr(_neighborhoods, "MOST_NUMBERS", 5)
    X, chain = np.arange(8.0)[:, None], [(i, i + 1) for i in range(5)]
    with pytest.raises(ValueError, match="the links entail 15 links, more than the 5 that are handled"):
        method(2).fit(X, must_link=chain)
    method(2, closure=False, random_state=0).fit(X, must_link=chain)
