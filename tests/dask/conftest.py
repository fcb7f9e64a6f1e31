"""A cluster of two processes for the tests of a module; each test connects to it itself."""

import pytest
from distributed import LocalCluster


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster
