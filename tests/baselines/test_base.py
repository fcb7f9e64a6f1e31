"""The shared base of the baselines: what is read, what is counted, what is kept of several runs."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from konstrain import Violations
from konstrain.baselines._base import BaseCenterClusterer, RowClustering
from konstrain.kmeans import distances

X = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])


class Nearest(BaseCenterClusterer):
    """One nearest step: the smallest method with centers."""

    def __init__(self, n_clusters=2, *, init="random", n_init=1, max_iter=10, random_state=None):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _make_run(self, rows):
        def run(seed):
            centers = self._start(rows, seed)
            labels = distances.nearest_pass(rows.X, None, centers)[0]
            centers = rows.means(labels, centers)
            return RowClustering(labels, rows.inertia(labels), 1, self.max_iter > 1, centers)

        return run


def test_attributes_belong_to_the_labels():
    model = Nearest(init=[[0.0], [10.0]]).fit(X, must_link=[(0, 1), (0, 4)], cannot_link=[(2, 3), (0, 2)])
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    assert model.labels_.dtype == np.int32
    assert model.violations_ == Violations(must_link=1, cannot_link=1)
    assert model.n_violations_ == 2
    assert model.inertia_ == pytest.approx(((X[:3] - 2) ** 2).sum() + ((X[3:] - 13) ** 2).sum())
    assert model.predict([[1.0], [50.0]]).tolist() == [0, 1]


def test_the_best_of_several_runs_is_kept_and_more_runs_only_help():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    one, five = (Nearest(5, n_init=n, random_state=3).fit(rows).objective_ for n in (1, 5))
    assert five < one


def test_partial_labels_become_links_and_complete_ones_do_not():
    model = Nearest(init=[[0.0], [10.0]])
    assert model.fit(X, [0, -1, 1, -1, 0]).violations_ == Violations(must_link=1, cannot_link=1)
    assert model.fit(X, [0, 0, 1, 1, 1]).n_violations_ == 0


def test_confidences_are_refused_by_name():
    with pytest.raises(ValueError, match=r"must_link gives \(0, 1\) a confidence, and Nearest takes none"):
        Nearest().fit(X, must_link=[(0, 1, 0.5)])


def test_too_few_rows_and_rows_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"n_samples=5 should be >= n_clusters=6"):
        Nearest(6).fit(X)
    with pytest.raises(ValueError, match=r"cannot_link\[0\] is \(0, 9\): row 9 does not exist"):
        Nearest().fit(X, cannot_link=[(0, 9)])


def test_sparse_rows_give_the_same_and_float32_stays():
    dense = Nearest(init=[[0.0], [10.0]]).fit(X)
    sparse = Nearest(init=[[0.0], [10.0]]).fit(csr_matrix(X))
    assert sparse.labels_.tolist() == dense.labels_.tolist()
    assert sparse.inertia_ == pytest.approx(dense.inertia_)
    assert Nearest(init=[[0.0], [10.0]]).fit(X.astype(np.float32)).cluster_centers_.dtype == np.float32


def test_a_run_that_is_cut_short_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        Nearest(max_iter=1, random_state=0).fit(X)
