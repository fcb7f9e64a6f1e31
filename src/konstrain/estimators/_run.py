"""One run of an estimator: Lloyd's loop, then what may follow it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from konstrain.estimators._lloyd import Lloyd
from konstrain.estimators._start import Start
from konstrain.result import Clustering


@dataclass(frozen=True, eq=False)
class Run:
    """One run from a seed: Lloyd's loop, then a search that takes its loop, its clustering and the seed."""

    lloyd: Lloyd
    start: Start
    search: Callable[[Lloyd, Clustering, int], Clustering] | None = None

    def __call__(self, seed: int) -> Clustering:
        """Make the run."""
        lloyd = replace(self.lloyd)  # its buffer is its own: runs may share a process
        clustering = lloyd.run(self.start.centers(lloyd, seed))
        return clustering if self.search is None else self.search(lloyd, clustering, seed)
