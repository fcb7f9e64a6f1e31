"""`LinkMetric`, and `ConstrainedKMeans(metric="learned")` with the guard of held-out links."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from konstrain import ConstrainedKMeans, LinkMetric
from konstrain.constraints.inputs import read_links
from konstrain.datasets import sample_babaki
from konstrain.estimators._metric_choice import choose_kind
from konstrain.estimators.link_metric import KINDS
from konstrain.stop import Budget

WINE, CULTIVARS = load_wine(return_X_y=True)
LINKS = sample_babaki(CULTIVARS, 60, random_state=0).links


@parametrize_with_checks([LinkMetric("itml"), LinkMetric("rca")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_transformed_rows_are_the_learned_ones(kind):
    metric = LinkMetric(kind).fit(WINE, **LINKS)
    a, b = WINE[3], WINE[90]
    first, second = metric.transform(WINE[[3, 90]])
    assert_allclose(((first - second) ** 2).sum(), (a - b) @ metric.metric_ @ (a - b), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_features_do_not_matter(kind):
    units = np.array([1000.0, 0.01, *[1.0] * 11])
    ours, theirs = (LinkMetric(kind).fit(X, **LINKS).transform(X) for X in (WINE, WINE * units))
    distances = [((rows[:50, None] - rows[None, 50:100]) ** 2).sum(axis=2) for rows in (ours, theirs)]
    assert_allclose(*distances, rtol=1e-3)


def test_confidences_lessen_what_links_count():
    soft = {name: np.column_stack([pairs, np.full(len(pairs), 1e-3)]) for name, pairs in LINKS.items()}
    plain, trusted, doubted = (
        metric.metric_ * np.outer(WINE.std(axis=0), WINE.std(axis=0))
        for metric in (
            LinkMetric("standard").fit(WINE),
            LinkMetric().fit(WINE, **LINKS),
            LinkMetric().fit(WINE, **soft),
        )
    )
    assert np.abs(doubted - plain).max() < 0.1 * np.abs(trusted - plain).max()


def test_learning_helps_where_units_differ_and_hard_links_stay_hard():
    plain = ConstrainedKMeans(3, random_state=0).fit(WINE, **LINKS)
    learned = ConstrainedKMeans(3, metric="learned", random_state=0).fit(WINE, **LINKS)
    assert learned.n_violations_ == 0
    assert learned.link_metric_ is not None
    assert learned.metric_choice_.shares[learned.metric_choice_.kind] > learned.metric_choice_.shares["none"]
    scores = [adjusted_rand_score(CULTIVARS, model.labels_) for model in (plain, learned)]
    assert scores[1] > scores[0] + 0.2


def test_new_rows_are_measured_in_the_learned_metric():
    model = ConstrainedKMeans(3, metric="learned", random_state=0).fit(WINE, **LINKS)
    rows, centers = (model.link_metric_.transform(part) for part in (WINE, model.cluster_centers_))
    distances = np.sqrt(((rows[:, None] - centers[None]) ** 2).sum(axis=2))
    assert_allclose(model.transform(WINE), distances, rtol=1e-6)
    assert_array_equal(model.predict(WINE), distances.argmin(axis=1))
    assert_allclose(model.score(WINE), -(distances.min(axis=1) ** 2).sum(), rtol=1e-6)


def test_given_centers_are_measured_too():
    model = ConstrainedKMeans(3, metric="learned", random_state=0).fit(WINE, **LINKS)
    again = ConstrainedKMeans(3, metric="learned", init=model.cluster_centers_, random_state=0).fit(WINE, **LINKS)
    assert again.inertia_ <= model.inertia_ * (1 + 1e-6)


def test_a_certificate_is_about_the_learned_metric_and_says_so():
    model = ConstrainedKMeans(3, metric="learned", random_state=0).fit(WINE, **LINKS)
    certificate = model.certify(WINE, gap=0.5, time_limit=20)
    assert_allclose(certificate.cost, model.inertia_, rtol=1e-6)
    assert certificate.metric == str(model.link_metric_)
    plain = ConstrainedKMeans(3, random_state=0).fit(WINE, **LINKS)
    assert plain.certify(WINE, gap=0.5, time_limit=20).metric is None


@pytest.mark.parametrize(
    ("n_won", "n_lost", "is_taken"),
    [(0, 0, False), (2, 0, False), (3, 0, True), (4, 1, False), (5, 1, True), (9, 4, False), (10, 4, True)],
)
def test_a_metric_is_taken_only_if_it_wins_by_one_and_a_half_standard_errors(n_won, n_lost, is_taken):
    """Of 50 must-links plain distances miss `n_won` and measured ones `n_lost`: 1.5 roots of their number decide."""
    X = np.random.default_rng(0).normal(size=(100, 2))

    def cluster(rows, links, labels):
        missed = range(n_won) if rows is X else range(n_won, n_won + n_lost)
        found = np.arange(100, dtype=np.int32) // 2
        found[[2 * pair for pair in missed]] = 99
        return found

    must = read_links("must_link", np.arange(100).reshape(50, 2), 100)
    choice = choose_kind(
        X, must, read_links("cannot_link", None, 100), cluster, np.random.default_rng(0), Budget(None)
    )
    assert (choice.kind is not None) == is_taken
    assert_allclose(choice.shares["none"], 1 - n_won / 50)
    assert_allclose(choice.shares["itml"], 1 - n_lost / 50)


def test_where_plain_distances_get_all_held_out_links_right_they_stay():
    X, classes = make_blobs(100, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    links = sample_babaki(classes, 20, random_state=0).links
    model = ConstrainedKMeans(3, metric="learned", random_state=0).fit(X, **links)
    assert model.metric_choice_.kind is None
    assert model.metric_choice_.shares["none"] == pytest.approx(1.0)
    assert model.link_metric_ is None
    assert_array_equal(model.labels_, ConstrainedKMeans(3, random_state=0).fit(X, **links).labels_)


@pytest.mark.parametrize(
    "links", [{}, {"must_link": [(0, 1)]}, {"must_link": [(0, 1), (60, 61)], "cannot_link": [(0, 60), (1, 170)]}]
)
def test_too_few_links_to_hold_any_out_leave_distances_plain(links):
    model = ConstrainedKMeans(3, metric="learned", random_state=0).fit(WINE, **links)
    assert model.link_metric_ is None
    assert model.metric_choice_.shares == {}


def test_the_guard_asks_clusterings_that_have_not_seen_the_link():
    """A clustering that always tells all rows apart but those it was told of gets no held-out must-link right."""
    asked = []

    def cluster(X, links, labels):
        asked.append(0 if links["must_link"] is None else len(links["must_link"]))
        return np.arange(len(X), dtype=np.int32)

    must = read_links("must_link", [(2 * i, 2 * i + 1) for i in range(50)], 100)
    nothing = read_links("cannot_link", None, 100)
    X = np.random.default_rng(0).normal(size=(100, 2))
    choice = choose_kind(X, must, nothing, cluster, np.random.default_rng(0), Budget(None))
    assert set(asked) == {40}
    assert choice.kind is None
    assert set(choice.shares.values()) == {0.0}


def test_one_seed_one_metric_whatever_the_number_of_workers():
    one, two = (ConstrainedKMeans(3, metric="learned", n_jobs=n, random_state=3).fit(WINE, **LINKS) for n in (1, 2))
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.link_metric_.components_, two.link_metric_.components_)


def test_weights_sizes_and_partial_labels_go_with_a_learned_metric():
    y = np.full(len(WINE), -1)
    y[[0, 60, 170]] = [0, 1, 2]
    model = ConstrainedKMeans(3, size_min=50, metric="learned", random_state=0)
    model.fit(WINE, y, np.linspace(0.5, 1.5, len(WINE)), **LINKS)
    assert model.cluster_sizes_.min() >= 50


def test_sparse_rows_are_refused():
    with pytest.raises(ValueError, match="dense rows"):
        ConstrainedKMeans(3, metric="learned").fit(csr_array(WINE), **LINKS)


@pytest.mark.filterwarnings("ignore::konstrain.exceptions.NotProvenWarning")
def test_a_time_limit_of_nothing_still_gives_labels():
    model = ConstrainedKMeans(3, metric="learned", time_limit=0.0, random_state=0)
    model.fit(WINE, **LINKS)
    assert model.link_metric_ is None
