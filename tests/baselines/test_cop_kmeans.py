"""COP-KMeans and the greedy baseline: who decides where a block goes, and what happens when nothing is left."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from konstrain import DeadEndError, InfeasibleError, check
from konstrain.baselines import COPKMeans, GreedyKMeans

# Rows 0 and 1 take both clusters, and row 2 must not be with either: only 0 and 1 together leave room for it.
X = [[0.0], [10.0], [5.0]]
LINKS = {"cannot_link": [(0, 2), (1, 2)]}
STUCK = (
    "COPKMeans has no cluster left for row 2: cluster 0 holds row 0, which must not be with 2; "
    "cluster 1 holds row 1, which must not be with 2"
)


def test_three_rows_in_a_bad_order_are_a_dead_end_that_is_explained():
    with pytest.raises(DeadEndError, match=STUCK) as caught:
        COPKMeans(2, init=[[0.0], [10.0]]).fit(X, **LINKS)
    assert caught.value.rows == [2]
    assert caught.value.occupied_by == [0, 1]
    assert "ConstrainedKMeans" in str(caught.value)


def test_a_dead_end_survives_a_pickle():
    error = DeadEndError("why", rows=[1], occupied_by=[2, 3])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.rows, again.occupied_by) == ("why", [1], [2, 3])


def test_the_same_rows_in_a_good_order_are_clustered():
    labels = COPKMeans(2, init=[[0.0], [10.0]]).fit(np.array(X)[[2, 0, 1]], cannot_link=[(1, 0), (2, 0)]).labels_
    assert labels.tolist() == [0, 1, 1]


def test_some_random_order_succeeds_where_the_given_one_fails():
    model = COPKMeans(2, init=[[0.0], [10.0]], order="random", n_init=10, random_state=0).fit(X, **LINKS)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2]
    assert model.n_violations_ == 0


def test_going_on_breaks_links_and_counts_them():
    model = COPKMeans(2, init=[[0.0], [10.0]], on_failure="continue").fit(X, **LINKS)
    assert model.n_violations_ == 1
    assert model.violations_.cannot_link == 1


def test_a_block_is_named_with_its_rows():
    rows = [[0.0], [10.0], [4.0], [5.0]]
    with pytest.raises(DeadEndError, match="no cluster left for must-linked rows 2, 3: cluster 0 holds row 0, which"):
        COPKMeans(2, init=[[0.0], [10.0]]).fit(rows, must_link=[(2, 3)], cannot_link=[(0, 2), (1, 3)])


def test_a_contradiction_is_explained_or_counted():
    links = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}
    with pytest.raises(InfeasibleError) as caught:
        COPKMeans(2, random_state=0).fit(X, **links)
    assert caught.value.reason == "contradiction"
    model = COPKMeans(2, init=[[0.0], [10.0]], on_failure="continue").fit([*X, [11.0]], **links)
    assert model.n_violations_ == 1


def test_cop_kmeans_asks_the_whole_block_and_the_greedy_method_its_first_row():
    rows = [[4.0], [10.0], [10.0], [0.0]]
    links = {"must_link": [(0, 1), (1, 2)]}
    start = [[0.0], [10.0]]
    cop, greedy = (method(2, init=start, max_iter=1) for method in (COPKMeans, GreedyKMeans))
    with pytest.warns(ConvergenceWarning):
        assert cop.fit(rows, **links).labels_.tolist() == [1, 1, 1, 0]
    with pytest.warns(ConvergenceWarning):
        assert greedy.fit(rows, **links).labels_.tolist() == [0, 0, 0, 0]


def test_the_greedy_method_fills_a_cannot_link_set_in_input_order_after_must_link_sets():
    rows = [[1.0], [2.0], [3.0], [1.5], [1.5]]
    start = [[0.0], [10.0], [20.0]]
    links = {"cannot_link": [(0, 1), (1, 2), (0, 2), (0, 3)], "must_link": [(3, 4)]}
    with pytest.warns(ConvergenceWarning):
        labels = GreedyKMeans(3, init=start, max_iter=1).fit(rows, **links).labels_
    # Rows 3 and 4 come first and take center 0; row 0 then has to take the next nearest.
    assert labels.tolist() == [1, 0, 2, 0, 0]


def slow_pass(X, centers, must, cannot):
    """One pass over blocks in input order, straight from the definition; None where it is stuck."""
    n = len(X)
    block = list(range(n))
    for a, b in must:
        block = [block[a] if c == block[b] else c for c in block]
    labels = [-1] * n
    for first in range(n):
        if labels[first] >= 0:
            continue
        members = [i for i in range(n) if block[i] == block[first]]
        taken = {labels[q] for p, q in [*cannot, *[(q, p) for p, q in cannot]] if p in members}
        costs = [sum(((X[i] - c) ** 2).sum() for i in members) for c in centers]
        free = [j for j in range(len(centers)) if j not in taken]
        if not free:
            return None
        for i in members:
            labels[i] = min(free, key=lambda j, costs=costs: costs[j])
    return labels


pairs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]), max_size=6)


@pytest.mark.engine
@given(must=pairs, cannot=pairs, seed=st.integers(0, 1000))
def test_one_pass_equals_the_definition(must, cannot, seed):
    rng = np.random.default_rng(seed)
    rows, centers = rng.normal(size=(8, 2)), rng.normal(size=(3, 2))
    links = {"must_link": must, "cannot_link": cannot}
    if not check(8, 3, **links).feasible:
        return
    expected = slow_pass(rows, centers, must, cannot)
    model = COPKMeans(3, init=centers, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if expected is None:
            with pytest.raises(DeadEndError):
                model.fit(rows, **links)
        else:
            assert model.fit(rows, **links).labels_.tolist() == expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_best_run_has_fewest_broken_links_or_most_clusters_that_break_none():
    X, rng = np.random.default_rng(0).normal(size=(12, 2)), np.random.default_rng(0)
    pairs = [tuple(rng.choice(12, 2, replace=False).tolist()) for _ in range(32)]
    pairs += 5 * pairs[:10]  # links given several times count as often
    kept = {}
    for best_by in ("links", "clusters"):
        model = COPKMeans(3, on_failure="continue", order="random", best_by=best_by, n_init=40, random_state=0)
        labels = model.fit(X, cannot_link=pairs).labels_
        broken = [labels[i] for i, j in pairs if labels[i] == labels[j]]
        kept[best_by] = (len(broken), len(set(broken)))
    assert kept == {"links": (2, 2), "clusters": (7, 1)}
