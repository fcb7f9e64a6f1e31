"""`ConstrainedKMeans(metric="cosine")`: rows and centers of length one, under every constraint."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from checks import check_links
from konstrain import ConstrainedKMeans, _core, suggest_pairs
from konstrain.constraints import Problem
from konstrain.estimators._metric_choice import unit_rows
from konstrain.kmeans import restarts, search
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps


def directions(n, d=4, seed=0):
    """Rows of any length around a few directions."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4, d))[rng.integers(4, size=n)] + 0.5 * rng.normal(size=(n, d))
    return rows * rng.uniform(0.1, 10.0, size=(n, 1))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def cost_of(X, labels, k, weight=None):
    """The objective by its definition: what the sum of the rows of a cluster lacks of their number."""
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, labels, weight[:, None] * unit(X))
    return 2.0 * (weight.sum() - np.linalg.norm(sums, axis=1).sum())


def fitted(X, k, seed=0, **given):
    parameters = {name: given.pop(name) for name in list(given) if name in ConstrainedKMeans().get_params()}
    return ConstrainedKMeans(k, metric="cosine", random_state=seed, **parameters).fit(X, **given)


def check_cosine(model, X, weight=None):
    """Centers are of length one, in the direction of their rows, and the inertia is what these cost."""
    assert_allclose(np.linalg.norm(model.cluster_centers_.astype(float), axis=1), 1.0, rtol=1e-6)
    rows = unit(X.astype(float))
    rtol = 1e-9 if X.dtype == np.float64 else 1e-5
    assert_allclose(model.inertia_, cost_of(rows, model.labels_, model.n_clusters, weight), rtol=rtol)
    counted = np.ones(len(X)) if weight is None else weight
    away = ((rows - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    assert_allclose(model.inertia_, counted @ away, rtol=rtol)


LINKS = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 2), (4, 5)]}


@pytest.mark.parametrize("seed", range(12))
def test_objective_against_all_labelings(seed):
    rng = np.random.default_rng(seed)
    X, k, weight = directions(9, 3, seed), 3, rng.uniform(0.2, 3.0, 9)
    asked = [{}, LINKS, {"size_min": 2, "size_max": 4}, {**LINKS, "size_min": 2, "size_max": 4}][seed % 4]
    best = np.inf
    for labels in itertools.product(range(k), repeat=9):
        labels = np.array(labels)
        sizes = np.bincount(labels, minlength=k)
        if sizes.min() < asked.get("size_min", 1) or sizes.max() > asked.get("size_max", 9):
            continue
        if any(labels[a] != labels[b] for a, b in asked.get("must_link", [])):
            continue
        if any(labels[a] == labels[b] for a, b in asked.get("cannot_link", [])):
            continue
        best = min(best, cost_of(X, labels, k, weight))
    model = fitted(X, k, seed, sample_weight=weight, **asked)
    check_cosine(model, X, weight)
    # The search of "auto" reaches the optimum of problems this small.
    assert_allclose(model.inertia_, best, rtol=1e-9)


X60 = directions(60, 5, 7)
RNG = np.random.default_rng(3)
CONSTRAINTS = {
    "free": {},
    "links": LINKS,
    "soft": {
        "must_link": [(i, i + 1, 0.7) for i in range(0, 20, 2)],
        "cannot_link": [(i, i + 1, 0.4) for i in range(9)],
    },
    "sizes": {"size_min": 12, "size_max": 18},
    "sizes and links": {"size_min": 12, "size_max": 18, **LINKS},
    "demand": {"demand": RNG.integers(1, 9, 60), "size_max": 85},
    "resources": {"demand": RNG.uniform(1.0, 3.0, (60, 2)), "size_tolerance": 0.2},
    "shares": {"category": np.arange(60) % 2, "share_min": 0.4},
    "previous": {"previous": RNG.integers(0, 4, 60), "max_moved": 10},
    "previous and sizes": {"previous": np.arange(60) % 4, "size_max": 16, "move_cost": 0.3},
    "weights": {"sample_weight": RNG.uniform(0.0, 2.0, 60) * (np.arange(60) % 7 > 0), "size_max": 17},
    "partial labels": {"y": np.where(np.arange(60) < 8, np.arange(60) % 4, -1)},
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("local_search", ["auto", False])
def test_every_constraint_is_kept(kind, local_search):
    asked = CONSTRAINTS[kind]
    model = fitted(X60, 4, local_search=local_search, **asked)
    check_cosine(model, X60, asked.get("sample_weight"))
    sizes = model.cluster_sizes_
    if kind != "soft":
        check_links(model, model.labels_, asked.get("must_link"), asked.get("cannot_link"), asked.get("y"))
    if "size_max" in asked:
        assert sizes.max() <= asked["size_max"]
    if "size_min" in asked:
        assert sizes.min() >= asked["size_min"]
    if kind == "resources":
        equal = asked["demand"].sum(axis=0) / 4
        assert (np.abs(sizes - equal) <= 0.2 * equal * (1 + 1e-9)).all()
    if kind == "shares":
        assert min(shares.min() for shares in model.cluster_shares_.values()) >= 0.4
    if kind == "previous":
        assert model.n_moved_ <= 10
    assert set(model.labels_) == set(range(4))


def kernel_of(X, k, weight=None, **asked):
    problem = Problem.build(X, k, sample_weight=weight, **asked)
    object.__setattr__(problem, "unit_centers", True)
    price = 0.2 if problem.has_soft_links else None
    arguments, offset = search.kernel_arguments(problem, price)
    assert not offset.any()
    return problem, Steps(problem, violation_cost=price), _core.Search(**arguments, seed=1)


@pytest.mark.parametrize("kind", ["free", "links", "soft", "sizes", "sizes and links", "resources"])
@pytest.mark.parametrize("angle", [1.0, 1e-3])
def test_polish_never_leads_up(kind, angle):
    """At one pass, and with small angles, where digits are lost most easily."""
    rng = np.random.default_rng(5)
    X = unit(np.eye(4)[0] + angle * rng.normal(size=(40, 4)))
    asked = {name: value for name, value in CONSTRAINTS[kind].items() if not name.startswith("size_")}
    if "sizes" in kind:
        asked |= {"size_min": 8, "size_max": 12}
    if kind == "resources":
        asked |= {"demand": CONSTRAINTS[kind]["demand"][:40], "size_tolerance": 0.3}
    for seed in range(20):
        problem, steps, kernel = kernel_of(X, 4, rng.uniform(0.5, 2.0, 40), **asked)
        begun = np.random.default_rng(seed).permutation(np.arange(problem.n_blocks) % 4).astype(np.int32)
        kernel.improve(begun, 0, 60.0)  # repaired, but not polished
        if kernel.violation > 0:
            continue
        before, labels = kernel.cost, kernel.labels
        for _ in range(3):
            _, _, further = kernel_of(X, 4, problem.sample_weight, **asked)
            further.improve(labels, 1, 60.0)
            # A kernel keeps what it is given first, better or not.
            assert further.cost <= before * (1 + 1e-9)
            centers = steps.centers_of(further.labels, np.zeros((4, 4)))
            assert_allclose(further.centers.reshape(4, 4), centers, atol=1e-9)
            assert_allclose(further.cost, steps.cost_of(further.labels, centers), rtol=1e-7)
            before, labels = further.cost, further.labels


def test_polish_ends_where_no_single_move_gains():
    """Incremental changes are those of objectives computed anew, blocks of several rows included."""
    X = directions(50, 3, 11)
    weight = np.random.default_rng(1).uniform(0.3, 2.0, 50)
    asked = {"must_link": [(i, i + 1) for i in range(0, 30, 3)]}
    problem, _, kernel = kernel_of(unit(X), 4, weight, **asked)
    kernel.improve((np.arange(problem.n_blocks) % 4).astype(np.int32), 100, 60.0)
    labels = kernel.labels
    cost = cost_of(X, problem.expand(labels), 4, weight)
    assert_allclose(kernel.cost + problem.scatter.sum(), cost, rtol=1e-12)
    for block, other in itertools.product(range(problem.n_blocks), range(4)):
        moved = labels.copy()
        moved[block] = other
        assert cost_of(X, problem.expand(moved), 4, weight) >= cost * (1 - 1e-9)


def test_polish_ends_where_no_exchange_of_linked_rows_gains():
    X = directions(48, 3, 4)
    pairs = [(i, i + 1) for i in range(0, 48, 2)]
    for seed in range(8):
        weight = np.random.default_rng(seed).uniform(0.3, 2.0, 48)
        _, _, kernel = kernel_of(unit(X), 4, weight, cannot_link=pairs)
        kernel.improve(
            (np.random.default_rng(seed).integers(2, size=48) * 2 + np.arange(48) % 2).astype(np.int32), 100, 60.0
        )
        labels = kernel.labels
        cost = cost_of(X, labels, 4, weight)
        assert_allclose(kernel.cost, cost, rtol=1e-12)
        for x, y in pairs:
            moved = labels.copy()
            moved[[x, y]] = labels[[y, x]]
            assert cost_of(X, moved, 4, weight) >= cost * (1 - 1e-9)


@pytest.mark.parametrize("local_search", ["auto", False])
def test_lloyd_loop_with_momentum_never_leads_up(local_search):
    X = directions(400, 6, 2)
    problem = Problem.build(unit(X), 5, size_min=70, size_max=90)
    object.__setattr__(problem, "unit_centers", True)
    run = restarts.plan_run(Steps(problem), Start(X, "k-means++"), 0, search=local_search)
    found = run(3)
    assert_allclose(found.inertia, cost_of(X, found.block_labels, 5), rtol=1e-9)
    assert_allclose(np.linalg.norm(found.centers, axis=1), 1.0)
    again = run.loop.run(found.centers, None)
    assert again.objective <= found.objective * (1 + 1e-12)


def test_blocks_without_a_direction():
    """Rows that must share a cluster may cancel out: their block costs the same everywhere."""
    X = np.vstack([np.eye(3), -np.eye(3), directions(6, 3, 1)])
    links = [(0, 3), (1, 4), (2, 5)]
    for local_search, init in itertools.product(["auto", False], ["k-means++", "random"]):
        model = fitted(X, 3, must_link=links, local_search=local_search, init=init)
        check_cosine(model, X)
    alone = fitted(X[:6], 3, must_link=links)
    assert_allclose(alone.inertia_, 12.0)
    assert_allclose(np.linalg.norm(alone.cluster_centers_, axis=1), 1.0)


@pytest.mark.parametrize("asked", [{}, {"size_max": 17}, LINKS])
def test_lengths_of_rows_do_not_count(asked):
    factors = np.random.default_rng(0).uniform(1e-3, 1e3, size=(60, 1))
    one, two = fitted(X60, 4, **asked), fitted(X60 * factors, 4, **asked)
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.inertia_, two.inertia_, rtol=1e-12)
    tiny = fitted(np.vstack([X60[:-1], 1e-100 * X60[-1:]]), 4, **asked)
    assert_array_equal(one.labels_, tiny.labels_)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_one_weight_for_all_rows_does_not_count(factor):
    for asked in ({}, {"size_max": 17}, LINKS):
        one, two = fitted(X60, 4, **asked), fitted(X60, 4, sample_weight=np.full(60, factor), **asked)
        assert_array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("asked", [{}, {"size_max": 17}, LINKS])
def test_single_precision_and_sparse_rows(asked):
    X = np.where(np.arange(300).reshape(60, 5) % 3 == 1, 0.0, X60)
    dense, sparse = fitted(X, 4, **asked), fitted(csr_array(X), 4, **asked)
    assert_array_equal(dense.labels_, sparse.labels_)
    assert_allclose(dense.inertia_, sparse.inertia_, rtol=1e-12)
    assert_array_equal(sparse.predict(csr_array(3.0 * X)), dense.predict(X))
    single = fitted(X.astype(np.float32), 4, **asked)
    check_cosine(single, X.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    assert_allclose(single.inertia_, dense.inertia_, rtol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_rows_of_length_zero_are_refused_by_number(make):
    X = X60.copy()
    X[[7, 31]] = 0.0
    with pytest.raises(ValueError, match=r"length zero.*7, 31"):
        fitted(make(X), 4)
    model = fitted(X60, 4)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match=r"length zero.*31"):
            method(make(np.where(np.arange(60)[:, None] == 31, 0.0, X60)))
    with pytest.raises(ValueError, match=r"length zero.*2"):
        fitted(X60, 4, init=np.where(np.arange(4)[:, None] == 2, 0.0, X60[:4]))


def test_fitted_model_measures_new_rows_the_same_way():
    model = fitted(X60, 4)
    given = X60.copy()
    for found in (model, pickle.loads(pickle.dumps(model))):
        assert_array_equal(found.predict(5.0 * X60), model.labels_)
        cosine = unit(X60) @ model.cluster_centers_.T
        assert_allclose(found.transform(X60), np.sqrt(2.0 * (1.0 - cosine)), rtol=1e-6)
        assert_allclose(found.score(0.1 * X60), -model.inertia_, rtol=1e-9)
    assert_array_equal(X60, given)
    sized = model.predict(X60, size_max=15)
    assert np.bincount(sized).max() <= 15
    assert_array_equal(clone(model).fit(X60).labels_, model.labels_)
    given_centers = fitted(X60, 4, init=10.0 * model.cluster_centers_)
    assert_array_equal(given_centers.labels_, model.labels_)
    drawn = fitted(X60, 4, init=lambda X, k, random_state: 3.0 * X[:k])
    check_cosine(drawn, X60)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows_are_not_copied(dtype):
    X = unit(np.random.default_rng(0).normal(size=(40_000, 64))).astype(dtype)

    def taken(rows):
        tracemalloc.start()
        found = unit_rows(rows)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found, most

    found, most = taken(X)
    assert found is X
    assert most <= 0.2 * X.nbytes
    sparse = csr_array(X)
    assert unit_rows(sparse) is sparse
    found, most = taken(2 * X)
    assert_allclose(found, X, rtol=1e-5)
    assert found.dtype == dtype
    assert most <= 1.2 * X.nbytes
    assert np.shares_memory(ConstrainedKMeans(3, metric="cosine").fit(X[:50])._measured(X), X)


def test_what_cosine_does_not_take():
    model = fitted(X60, 4)
    with pytest.raises(ValueError, match="no lower bound"):
        model.certify(X60)
    path = np.column_stack([np.arange(59), np.arange(1, 60)])
    with pytest.raises(ValueError, match="does not take connectivity"):
        fitted(X60, 4, connectivity=path)
    # Places with unequal demand would be annealed; directions in two dimensions are not.
    demand = np.random.default_rng(0).uniform(1.0, 2.0, 40)
    plane = directions(40, 2, 3)
    check_cosine(fitted(plane, 4, demand=demand, size_tolerance=0.1), plane)


def test_questions_are_about_directions():
    lengths = np.random.default_rng(1).uniform(0.01, 100.0, size=(60, 1))
    one, two = (
        suggest_pairs(X, 4, ask=8, strategy="margin", metric="cosine", random_state=0) for X in (X60, lengths * X60)
    )
    assert_array_equal(one, two)


def test_last_step_is_proved_at_unit_centers():
    model = fitted(X60, 4, size_min=14, size_max=16, time_limit=20)
    assert model.step_gap_ == 0.0
    assert_array_equal(np.bincount(model.predict(X60, size_min=14, size_max=16)), np.bincount(model.labels_))
    squared = model.transform(X60) ** 2
    own = squared[np.arange(60), model.labels_].sum()
    there = squared[np.arange(60), model.predict(X60, size_min=14, size_max=16)].sum()
    assert_allclose(own, there, rtol=1e-12)
