"""Where runs begin when there are many clusters: k-means|| over blocks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from konstrain import ConstrainedKMeans
from konstrain.assignment import transport
from konstrain.constraints import Problem
from konstrain.kmeans import start
from konstrain.kmeans.distances import block_costs, nearest_distances
from konstrain.kmeans.steps import Steps
from konstrain.stop import Budget


def blobs(n_blobs, per_blob, seed=0):
    rng = np.random.default_rng(seed)
    middles = 100.0 * rng.normal(size=(n_blobs, 4))
    return np.repeat(middles, per_blob, axis=0) + rng.normal(size=(n_blobs * per_blob, 4))


def test_each_index_is_drawn_as_often_as_its_weight_says():
    weights = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 4.0])
    rng = np.random.default_rng(0)
    n_rounds, count = 5_000, 1.5
    often = np.zeros(weights.size)
    together = 0
    for _ in range(n_rounds):
        drawn = start._draw_each(weights, count, rng)
        often[drawn] += 1
        together += np.isin([4, 5], drawn).all()
    chance = count * weights / weights.sum()
    spread = np.sqrt(n_rounds * chance * (1 - chance))
    np.testing.assert_array_less(np.abs(often - n_rounds * chance), 4 * spread + 1e-9)
    # On their own: two are drawn together as often as chance says.
    both = chance[4] * chance[5]
    assert abs(together - n_rounds * both) < 4 * np.sqrt(n_rounds * both * (1 - both))


def test_nothing_is_drawn_where_nothing_weighs():
    assert start._draw_each(np.zeros(5), 3.0, np.random.default_rng(0)).size == 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nearest_distances_are_the_least_costs(form, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(dtype) * (rng.random((300, 5)) < 0.5)
    for n_centers in (1, 40, 70):
        centers = rng.normal(size=(n_centers, 5))
        costs = block_costs(form(X), None, centers)
        for n_threads in (1, 2):
            labels, squares = nearest_distances(form(X), centers, n_threads=n_threads)
            np.testing.assert_array_equal(labels, costs.argmin(axis=1))
            np.testing.assert_array_equal(squares, costs.min(axis=1))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_blobs_far_apart_each_get_a_center(form):
    X = blobs(60, 10)
    problem = Problem.build(form(X), 60)
    for seed in range(3):
        blocks = start.oversampled(problem, np.random.default_rng(seed))
        assert len(set(blocks // 10)) >= 58  # k-means++ over all rows misses as many


def test_starts_are_as_good_as_those_of_one_pass_per_cluster():
    X = blobs(50, 20)
    problem = Problem.build(X, 200)

    def cost_of(blocks):
        return block_costs(X, None, X[blocks]).min(axis=1).sum()

    cost = {
        draw: np.mean([cost_of(draw(problem, np.random.default_rng(seed))) for seed in range(5)])
        for draw in (start.plus_plus, start.oversampled)
    }
    assert cost[start.oversampled] < 1.1 * cost[start.plus_plus]


def test_blocks_of_weight_zero_are_left_out():
    X = blobs(40, 10)
    weight = np.ones(len(X))
    weight[:200] = 0.0
    problem = Problem.build(X, 30, sample_weight=weight)
    assert start.oversampled(problem, np.random.default_rng(0)).min() >= 200


def test_fewer_different_rows_than_clusters_still_give_as_many_centers():
    X = np.repeat(np.arange(5.0)[:, None], 20, axis=0)
    problem = Problem.build(X, 12)
    blocks = start.oversampled(problem, np.random.default_rng(0))
    assert blocks.size == 12
    assert set(X[blocks, 0]) == set(range(5))


def test_the_number_of_threads_changes_no_draw():
    problem = Problem.build(blobs(80, 12), 70)
    one, two = (start.oversampled(problem, np.random.default_rng(3), n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_an_explicit_number_of_draws_means_a_step_per_cluster(monkeypatch):
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=1))
    monkeypatch.setattr(start, "oversampled", None)
    X = blobs(10, 12)
    assert start.Start(X, "k-means++", n_trials=1).drawn(Problem.build(X, 10), 0, 1).shape == (10, 4)


@pytest.mark.parametrize("many", [10, 11])
def test_the_number_of_clusters_decides(monkeypatch, many):
    asked = []
    oversampled = start.oversampled
    monkeypatch.setattr(transport, "PARAMS", replace(transport.PARAMS, many_clusters=many))
    monkeypatch.setattr(start, "oversampled", lambda *a, **k: asked.append(1) or oversampled(*a, **k))
    ConstrainedKMeans(10, n_init=1, random_state=0).fit(blobs(10, 12))
    assert bool(asked) == (many == 10)


@pytest.mark.parametrize("draw", [start.plus_plus, start.oversampled], ids=["k-means++", "k-means||"])
def test_without_time_all_centers_are_drawn_at_once_and_differ(monkeypatch, draw):
    X = blobs(30, 10)
    measured = []
    distances = start.candidate_distances
    monkeypatch.setattr(start, "candidate_distances", lambda *a, **k: measured.append(1) or distances(*a, **k))
    blocks = draw(Problem.build(X, 290), np.random.default_rng(0), budget=Budget(0.0))
    assert len(set(blocks)) == 290
    assert len(measured) == 1


def test_more_centers_than_blocks_that_weigh_anything_are_drawn_at_once_all_the_same():
    weight = np.r_[np.zeros(5), np.ones(3)]
    problem = Problem.build(np.arange(8.0)[:, None], 6, sample_weight=weight)
    blocks = start.plus_plus(problem, np.random.default_rng(0), budget=Budget(0.0))
    assert {5, 6, 7} <= set(blocks)
    assert len(set(blocks)) >= 5


def test_what_is_drawn_at_once_follows_the_weights():
    weights = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    rng = np.random.default_rng(0)
    first = np.bincount([start._draw_apart(weights, 2, rng)[0] for _ in range(5_000)], minlength=5)
    chance = weights / weights.sum()
    spread = np.sqrt(5_000 * chance * (1 - chance))
    np.testing.assert_array_less(np.abs(first - 5_000 * chance), 4 * spread + 1e-9)


def test_a_run_draws_its_centers_in_part_of_its_time(monkeypatch):
    X = blobs(30, 10)
    asked = []
    monkeypatch.setattr(start, "plus_plus", lambda *_, budget, **__: asked.append(budget) or np.arange(20))
    for limit in (None, 100.0):
        start.Start(X, "k-means++").centers(Steps(Problem.build(X, 20), budget=Budget(limit)), 0)
    assert asked[0].remaining() == np.inf
    assert 0.0 < asked[1].remaining() <= 50.0


def two_level(X, k, **constraints):
    problem = Problem.build(X, k, **constraints)
    return problem, start.Start(X, "two-level").drawn(problem, 0, 1)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "weighted"])
def test_two_levels_end_lower_than_random_rows(kind):
    X = blobs(30, 60)
    given = {"sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, len(X))} if kind == "weighted" else {}
    X = X.astype(np.float32) if kind == "float32" else sparse.csr_array(X) if kind == "sparse" else X
    problem, centers = two_level(X, 90, size_min=10, size_max=21, **given)
    assert centers.shape == (90, X.shape[1])
    steps = Steps(problem)
    random = start.Start(X, "random").drawn(problem, 0, 1)
    assert steps.step(centers, None).cost < 0.8 * steps.step(random, None).cost


@pytest.mark.filterwarnings("ignore:the best run did not converge")
def test_two_levels_keep_bounds_that_differ_from_cluster_to_cluster():
    X = blobs(30, 60)
    rng = np.random.default_rng(0)
    sizes = rng.multinomial(len(X) - 60, np.full(60, 1 / 60)) + 1
    model = ConstrainedKMeans(
        60,
        size_min=sizes,
        size_max=sizes + 1,
        init="two-level",
        n_init=1,
        max_iter=2,
        local_search=False,
        random_state=0,
    ).fit(X)
    assert (sizes <= model.cluster_sizes_).all()
    assert (model.cluster_sizes_ <= sizes + 1).all()


def test_two_levels_of_directions_are_directions():
    X = blobs(30, 60)
    problem = replace(Problem.build(X / np.linalg.norm(X, axis=1)[:, None], 40, size_max=60), unit_centers=True)
    centers = start.Start(X, "two-level").drawn(problem, 0, 1)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1.0)


@pytest.mark.parametrize(
    "given", [{}, {"size_max": 9, "cannot_link": [(0, 1)]}, {"size_max": 199, "demand": range(1, 121)}]
)
def test_two_levels_refuse_what_is_not_sizes_alone(given):
    X = blobs(12, 10)
    size_max = given.pop("size_max", None)
    with pytest.raises(ValueError, match="init='two-level' is for bounds on sizes alone"):
        ConstrainedKMeans(16 if size_max == 9 else 100, size_max=size_max, init="two-level").fit(X, **given)
