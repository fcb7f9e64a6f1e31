"""A cluster of two processes for all tests; each test connects to it itself."""

import dask
import pytest
from distributed import LocalCluster

import command_line

# A cluster that has lost its workers fails a test instead of letting it wait for ever. The cluster stays while other
# tests run: its workers do nothing then, not even look at themselves a hundred times a second.
dask.config.set(
    {
        "distributed.scheduler.no-workers-timeout": "120s",
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        # Forked from a process that has imported everything; a fresh one takes seconds to do that.
        "distributed.worker.multiprocessing-method": "forkserver",
    }
)


@pytest.fixture(scope="session", autouse=True)
def _prepared():
    command_line.prepare()


@pytest.fixture(scope="session")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster
