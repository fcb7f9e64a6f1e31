"""What follows Lloyd's loop from given centers: briefly, under sizes only, and never to a higher objective."""

from dataclasses import replace

import numpy as np
import pytest

from clusterings import sse
from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.kmeans import brief as brief_way
from konstrain.kmeans import local_search
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.momentum import lloyd_with_momentum
from konstrain.kmeans.steps import Steps


def blobs_with_a_poor_start(seed):
    """Five blobs; the start has two centers in the first and none in the last."""
    rng = np.random.default_rng(seed)
    places = 12.0 * rng.normal(size=(5, 4))
    X = np.repeat(places, 60, axis=0) + rng.normal(size=(300, 4))
    return X, X[[0, 1, 60, 120, 180]]


@pytest.mark.parametrize("seed", range(5))
def test_under_sizes_a_given_start_ends_no_higher_than_lloyds_run(seed):
    X, start = blobs_with_a_poor_start(seed)
    sizes = {"size_min": 40, "size_max": 80}
    brief = ConstrainedKMeans(5, init=start, random_state=0, **sizes).fit(X)
    lloyd = ConstrainedKMeans(5, init=start, local_search=False, **sizes).fit(X)
    assert brief.inertia_ <= lloyd.inertia_
    assert brief.inertia_ == pytest.approx(sse(X, brief.labels_), rel=1e-9)
    assert ((brief.cluster_sizes_ >= 40) & (brief.cluster_sizes_ <= 80)).all()


def test_a_center_too_many_in_one_blob_goes_where_one_is_missing():
    """Sizes up to 150 let one cluster hold two blobs, and Lloyd's run ends so; one relocation mends it."""
    X, start = blobs_with_a_poor_start(0)
    truth = np.repeat(np.arange(5), 60)
    sizes = {"size_min": 10, "size_max": 150}
    lloyd = ConstrainedKMeans(5, init=start, local_search=False, **sizes).fit(X)
    brief = ConstrainedKMeans(5, init=start, random_state=0, **sizes).fit(X)
    assert lloyd.inertia_ > 1.5 * sse(X, truth)
    assert brief.inertia_ <= sse(X, truth)


def test_without_sizes_or_iterations_left_nothing_follows():
    X, start = blobs_with_a_poor_start(0)
    free, lloyd = (ConstrainedKMeans(5, init=start, local_search=search).fit(X) for search in ("auto", False))
    np.testing.assert_array_equal(free.labels_, lloyd.labels_)
    with pytest.warns(match="did not converge"):
        cut = ConstrainedKMeans(5, 40, 80, init=start, max_iter=1).fit(X)
    assert cut.n_iter_ == 1


def overlapping_blobs_with_a_poor_start(seed):
    """Blobs near each other, and a start within the first: Lloyd's loop takes long to spread the centers."""
    rng = np.random.default_rng(seed)
    places = 4.0 * rng.normal(size=(8, 4))
    X = np.repeat(places, 200, axis=0) + rng.normal(size=(1600, 4))
    return X, X[:8]


def steps_taken(monkeypatch, X, start, *, early_look):
    taken = []
    step = Steps.step
    monkeypatch.setattr(brief_way, "EARLY_LOOK", early_look)
    monkeypatch.setattr(Steps, "step", lambda self, *args: taken.append(1) or step(self, *args))
    ConstrainedKMeans(8, 100, 400, init=start, random_state=0).fit(X)
    monkeypatch.undo()
    return len(taken)


def test_an_early_look_at_relocations_spares_iterations(monkeypatch):
    with_look, without = 0, 0
    for seed in range(8):
        X, start = overlapping_blobs_with_a_poor_start(seed)
        with_look += steps_taken(monkeypatch, X, start, early_look=6)
        without += steps_taken(monkeypatch, X, start, early_look=10**9)
    assert with_look < without


@pytest.mark.parametrize(
    ("sizes", "fixed"), [((60, 60), True), ((55, 65), True), ((40, 80), False), ((40, None), False)]
)
def test_sizes_without_room_get_no_early_look(sizes, fixed):
    X, _ = blobs_with_a_poor_start(0)
    assert brief_way._are_sizes_fixed(Problem.build(X, 5, size_min=sizes[0], size_max=sizes[1])) is fixed


def test_a_relocation_that_leads_back_is_given_up(monkeypatch):
    """It ends as high as the best: neither below it, nor ever above."""
    X, start = blobs_with_a_poor_start(0)
    offers = []

    def offer_the_present_centers(means, weight, labels, n_clusters, seed, *, known, most):
        offers.append(np.stack([X[labels == j].mean(axis=0) for j in range(5)]))
        return offers[-1:]

    monkeypatch.setattr(local_search, "joint_relocations", offer_the_present_centers)
    ConstrainedKMeans(5, 40, 80, init=start, random_state=0).fit(X)
    assert len(offers) == 1


def test_the_brief_search_is_decided_by_the_seed(seed):
    X, start = blobs_with_a_poor_start(seed)
    first, second = (ConstrainedKMeans(5, 40, 80, init=start, random_state=seed).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.inertia_ == second.inertia_


@pytest.mark.parametrize(("size_min", "size_max", "most"), [(58, 62, 1), (10, 150, None)])
def test_few_centers_are_relocated_at_once_where_sizes_are_fixed(monkeypatch, size_min, size_max, most):
    X, start = blobs_with_a_poor_start(0)
    asked = []
    monkeypatch.setattr(local_search, "joint_relocations", lambda *_, most, **__: asked.append(most) or [])
    ConstrainedKMeans(5, size_min, size_max, init=start, random_state=0).fit(X)
    assert set(asked) == {most}


def clusters_in_one_heap(seed):
    """Blobs in many dimensions that overlap so much that clusters explain next to nothing."""
    rng = np.random.default_rng(seed)
    return 0.2 * rng.normal(size=(6, 40))[rng.integers(0, 6, 2000)] + rng.normal(size=(2000, 40))


def test_where_clusters_explain_little_the_better_of_two_runs_is_taken(monkeypatch):
    once, twice = [], []
    for seed in range(6):
        X = clusters_in_one_heap(seed)
        for ends, share in ((twice, brief_way.LITTLE_EXPLAINED), (once, 0.0)):
            monkeypatch.setattr(brief_way, "LITTLE_EXPLAINED", share)
            ends.append(ConstrainedKMeans(6, 200, 600, init=X[:6], random_state=0).fit(X))
            monkeypatch.undo()
    assert sum(model.inertia_ for model in twice) < sum(model.inertia_ for model in once)
    assert sum(model.n_iter_ for model in twice) > sum(model.n_iter_ for model in once)


@pytest.mark.parametrize(("spread", "expected"), [(0.0, (0.0, 0.2)), (100.0, (0.99, 1.0))])
def test_what_clusters_explain_is_the_scatter_between_them(spread, expected):
    rng = np.random.default_rng(0)
    X = spread * rng.normal(size=(3, 20))[np.arange(300) % 3] + rng.normal(size=(300, 20))
    steps = Steps(Problem.build(X, 3, size_min=50))
    labels = (np.arange(300) % 3).astype(np.int32)
    clustering = steps.clustering(labels, steps.centers_of(labels, X[:3]), 1, converged=True)
    share = brief_way._explained(steps, clustering)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    assert share == pytest.approx(1 - sse(X, labels) / total, rel=1e-9)
    assert expected[0] <= share <= expected[1]


@pytest.mark.parametrize(("gained", "is_preferred"), [(0.4, True), (0.6, False)])
def test_a_run_that_gains_clearly_more_by_going_on_is_preferred_to_relocated_centers(gained, is_preferred):
    X, start = overlapping_blobs_with_a_poor_start(0)
    loop = Loop(lloyd_with_momentum, Steps(Problem.build(X, 8, size_min=100, size_max=400)))
    early = replace(loop, max_iter=2).run(start)
    later = replace(loop, max_iter=3).run(early.centers, early.assignment)
    relocated = replace(early, objective=early.objective - gained * (early.objective - later.objective), n_iter=3)
    rival = brief_way._BriefSearch(loop, 0, n_left=10)._rival(relocated, early)
    assert (rival is not None) == is_preferred
    if rival is not None:
        assert rival.objective == later.objective
