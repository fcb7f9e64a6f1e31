"""scikit-learn citizenship: checks, pipelines, searches, routing, containers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from konstrain import ConstrainedKMeans

IRIS = load_iris().data
FEATURES = ["a", "b", "c", "d"]

REASON = "weights and repeated rows lead to other random draws, so clusters may be numbered differently"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [ConstrainedKMeans(n_clusters=2, n_init=2)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class FirstRowsTogether(ClusterMixin, BaseEstimator):
    """Links the first two rows that it is given."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        self.model_ = ConstrainedKMeans(self.n_clusters, random_state=0, n_init=1).fit(X, must_link=[(0, 1)])
        return self

    def score(self, X, y=None):
        return self.model_.score(X)


def test_a_pipeline_with_a_scaler_passes_links_through():
    with config_context(enable_metadata_routing=True):
        model = ConstrainedKMeans(3, random_state=0).set_fit_request(must_link=True, cannot_link=True, demand=True)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(IRIS, must_link=[(0, 149)], cannot_link=[(0, 1)], demand=np.ones(150))
    labels = pipeline[-1].labels_
    assert labels[0] == labels[149]
    assert labels[0] != labels[1]


def test_grid_search_over_the_number_of_clusters():
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(ConstrainedKMeans(size_min=5, random_state=0), {"n_clusters": [2, 3, 4]}, cv=folds)
    search.fit(IRIS)
    assert search.best_params_["n_clusters"] == 4


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(IRIS, columns=FEATURES),
        pl.DataFrame(IRIS, schema=FEATURES),
        pa.table(dict(zip(FEATURES, IRIS.T, strict=True))),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_tables_are_taken_with_their_column_names(table):
    model = ConstrainedKMeans(3, init=IRIS[:3]).fit(table)
    np.testing.assert_array_equal(model.labels_, ConstrainedKMeans(3, init=IRIS[:3]).fit(IRIS).labels_)
    if not isinstance(table, pa.Table):
        assert model.feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize(
    "links",
    [
        [(0, 149), (3, 100)],
        np.array([[0, 149], [3, 100]]),
        pd.DataFrame({"first": [0, 3], "second": [149, 100]}),
        pl.DataFrame({"first": [0, 3], "second": [149, 100]}),
        csr_array((np.ones(2, dtype=bool), ([0, 3], [149, 100])), shape=(150, 150)),
    ],
    ids=["list", "array", "pandas", "polars", "sparse"],
)
def test_links_are_taken_in_any_form(links):
    labels = ConstrainedKMeans(3, random_state=0, n_init=2).fit(IRIS, must_link=links).labels_
    assert labels[0] == labels[149]
    assert labels[3] == labels[100]


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_names_the_distances(container):
    model = ConstrainedKMeans(3, random_state=0, n_init=1).set_output(transform=container)
    table = model.fit_transform(pd.DataFrame(IRIS, columns=FEATURES))
    assert list(table.columns) == ["constrainedkmeans0", "constrainedkmeans1", "constrainedkmeans2"]


def test_clone_and_pickle_keep_everything():
    model = ConstrainedKMeans(3, size_min=40, random_state=0, n_init=2).fit(IRIS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(IRIS), model.predict(IRIS))
    assert clone(model).get_params() == model.get_params()


def test_a_memory_mapped_file_is_read_in_place(tmp_path):
    np.save(tmp_path / "rows.npy", IRIS)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = ConstrainedKMeans(3, init=IRIS[:3]).fit(mapped, cannot_link=[(0, 1)])
    assert model.labels_[0] != model.labels_[1]


def test_float32_stays_float32():
    model = ConstrainedKMeans(3, random_state=0, n_init=1).fit(IRIS.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    assert model.transform(IRIS.astype(np.float32)).dtype == np.float32


def test_the_rows_are_never_changed():
    X = IRIS.copy()
    ConstrainedKMeans(3, random_state=0, n_init=2).fit(X, must_link=[(0, 149)])
    np.testing.assert_array_equal(X, IRIS)


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_transform_has_the_precision_that_kmeans_has(fitted, given):
    ours = ConstrainedKMeans(3, init=IRIS[:3]).fit(IRIS.astype(fitted)).transform(IRIS.astype(given))
    theirs = KMeans(3, init=IRIS[:3], n_init=1).fit(IRIS.astype(fitted)).transform(IRIS.astype(given))
    assert ours.dtype == theirs.dtype


LINKS_OF_FOLDS = {
    "pairs": [(0, 1), (2, 99)],
    "as many pairs as rows": np.column_stack([np.zeros(150, dtype=int), np.arange(150) % 2]),
    "sparse": csr_array(([True], ([0], [1])), shape=(150, 150)),
}


@pytest.mark.parametrize("links", LINKS_OF_FOLDS)
@pytest.mark.parametrize("in_pipeline", [False, True], ids=["alone", "pipeline"])
def test_links_by_row_number_are_refused_in_cross_validation(links, in_pipeline):
    """Row numbers of X are those of other rows in a fold."""
    model, name = ConstrainedKMeans(3, random_state=0, n_init=1), "must_link"
    if in_pipeline:
        model, name = make_pipeline(StandardScaler(), model), "constrainedkmeans__must_link"
    search = GridSearchCV(model, {}, cv=3, error_score="raise")
    with pytest.raises(ValueError, match=r"must_link names rows of X .* folds .* give partial labels as y"):
        search.fit(IRIS, **{name: LINKS_OF_FOLDS[links]})


def test_links_are_refused_in_cross_validation_with_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = ConstrainedKMeans(3, random_state=0, n_init=1).set_fit_request(cannot_link=True)
        with pytest.raises(ValueError, match="cannot_link names rows of X"):
            cross_validate(model, IRIS, params={"cannot_link": [(0, 1)]}, cv=3, error_score="raise")


def test_partial_labels_and_demand_go_with_their_rows_into_folds():
    known = np.full(150, -1)
    known[::10] = load_iris().target[::10]
    search = GridSearchCV(ConstrainedKMeans(size_max=60.0, random_state=0, n_init=1), {"n_clusters": [3, 4]}, cv=3)
    search.fit(IRIS, known, demand=np.ones(150))
    labels = search.best_estimator_.labels_
    assert all(len(np.unique(labels[known == label])) == 1 for label in range(3))


def test_an_estimator_that_makes_links_of_its_own_rows_is_cross_validated():
    search = GridSearchCV(FirstRowsTogether(), {"n_clusters": [2, 3]}, cv=3, error_score="raise").fit(IRIS)
    assert search.best_params_["n_clusters"] == 3


def test_a_fold_of_all_rows_takes_links():
    everything = np.arange(150)
    search = GridSearchCV(
        ConstrainedKMeans(random_state=0, n_init=1), {"n_clusters": [2, 3]}, cv=[(everything, everything)]
    )
    labels = search.fit(IRIS, must_link=[(0, 149)]).best_estimator_.labels_
    assert labels[0] == labels[149]
