"""A clustering that follows an earlier one: clusters keep their numbers, and few rows move."""

import pickle

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, UndecidedError
from konstrain.exceptions import NotProvenWarning
from oracles import all_labelings

N, K = 7, 3
ALL = all_labelings(N, K)
PATH = [(i, i + 1) for i in range(N - 1)]
MANY = 1e6


def sums_of(amounts):
    """What each cluster holds under each labelling, shape (n_labelings, K)."""
    return np.stack([(j == ALL) @ amounts for j in range(K)], axis=1)


def are_in_pieces():
    """Which labelings have every cluster in one piece of a path: as many changes along it as clusters, less one."""
    return (ALL[:, 1:] != ALL[:, :-1]).sum(axis=1) == K - 1


def draw_kind(kind, rng):
    """Parameters and arguments of a fit, and which of all labelings they allow."""
    together = lambda a, b: ALL[:, a] == ALL[:, b]  # noqa: E731
    a, b, c, d = rng.permutation(N)[:4].tolist()
    if kind == "links":
        return {}, {"must_link": [(a, b)], "cannot_link": [(c, d)]}, together(a, b) & ~together(c, d)
    if kind == "soft links":
        return (
            {"violation_cost": 0.3},
            {"must_link": [(a, b, 0.5)], "cannot_link": [(c, d, 0.5)]},
            np.ones(len(ALL), bool),
        )
    if kind == "partial labels":
        y = np.full(N, -1)
        y[[a, b, c]] = [5, 5, 9]
        return {}, {"y": y}, together(a, b) & ~together(a, c)
    if kind == "sizes of each":
        low, high = np.array([2, 1, 1]), np.array([3, 4, 2])
        sizes = sums_of(np.ones(N))
        return {"size_min": low, "size_max": high}, {}, ((sizes >= low) & (sizes <= high)).all(axis=1)
    if kind == "demand":
        demand = rng.integers(1, 4, N).astype(float)
        most = np.ceil(demand.sum() / K) + 1
        return {"size_max": most}, {"demand": demand}, (sums_of(demand) <= most).all(axis=1)
    if kind == "resources":
        demand = rng.integers(1, 4, (N, 2)).astype(float)
        most = np.ceil(demand.sum(axis=0) / K) + 1
        fits = [(sums_of(column) <= bound).all(axis=1) for column, bound in zip(demand.T, most, strict=True)]
        return {"size_max": np.tile(most, (K, 1))}, {"demand": demand}, fits[0] & fits[1]
    if kind == "shares":
        category = np.array(["x", "y"])[rng.permutation(N) % 2]
        share = sums_of((category == "x").astype(float)) / np.maximum(sums_of(np.ones(N)), 1)
        return {"share_min": {"x": 0.3}}, {"category": category}, (share >= 0.3).all(axis=1)
    assert kind == "connectivity"
    return {}, {"connectivity": PATH}, are_in_pieces()


KINDS = ["links", "soft links", "partial labels", "sizes of each", "demand", "resources", "shares", "connectivity"]


@pytest.mark.parametrize("kind", KINDS)
def test_where_moves_cost_much_no_more_rows_move_than_have_to(kind):
    for seed in range(examples(12)):
        rng = np.random.default_rng(seed)
        X, previous = rng.normal(size=(N, 2)), rng.integers(0, K, N)
        if kind == "connectivity":
            # A map on which one area has changed hands.
            previous = np.repeat([2, 0, 1], [2, 2, 3])
            previous[rng.integers(0, N)] = rng.integers(0, K)
        previous[rng.integers(0, N)] = -1
        params, given, fits = draw_kind(kind, rng)
        fits &= np.stack([(j == ALL).any(axis=1) for j in range(K)]).all(axis=0)
        moved = ((previous != ALL) & (previous >= 0)).sum(axis=1)
        least = moved[fits].min(initial=N + 1)
        if least > N:
            continue
        model = ConstrainedKMeans(K, **params, move_cost=MANY, random_state=0).fit(X, **given, previous=previous)
        assert model.n_moved_ == least
        assert fits[(model.labels_ == ALL).all(axis=1)].all()
        changed = np.flatnonzero((previous >= 0) & (model.labels_ != previous))
        assert model.moved_.tolist() == changed.tolist()
        assert model.n_moved_ == len(changed)
        penalty = 0.15 * model.n_violations_ if kind == "soft links" else 0.0
        assert model.objective_ == pytest.approx(model.inertia_ + penalty + MANY * least)
        for most in range(int(least) + 2):
            bounded = ConstrainedKMeans(K, **params, move_cost=0, max_moved=most, random_state=0)
            if most < least:
                with pytest.raises((InfeasibleError, UndecidedError), match="move"):
                    bounded.fit(X, **given, previous=previous)
            else:
                assert bounded.fit(X, **given, previous=previous).n_moved_ <= most


@pytest.mark.parametrize("params", [{"move_cost": 0, "max_moved": 0}, {"move_cost": MANY}, {"max_moved": 0}])
def test_rows_without_weight_move_no_more_than_others(params):
    X = np.random.default_rng(0).normal(size=(300, 4))
    previous = ConstrainedKMeans(5, size_max=70, random_state=0).fit(X).labels_
    weight = np.ones(300)
    weight[:60] = 0.0
    model = ConstrainedKMeans(5, size_max=70, random_state=0, **params)
    model.fit(X, sample_weight=weight, previous=previous)
    assert model.n_moved_ == 0
    assert model.objective_ == pytest.approx(model.inertia_)


def test_moves_of_rows_without_weight_are_part_of_the_objective():
    X, previous = blobs(), np.repeat([0, 1, 2], 30)
    weight = np.ones(90)
    weight[:12] = 0.0
    model = ConstrainedKMeans(3, size_max=[20, 90, 90], move_cost=2.0, random_state=0)
    model.fit(X, sample_weight=weight, previous=previous)
    assert model.n_moved_ == 10
    assert model.objective_ == pytest.approx(model.inertia_ + 20.0)


def blobs(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(n // 3, 2)) + shift for shift in ((0, 0), (6, 0), (0, 6))])


def test_labels_that_keep_all_constraints_stay_where_moves_cost_much_and_new_rows_join():
    X = blobs()
    previous = ConstrainedKMeans(3, size_max=31, random_state=0).fit(X).labels_.copy()
    previous[:5] = -1
    model = ConstrainedKMeans(3, size_max=31, move_cost=MANY, random_state=1).fit(X, previous=previous)
    np.testing.assert_array_equal(model.labels_[5:], previous[5:])
    assert (model.n_moved_, model.moved_.size) == (0, 0)
    assert len(set(model.labels_[:5].tolist())) == 1


def test_clusters_keep_their_numbers_whatever_they_are():
    X = blobs()
    labels = np.repeat([2, 0, 1], 30)
    shifted = X + np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    model = ConstrainedKMeans(3, random_state=0).fit(shifted, previous=labels)
    np.testing.assert_array_equal(model.labels_, labels)


def test_a_lower_cost_of_moves_moves_more_rows_for_a_lower_inertia():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    previous = ConstrainedKMeans(4, size_max=60, random_state=0).fit(X).labels_
    X = X + rng.normal(scale=0.3, size=X.shape)
    fits = [
        ConstrainedKMeans(4, size_max=60, move_cost=cost, random_state=0).fit(X, previous=previous)
        for cost in (0.0, "auto", MANY)
    ]
    assert fits[0].n_moved_ > fits[1].n_moved_ > fits[2].n_moved_ == 0
    assert fits[0].inertia_ < fits[1].inertia_ < fits[2].inertia_
    rows_there = X - np.stack([X[previous == j].mean(axis=0) for j in range(4)])[previous]
    assert fits[1].move_cost_ == pytest.approx((rows_there**2).sum() / 200)


def test_a_bound_on_moves_counts_rows_or_a_share_of_those_that_are_not_new():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    previous = rng.integers(0, 4, 200)
    previous[:100] = -1
    by_rows = ConstrainedKMeans(4, move_cost=0, max_moved=10, random_state=0).fit(X, previous=previous)
    by_share = ConstrainedKMeans(4, move_cost=0, max_moved=0.1, random_state=0).fit(X, previous=previous)
    assert 0 < by_rows.n_moved_ <= 10
    np.testing.assert_array_equal(by_rows.labels_, by_share.labels_)


def test_too_few_moves_are_refused_with_the_least_number():
    X, previous = blobs(), np.repeat([0, 1, 2], [50, 20, 20])
    with pytest.raises(InfeasibleError, match=r"max_moved allows 5 rows to move, but at least 15 have to") as refused:
        ConstrainedKMeans(3, size_max=35, max_moved=5, random_state=0).fit(X, previous=previous)
    assert refused.value.reason == "moves"
    assert (refused.value.witness.needed, refused.value.witness.available) == (15.0, 5.0)
    model = ConstrainedKMeans(3, size_max=35, max_moved=15, random_state=0).fit(X, previous=previous)
    assert model.n_moved_ == 15


@pytest.mark.parametrize(
    ("previous", "message"),
    [
        ([0] * 89, r"previous must have one label per row, shape \(90,\), got \(89,\)"),
        ([0] * 89 + [3], r"previous\[89\] is 3; clusters are 0 to 2, and -1 is a new row"),
        ([0.5] + [0] * 89, r"previous\[0\] is 0.5"),
        (["a"] * 90, r"previous\[0\] is 'a'"),
        ([-1] * 90, "previous has no label of any row; leave it out"),
    ],
)
def test_previous_labels_that_are_none_are_refused_by_row(previous, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedKMeans(3).fit(blobs(), previous=previous)


def test_a_cluster_that_no_row_was_in_begins_where_rows_cost_most():
    X = blobs()
    previous = np.repeat([0, 1, 1], 30)
    model = ConstrainedKMeans(3, move_cost="auto", random_state=0).fit(X, previous=previous)
    np.testing.assert_array_equal(model.labels_[:30], 0)
    assert len({tuple(np.unique(model.labels_[part])) for part in (slice(30, 60), slice(60, 90))}) == 2
    assert model.n_moved_ == 30


def test_a_model_with_previous_labels_certifies_predicts_and_is_kept():
    X = blobs()
    model = ConstrainedKMeans(3, size_max=40, random_state=0).fit(X, previous=np.repeat([0, 1, 2], 30))
    again = pickle.loads(pickle.dumps(model))
    assert again.n_moved_ == 0
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    certificate = model.certify(X, time_limit=5)
    assert certificate.left_out[-1] == "moved rows"
    assert certificate.lower_bound <= model.inertia_ * (1 + 1e-9)


def territories(k, seed):
    """Rows under two resources within 10% of equal, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 100, size=(500, 2))
    demand = np.column_stack([rng.uniform(1, 3, 500), rng.integers(1, 9, 500)])
    return X, demand, ConstrainedKMeans(k, size_tolerance=0.1, random_state=0).fit(X, demand=demand).labels_


@pytest.mark.parametrize("move_cost", ["auto", MANY])
@pytest.mark.parametrize("seed", range(examples(2)))
def test_one_depot_that_moved_takes_few_rows_with_it(move_cost, seed):
    X, demand, previous = territories(20, seed)
    X[7] = 100 - X[7]
    model = ConstrainedKMeans(20, size_tolerance=0.1, move_cost=move_cost, random_state=0)
    assert model.fit(X, demand=demand, previous=previous).n_moved_ <= (3 if move_cost == "auto" else 0)


def test_under_resources_the_least_number_of_moves_is_proved_and_reached():
    X, demand, previous = territories(10, 0)
    asked = {"size_tolerance": 0.05, "random_state": 0}
    with pytest.raises(InfeasibleError, match="at least 6 have to"):
        ConstrainedKMeans(10, **asked, max_moved=5).fit(X, demand=demand, previous=previous)
    fewest = ConstrainedKMeans(10, **asked, move_cost=MANY).fit(X, demand=demand, previous=previous)
    assert fewest.n_moved_ == 6
    # A start with the fewest moves, whichever rows these are, ends at 94,500.
    assert fewest.inertia_ < 90_000
    bounded = ConstrainedKMeans(10, **asked, max_moved=6, move_cost=0).fit(X, demand=demand, previous=previous)
    assert bounded.n_moved_ == 6
    assert bounded.inertia_ <= fewest.inertia_ * 1.001


def test_a_looser_bound_on_moves_leads_to_no_worse_clusters():
    X, demand, previous = territories(25, 0)
    asked = {"size_tolerance": 0.05, "random_state": 0, "move_cost": 0}
    inertias = [
        ConstrainedKMeans(25, **asked, max_moved=most).fit(X, demand=demand, previous=previous).inertia_
        for most in (17, 19, 25, 40)
    ]
    assert (np.array(inertias[1:]) < 1.01 * np.array(inertias[:-1])).all()
    assert inertias[-1] < 0.9 * inertias[0]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_after_new_rows_caps_hold_again_with_the_moves_that_a_flow_needs(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 6)) + 3 * rng.normal(size=(26, 6))[rng.integers(0, 26, 1500)]
    before = ConstrainedKMeans(26, size_max=64, random_state=0).fit(X).labels_
    new = rng.normal(size=(150, 6)) + X[rng.integers(0, 3, 150)]
    previous = np.r_[before, np.full(150, -1)]
    tight = np.where(np.arange(26) < 13, 60, 90)
    # Rows that are over a cap have to leave, and new rows go wherever there is capacity: that is the whole flow.
    least = np.maximum(np.bincount(before, minlength=26) - tight, 0).sum()
    model = ConstrainedKMeans(26, size_max=tight, random_state=0, move_cost=MANY)
    assert 0 < least <= model.fit(np.vstack([X, new]), previous=previous).n_moved_ <= 1.1 * least


def test_a_callback_gets_the_stages_and_ends_them():
    X, demand, previous = territories(10, 1)
    seen = []
    model = ConstrainedKMeans(
        10, size_tolerance=0.09, random_state=0, callback=lambda progress: seen.append(progress)
    )
    model.fit(X, demand=demand, previous=previous)
    assert len(seen) > 1
    assert seen[-1].best_objective <= seen[0].best_objective
    n_all = len(seen)
    model.set_params(callback=lambda progress: seen.append(progress) or True).fit(X, demand=demand, previous=previous)
    assert len(seen) - n_all < n_all


def test_a_fit_that_time_ends_says_so_without_an_infinite_gap():
    X, demand, previous = territories(10, 1)
    model = ConstrainedKMeans(10, size_tolerance=0.05, random_state=0, time_limit=0)
    with pytest.warns(NotProvenWarning, match="cut short by the time limit") as warned:
        model.fit(X, demand=demand, previous=previous)
    assert not any("inf" in str(warning.message) for warning in warned)
    assert model.step_gap_ is None or np.isfinite(model.step_gap_)


def test_without_previous_labels_nothing_is_said_of_moves():
    model = ConstrainedKMeans(3, max_moved=0, move_cost=5.0, random_state=0).fit(blobs())
    assert model.n_moved_ is None
    assert model.moved_ is None
    assert model.move_cost_ is None
