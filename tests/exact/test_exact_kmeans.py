"""ExactKMeans: against enumeration, for each bound and every kind of constraint, and on published instances."""

import itertools
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, load_wine

from checks import check_fit
from clusterings import best_sse, random_pairs, sse
from effort import examples
from konstrain import ConstrainedKMeans, ExactKMeans, InfeasibleError, lower_bound
from konstrain.constraints import Problem
from konstrain.exact import MaxOverlap, MaxSize
from konstrain.exact.columns.generation import ColumnGenerationBound
from konstrain.exact.nodes import ColumnNode, Outcome
from konstrain.exact.solve import _is_for_columns
from konstrain.exact.task import ProofTask
from konstrain.exact.tree import Tree
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans.search import Search
from konstrain.stop import Budget
from oracles import all_labelings

IRIS = load_iris().data


def tiny(rng, kind):
    """Rows, number of clusters, links and sizes of a small problem."""
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2)) if rng.random() < 0.8 else rng.integers(0, 3, (n, 2)).astype(float)
    links, sizes = {}, {}
    if "links" in kind:
        pairs = rng.integers(0, n, (int(rng.integers(1, 7)), 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        must = rng.random(len(pairs)) < 0.4
        links = {"must_link": pairs[must], "cannot_link": pairs[~must]}
    if "sizes" in kind:
        sizes = {"size_min": int(rng.integers(1, 3)), "size_max": int(rng.integers(n // k, n))}
    if "most" in kind:
        sizes = {"size_max": int(rng.integers(n // k, n))}
    return X, k, links, sizes


@pytest.mark.parametrize(
    ("bound", "kind"),
    [("sdp", "links"), ("sdp", "links sizes"), ("column-generation", "links"), ("column-generation", "links most")],
)
def test_the_optimum_equals_enumeration_or_is_proved_infeasible(bound, kind):
    rng = np.random.default_rng(sum(map(ord, bound + kind)))
    n_infeasible = 0
    for _ in range(examples(80)):
        X, k, links, sizes = tiny(rng, kind)
        if sizes.get("size_min", 0) > sizes.get("size_max", 9):
            continue
        best = best_sse(X, k, **links, **sizes)
        model = ExactKMeans(k, **sizes, bound=bound, gap=1e-6, random_state=0)
        if np.isinf(best):
            n_infeasible += 1
            with pytest.raises(InfeasibleError):
                model.fit(X, **links)
            continue
        model.fit(X, **links)
        check_fit(model, X, **links, **sizes)
        assert model.is_optimal_
        assert model.lower_bound_ <= best + 1e-9
        np.testing.assert_allclose(model.inertia_, best, rtol=1e-5, atol=1e-9)
    assert n_infeasible > 0


@pytest.mark.parametrize("bound", ["auto", "column-generation", "sdp"])
def test_bounds_of_single_clusters_equal_enumeration(bound):
    rng = np.random.default_rng(11)
    for _ in range(12):
        X = rng.normal(size=(6, 2))
        low = rng.integers(0, 4, 3)
        sizes = {"size_min": low, "size_max": low + rng.integers(0, 4, 3)}
        best = best_sse(X, 3, **sizes)
        model = ExactKMeans(3, **sizes, bound=bound, random_state=0)
        if np.isinf(best):
            with pytest.raises(InfeasibleError):
                model.fit(X)
            continue
        model.fit(X)
        check_fit(model, X, **sizes)
        assert model.is_optimal_
        np.testing.assert_allclose(model.inertia_, best, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("sizes", "demand", "is_for"),
    [
        ({"size_min": 1}, None, True),
        ({"size_min": 2}, None, False),
        ({"size_min": 20}, [20.0, 30.0, 25.0, 40.0], True),
        ({"size_min": 1}, [0.4, 0.7, 0.7, 0.4], False),
        ({"size_max": 3}, None, True),
        ({"size_max": [3, 2]}, None, False),
    ],
)
def test_column_generation_is_chosen_where_it_knows_the_sizes(sizes, demand, is_for):
    problem = Problem.build([[0.0], [1.0], [2.0], [9.0]], 2, demand=demand, **sizes)
    assert _is_for_columns(problem) is is_for


@pytest.mark.parametrize("rule", ["size", "overlap", "own"])
def test_constraints_on_single_clusters_equal_enumeration(rule):
    class NoMoreThanTwoEvenRows:
        def allows(self, cluster, joining):
            return int((cluster % 2 == 0).sum() + (joining % 2 == 0).sum()) <= 2

    rules = {"size": MaxSize(3), "overlap": MaxOverlap([0, 1, 2, 3], 2), "own": NoMoreThanTwoEvenRows()}
    rng = np.random.default_rng(3)
    nobody = np.zeros(0, dtype=np.int32)
    for _ in range(examples(25)):
        X, k = rng.normal(size=(7, 2)), 3
        best = np.inf
        for labels in np.insert(all_labelings(6, k), 0, 0, axis=1):
            parts = [np.flatnonzero(labels == j).astype(np.int32) for j in range(k)]
            if all(part.size and rules[rule].allows(nobody, part) for part in parts):
                best = min(best, sum(float(((X[p] - X[p].mean(0)) ** 2).sum()) for p in parts))
        model = ExactKMeans(k, random_state=0).fit(X, cluster_constraints=[rules[rule]])
        np.testing.assert_allclose(model.inertia_, best, rtol=1e-6)
        assert model.is_optimal_


def test_a_clustering_unlike_a_given_one_is_the_best_of_those():
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(c, 0.3, (6, 2)) for c in ((0, 0), (0, 4), (4, 0), (4, 4))])
    first = ExactKMeans(2, random_state=0).fit(X)
    second = ExactKMeans(2, random_state=0).fit(X, alternative_to=first.labels_, alternative_limit=7)
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, (first.labels_, second.labels_), 1)
    assert table.max() <= 7
    assert second.is_optimal_
    with pytest.raises(ValueError, match="alternative_limit"):
        ExactKMeans(2).fit(X, alternative_to=first.labels_)


def test_a_clustering_of_other_rows_to_differ_from_is_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[150, 4\]"):
        ExactKMeans(3).fit(IRIS, alternative_to=[0, 0, 1, 1], alternative_limit=50)


@pytest.mark.published
def test_balanced_iris_is_the_published_value_and_proved():
    model = ExactKMeans(3, 50, 50, random_state=0).fit(IRIS)
    assert model.inertia_ == pytest.approx(81.2778, abs=1e-4)
    assert model.is_optimal_
    assert model.gap_ <= 1e-6


def test_both_bounds_prove_the_same_iris():
    rng = np.random.default_rng(0)
    must, cannot = random_pairs(rng, load_iris().target, 300)
    one, other = (
        ExactKMeans(3, bound=bound, gap=1e-5, random_state=seed).fit(IRIS, must_link=must, cannot_link=cannot)
        for seed, bound in enumerate(["sdp", "column-generation"])
    )
    assert one.is_optimal_
    assert other.is_optimal_
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-5)


def test_branching_closes_what_the_root_leaves_open():
    """Few blocks and many conflicts: the relaxation alone is not enough, and bounds never fall."""
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(examples(40)):
        X = rng.normal(size=(12, 1))
        pairs = rng.integers(0, 12, (9, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        try:
            model = ExactKMeans(3, bound="sdp", gap=1e-7, random_state=0).fit(X, cannot_link=pairs)
        except InfeasibleError:
            continue
        assert model.is_optimal_
        bounds = [point.lower_bound for point in model.trace_]
        assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(bounds))
        seen += 1
    assert seen > examples(10)


def test_single_precision_does_not_lift_the_bound_above_the_cost():
    """Blocks far from the origin: their means have few digits in single precision."""
    X = (np.random.default_rng(9).normal(size=(20, 2)) + 1e5).astype(np.float32)
    must = [(i, i + 1) for i in range(0, 10, 2)]
    model = ExactKMeans(3, random_state=0).fit(X, must_link=must)
    assert model.cluster_centers_.dtype == np.float32
    assert model.inertia_ == pytest.approx(sse(X, model.labels_), rel=1e-9)
    assert model.lower_bound_ <= model.inertia_
    assert model.inertia_ == pytest.approx(lower_bound(X, 3, must_link=must).best_cost, rel=1e-6)


def test_two_workers_agree_with_one_up_to_the_gap():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 2))
    one = ExactKMeans(4, gap=1e-5, random_state=0).fit(X)
    two = ExactKMeans(4, gap=1e-5, random_state=0, n_jobs=2).fit(X)
    assert one.inertia_ == pytest.approx(two.inertia_, rel=2e-5)


class TestLimits:
    def test_a_time_limit_returns_labels_and_a_valid_bound_with_a_warning(self):
        X = load_wine().data
        model = ExactKMeans(5, gap=1e-9, time_limit=0.2, random_state=0)
        with pytest.warns(NotProvenWarning, match="a limit was reached before the optimum was proved"):
            model.fit(X)
        assert not model.is_optimal_
        assert 0 <= model.lower_bound_ < model.inertia_

    def test_a_node_limit_ends_the_search(self):
        rng = np.random.default_rng(7)
        X = rng.random((40, 2))
        with pytest.warns(NotProvenWarning):
            model = ExactKMeans(6, bound="sdp", gap=1e-12, node_limit=1, random_state=0).fit(X)
        assert model.n_nodes_ == 1

    def test_a_callback_may_end_the_search(self):
        X, told = np.random.default_rng(8).normal(size=(15, 2)), []
        model = ExactKMeans(
            3, [3, 4, 5], [6, 6, 6], random_state=0, callback=lambda point: told.append(point) or len(told) == 1
        )
        with pytest.warns(NotProvenWarning, match="interrupted before the optimum was proved"):
            model.fit(X)
        assert len(told) == model.n_nodes_ == 1
        assert told[-1].lower_bound == model.lower_bound_ < model.inertia_
        check_fit(model, X, size_min=[3, 4, 5], size_max=[6, 6, 6])

    @pytest.mark.parametrize("during", ["the first search", "the search at a node"])
    def test_an_interrupt_ends_everything_and_proves_nothing(self, during, monkeypatch):
        """Wherever it strikes, the part of the tree that was not looked at still counts."""
        X = np.random.default_rng(8).normal(size=(15, 2))
        first_centers, calls = Search._first_centers, itertools.count()

        def interrupted(*_):
            raise KeyboardInterrupt

        if during == "the first search":
            monkeypatch.setattr(
                Search, "_first_centers", lambda *args: first_centers(*args) if next(calls) < 2 else interrupted()
            )
        else:
            monkeypatch.setattr("konstrain.exact.solve._improve", interrupted)
        model = ExactKMeans(3, size_min=[3, 4, 5], size_max=[6, 6, 6], random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with pytest.warns(NotProvenWarning, match="interrupted before the optimum was proved"):
                model.fit(X)
        assert not model.is_optimal_
        # Before there is a root, no relaxation is set up for its sake: of thousands of rows that takes seconds.
        assert (model.n_nodes_, model.prover_) == ((0, "") if during == "the first search" else (1, "sdp"))
        check_fit(model, X, size_min=[3, 4, 5], size_max=[6, 6, 6])

    def test_progress_names_bound_incumbent_gap_and_nodes(self, capsys):
        ExactKMeans(3, random_state=0, verbose=1).fit(IRIS[::3])
        err = capsys.readouterr().err
        assert all(word in err for word in ("bound", "incumbent", "gap", "open nodes"))


class TestRefusals:
    def test_soft_links_are_refused(self):
        with pytest.raises(ValueError, match="ExactKMeans takes none"):
            ExactKMeans(3).fit(IRIS, must_link=[(0, 1, 0.5)])

    def test_rows_without_weight_are_refused(self):
        weight = np.ones(150)
        weight[7] = 0
        with pytest.raises(ValueError, match=r"row 7 .* weight 0"):
            ExactKMeans(3).fit(IRIS, sample_weight=weight)

    def test_contradictions_are_explained(self):
        with pytest.raises(InfeasibleError, match="contradicts must_link path"):
            ExactKMeans(3).fit(IRIS, must_link=[(0, 1)], cannot_link=[(0, 1)])


class TestCertify:
    def test_a_good_fit_is_certified_under_its_own_constraints(self):
        must, cannot = random_pairs(np.random.default_rng(8), load_iris().target, 50)
        model = ConstrainedKMeans(3, random_state=0).fit(IRIS, must_link=must, cannot_link=cannot)
        certificate = model.certify(IRIS, gap=1e-4)
        assert certificate.is_optimal
        assert certificate.lower_bound <= model.inertia_ + 1e-9
        assert certificate.cost == pytest.approx(model.inertia_)

    def test_bad_labels_get_a_large_gap_and_the_better_clustering(self):
        labels = np.arange(150) % 3
        certificate = lower_bound(IRIS, 3, labels=labels, gap=1e-4)
        assert not certificate.is_optimal
        assert certificate.gap > 0.8
        assert certificate.best_cost == pytest.approx(78.8514, abs=1e-4)

    @pytest.mark.parametrize(
        ("n_clusters", "constraints", "words"),
        [
            (3, {"must_link": [(3, 6), (6, 7)]}, "rows 3 and 7 must share a cluster, but do not"),
            (3, {"cannot_link": [(0, 1), (8, 2)]}, "rows 2 and 8 must not share a cluster, but do"),
            (4, {}, "there are 4 clusters to fill, but labels fill 3"),
            (3, {"size_min": [50, 40, 51]}, "size_min and size_max are not kept by the sizes 50, 50, 50"),
        ],
    )
    def test_labels_that_break_the_constraints_are_refused_by_what_they_break(self, n_clusters, constraints, words):
        with pytest.raises(ValueError, match=f"do not satisfy .*: {words}"):
            lower_bound(IRIS, n_clusters, labels=np.arange(150) % 3, **constraints)

    def test_sparse_rows_can_be_certified(self):
        from scipy.sparse import csr_array

        rows = csr_array(np.where(IRIS < 0.5, 0.0, IRIS))
        assert ConstrainedKMeans(3, random_state=0, n_init=3).fit(rows).certify(rows, gap=1e-4).is_optimal

    @pytest.mark.parametrize("limits", [{"gap": 0.0}, {"time_limit": -1.0}])
    def test_impossible_limits_are_refused(self, limits):
        with pytest.raises(ValueError, match=next(iter(limits))):
            lower_bound(IRIS, 3, **limits)

    def test_what_the_caller_changes_afterwards_changes_no_certificate(self):
        X = np.array([[0.0], [0.1], [5.0], [5.2], [9.0]])
        given = {
            "must_link": [[0, 4]],
            "cannot_link": np.array([[0, 2]]),
            "sample_weight": np.array([1.0, 2.0, 1.0, 1.0, 3.0]),
            "demand": [1.0, 1.0, 1.0, 1.0, 2.0],
        }
        size_max = np.array([4.0, 4.0])
        model = ConstrainedKMeans(2, size_max=size_max, random_state=0).fit(X, **given)
        before = model.certify(X)
        given["must_link"][0][1] = 2
        given["cannot_link"][:] = [[0, 4]]
        given["sample_weight"][:] = 1.0
        given["demand"][0] = 9.0
        size_max[:] = 3.0
        model.set_params(size_min=2)
        after = model.certify(X)
        assert (after.lower_bound, after.cost) == (before.lower_bound, before.cost)


def test_a_bound_that_does_not_exist_is_refused():
    with pytest.raises(
        ValueError, match="bound must be one of 'auto', 'column-generation', 'columns', 'sdp', 'parts', got 'SDP'"
    ):
        lower_bound(IRIS, 3, bound="SDP")


@pytest.mark.parametrize("estimator", [ConstrainedKMeans, ExactKMeans])
def test_links_from_a_generator_count_everywhere(estimator):
    """Fit reads links more than once, and `certify` asks about them again."""
    X = [[0.0], [1.0], [5.0], [6.0]]
    model = estimator(2, random_state=0).fit(X, must_link=(pair for pair in [(0, 3)]), cannot_link=iter([(0, 1)]))
    assert model.labels_[0] == model.labels_[3] != model.labels_[1]
    if estimator is ConstrainedKMeans:
        assert model.certify(X).cost == pytest.approx(model.inertia_)
        assert model.certify(X).is_optimal


class _Counted:
    """A node of a chain whose bound never rises, each with one child until the last."""

    prover = "sdp"

    def __init__(self, left: int) -> None:
        self.left, self.lower_bound = left, 0.0

    def run(self, upper_bound, gap, budget, on_progress=None):
        return Outcome("open")

    def pair(self):
        return (0, 1) if self.left else None

    def children(self, pair):
        return [_Counted(self.left - 1)]


def test_better_clusterings_are_searched_for_ever_less_often_and_in_the_last_node():
    X = np.arange(6.0)[:, None]
    task = ProofTask(X, Problem.build(X, 2))
    searched = []
    tree = Tree(task, gap=1e-6, budget=Budget(None), improve=lambda node: searched.append(node.left))
    tree.offer(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    tree.search(_Counted(21))
    # Nodes 1, 2, 4, 8 and 16 of 22, and the last one.
    assert searched == [21, 20, 18, 14, 6, 0]


def test_a_node_that_ended_when_time_was_over_stays_open_without_children():
    class Late(_Counted):
        def run(self, upper_bound, gap, budget, on_progress=None):
            while not budget.expired():
                pass
            return super().run(upper_bound, gap, budget)

        def children(self, pair):
            raise AssertionError("they would not be bounded")

    X = np.arange(6.0)[:, None]
    searched = []
    tree = Tree(ProofTask(X, Problem.build(X, 2)), gap=1e-6, budget=Budget(0.01), improve=searched.append)
    tree.offer(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    tree.search(Late(3))
    assert (tree.n_nodes, tree.lower_bound, searched) == (1, 0.0, [])


@pytest.mark.parametrize("bound", ["columns", "column-generation", "sdp"])
def test_the_bound_that_proved_is_named(bound):
    X = np.random.default_rng(0).normal(size=(20, 13))
    assert ExactKMeans(3, bound=bound, random_state=0).fit(X[:, :2]).prover_ == bound
    assert ExactKMeans(10, random_state=0).fit(X[:, :2]).prover_ == "columns"
    assert ExactKMeans(10, random_state=0).fit(X).prover_ == "column-generation"
    assert ExactKMeans(2, random_state=0).fit(X).prover_ == "sdp"


class Fixed(BaseEstimator):
    """A clusterer that gives the labels it was made with."""

    def __init__(self, labels=None, random_state=None):
        self.labels = labels
        self.random_state = random_state

    def fit(self, X, must_link=None, cannot_link=None):
        self.seen_ = (must_link, cannot_link)
        self.labels_ = np.asarray(self.labels)
        return self


def no_search(*args, **kwargs):
    raise AssertionError("our own search was asked")


@pytest.mark.parametrize("bound", ["auto", "column-generation", "sdp"])
@pytest.mark.parametrize("kind", ["good", "bad", "broken"])
def test_a_given_start_replaces_the_search_and_changes_no_optimum(bound, kind, monkeypatch):
    X = np.random.default_rng(3).normal(size=(14, 2)) + 3 * (np.arange(14) % 2)[:, None]
    links = {"must_link": [(0, 2)], "cannot_link": [(4, 6), (1, 3)]}
    best = ExactKMeans(3, random_state=0).fit(X, **links)
    start = {"good": best.labels_, "bad": np.arange(14) % 3, "broken": np.zeros(14, dtype=int)}[kind]
    if kind == "bad":
        start[[0, 2]] = 0
    # Nodes below the root may search; the root must not.
    monkeypatch.setattr("konstrain.exact.solve._kmeans", lambda *given: no_search() if given[2] is None else None)
    model = ExactKMeans(3, bound=bound, init=Fixed(start), random_state=0).fit(X, **links)
    assert model.is_optimal_
    assert model.inertia_ == pytest.approx(best.inertia_, rel=1e-6)


def test_column_generation_begins_with_the_clusters_of_a_start_that_break_nothing(monkeypatch):
    begun = []

    def root(task, seed, labels=None, **options):
        begun.append(labels)
        return made(task, seed, labels, **options)

    made = ColumnNode.root
    monkeypatch.setattr(ColumnNode, "root", root)
    X = np.arange(8.0)[:, None]
    start = [0, 0, 1, 1, 2, 2, 2, 2]  # 6 and 7 may not share a cluster
    ExactKMeans(3, bound="column-generation", init=Fixed(start), random_state=0).fit(X, cannot_link=[(6, 7)])
    np.testing.assert_array_equal(begun[0], start)


def test_a_start_gets_the_links_and_a_seed_if_it_has_none():
    fitted = []

    class Seen(Fixed):
        def fit(self, X, **links):
            fitted.append((self.random_state, sorted(links)))
            return super().fit(X, **links)

    X = np.arange(6.0)[:, None]
    for seed in (None, 5):
        ExactKMeans(2, init=Seen([0, 0, 0, 1, 1, 1], seed), random_state=0).fit(X, cannot_link=[(0, 5)])
    assert [links for _, links in fitted] == [["cannot_link"]] * 2
    assert isinstance(fitted[0][0], int)
    assert fitted[1][0] == 5


def test_a_start_that_is_no_clusterer_is_refused():
    with pytest.raises(ValueError, match="'init' parameter of ExactKMeans"):
        ExactKMeans(2, init=[0, 1]).fit([[0.0], [1.0]])


@pytest.mark.parametrize("switches", [{"stabilization": "perturbation"}, {"local_pricing": False}])
def test_the_switches_of_the_paper_reach_every_node(switches, monkeypatch):
    made = []
    create = ColumnGenerationBound.__init__

    def note(self, *args, **options):
        create(self, *args, **options)
        made.append({name: self._switches[name] for name in switches})

    monkeypatch.setattr(ColumnGenerationBound, "__init__", note)
    # Odd cycles of conflicts: the root does not close.
    X = np.random.default_rng(2).normal(size=(9, 2))
    links = [(i, (i + 1) % 9) for i in range(9)]
    model = ExactKMeans(3, bound="column-generation", random_state=0, **switches).fit(X, cannot_link=links)
    assert model.is_optimal_
    assert model.inertia_ == pytest.approx(
        ExactKMeans(3, bound="sdp", random_state=0).fit(X, cannot_link=links).inertia_
    )
    assert made == [switches] * len(made)
    assert len(made) >= model.n_nodes_


@pytest.mark.parametrize("bound", ["sdp", "columns"])
def test_switches_of_another_bound_are_refused(bound):
    with pytest.raises(ValueError, match=rf"stabilization='perturbation' is a switch .* not of bound='{bound}'"):
        ExactKMeans(2, bound=bound, stabilization="perturbation").fit([[0.0], [1.0], [2.0]])


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no signals for threads")
def test_an_interrupt_leaves_no_worker_behind():
    """A thread that still computes when Python ends aborts it."""
    X = np.arange(8.0)[:, None]
    calls, ended = itertools.count(), []

    class Waiting:
        prover, lower_bound = "waiting", 0.0

        def run(self, upper_bound, gap, budget, on_progress=None):
            if next(calls) == 0:
                time.sleep(0.1)  # until both have begun
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            began = time.perf_counter()
            while not budget.expired() and time.perf_counter() - began < 1.0:
                time.sleep(0.01)
            ended.append(self)
            return Outcome("limit")

    tree = Tree(ProofTask(X, Problem.build(X, 2)), gap=1e-6, budget=Budget(None), n_jobs=2)
    tree.offer(np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.int32))
    for _ in range(3):
        tree._push(Waiting())
    tree.search(Waiting())
    assert tree.interrupted
    assert tree.lower_bound == 0.0
    assert tree.budget.expired()
    assert len(ended) >= 2
