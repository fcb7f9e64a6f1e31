"""How far from the best possible the clustering is: searched for in a process that can be ended at any moment."""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._studio.fitting import Fit
from konstrain.exact.certificate import certify
from konstrain.exact.decomposition.bound import PartsPoint
from konstrain.exact.tree import TracePoint
from konstrain.experiments.declare import GRACE
from konstrain.experiments.sandbox import Sandbox
from konstrain.files import write_whole


@dataclass(frozen=True)
class Proved:
    """Bound and gap that a search for a proof has reached.

    `status` is ``"running"``, ``"done"``, ``"stopped"`` or ``"failed"``; `message` is the reason of a failure.
    """

    status: str
    lower_bound: float | None = None
    gap: float | None = None
    is_optimal: bool = False
    seconds: float = 0.0
    n_nodes: int = 0
    message: str = ""
    better: tuple[float, NDArray[np.int32]] | None = None


class Proof:
    """A search for a proof that a clustering is best under constraints, as `certify` takes them.

    `on_end` is called from the thread that waited for the search, when it is over.
    """

    def __init__(
        self, fit: Fit, constraints: dict[str, Any], time_limit: float, on_end: Callable[["Proof"], object]
    ) -> None:
        self.time_limit = time_limit
        self._began = time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="konstrain-proof-")
        self._progress = Path(self._folder.name) / "progress.json"
        self._box = Sandbox()
        self._stopped = False
        self._ended: Proved | None = None
        self._on_end = on_end
        work = (fit.X, fit.settings.n_clusters, fit.labels, constraints, time_limit, self._progress)
        self._thread = threading.Thread(target=self._run, args=work, name="konstrain-studio-proof", daemon=True)
        self._thread.start()

    @property
    def state(self) -> Proved:
        """What has been reached by now."""
        return self._ended if self._ended is not None else self._so_far("running")

    def stop(self) -> None:
        """End the search; the bound it had reached stays."""
        self._stopped = True
        while self._thread.is_alive():
            # More than once: the process may not have begun.
            self._box.interrupt()
            self._thread.join(0.05)

    def _run(self, *work: Any) -> None:
        result = self._box.run(prove, *work, wall_limit=self.time_limit + GRACE, memory_limit=_memory_here())
        if result.reason is None:
            self._ended = result.value
        elif self._stopped:
            self._ended = self._so_far("stopped")
        else:
            self._ended = Proved("failed", message=result.reason.partition(": ")[2] or result.reason)
        self._box.close()
        self._folder.cleanup()
        self._on_end(self)

    def _so_far(self, status: str) -> Proved:
        try:
            reached = json.loads(self._progress.read_text())
        except FileNotFoundError:
            reached = {}
        return Proved(status, seconds=time.monotonic() - self._began, **reached)


def _memory_here() -> float:
    """Return the memory of this machine, in megabytes: a search for a proof ends before it would be moved to disk."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20


def prove(
    X: NDArray[Any],
    n_clusters: int,
    labels: NDArray[np.int32],
    constraints: dict[str, Any],
    time_limit: float,
    progress: Path,
) -> Proved:
    """Search for a proof; writes what is reached to the file `progress`."""

    def record(point: TracePoint | PartsPoint) -> None:
        if np.isfinite(point.lower_bound):
            reached = {"lower_bound": point.lower_bound, "gap": point.gap, "n_nodes": point.n_nodes}
            write_whole(progress, json.dumps(reached).encode())

    found = certify(X, n_clusters, labels=labels, time_limit=time_limit, callback=record, **constraints)
    is_better = found.best_labels is not None and found.best_cost < found.cost * (1 - 1e-9)
    return Proved(
        "done",
        lower_bound=found.lower_bound if np.isfinite(found.lower_bound) else None,
        gap=found.gap if np.isfinite(found.lower_bound) else None,
        is_optimal=found.is_optimal,
        seconds=found.seconds,
        n_nodes=found.n_nodes,
        better=(found.best_cost, found.best_labels) if is_better and found.best_labels is not None else None,
    )
