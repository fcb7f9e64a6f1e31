"""The cluster that holds the rows: its client, passes over all partitions, and readable errors."""

import logging
import math
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import dask
import distributed
import numpy as np
from distributed.comm import CommClosedError
from numpy.typing import NDArray

from konstrain.dask import passes
from konstrain.dask.membership import Group, PartialLabels, find_groups, find_labels
from konstrain.dask.passes import PartitionRows, PartitionSummary, Place, Sums
from konstrain.dask.rows import RowSource
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.distances import default_threads
from konstrain.stop import UNLIMITED, Budget

# First command of workers of our own cluster: neither they nor their event loops write to the screen.
QUIET = "import logging; logging.disable()"
# Settings of our own cluster: how long it may be without any worker (ended processes restart within seconds, or
# never), and no profiles of workers, which nobody reads.
OWN_SETTINGS: Final = {
    "distributed.scheduler.no-workers-timeout": "5 minutes",
    "distributed.worker.profile.enabled": False,
}
# Older releases of distributed wait for workers for ever, and have no such error.
_NoWorkerError = getattr(distributed.scheduler, "NoWorkerError", distributed.KilledWorker)


def current_client() -> Any:
    """Return the client that is in use; None if there is none."""
    try:
        return distributed.get_client()
    except ValueError:
        return None


@contextmanager
def client_for(given: Any) -> Iterator[Any]:
    """Yield the client to work with: the one given, the current one, or one of this machine's cores for a while."""
    client = given if given is not None else current_client()
    if client is not None:
        yield client
        return
    # On loopback and without a page: nobody else can read the rows. `readable_faults` reports errors; logs are off,
    # since a heartbeat during the end of its worker logs a harmless traceback.
    first = dask.config.get("distributed.worker.preload")
    with (
        dask.config.set(OWN_SETTINGS),
        distributed.LocalCluster(
            n_workers=default_threads(),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            preload=[*([first] if isinstance(first, str) else first), QUIET],
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def readable_faults(client: Any, partition_of: Callable[[Any], int | None] = lambda key: None) -> Iterator[None]:
    """Raise errors of one line when the cluster fails; `partition_of` returns the partition of a task."""
    try:
        yield
    except distributed.KilledWorker as error:
        raise MemoryError(_killed_message(error, partition_of(error.task))) from None
    except _NoWorkerError as error:
        raise ConnectionError(
            f"no worker was there for {error.timeout:g} seconds; start workers again, with more memory if they ended "
            "for want of it, and fit again"
        ) from None
    except (CancelledError, CommClosedError):
        address = client.scheduler.addr if client.scheduler is not None else "the given address"
        raise ConnectionError(
            f"the scheduler at {address} is gone, and the rows with it; start it again and fit again"
        ) from None


def with_groups(client: Any, source: RowSource) -> RowSource:
    """Return the source with the groups that occur in all its partitions together."""
    if source.category is None:
        return source
    find = dask.delayed(find_groups, pure=False)
    tasks = [find(part, number) for number, part in enumerate(source.category)]
    with readable_faults(client):
        found: list[list[Group]] = client.gather(client.compute(tasks, optimize_graph=False))
    return replace(source, groups=tuple(Group.joined(list(parts)) for parts in zip(*found, strict=True)))


class Partitions:
    """Rows on a cluster: passes run over all of them at once and return something small.

    The workers keep the rows of `source` from now on, in memory or on their disks.
    """

    def __init__(self, client: Any, source: RowSource) -> None:
        self._client = client
        self.source = source
        # As long as these futures exist, workers keep the rows, and read them again where a worker ends.
        self._rows = client.compute(source.partitions(), optimize_graph=False)
        self._running: list[Any] = []
        with readable_faults(self._client, self._partition_of):
            self.summaries: list[PartitionSummary] = client.gather(
                client.map(passes.summarize, self._rows, pure=False)
            )
        self.n_rows = np.array([part.n_rows for part in self.summaries], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum(self.n_rows)])
        self.places = [
            Place(number, first, part.n_rows)
            for number, (first, part) in enumerate(zip(self.first_rows, self.summaries, strict=True))
        ]

    def __enter__(self) -> "Partitions":
        return self

    def __exit__(self, *_: Any) -> None:
        # References to this object must not keep the workers' memory.
        self._rows, self._running = [], []

    @property
    def first_rows(self) -> list[int]:
        """Number of the first row of each partition."""
        firsts: list[int] = self._first[:-1].tolist()
        return firsts

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self._first[-1])

    def set_tied(self, numbers: NDArray[np.int64]) -> None:
        """Set which rows the client places, by their ascending numbers."""
        by_partition = self._by_partition(numbers)
        self.places = [replace(place, tied=by_partition[place.number][1]) for place in self.places]

    def run(
        self,
        function: Callable[..., Any],
        given: Any,
        budget: Budget = UNLIMITED,
        *,
        join: Callable[[list[Any]], Any] = Sums.joined,
    ) -> Any:
        """Run a function over every partition, and return its results joined, in the order of the partitions.

        `function` takes `given`, rows, and a `Place`.
        """
        with readable_faults(self._client, self._partition_of):
            results = self._running = self._client.map(partial(function, given), self._rows, self.places, pure=False)
            # In two stages of equal size: groups on the workers, then the groups here.
            size = math.isqrt(len(results))
            if size > 1:
                groups = [results[i : i + size] for i in range(0, len(results), size)]
                results = self._client.map(join, groups, pure=False)
            return join(self._results(results, budget))

    def rows_at(self, numbers: NDArray[np.int64]) -> PartitionRows:
        """Fetch some rows, by their ascending numbers."""
        wanted = [(part, inside) for part, inside in self._by_partition(numbers) if inside.size]
        if not wanted:
            wanted = [(0, np.zeros(0, dtype=np.int64))]
        with readable_faults(self._client, self._partition_of):
            rows = [self._rows[part] for part, _ in wanted]
            return PartitionRows.joined(
                self._client.gather(self._client.map(passes.pick, rows, [inside for _, inside in wanted], pure=False))
            )

    def partial_labels(self) -> PartialLabels:
        """Fetch the partial labels; none where every row has one, since complete labels are no constraints."""
        if self.source.labels is None:
            return PartialLabels.none()
        find = dask.delayed(find_labels, pure=False)
        tasks = [find(labels, place) for labels, place in zip(self.source.labels, self.places, strict=True)]
        with readable_faults(self._client, self._partition_of):
            known = PartialLabels.joined(self._client.gather(self._client.compute(tasks, optimize_graph=False)))
        return known if known.numbers.size < self.n_samples else PartialLabels.none()

    def _by_partition(self, numbers: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        cuts = np.searchsorted(numbers, self._first)
        return [(part, numbers[cuts[part] : cuts[part + 1]] - self._first[part]) for part in range(len(self.n_rows))]

    def _results(self, futures: list[Any], budget: Budget) -> list[Any]:
        left = budget.remaining()
        try:
            distributed.wait(futures, timeout=left if np.isfinite(left) else None, return_when="ALL_COMPLETED")
            results: list[Any] = self._client.gather(futures)
        except TimeoutError:
            if not budget.expired():
                raise
            self._client.cancel([*self._running, *futures])
            raise UndecidedError("time ran out within a pass over all rows") from None
        except KeyboardInterrupt:
            self._client.cancel([*self._running, *futures])
            raise
        return results

    def _partition_of(self, key: Any) -> int | None:
        """Return the number of the partition of a task, where its key contains it."""
        for futures in (self._rows, self._running):
            keys = [future.key for future in futures]
            if key in keys:
                return keys.index(key)
        # Blocks of arrays and partitions of dataframes have their number in their names.
        return key[1] if isinstance(key, tuple) and len(key) > 1 and isinstance(key[1], int) else None


def _killed_message(error: Any, partition: int | None) -> str:
    # The scheduler counts for each task the workers that ended while they had it, running or waiting.
    which = "a partition" if partition is None else f"partition {partition}"
    return (
        f"{error.allowed_failures + 1} workers in a row ended with {which} of X, most likely for want of memory: it, "
        "or another one that they had, is too large; cut X into smaller partitions (X.rechunk or X.repartition), or "
        "give workers a larger memory_limit"
    )
