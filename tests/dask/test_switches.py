"""Both sides of every switch of a fit over a cluster; the cluster is in this process, so that it sees them."""

import dask.array as da
import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

import konstrain
from konstrain.dask import ConstrainedKMeans
from konstrain.dask.parquet import Folder
from konstrain.files.choice import Request
from switches import REMOTE, REMOTE_START, set_to

N, K = 400, 4
# So few rows come to the client that a step takes several passes over all of them.
FEW = {"konstrain.dask.steps.KEPT_NUMBERS": 40 * K, "konstrain.dask.start.SEARCHED_ROWS": 100}
SIZES = {"size_min": 85, "size_max": 120}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)) + 2 * rng.choice(3, N, p=[0.6, 0.3, 0.1])[:, None]


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    pl.DataFrame(X, schema=list("xyz")).write_parquet(path / "all.parquet", row_group_size=100)
    return path


def sides(switches):
    return [pytest.param({name: value}, id=f"{name}={value}") for name in switches for value in switches[name]]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("setting", sides(REMOTE))
def test_labels_are_those_in_memory_on_both_sides(setting, client, X, folder):
    params = {**SIZES, "init": X[:K], "local_search": False, "tol": 0, "max_iter": 2, "random_state": 0}
    links = {"must_link": [(0, 399)], "cannot_link": [(1, 200)]}
    local = konstrain.ConstrainedKMeans(K, **params).fit(X, **links)
    with set_to({**FEW, **setting}):
        rows = Folder.open(folder, Request(None, None, [], [], ())).source()
        model = ConstrainedKMeans(K, **params, client=client).fit(rows, **links)
        assert_array_equal(model.labels_.compute(), local.labels_)
        assert_allclose(model.inertia_, local.inertia_, rtol=1e-9)


@pytest.mark.parametrize("setting", sides(REMOTE_START))
def test_starts_on_both_sides_lead_to_labels_within_sizes(setting, client, X):
    with set_to(setting):
        model = ConstrainedKMeans(K, **SIZES, random_state=0, client=client).fit(da.from_array(X, chunks=(90, 3)))
    sizes = np.bincount(model.labels_.compute(), minlength=K)
    assert_array_equal(model.cluster_sizes_, sizes)
    assert 85 <= sizes.min() <= sizes.max() <= 120
