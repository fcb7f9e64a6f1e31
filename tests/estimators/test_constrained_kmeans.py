"""The front door: what it promises, on real data and against enumeration."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from checks import check_fit
from clusterings import best_sse, fit, random_pairs, sse
from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, Problem, Violations, count_violations
from konstrain.estimators.constrained_kmeans import _mean_variance
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans.loop import Loop, lloyd
from konstrain.kmeans.steps import Steps

IRIS, SPECIES = load_iris(return_X_y=True)
WINE, CULTIVAR = load_wine(return_X_y=True)


def test_everything_at_once_holds(seed):
    rng = np.random.default_rng(seed)
    must, cannot = random_pairs(rng, SPECIES, 60)
    weight = rng.integers(1, 4, 150).astype(float)
    model = fit(
        IRIS,
        size_min=45,
        size_max=[55, 60, 52],
        fit_arguments={"must_link": must, "cannot_link": cannot, "sample_weight": weight},
    )
    check_fit(
        model, IRIS, must_link=must, cannot_link=cannot, sample_weight=weight, size_min=45, size_max=[55, 60, 52]
    )
    assert model.n_violations_ == 0


def test_balanced_iris_is_the_published_optimum():
    model = ConstrainedKMeans(3, size_min=50, size_max=50, random_state=0).fit(IRIS)
    check_fit(model, IRIS, size_min=50, size_max=50)
    assert model.inertia_ == pytest.approx(81.2778, abs=1e-4)


def test_demand_is_what_sizes_count(seed):
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.5, 3.0, 150)
    limit = 1.05 * demand.sum() / 3
    model = fit(IRIS, size_max=limit, fit_arguments={"demand": demand})
    check_fit(model, IRIS, demand=demand, size_max=limit)


@pytest.mark.parametrize("kind", ["links", "sizes", "both"])
def test_tiny_problems_are_solved_to_the_best_there_is(kind):
    rng = np.random.default_rng(2)
    missed = solved = 0
    n_tried = examples(80)
    for _ in range(n_tried):
        X, k = rng.normal(size=(7, 2)), int(rng.integers(2, 4))
        links = {}
        if kind != "sizes":
            must, cannot = random_pairs(rng, rng.integers(0, k, 7), 4)
            links = {"must_link": must, "cannot_link": cannot}
        sizes = {"size_min": 2, "size_max": 4} if kind != "links" else {}
        best = best_sse(X, k, **links, **sizes)
        model = ConstrainedKMeans(k, random_state=0, **sizes)
        if np.isinf(best):
            with pytest.raises(InfeasibleError):
                model.fit(X, **links)
            continue
        model.fit(X, **links)
        check_fit(model, X, **links, **sizes)
        assert model.inertia_ >= best - 1e-9
        missed += model.inertia_ > best + 1e-9
        solved += 1
    assert solved >= 0.4 * n_tried
    assert missed <= 0.05 * solved


def test_the_objective_never_rises_within_a_run(seed):
    rng = np.random.default_rng(seed)
    must, cannot = random_pairs(rng, SPECIES, 60)
    wrong = random_pairs(rng, rng.permutation(SPECIES), 60)[1]
    confidence = np.column_stack([wrong, rng.uniform(0.1, 1.0, len(wrong))])
    kinds = {
        "links": {"must_link": must, "cannot_link": cannot},
        "sizes": {"size_min": 48, "size_max": 52},
        "both": {"must_link": must, "cannot_link": cannot, "size_min": 45, "size_max": 55},
        "soft": {"cannot_link": confidence},
        "soft and sizes": {"cannot_link": confidence, "size_min": 45, "size_max": 55},
    }
    for name, constraints in kinds.items():
        problem = Problem.build(IRIS, 3, **constraints)
        trace = []

        class Traced(Steps):
            def step(self, centers, warm, trace=trace):
                answer = super().step(centers, warm)
                after = self.centers_of(answer.labels, centers)
                trace.append(answer.cost)
                trace.append(self.cost_of(answer.labels, after))
                return answer

        steps = Traced(problem, violation_cost=2.0 if problem.has_soft_links else None)
        Loop(lloyd, steps).run(IRIS[rng.choice(150, 3, replace=False)])
        constant = problem.constant_penalty * (steps.violation_cost or 0.0)
        trace = np.array(trace) + np.array([constant, 0.0] * (len(trace) // 2))
        assert len(trace) > 4, name
        assert (np.diff(trace) <= 1e-9 * trace[:-1]).all(), name


class TestSoftLinks:
    def test_objective_is_inertia_plus_the_price_of_broken_links(self, seed):
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, 150, (80, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        confidence = rng.uniform(0.1, 1.0, len(pairs))
        model = fit(IRIS, violation_cost=0.7, fit_arguments={"cannot_link": np.column_stack([pairs, confidence])})
        broken = model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]
        assert 0 < broken.sum() == model.n_violations_
        np.testing.assert_allclose(model.objective_, model.inertia_ + 0.7 * confidence[broken].sum())
        np.testing.assert_allclose(model.inertia_, sse(IRIS, model.labels_))

    def test_opposite_links_of_equal_confidence_cancel(self):
        start = IRIS[[0, 60, 120]]
        both = {"must_link": [(0, 140, 0.8)], "cannot_link": [(140, 0, 0.8)]}
        with_links = ConstrainedKMeans(3, init=start).fit(IRIS, **both)
        without = ConstrainedKMeans(3, init=start).fit(IRIS)
        np.testing.assert_array_equal(with_links.labels_, without.labels_)

    def test_a_high_price_keeps_what_a_low_one_breaks(self):
        links = {"must_link": [(0, 140, 1.0)]}
        assert fit(IRIS, violation_cost=1e-6, fit_arguments=links).n_violations_ == 1
        assert fit(IRIS, violation_cost=1e6, fit_arguments=links).n_violations_ == 0

    def test_an_infinite_confidence_is_a_hard_link(self):
        links = {"must_link": [(0, 140, np.inf), (1, 141, 0.5)]}
        model = fit(IRIS, violation_cost=1e-6, fit_arguments=links)
        assert model.labels_[0] == model.labels_[140]
        assert model.labels_[1] != model.labels_[141]

    @pytest.mark.parametrize(("X", "truth"), [(IRIS, SPECIES), (WINE, CULTIVAR)], ids=["iris", "wine"])
    @pytest.mark.parametrize("noise", [0.05, 0.1])
    def test_wrong_links_hurt_less_than_when_they_are_hard(self, X, truth, noise):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        hard_scores, soft_scores = [], []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            pairs = rng.integers(0, len(X), (len(X), 2))
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            same = (truth[pairs[:, 0]] == truth[pairs[:, 1]]) ^ (rng.random(len(pairs)) < noise)
            soft = np.column_stack([pairs, np.full(len(pairs), 0.9)])
            soft_model = fit(X, fit_arguments={"must_link": soft[same], "cannot_link": soft[~same]})
            soft_scores.append(adjusted_rand_score(truth, soft_model.labels_))
            try:
                hard_model = fit(X, fit_arguments={"must_link": pairs[same], "cannot_link": pairs[~same]})
            except InfeasibleError:
                hard_scores.append(0.0)  # wrong links contradict each other: no clustering at all
            else:
                hard_scores.append(adjusted_rand_score(truth, hard_model.labels_))
        assert np.mean(soft_scores) > np.mean(hard_scores)


class TestDropIn:
    @pytest.mark.parametrize("X", [IRIS, WINE, load_digits().data], ids=["iris", "wine", "digits"])
    @pytest.mark.parametrize("seed", range(3))
    def test_same_start_as_kmeans_gives_the_same_labels_and_inertia(self, X, seed):
        start = X[np.random.default_rng(seed).choice(len(X), 5, replace=False)]
        theirs = KMeans(5, init=start, n_init=1, tol=0).fit(X)
        ours = ConstrainedKMeans(5, init=start, tol=0).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.inertia_, theirs.inertia_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ours.score(X), theirs.score(X))

    def test_parameters_of_kmeans_constrained_are_understood(self):
        model = ConstrainedKMeans(
            n_clusters=3,
            size_min=30,
            size_max=70,
            init="k-means++",
            n_init=2,
            max_iter=300,
            tol=1e-4,
            verbose=False,
            random_state=0,
            copy_x=True,
            n_jobs=1,
        ).fit(IRIS)
        check_fit(model, IRIS, size_min=30, size_max=70)


class TestInit:
    def test_a_callable_is_asked_for_every_restart(self):
        seeds = []

        def start(X, n_clusters, random_state):
            rows = random_state.permutation(len(X))[:n_clusters]
            seeds.append(tuple(rows))
            return X[rows]

        fit(IRIS, init=start, n_init=4)
        assert len(seeds) == 4
        assert len(set(seeds)) == 4

    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_named_starts_work_with_links(self, init, seed):
        must, cannot = random_pairs(np.random.default_rng(seed), SPECIES, 40)
        model = fit(IRIS, init=init, fit_arguments={"must_link": must, "cannot_link": cannot})
        check_fit(model, IRIS, must_link=must, cannot_link=cannot)

    def test_centers_of_another_shape_are_refused(self):
        for init in (IRIS[:2], IRIS[:3, :3]):
            with pytest.raises(ValueError, match="The shape of the initial centers") as ours:
                ConstrainedKMeans(3, init=init).fit(IRIS)
            with pytest.raises(ValueError, match="The shape of the initial centers") as theirs:
                KMeans(3, init=init).fit(IRIS)
            assert str(ours.value) == str(theirs.value)

    def test_given_centers_are_one_start_and_more_are_warned_of_as_in_scikit_learn(self):
        words = "position passed: performing only one init in ConstrainedKMeans instead of n_init=7"
        done = []
        with pytest.warns(RuntimeWarning, match=words):
            ConstrainedKMeans(3, init=IRIS[:3], n_init=7, callback=done.append).fit(IRIS)
        assert len(done) <= 1
        ConstrainedKMeans(3, init=IRIS[:3], n_init=1).fit(IRIS)

    @pytest.mark.parametrize("as_given", [np.asarray, csr_array])
    def test_fewer_distinct_rows_than_clusters_are_warned_of_as_in_scikit_learn(self, as_given):
        rows = as_given(np.repeat([[0.0, 1.0], [2.0, 3.0]], 30, axis=0))
        words = r"Number of distinct clusters \(2\) found smaller than n_clusters \(3\)\. Possibly due to duplicate"
        with pytest.warns(ConvergenceWarning, match=words):
            KMeans(3, random_state=0, n_init=1).fit(rows)
        with pytest.warns(ConvergenceWarning, match=words):
            ConstrainedKMeans(3, random_state=0).fit(rows)
        ConstrainedKMeans(2, random_state=0).fit(rows)

    def test_identical_rows_do_not_trouble_the_seeding(self):
        with pytest.warns(ConvergenceWarning, match="distinct clusters"):
            model = fit(np.ones((10, 2)), k=3)
        assert model.inertia_ == 0.0
        assert sorted(np.unique(model.labels_)) == [0, 1, 2]


class TestRestarts:
    def test_more_restarts_are_never_worse(self):
        few = fit(WINE, k=6, n_init=1, local_search=False)
        many = fit(WINE, k=6, n_init=20, local_search=False)
        assert many.inertia_ <= few.inertia_

    @pytest.mark.parametrize("backend", ["threading", "loky"])
    def test_any_number_of_workers_gives_the_same_answer(self, backend):
        import joblib

        must, cannot = random_pairs(np.random.default_rng(6), SPECIES, 40)
        links = {"must_link": must, "cannot_link": cannot}
        one = fit(IRIS, n_init=6, n_jobs=1, fit_arguments=links)
        with joblib.parallel_config(backend=backend):
            two = fit(IRIS, n_init=6, n_jobs=2, fit_arguments=links)
        np.testing.assert_array_equal(one.labels_, two.labels_)
        assert one.inertia_ == two.inertia_

    def test_a_callback_sees_every_restart_and_may_end_the_search(self):
        told = []
        fit(IRIS, n_init=5, callback=lambda progress: told.append(progress))
        assert [progress.n_done for progress in told] == [1, 2, 3, 4, 5]
        assert all(progress.best_objective <= progress.objective for progress in told)
        told.clear()
        fit(IRIS, n_init=5, callback=lambda progress: told.append(progress) or len(told) == 2)
        assert len(told) == 2

    def test_progress_is_on_standard_error_and_only_when_asked(self, capsys):
        fit(IRIS, n_init=2)
        assert capsys.readouterr() == ("", "")
        fit(IRIS, n_init=2, verbose=1)
        out, err = capsys.readouterr()
        assert out == ""
        assert "restart 2/2" in err

    def test_an_interrupt_returns_the_best_so_far_with_a_warning(self):
        def interrupt(progress):
            if progress.n_done == 2:
                raise KeyboardInterrupt

        with pytest.warns(RuntimeWarning, match="interrupted after 2 runs"):
            model = fit(IRIS, n_init=9, callback=interrupt)
        check_fit(model, IRIS)

    # Without any time the last step need not be proved.
    @pytest.mark.filterwarnings("ignore::konstrain.exceptions.NotProvenWarning")
    def test_a_time_limit_returns_a_feasible_clustering(self, seed):
        must, cannot = random_pairs(np.random.default_rng(seed), SPECIES, 40)
        model = ConstrainedKMeans(3, time_limit=0.0, n_init=50, random_state=0)
        model.fit(IRIS, must_link=must, cannot_link=cannot)
        assert count_violations(model.labels_, must_link=must, cannot_link=cannot).total == 0

    def test_running_out_of_iterations_is_said(self):
        with pytest.warns(ConvergenceWarning, match="did not converge within max_iter=1"):
            ConstrainedKMeans(5, init=WINE[:5], max_iter=1).fit(WINE)


class TestRefusals:
    def test_contradictory_links_are_explained_before_any_work(self):
        with pytest.raises(InfeasibleError, match=r"cannot_link \(0, 2\) contradicts must_link path 0-1-2"):
            fit(IRIS, fit_arguments={"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]})

    def test_sizes_that_cannot_add_up_are_explained(self):
        with pytest.raises(InfeasibleError, match="150"):
            fit(IRIS, size_max=40)

    def test_links_and_sizes_that_clash_only_together_are_explained(self):
        with pytest.raises(InfeasibleError):
            fit(IRIS[:4], k=2, size_max=2, fit_arguments={"cannot_link": [(0, 1), (0, 2), (0, 3)]})

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_clusters": 0}, "n_clusters"),
            ({"init": "farthest"}, "init"),
            ({"n_init": 0}, "n_init"),
            ({"violation_cost": -1.0}, "violation_cost"),
            ({"local_search": "yes"}, "local_search"),
            ({"time_limit": -1.0}, "time_limit"),
        ],
    )
    def test_bad_parameters_are_named(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            ConstrainedKMeans(**parameters).fit(IRIS)

    def test_fewer_rows_than_clusters(self):
        with pytest.raises(ValueError, match=r"n_samples=2 should be >= n_clusters=3"):
            ConstrainedKMeans(3).fit(IRIS[:2])


class TestPredict:
    def test_sizes_and_links_of_new_rows_are_kept(self):
        model = fit(IRIS)
        new = IRIS[::3]
        labels = model.predict(new, size_min=16, size_max=17, cannot_link=[(0, 1)])
        assert (np.bincount(labels) >= 16).all()
        assert labels[0] != labels[1]
        assert (np.bincount(model.predict(new)) < 16).any()

    def test_new_rows_with_impossible_sizes_are_refused(self):
        with pytest.raises(InfeasibleError):
            fit(IRIS).predict(IRIS[:10], size_max=2)


def test_partial_labels_may_mix_names_and_marks_for_unknown():
    """A plain list of names and -1 is no list of names; pandas' NA is unknown too."""
    X = [[0.0], [1.0], [5.0], [6.0]]
    labels = ConstrainedKMeans(2, random_state=0).fit(X, ["a", -1, "b", "a"]).labels_
    assert labels[0] == labels[3] != labels[2]
    labels = ConstrainedKMeans(2, random_state=0).fit(X, np.array([1, pd.NA, -1, 1], dtype=object)).labels_
    assert labels[0] == labels[3]


def test_partial_labels_become_links_and_complete_ones_are_ignored():
    partial = np.full(150, -1)
    partial[[0, 1, 60, 61, 120]] = [5, 5, 7, 7, 9]
    labels = fit(IRIS, fit_arguments={"y": partial}).labels_
    assert labels[0] == labels[1]
    assert labels[60] == labels[61]
    assert len({labels[0], labels[60], labels[120]}) == 3
    scrambled = np.random.default_rng(8).permutation(SPECIES)
    np.testing.assert_array_equal(fit(IRIS, fit_arguments={"y": scrambled}).labels_, fit(IRIS).labels_)


def test_an_unproved_step_is_said_aloud(monkeypatch):
    from dataclasses import replace

    exact = Steps.step
    monkeypatch.setattr(Steps, "step", lambda *a: replace(exact(*a), proven=False))
    with pytest.warns(NotProvenWarning, match="was not proved optimal"):
        fit(IRIS, size_max=60, n_init=1, local_search=False)


def test_broken_links_are_counted_by_kind():
    model = ConstrainedKMeans(2, random_state=0).fit([[0.0], [0.1], [9.0]], cannot_link=[(0, 1, 1e-9)])
    assert model.violations_ == Violations(must_link=0, cannot_link=1)


def test_inertia_of_single_precision_rows_far_from_the_origin_is_that_of_the_rows(seed):
    """At 1e5 the means of must-linked rows are rounded to 0.008; the inertia must not be."""
    rng = np.random.default_rng(seed)
    X = (1e5 + 0.05 * rng.normal(size=(200, 4))).astype(np.float32)
    model = ConstrainedKMeans(3, n_init=1, random_state=0).fit(X, must_link=rng.permutation(200).reshape(-1, 2))
    assert model.inertia_ == pytest.approx(sse(X.astype(np.float64), model.labels_), rel=1e-4)
    assert model.objective_ == pytest.approx(model.inertia_)


@pytest.mark.parametrize("as_given", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_centers_of_single_precision_rows_are_their_means_rounded_once(as_given, seed):
    """Means of must-linked rows are rounded to 0.008 at 1e5; the mean of such means must not carry that on."""
    rng = np.random.default_rng(seed)
    X = (1e5 + rng.normal(size=(60, 30))).astype(np.float32)
    links = rng.permutation(60).reshape(-1, 3)
    model = ConstrainedKMeans(3, n_init=1, random_state=0)
    model.fit(as_given(X), must_link=np.vstack([links[:, :2], links[:, 1:]]))
    means = [X[model.labels_ == label].astype(np.float64).mean(axis=0) for label in range(3)]
    np.testing.assert_array_equal(model.cluster_centers_, np.float32(means))


def test_partial_labels_of_another_length_are_refused_as_y():
    with pytest.raises(ValueError, match=r"y must have one value per row, shape \(150,\), got \(2,\)"):
        ConstrainedKMeans(3).fit(IRIS, [0, -1])


def test_only_the_fitted_rows_can_be_certified():
    model = ConstrainedKMeans(3, n_init=1, random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match="X has 50 rows, but the fit was to 150; give the rows it was fitted to"):
        model.certify(IRIS[:50])


def test_a_certificate_prints_on_a_few_lines_without_the_labels():
    certificate = ConstrainedKMeans(3, n_init=1, random_state=0).fit(IRIS).certify(IRIS, gap=0.5)
    assert certificate.best_labels is not None
    assert "labels" not in repr(certificate)
    assert len(repr(certificate)) < 400


@pytest.mark.parametrize("make", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_movement_counts_relative_to_the_mean_variance(make, dtype):
    X = (np.random.default_rng(0).normal(size=(3000, 3)) * [1.0, 5.0, 0.1] + [0.0, 30.0, -2.0]).astype(dtype)
    np.testing.assert_allclose(_mean_variance(make(X)), X.astype(np.float64).var(axis=0).mean(), rtol=1e-9)


def test_fits_of_nearly_the_same_rows_number_clusters_alike():
    X = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
    first = ConstrainedKMeans(3, size_max=64, random_state=0).fit(X)
    assert (np.diff(first.cluster_sizes_) <= 0).all()
    for seed in range(1, 4):
        again = ConstrainedKMeans(3, size_max=64, random_state=seed).fit(X[:-2])
        assert (again.labels_ != first.labels_[:-2]).sum() <= 2
    # Centers, duals and the labels they lead to have the same numbers; of equal sizes the lower center comes first.
    np.testing.assert_allclose(first.cluster_centers_, [X[first.labels_ == c].mean(axis=0) for c in range(3)])
    assert (first.predict(X, add_duals=True) == first.labels_).mean() > 0.97
    line = ConstrainedKMeans(3, size_min=2, size_max=2, random_state=0).fit(
        [[9.0], [0.0], [4.0], [9.1], [0.1], [4.1]]
    )
    assert line.labels_.tolist() == [2, 0, 1, 2, 0, 1]


def test_bounds_and_centers_that_are_given_by_number_keep_their_clusters():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    assert ConstrainedKMeans(3, size_min=[1, 2, 3], size_max=[1, 2, 3], random_state=0).fit(
        X
    ).cluster_sizes_.tolist() == [1, 2, 3]
    assert ConstrainedKMeans(3, init=[[9.0], [0.0], [5.0]], random_state=0).fit_predict(X).tolist() == [
        1,
        1,
        2,
        2,
        2,
        0,
    ]
