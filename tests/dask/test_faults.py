"""What can go wrong on a cluster ends with the same labels, or in one line that says what to do."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from command_line import SCRIPT
from konstrain import NotProvenWarning
from konstrain.dask import ConstrainedKMeans
from konstrain.dask.cluster import client_for

N = 400
# Seconds that a process may take on a busy machine; a test that needs more has failed.
PATIENCE = 90


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 2)) + 2 * rng.integers(0, 3, size=(N, 1))


def model(X, **params):
    return ConstrainedKMeans(3, size_min=100, size_max=150, init=X[:3], tol=0, random_state=0, **params)


@pytest.fixture(scope="module")
def mortal_cluster():
    """Return a cluster for tests that kill workers, which matters to no other test."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
    ):
        yield cluster


def test_a_worker_killed_in_the_middle_of_a_fit_changes_no_label(mortal_cluster, X):
    x = da.from_array(X, chunks=(80, 2))
    with Client(mortal_cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        calm = model(X).fit(x).labels_.compute()
        killed = []

        def kill_one(now):
            if now.n_iter == 2:
                killed.append(client.run(os.getpid))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        harmed = model(X, callback=kill_one).fit(x)
        assert killed
        assert_array_equal(harmed.labels_.compute(), calm)


def ends_the_worker_of_the_second(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_partition_that_ends_every_worker_is_named_with_what_to_set(mortal_cluster, X):
    # As the nanny does to a worker that is out of memory. A partition for each worker: one that waits for the same
    # worker may be named instead.
    rows = da.random.default_rng(0).normal(size=(N, 2), chunks=(N // 2, 2))
    x = rows.map_blocks(ends_the_worker_of_the_second, dtype=float)
    words = r"2 workers in a row ended with partition 1 of X.*it, or another one that they had.*larger memory_limit"
    with Client(mortal_cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        with pytest.raises(MemoryError, match=words):
            model(X).fit(x)


@contextmanager
def own_scheduler():
    """Yield a scheduler in a process of its own, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--host", "127.0.0.1"]
    with running([*command, "--no-dashboard"], stderr=subprocess.DEVNULL) as scheduler:
        wait_until(lambda: listens(port))
        yield scheduler, f"tcp://127.0.0.1:{port}"


@contextmanager
def running(command, **options):
    """Yield a process that is gone in the end, however the test ends."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def wait_until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_scheduler_that_is_gone_is_told_in_one_line(X):
    with own_scheduler() as (scheduler, address):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--no-nanny"]
        # For as long as this the client looks for a scheduler that has gone.
        briefly = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
        with running(command, stderr=subprocess.DEVNULL), briefly, Client(address, timeout=10) as client:
            client.wait_for_workers(1, timeout=PATIENCE)

            def end_scheduler(now):
                scheduler.kill()
                scheduler.wait(PATIENCE)

            with pytest.raises(ConnectionError, match="is gone, and the rows with it; start it again and fit again"):
                model(X, callback=end_scheduler).fit(da.from_array(X, chunks=(80, 2)))


def test_a_cluster_without_workers_is_told_in_one_line(X):
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "0.1s"}),
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
        pytest.raises(ConnectionError, match=r"no worker was there for 0\.1 seconds; start workers again"),
    ):
        model(X).fit(da.from_array(X, chunks=(80, 2)))


def test_what_workers_of_our_own_cluster_log_reaches_nobody(capfd):
    with client_for(None) as client:
        client.run(log_as_a_heartbeat_does)
    assert capfd.readouterr().err == ""


def log_as_a_heartbeat_does():
    # As when a worker closes while a heartbeat of it is under way.
    for name in ("distributed.worker", "tornado.application", "asyncio"):
        logging.getLogger(name).error("Failed to communicate with scheduler during heartbeat.")


def test_a_command_whose_scheduler_goes_ends_in_one_line(tmp_path, X):
    (tmp_path / "rows").mkdir()
    keys = pl.Series("key", map(str, range(N)))
    pl.DataFrame(X, schema=["x", "y"]).with_columns(keys).write_parquet(tmp_path / "rows" / "a.parquet")
    (tmp_path / "ml.csv").write_text("0,1\n")
    arguments = ["fit", "rows", "-k", "3", "--id", "key", "--must-link", "ml.csv", "--scheduler"]
    count_tasks = lambda dask_scheduler: len(dask_scheduler.tasks)  # noqa: E731 - the scheduler cannot import tests
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    with own_scheduler() as (scheduler, address):
        # Nobody works here: the command waits for its rows for as long as the scheduler is there.
        with running([SCRIPT, *arguments, address], cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as fitting:
            with Client(address, timeout=PATIENCE) as client:
                wait_until(lambda: fitting.poll() is not None or client.run_on_scheduler(count_tasks))
            scheduler.kill()
            _, told = fitting.communicate(timeout=PATIENCE)
        assert fitting.returncode == 2
        assert told == (
            f"konstrain: the scheduler at {address} is gone, and the rows with it; start it again and fit again\n"
        )


def test_an_interrupt_ends_with_the_best_so_far(cluster, X):
    with Client(cluster):
        with pytest.warns(RuntimeWarning, match=r"interrupted in iteration \d+; the best clustering so far"):
            ended = model(X, callback=until_interrupted).fit(da.from_array(X, chunks=(80, 2)))
        assert np.bincount(ended.labels_.compute()).min() >= 100


def until_interrupted(now):
    if now.n_iter == 2:
        # As a key pressed between two passes; a timer would meet a pass here and the end of the fit there.
        os.kill(os.getpid(), signal.SIGINT)


def test_a_time_limit_and_a_callback_end_a_fit_with_sizes_kept(cluster, X, capfd):
    x = da.from_array(X, chunks=(80, 2))
    with Client(cluster):
        with pytest.warns(NotProvenWarning):
            limited = model(X, time_limit=0.0).fit(x)
        told = []
        stopped = model(X, verbose=1, callback=lambda now: told.append(now) or len(told) == 2).fit(x)
    assert limited.n_iter_ == 1
    assert stopped.n_iter_ == 2
    assert told[1].n_samples == N
    assert "iteration 2  400 rows  objective" in capfd.readouterr().err
    for ended in (limited, stopped):
        assert 100 <= ended.cluster_sizes_.min() <= ended.cluster_sizes_.max() <= 150


def test_without_a_client_nothing_listens_beyond_this_machine(X):
    addresses = []

    def look(now):
        children = {os.getpid(), *descendants(os.getpid())}
        addresses.extend(listening(children))

    model(X, callback=look).fit(da.from_array(X, chunks=(200, 2)))
    assert addresses
    assert all(address.startswith("127.") for address in addresses), addresses


def descendants(process):
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from descendants(child)


def listening(processes):
    """Addresses at which these processes listen, from Linux's own tables."""
    sockets = set()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").glob("*"):
            try:
                sockets.add(os.readlink(link))
            except OSError:
                continue  # closed in between
    for line in [*Path("/proc/net/tcp").read_text().splitlines()[1:]]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            digits = fields[1].split(":")[0]
            yield ".".join(str(int(digits[i : i + 2], 16)) for i in (6, 4, 2, 0))
    for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            yield fields[1]
