"""The cluster that holds the rows: who works, what is asked of all partitions, and words for what can go wrong."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np
from distributed.comm import CommClosedError
from numpy.typing import NDArray

from konstrain.dask import passes
from konstrain.dask.partial_labels import Known, find_known
from konstrain.dask.passes import Place, Rows, Seen, joined_rows
from konstrain.dask.rows import Source
from konstrain.exceptions import UndecidedError
from konstrain.kmeans.distances import default_threads
from konstrain.stop import UNLIMITED, Budget

# Answers that are added up at a time, by a worker while there are more and here in the end.
FAN_IN = 16
# What workers of our own cluster do first: neither they nor their event loops write to the screen.
QUIET = "import logging; logging.disable()"


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
    # On loopback and without a page: nobody else gets to see the rows. What goes wrong is told in our words; a
    # heartbeat that is under way when its worker closes is nothing wrong, and yet a traceback in the log.
    first = dask.config.get("distributed.worker.preload")
    with (
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
def faults_in_words(client: Any, partition_of: Callable[[Any], int | None] = lambda key: None) -> Iterator[None]:
    """Say in one line what went wrong with the cluster; `partition_of` tells which partition a task is about."""
    try:
        yield
    except distributed.KilledWorker as error:
        raise MemoryError(_words_of_killed(error, partition_of(error.task))) from None
    except (CancelledError, CommClosedError):
        address = client.scheduler.addr if client.scheduler is not None else "the given address"
        raise ConnectionError(
            f"the scheduler at {address} is gone, and the rows with it; start it again and fit again"
        ) from None


class Partitions:
    """Rows on a cluster: asked all at once, answered in something small.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    source : Source
        The rows, which the workers keep from now on, in memory or on their disks.
    """

    def __init__(self, client: Any, source: Source) -> None:
        self._client = client
        self.source = source
        # Held on to: as long as these are, workers keep the rows, and make them again where one is lost.
        self._rows = client.compute(source.partitions(), optimize_graph=False)
        self._asked: list[Any] = []
        with faults_in_words(self._client, self._partition_of):
            self.seen: list[Seen] = client.gather(client.map(passes.look_at, self._rows, pure=False))
        self.n_rows = np.array([part.n_rows for part in self.seen], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum(self.n_rows)])
        self.places = [
            Place(number, first, seen.n_rows)
            for number, (first, seen) in enumerate(zip(self.first_rows, self.seen, strict=True))
        ]

    def __enter__(self) -> "Partitions":
        return self

    def __exit__(self, *_: Any) -> None:
        # What still refers to this object must not keep the workers' memory.
        self._rows, self._asked = [], []

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
        """Say which rows the client places, by their ascending numbers."""
        by_partition = self._by_partition(numbers)
        self.places = [replace(place, tied=by_partition[place.number][1]) for place in self.places]

    def keep(self, function: Callable[..., Any], question: Any) -> list[Any]:
        """Let workers make something of every partition and keep it, for as long as what this returns is held."""
        kept: list[Any] = self._client.map(partial(function, question), self._rows, self.places, pure=False)
        return kept

    def ask(
        self,
        function: Callable[..., Any],
        question: Any,
        budget: Budget = UNLIMITED,
        *,
        kept: list[Any] | None = None,
    ) -> Any:
        """Ask every partition, and return the answers added up, in the order of the partitions.

        `function` takes the question, rows, or what was kept of them, and a `Place`; its answers have a class method
        `joined`.
        """
        with faults_in_words(self._client, self._partition_of):
            rows = self._rows if kept is None else kept
            answers = self._asked = self._client.map(partial(function, question), rows, self.places, pure=False)
            while len(answers) > FAN_IN:
                groups = [answers[i : i + FAN_IN] for i in range(0, len(answers), FAN_IN)]
                answers = self._client.map(_joined, groups, pure=False)
            return _joined(self._results(answers, budget))

    def rows_at(self, numbers: NDArray[np.int64]) -> Rows:
        """Fetch some rows, by their ascending numbers."""
        wanted = [(part, inside) for part, inside in self._by_partition(numbers) if inside.size]
        if not wanted:
            wanted = [(0, np.zeros(0, dtype=np.int64))]
        with faults_in_words(self._client, self._partition_of):
            rows = [self._rows[part] for part, _ in wanted]
            return joined_rows(
                self._client.gather(self._client.map(passes.pick, rows, [inside for _, inside in wanted], pure=False))
            )

    def known_labels(self) -> Known:
        """Fetch the partial labels; none where every row has one, for complete labels are no constraints."""
        if self.source.labels is None:
            return Known.nothing()
        find = dask.delayed(find_known, pure=False)
        tasks = [find(labels, place) for labels, place in zip(self.source.labels, self.places, strict=True)]
        with faults_in_words(self._client, self._partition_of):
            known = Known.joined(self._client.gather(self._client.compute(tasks, optimize_graph=False)))
        return known if known.numbers.size < self.n_samples else Known.nothing()

    def _by_partition(self, numbers: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        cuts = np.searchsorted(numbers, self._first)
        return [(part, numbers[cuts[part] : cuts[part + 1]] - self._first[part]) for part in range(len(self.n_rows))]

    def _results(self, futures: list[Any], budget: Budget) -> list[Any]:
        left = budget.remaining()
        try:
            distributed.wait(futures, timeout=left if np.isfinite(left) else None, return_when="ALL_COMPLETED")
            answers: list[Any] = self._client.gather(futures)
        except TimeoutError:
            if not budget.expired():
                raise
            self._client.cancel(futures)
            raise UndecidedError("time ran out within a pass over all rows") from None
        except KeyboardInterrupt:
            self._client.cancel(futures)
            raise
        return answers

    def _partition_of(self, key: Any) -> int | None:
        """Return the number of the partition that a task is about, as far as its key tells."""
        for futures in (self._rows, self._asked):
            keys = [future.key for future in futures]
            if key in keys:
                return keys.index(key)
        # Blocks of arrays and partitions of dataframes have their number in their names.
        return key[1] if isinstance(key, tuple) and len(key) > 1 and isinstance(key[1], int) else None


def _words_of_killed(error: Any, partition: int | None) -> str:
    which = "a partition" if partition is None else f"partition {partition}"
    return (
        f"{which} of X ended {error.allowed_failures + 1} workers in a row, most likely for want of memory; "
        "cut X into smaller partitions (X.rechunk or X.repartition), or give workers a larger memory_limit"
    )


def _joined(parts: list[Any]) -> Any:
    return type(parts[0]).joined(parts)
