"""Who bounds the parts: this process, several on this machine, or a Dask cluster. The answers are the same."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from konstrain.exact.decomposition.task import PartAnswer, PartTask

Numbered = tuple[int, PartAnswer]


def run_numbered(number: int, task: PartTask) -> Numbered:
    """Bound one part and say which it was."""
    return number, task.run()


class Workers:
    """Runs tasks and yields their answers as they come.

    Parameters
    ----------
    n_jobs : int or None
        Processes on this machine, in joblib's sense.
    client : distributed.Client or None
        A Dask cluster to use instead.
    """

    def __init__(self, n_jobs: int | None = None, client: Any = None) -> None:
        self._client = client
        self._n_jobs = n_jobs

    @property
    def count(self) -> int:
        """How many parts are worked on together."""
        if self._client is None:
            return int(effective_n_jobs(self._n_jobs))
        return max(1, sum(map(int, self._client.nthreads().values())))

    def run(self, tasks: Iterator[tuple[int, PartTask]]) -> Iterator[Numbered]:
        """Yield the answers of tasks, which are asked for when somebody is free."""
        if self._client is not None:
            return self._on_cluster(tasks)
        if self.count == 1:
            return (run_numbered(number, task) for number, task in tasks)
        parallel = Parallel(n_jobs=self.count, return_as="generator_unordered")
        answers: Iterator[Numbered] = parallel(delayed(run_numbered)(number, task) for number, task in tasks)
        return answers

    def _on_cluster(self, tasks: Iterator[tuple[int, PartTask]]) -> Iterator[Numbered]:
        from distributed import as_completed

        first = [self._submit(*entry) for entry in islice(tasks, self.count)]
        waiting = as_completed(first)
        for future in waiting:
            yield future.result()
            following = next(tasks, None)
            if following is not None:
                waiting.add(self._submit(*following))

    def _submit(self, number: int, task: PartTask) -> Any:
        return self._client.submit(run_numbered, number, task, pure=False)
