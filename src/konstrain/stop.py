"""Limits on how long work may take."""

import math
import time


class Deadline:
    """A moment by which work must end, made once and handed down to every part of it.

    Parameters
    ----------
    time_limit : float or None
        Seconds from now; None means no limit.
    max_nodes : int or None
        Most branchings of one solver's run: a limit that, unlike time, is the same on every machine.

    Examples
    --------
    >>> Deadline(None).remaining()
    inf
    >>> Deadline(0.0).expired()
    True
    """

    def __init__(self, time_limit: float | None, *, max_nodes: int | None = None) -> None:
        self.max_nodes = max_nodes
        self._end = math.inf if time_limit is None else time.perf_counter() + time_limit

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.perf_counter()) if math.isfinite(self._end) else math.inf

    def share(self, part: float, max_nodes: int | None = None) -> "Deadline":
        """Return a deadline after this part of the time that is left, with another limit on branchings."""
        left = self.remaining()
        return Deadline(part * left if math.isfinite(left) else None, max_nodes=max_nodes)

    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() <= 0.0


# For work that may take as long as it wants. Never changes, so that everyone can share it.
NO_DEADLINE = Deadline(None)
