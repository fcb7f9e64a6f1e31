"""How many clusters: what the rows speak for, and what constraints allow."""

import numpy as np
import pytest
from scipy import sparse

from effort import examples
from konstrain import InfeasibleError, check, choose_n_clusters
from konstrain.choosing import choose as choosing
from konstrain.choosing import least_clusters, most_clusters


def clouds(k, n=20, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    centers = 10 * np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, k, endpoint=False)])
    return np.repeat(centers, n, axis=0) + rng.normal(0, spread, (k * n, 2))


@pytest.mark.parametrize("by", ["silhouette", "gap", "stability"])
@pytest.mark.parametrize("k", [3, 5])
def test_clouds_far_apart_are_counted(by, k):
    choice = choose_n_clusters(clouds(k, n=8), 2, 7, by=by, n_draws=4)
    assert choice.n_clusters == k
    assert [scored.n_clusters for scored in choice.scores] == [2, 3, 4, 5, 6, 7]
    assert choose_n_clusters(clouds(k, n=8), 2, 7, by=by, n_draws=4) == choice


def test_more_draws_make_the_error_of_the_stability_smaller():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    few, many = (choose_n_clusters(X, 3, 3, by="stability", n_draws=n).scores[0].error for n in (4, 40))
    assert 0 < many < few


def test_only_numbers_that_the_constraints_allow_are_tried():
    X = clouds(3)
    told = []
    choice = choose_n_clusters(X, 2, 9, size_max=15, size_min=9, callback=told.append)
    assert (choice.least, choice.most) == (4, 6)
    assert [scored.n_clusters for scored in told] == [4, 5, 6]
    cannot = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]
    assert choose_n_clusters(X, cannot_link=cannot, most=5).scores[0].n_clusters == 4


def test_shares_are_kept_and_numbers_that_cannot_keep_them_left_out(monkeypatch):
    X, sex = clouds(3, n=4), np.array(["F", "F", "F", "M"] * 3)
    bounds = {"category": sex, "share_min": {"F": 0.7}, "share_max": {"F": 0.8}}
    fits = []

    class Recorded(choosing.ConstrainedKMeans):
        def fit(self, X, **given):
            fits.append(super().fit(X, **given))
            return fits[-1]

    monkeypatch.setattr(choosing, "ConstrainedKMeans", Recorded)
    choice = choose_n_clusters(X, 2, 6, **bounds)
    # A cluster has one of the three M or more, so there are three at most.
    assert [scored.n_clusters for scored in choice.scores] == [2, 3]
    assert choice.n_clusters == 3
    for fitted in fits:
        for j in range(fitted.n_clusters):
            assert 0.7 <= np.mean(sex[fitted.labels_ == j] == "F") <= 0.8
    with pytest.raises(ValueError, match="none of 4 to 6 clusters is left to try: the constraints allow 1 to 3"):
        choose_n_clusters(X, 4, 6, **bounds)


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_number_under_shares_is_the_last_that_check_allows(seed):
    rng = np.random.default_rng(seed)
    n = 12
    given = {
        "category": [*rng.choice(list("ab"), n, p=[0.3, 0.7]).tolist(), "a", "b"],
        "share_min": {"a": float(rng.choice([0.1, 0.2, 0.3])), "b": 0.2},
        "must_link": [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(rng.integers(0, 4))],
        "size_min": int(rng.integers(0, 4)),
    }
    feasible = [k for k in range(1, n + 3) if check(n + 2, k, **given).feasible is not False]
    if feasible:
        assert feasible == list(range(1, most_clusters(n + 2, **given) + 1))


def test_the_numbers_under_shares_that_are_said_to_be_allowed_are_those_that_check_allows():
    X = clouds(3)
    bounds = {"category": ["a", "b"] * 30, "share_min": 0.3}
    choice = choose_n_clusters(X, 2, 3, **bounds)
    assert (choice.least, choice.most) == (1, 30)
    assert check(60, 31, **bounds).feasible is False


@pytest.mark.parametrize("by", ["silhouette", "stability"])
def test_sizes_of_several_demands_hold_for_any_number(by):
    X = clouds(3, n=4)
    demand = np.column_stack([np.ones(12), np.tile([1.0, 2.0, 3.0], 4)])
    # Two clusters, as many as demands: there a bound for each demand must not be taken for one of each cluster.
    choice = choose_n_clusters(X, 2, 4, by=by, n_draws=2, demand=demand, size_max=[7, 13])
    assert (choice.least, choice.most) == (2, 12)
    assert choice.scores[0].n_clusters == 2
    assert most_clusters(12, demand=demand, size_min=[2, 5]) == 4
    assert least_clusters(12, demand=demand, size_max=[12, 9]) == 3
    with pytest.raises(ValueError, match="or 2, one for each demand: their number"):
        choose_n_clusters(X, demand=demand, size_max=[7, 13, 5])


def test_links_between_rows_of_a_part_keep_their_rows():
    pairs = np.array([[0, 1, 0.5], [1, 2, 0.7], [2, 4, 0.9]])
    given = {"must_link": pairs, "cannot_link": pairs[:, :2].astype(int), "size_min": 3, "size_max": 5}
    found = choosing._of_rows(given, np.array([1, 2, 4]), 6)
    assert found["must_link"].tolist() == [[0, 1, 0.7], [1, 2, 0.9]]
    assert found["cannot_link"].tolist() == [[0, 1], [1, 2]]
    assert (found["size_min"], found["size_max"]) == (1, 4)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_the_least_number_is_the_first_that_check_allows(seed):
    rng = np.random.default_rng(seed)
    n = 8
    given = {
        "cannot_link": [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(rng.integers(0, 12))],
        "size_max": int(rng.integers(2, 9)),
    }
    least = least_clusters(n, **given)
    assert [check(n, k, **given).feasible for k in range(1, least + 1)] == [False] * (least - 1) + [True]


def test_what_no_number_of_clusters_allows_is_said_why():
    with pytest.raises(InfeasibleError, match="contradicts must_link path"):
        least_clusters(5, must_link=[(0, 1)], cannot_link=[(0, 1)])
    with pytest.raises(InfeasibleError, match="sizes allow at least 3 and at most 2 clusters"):
        least_clusters(10, size_min=4, size_max=4)
    assert most_clusters(3, size_min=0.3, demand=[0.1, 0.2, 0.3]) == 2
    assert least_clusters(3, size_max=0.3, demand=[0.1, 0.2, 0.3]) == 2


def test_what_cannot_be_chosen_is_refused():
    X = clouds(2, n=3)
    with pytest.raises(ValueError, match="none of 2 to 3 clusters is left to try: the constraints allow 6 to 6"):
        choose_n_clusters(X, 2, 3, size_max=1)
    with pytest.raises(ValueError, match="size_max is one number for all clusters here"):
        choose_n_clusters(X, size_max=[2, 3])
    with pytest.raises(ValueError, match="by='luck' is none of silhouette, gap, stability"):
        choose_n_clusters(X, by="luck")
    with pytest.raises(ValueError, match="n_draws must be at least 1, got 0"):
        choose_n_clusters(X, by="gap", n_draws=0)


def test_sparse_rows_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match="toarray"):
        choose_n_clusters(sparse.eye(6, format="csr"), 2, 4)
