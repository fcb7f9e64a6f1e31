"""What the methods of the papers have in common: seeds, workers, precision, refusals, scikit-learn's conventions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import check_fit
from konstrain import BCKMeans, BLPKMeans, LagrangianKMeans, MatchingKMeans
from konstrain.datasets import sample_babaki

METHODS = [BCKMeans, BLPKMeans, LagrangianKMeans, MatchingKMeans]


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X, sample_babaki(y, 100, random_state=3).links


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_gives_same_labels(method, iris):
    X, links = iris
    first, second = (method(3, n_init=3, random_state=5).fit(X, **links) for _ in range(2))
    assert np.array_equal(first.labels_, second.labels_)
    assert first.inertia_ == second.inertia_


@pytest.mark.parametrize("method", METHODS)
def test_number_of_workers_does_not_change_the_answer(method, iris):
    X, links = iris
    one, two = (method(3, n_init=9, n_jobs=n_jobs, random_state=5).fit(X, **links) for n_jobs in (1, 2))
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)


@pytest.mark.parametrize("method", METHODS)
def test_single_precision_stays_single_and_finds_the_same(method, iris):
    X, links = iris
    double = method(3, random_state=1).fit(X, **links)
    single = method(3, random_state=1).fit(X.astype(np.float32), **links)
    assert single.cluster_centers_.dtype == np.float32
    check_fit(single, X.astype(np.float32), **links)
    assert_allclose(single.inertia_, double.inertia_, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_give_the_labels_of_dense_ones(method):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    links = sample_babaki(y, 100, random_state=0).links
    dense, sparse = (method(10, random_state=0).fit(rows, **links) for rows in (X, csr_array(X)))
    assert np.array_equal(dense.labels_, sparse.labels_)
    assert_allclose(dense.inertia_, sparse.inertia_, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_weight_two_is_a_repeated_row(method, iris):
    X, links = iris
    start = X[[0, 60, 120]]
    twice = np.arange(len(X)) % 3 == 0
    weighted = method(3, init=start).fit(X, sample_weight=1.0 + twice, **links)
    copies = np.concatenate([np.arange(len(X)), np.flatnonzero(twice)])
    ties = np.column_stack([np.flatnonzero(twice), np.arange(len(X), len(copies))])
    must = np.concatenate([links["must_link"], ties])
    repeated = method(3, init=start).fit(X[copies], must_link=must, cannot_link=links["cannot_link"])
    assert np.array_equal(weighted.labels_, repeated.labels_[: len(X)])
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_confidences_are_refused(method, iris):
    X, _ = iris
    with pytest.raises(
        ValueError, match=rf"cannot_link gives \(0, 1\) a confidence, and {method.__name__} takes none"
    ):
        method(3).fit(X, cannot_link=[(0, 1, 0.5)])


@pytest.mark.parametrize(
    ("method", "bad"),
    [(method, {name: value}) for method in METHODS for name, value in (("n_clusters", 0), ("init", "other"))]
    + [
        (BCKMeans, {"penalty": 0.0}),
        (BCKMeans, {"penalty_growth": 1.0}),
        (BCKMeans, {"ridge": -1.0}),
        (BCKMeans, {"max_penalty_iter": 0}),
        (LagrangianKMeans, {"growth": 1.0}),
        (LagrangianKMeans, {"multiplier": 0.0}),
        (LagrangianKMeans, {"n_iter_no_change": 0}),
        (LagrangianKMeans, {"repair": "yes"}),
        (MatchingKMeans, {"n_local_trials": 0}),
    ],
)
def test_bad_parameters_are_refused_by_name(method, bad, iris):
    X, _ = iris
    with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter of {method.__name__}"):
        method(**bad).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_ends_the_restarts_with_labels_that_hold(method, iris):
    X, links = iris
    told = []
    model = method(3, n_init=100_000, time_limit=0.5, random_state=0, callback=told.append).fit(X, **links)
    # So many runs take minutes: the limit ended them, and what the fit ended with is the best of those made.
    assert 0 < len(told) < 100_000
    assert model.objective_ == pytest.approx(told[-1].best_objective)
    check_fit(model, X, **links)


# Equal weights and repetitions from given centers: test_weight_two_is_a_repeated_row.
REASON = "weights and repeated rows lead to other random draws, so runs start elsewhere"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [method(n_clusters=3, random_state=0) for method in METHODS],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", [BLPKMeans, LagrangianKMeans, MatchingKMeans, BCKMeans])
def test_given_centers_are_run_from_once_whatever_holds_them(method):
    X = load_iris().data
    for init in (X[:3], X[:3].tolist()):
        told = []
        method(3, init=init, n_init="auto", callback=told.append).fit(X)
        assert [progress.n_init for progress in told] == [1]
