"""What holds for the baselines that label rows by centers: one seed one answer, rows in any form."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from konstrain import count_violations
from konstrain.baselines import CVQE, LCVQE, COPKMeans, GreedyKMeans, MPCKMeans, PCKMeans
from konstrain.datasets import sample_ganji

METHODS = [COPKMeans, GreedyKMeans, PCKMeans, MPCKMeans, CVQE, LCVQE]
SPARSE = [method for method in METHODS if method is not MPCKMeans]


def made(method, **params):
    """Make an estimator that goes on when links cannot all be kept."""
    model = method(3, random_state=0, **params)
    return model.set_params(on_failure="continue") if hasattr(model, "on_failure") else model


def fitted(model, X, **links):
    with warnings.catch_warnings():
        # Greedy methods need not converge, and are not meant to here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **links)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, sample_ganji(y, 60, random_state=0).links


@pytest.mark.parametrize("method", METHODS)
def test_one_seed_gives_one_answer(method, iris):
    X, links = iris
    first, second = (fitted(made(method, n_init=3), X, **links) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.objective_ == second.objective_


@pytest.mark.parametrize("method", METHODS)
def test_attributes_belong_together(method, iris):
    X, links = iris
    model = fitted(made(method), X, **links)
    assert model.labels_.dtype == np.int32
    assert model.violations_ == count_violations(model.labels_, **links)
    assert model.n_violations_ == model.violations_.total
    means = [X[model.labels_ == j] for j in range(3)]
    assert model.inertia_ == pytest.approx(
        sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in means if len(rows))
    )
    assert model.cluster_centers_.shape == (3, 4)
    assert model.predict(X).shape == (150,)


@pytest.mark.parametrize("method", METHODS)
def test_partial_labels_are_links(method, iris):
    X, _ = iris
    y = np.full(150, -1)
    y[[0, 1, 60, 61, 120]] = [0, 0, 1, 1, 2]
    model = fitted(made(method), X, y=y)
    assert model.n_violations_ == 0


@pytest.mark.parametrize("method", SPARSE)
def test_sparse_rows_give_the_labels_of_dense_ones(method, iris):
    X, links = iris
    dense, sparse = (fitted(made(method), rows, **links) for rows in (X, csr_array(X)))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert dense.objective_ == pytest.approx(sparse.objective_)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays_float32(method, iris):
    X, links = iris
    model = fitted(made(method), X.astype(np.float32), **links)
    assert model.cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_breaks_every_cannot_link(method, iris):
    X, links = iris
    model = fitted(made(method).set_params(n_clusters=1), X, **links)
    assert model.violations_.must_link == 0
    assert model.violations_.cannot_link == len(links["cannot_link"])


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans, CVQE, LCVQE])
def test_contradictions_are_counted_not_refused(method, iris):
    X, _ = iris
    model = fitted(made(method), X, must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert model.n_violations_ == 1
