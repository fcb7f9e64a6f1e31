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
    is_brief : bool
        Whether good answers are enough, so that nothing is spent on proving them.

    Examples
    --------
    >>> Deadline(None).remaining()
    inf
    >>> Deadline(0.0).expired()
    True
    """

    def __init__(self, time_limit: float | None, *, max_nodes: int | None = None, is_brief: bool = False) -> None:
        self.max_nodes = max_nodes
        self.is_brief = is_brief
        self._end = math.inf if time_limit is None else time.perf_counter() + time_limit

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.perf_counter()) if math.isfinite(self._end) else math.inf

    def share(self, part: float) -> "Deadline":
        """Return a deadline after this part of the time that is left, otherwise like this one."""
        return Deadline(self._part(part), max_nodes=self.max_nodes, is_brief=self.is_brief)

    def brief(self, part: float, max_nodes: int) -> "Deadline":
        """Return a deadline after this part of the time that is left, for a good answer after few branchings."""
        return Deadline(self._part(part), max_nodes=max_nodes, is_brief=True)

    def end(self) -> None:
        """Let all work that has this deadline end now."""
        self._end = 0.0

    def _part(self, part: float) -> float | None:
        left = self.remaining()
        return part * left if math.isfinite(left) else None

    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() <= 0.0


# For work that may take as long as it wants. Never changes, so that everyone can share it.
NO_DEADLINE = Deadline(None)
