"""Local search: exact deltas, feasible and never worse answers, local optima by enumeration."""

import itertools

import numpy as np
import pytest

from konstrain import AssignmentProblem, _core
from konstrain.kmeans.local_search import improve, joint_relocations, relocation_candidates, supports
from konstrain.links import LinkGraph
from konstrain.stop import Deadline
from problems import random_links

pytestmark = pytest.mark.engine

KINDS = {
    "free": {},
    "hard": {"links": "hard"},
    "cliques": {"links": "cliques"},
    "soft": {"links": "soft"},
    "sizes": {"sizes": True},
    "demand": {"sizes": True, "demand": True},
    "sizes and hard": {"sizes": True, "links": "hard"},
    "everything": {"sizes": True, "links": "soft", "demand": True},
}
SINGLE, SWAP, KEMPE, CHAIN = range(4)


def planted_labels(rng, n_blocks, n_clusters):
    """Random labels that use every cluster if they can."""
    labels = rng.integers(0, n_clusters, n_blocks)
    labels[: min(n_blocks, n_clusters)] = np.arange(min(n_blocks, n_clusters))
    return rng.permutation(labels).astype(np.int32)


def kept_links(rng, labels, kind, price):
    """Random links of which the labels break no hard one."""
    graph = random_links(rng, labels.size, kind, price, density=min(0.3, 4 / labels.size))
    u, v, w = graph.edges
    keep = ~(np.isposinf(w) & (labels[u] == labels[v]))
    return LinkGraph.from_edges(labels.size, u[keep], v[keep], None if graph.weights is None else w[keep])


class Case:
    """A problem with feasible labels that were not chosen for their cost."""

    def __init__(self, rng, n_blocks, n_clusters, *, links=None, sizes=False, demand=False):
        self.n_clusters = n_clusters
        self.means = rng.normal(size=(n_blocks, rng.integers(1, 12))) * 10.0 ** rng.integers(-3, 4)
        self.weight = rng.random(n_blocks) + 0.1 if rng.random() < 0.5 else np.ones(n_blocks)
        self.weight[rng.random(n_blocks) < 0.05] = 0.0
        self.demand = rng.random(n_blocks) * 3 if demand else None
        self.labels = planted_labels(rng, n_blocks, n_clusters)
        self.links = None if links is None else kept_links(rng, self.labels, links, float(self.means.var() * 0.5))
        low, high = None, None
        if sizes:
            size = np.bincount(self.labels, self.demand, minlength=n_clusters).astype(float)
            spread = rng.choice([0.0, 0.1, 0.5])
            low, high = size * (1 - spread), size * (1 + spread)
        nonempty = n_blocks >= n_clusters and bool(rng.random() < 0.7)
        costs = np.zeros((n_blocks, n_clusters))
        self.problem = AssignmentProblem(costs, self.links, self.demand, low, high, nonempty)
        assert self.problem.is_feasible(self.labels)

    def cost(self, labels):
        """Objective of labels, by its definition."""
        total = 0.0
        for j in range(self.n_clusters):
            weight, rows = self.weight[labels == j], self.means[labels == j].astype(float)
            if weight.sum() > 0:
                total += float(weight @ ((rows - weight @ rows / weight.sum()) ** 2).sum(1))
        return total + (0.0 if self.links is None else self.links.penalty(labels))

    def improve(self, **options):
        return improve(
            self.means,
            self.weight,
            self.labels,
            self.n_clusters,
            links=self.links,
            demand=self.demand,
            size_min=self.problem.size_min,
            size_max=self.problem.size_max,
            nonempty=self.problem.nonempty,
            **options,
        )

    def records(self, seed=0):
        """Return the moves as (kind, p, q, delta, blocks)."""
        links = self.links
        low, high = self.problem.widened_bounds
        *_, (kind, p, q, delta, start, blocks) = _core.search_locally(
            self.means,
            self.weight,
            self.labels,
            None if links is None else links.indptr,
            None if links is None else links.indices,
            None if links is None else links.weights,
            self.demand,
            low,
            high,
            self.problem.nonempty,
            1000,
            np.inf,
            seed,
            True,
        )
        return [(kind[i], p[i], q[i], delta[i], blocks[start[i] : start[i + 1]]) for i in range(kind.size)]

    def small_moves(self, labels):
        """Yield the labels after every single move and every swap, feasible or not."""
        for i in range(labels.size):
            for j in range(self.n_clusters):
                if j != labels[i]:
                    moved = labels.copy()
                    moved[i] = j
                    yield moved
        for i, j in itertools.combinations(range(labels.size), 2):
            if labels[i] != labels[j]:
                swapped = labels.copy()
                swapped[[i, j]] = labels[[j, i]]
                yield swapped


def cases(seed, count, low, high, **kind):
    """Random cases of one kind."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield Case(rng, int(rng.integers(low, high)), int(rng.integers(1, 6)), **kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_delta_equals_recomputation_and_every_step_is_feasible(kind):
    seen = []
    for case in cases(1, 200, 5, 60, **KINDS[kind]):
        labels, cost = case.labels.copy(), case.cost(case.labels)
        start_cost = cost
        for move, p, q, delta, blocks in case.records():
            assert np.isin(labels[blocks], [p, q]).all()
            labels[blocks] = np.where(labels[blocks] == p, q, p)
            new_cost = case.cost(labels)
            np.testing.assert_allclose(new_cost - cost, delta, rtol=1e-7, atol=1e-10 * start_cost)
            assert delta < 0
            assert case.problem.is_feasible(labels)
            cost = new_cost
            seen.append(move)
        np.testing.assert_array_equal(case.improve().labels, labels)
    assert len(seen) > 1500
    expected = {"hard": KEMPE, "sizes": SWAP, "demand": SWAP, "soft": KEMPE, "everything": SWAP}
    assert {SINGLE, expected.get(kind, SINGLE)} <= set(seen)


def test_blocks_tied_by_soft_must_links_move_together():
    """Four blocks in the wrong cluster, each pair tied: one or two of them alone would break too many ties."""
    case = next(cases(2, 1, 14, 15))
    case.n_clusters, case.weight = 2, np.ones(14)
    case.means = np.repeat([[0.0], [9.0], [0.0]], [5, 5, 4], axis=0)
    case.labels = np.repeat([0, 1, 1], [5, 5, 4]).astype(np.int32)
    u, v = np.triu_indices(4, 1)
    case.links = LinkGraph.from_edges(14, u + 10, v + 10, np.full(6, -100.0))
    case.problem = AssignmentProblem(np.zeros((14, 2)), case.links)
    ((kind, *_, delta, blocks),) = case.records()
    assert kind == CHAIN
    assert sorted(blocks) == [10, 11, 12, 13]
    np.testing.assert_allclose(delta, -case.cost(case.labels))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_feasible_and_never_worse(kind):
    for case in cases(3, 100, 1, 40, **KINDS[kind]):
        before = case.cost(case.labels)
        result = case.improve()
        assert result.labels.dtype == np.int32
        assert case.problem.is_feasible(result.labels)
        np.testing.assert_allclose(result.cost, case.cost(result.labels), rtol=1e-9, atol=1e-12 * before)
        assert result.cost <= before * (1 + 1e-12)
        assert (result.n_moves == 0) == np.array_equal(result.labels, case.labels)


@pytest.mark.parametrize("kind", KINDS)
def test_no_feasible_single_move_or_swap_improves_the_answer(kind):
    for case in cases(4, 60, 2, 14, **KINDS[kind]):
        result = case.improve()
        tolerance = 1e-10 * max(case.cost(case.labels), 1e-300)
        for other in case.small_moves(result.labels):
            if case.problem.is_feasible(other):
                assert case.cost(other) >= result.cost - tolerance


def test_without_constraints_the_answer_satisfies_hartigans_condition():
    """Larger than what enumeration of swaps allows: no block gains by going to another cluster."""
    for case in cases(5, 20, 200, 400):
        labels = case.improve().labels
        total = np.bincount(labels, case.weight, minlength=case.n_clusters)
        used = np.flatnonzero(total > 0)
        centers = np.array(
            [np.average(case.means[labels == j], axis=0, weights=case.weight[labels == j]) for j in used]
        )
        square = ((case.means[:, None] - centers) ** 2).sum(-1)
        home = np.searchsorted(used, labels)
        for i in np.flatnonzero(np.bincount(labels)[labels] > 1):
            w, others = case.weight[i], np.delete(np.arange(used.size), home[i])
            leave = w * total[labels[i]] / (total[labels[i]] - w) * square[i, home[i]]
            enter = w * total[used[others]] / (total[used[others]] + w) * square[i, others]
            assert (enter >= leave * (1 - 1e-8) - 1e-9 * (case.weight @ square.min(1))).all()


def test_kempe_exchange_where_single_moves_and_swaps_are_stuck():
    """Two conflicting pairs tied crosswise: all four must change sides at once."""
    means = np.array([[0.0], [0.1], [5.0], [5.1]])
    links = LinkGraph.from_edges(4, [0, 0, 1, 1], [2, 3, 2, 3])
    # Blocks 4 and 5 hold the clusters where they are.
    means = np.concatenate([means, [[0.0], [5.0]]])
    links = LinkGraph(np.append(links.indptr, [8, 8]), links.indices)
    labels = np.array([1, 1, 0, 0, 0, 1], dtype=np.int32)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 10.0, 10.0])
    result = improve(means, weight, labels, 2, links=links, size_min=np.full(2, 3.0), size_max=np.full(2, 3.0))
    assert result.labels.tolist() == [0, 0, 1, 1, 0, 1]
    assert result.n_moves == 1


def test_sizes_that_bind_are_improved_by_swaps_only():
    means = np.array([[0.0], [1.0], [10.0], [11.0]])
    labels = np.array([0, 1, 1, 0], dtype=np.int32)
    two = np.full(2, 2.0)
    assert improve(means, np.ones(4), labels, 2, size_min=two, size_max=two).cost == pytest.approx(1.0)


def test_empty_clusters_are_filled():
    means = np.array([[0.0], [1.0], [10.0], [11.0]])
    for nonempty in (False, True):
        result = improve(means, np.ones(4), np.zeros(4, dtype=np.int32), 4, nonempty=nonempty)
        assert np.unique(result.labels).size == 4
        assert result.cost == 0.0


def test_same_seed_same_answer_and_inputs_stay_as_they_are():
    for case in cases(6, 30, 20, 60, **KINDS["everything"]):
        inputs = [case.means, case.weight, case.labels, case.demand, case.problem.size_min, case.links.weights]
        copies = [array.copy() for array in inputs]
        for array in inputs:
            array.flags.writeable = False
        np.testing.assert_array_equal(case.improve(seed=5).labels, case.improve(seed=5).labels)
        for array, copy in zip(inputs, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_single_precision_gives_the_answer_of_the_same_numbers_in_double():
    for case in cases(7, 30, 5, 60, **KINDS["sizes and hard"]):
        single = case.means.astype(np.float32)
        case.means = single
        answer = case.improve()
        case.means = single.astype(np.float64)
        np.testing.assert_array_equal(answer.labels, case.improve().labels)


def test_data_far_from_the_origin_ends_and_is_not_worse():
    for case in cases(8, 30, 10, 80, **KINDS["sizes"]):
        case.means = case.means + 1e9 * np.abs(case.means).max()
        before = case.cost(case.labels)
        result = case.improve()
        assert case.problem.is_feasible(result.labels)
        assert case.cost(result.labels) <= before * (1 + 1e-6)


def test_limits_stop_the_search_early():
    case = next(cases(9, 1, 300, 301))
    assert case.improve(deadline=Deadline(0.0)).n_moves == 0
    assert case.improve(max_passes=0).n_moves == 0
    assert case.improve(max_passes=1).cost >= case.improve().cost


def test_relocations_swap_a_needless_center_for_a_missing_one():
    rng = np.random.default_rng(0)
    blobs = np.repeat([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]], 30, axis=0)
    means = blobs + rng.normal(size=blobs.shape)
    labels = np.repeat([0, 2, 2], 30).astype(np.int32)
    labels[:15] = 1
    candidates = relocation_candidates(means, np.ones(90), labels, 3, 4, seed=1)
    assert len(candidates) == 4
    found = candidates[0][np.argsort(candidates[0][:, 0])]
    np.testing.assert_allclose(found, [[0, 0], [10, 0], [20, 0]], atol=1.0)
    again = relocation_candidates(means, np.ones(90), labels, 3, 4, seed=1)
    np.testing.assert_array_equal(candidates, again)


def test_relocations_of_what_cannot_be_split_are_none():
    assert relocation_candidates(np.zeros((3, 1)), np.ones(3), np.zeros(3, dtype=np.int32), 2, 5) == []
    assert relocation_candidates(np.arange(3.0)[:, None], np.ones(3), np.zeros(3, dtype=np.int32), 1, 5) == []


def test_wrong_inputs_are_refused_with_numbers():
    means, weight, labels = np.zeros((3, 2)), np.ones(3), np.zeros(3, dtype=np.int32)
    assert supports(means)
    assert supports(means.astype(np.float32))
    for bad in (np.zeros((3, 2), order="F"), np.zeros((3, 2), dtype=int), np.zeros(3), [[0.0]]):
        assert not supports(bad)
        with pytest.raises(ValueError, match="C-contiguous matrix"):
            improve(bad, weight, labels, 2)
    with pytest.raises(ValueError, match=r"3 means, but weight has shape \(2,\)"):
        improve(means, weight[:2], labels, 2)
    with pytest.raises(ValueError, match=r"labels lie in 0\.\.2, but there are 2 clusters"):
        improve(means, weight, np.arange(3, dtype=np.int32), 2)
    with pytest.raises(ValueError, match="links are over 4 blocks, means over 3"):
        improve(means, weight, labels, 2, links=LinkGraph.without_edges(4))
    with pytest.raises(ValueError, match=r"size_max must have shape \(2,\), got \(3,\)"):
        improve(means, weight, labels, 2, size_max=np.ones(3))
    with pytest.raises(TypeError):
        improve(means, weight, labels.astype(np.int64), 2)


def test_movable_blocks_are_the_only_ones_to_move_and_move_alone():
    """Sizes that bind leave only swaps, and swaps are not tried; without sizes every move is one of the blocks."""
    rng = np.random.default_rng(8)
    means, labels = rng.normal(size=(60, 3)), planted_labels(rng, 60, 4)
    movable = np.arange(0, 60, 3, dtype=np.int32)
    found = improve(means, np.ones(60), labels, 4, movable=movable)
    moved = np.flatnonzero(found.labels != labels)
    assert moved.size > 0
    assert np.isin(moved, movable).all()
    size = np.bincount(labels, minlength=4).astype(float)
    assert improve(means, np.ones(60), labels, 4, size_min=size, size_max=size, movable=movable).n_moves == 0
    with pytest.raises(ValueError, match=r"movable has 0\.\.60, but there are 60 blocks"):
        improve(means, np.ones(60), labels, 4, movable=np.array([0, 60], dtype=np.int32))


def test_joint_relocations_move_all_needless_centers_at_once():
    """Two blobs have two centers each, two pairs of blobs share one: the first proposal has one center per blob."""
    rng = np.random.default_rng(4)
    places = np.repeat([0.0, 50.0, 100.0, 150.0, 200.0, 250.0], 40)
    means = places[:, None] + rng.normal(size=(240, 1))
    labels = np.concatenate([rng.integers(0, 2, 40), rng.integers(2, 4, 40), np.full(80, 4), np.full(80, 5)]).astype(
        np.int32
    )
    both, one = joint_relocations(means, np.ones(240), labels, 6)
    np.testing.assert_allclose(np.sort(both.ravel()), [0, 50, 100, 150, 200, 250], atol=1.0)
    assert np.unique(one.round(-1)).size == 5


def test_large_clusters_are_cut_on_samples_at_about_the_same_gain():
    """The halves of a cluster of 6,000 blocks lie where its two blobs are; noise alone is not worth a center."""
    rng = np.random.default_rng(5)
    blobs = np.repeat([0.0, 20.0, 60.0, 100.0], 3000)[:, None] + rng.normal(size=(12_000, 1))
    labels = np.concatenate([np.zeros(6000), np.repeat([1, 2], 3000)]).astype(np.int32)
    labels[9000:][rng.random(3000) < 0.5] = 3
    proposals = joint_relocations(blobs, np.ones(12_000), labels, 4)
    np.testing.assert_allclose(np.sort(proposals[0].ravel()), [0, 20, 60, 100], atol=1.0)
    settled = np.repeat(np.arange(4), 3000).astype(np.int32)
    assert joint_relocations(blobs, np.ones(12_000), settled, 4) == []


@pytest.mark.parametrize("kind", ["equal weights", "unequal weights", "some without weight"])
def test_blocks_that_gain_are_those_of_hartigans_test(kind):
    rng = np.random.default_rng(4)
    n_blocks, k = 300, 6
    weight = np.ones(n_blocks) if kind == "equal weights" else rng.uniform(0.5, 3.0, n_blocks)
    labels = rng.integers(0, k - 1, n_blocks).astype(np.int32)
    labels[7] = k - 1  # alone: nothing is saved by leaving
    if kind == "some without weight":
        weight[labels == 0] = 0.0
    costs = weight[:, None] * rng.uniform(0.9, 1.1, (n_blocks, k))
    held = np.bincount(labels, weight, k)
    expected = [
        b
        for b in range(n_blocks)
        if held[labels[b]] > weight[b]
        and min(costs[b, j] * held[j] / (held[j] + weight.max()) for j in range(k) if j != labels[b])
        < costs[b, labels[b]] * held[labels[b]] / (held[labels[b]] - weight[b])
    ]
    assert 0 < len(expected) < n_blocks
    assert _core.gaining_blocks(costs, labels, weight, held).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_known_means_and_cost_lead_to_the_same_moves(dtype):
    rng = np.random.default_rng(5)
    means, weight = rng.normal(size=(400, 3)).astype(dtype), rng.uniform(0.5, 2.0, 400)
    labels = rng.integers(0, 4, 400).astype(np.int32)
    movable = np.arange(0, 400, 2, dtype=np.int32)
    centers = np.stack([np.average(means[labels == j], axis=0, weights=weight[labels == j]) for j in range(4)])
    cost = float(weight @ ((means - centers[labels]) ** 2).sum(axis=1))
    plain = improve(means, weight, labels, 4, movable=movable, max_passes=2)
    known = improve(means, weight, labels, 4, movable=movable, max_passes=2, known=(centers.astype(float), cost))
    assert plain.n_moves > 10
    np.testing.assert_array_equal(known.labels, plain.labels)
    np.testing.assert_allclose(known.cost, plain.cost, rtol=1e-9)
    with pytest.raises(ValueError, match=r"known means must have shape \(4, 3\), got \(3, 3\)"):
        improve(means, weight, labels, 4, movable=movable, known=(centers[:3], cost))
