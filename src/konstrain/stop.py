"""Limits on how long work may take."""

import math
import time


class Looks:
    """How often solvers may still look whether to go on, all together.

    A limit on work that, unlike time, is the same on every machine. It is shared: what one part of the work uses up
    is gone for the others.

    Parameters
    ----------
    left : int
        Looks that are left.
    """

    def __init__(self, left: int) -> None:
        self.left = left


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
    looks : Looks or None
        Looks of solvers at whether to go on, after which no time is left; None: any number.

    Examples
    --------
    >>> Deadline(None).remaining()
    inf
    >>> Deadline(0.0).expired()
    True
    """

    def __init__(
        self,
        time_limit: float | None,
        *,
        max_nodes: int | None = None,
        is_brief: bool = False,
        looks: Looks | None = None,
    ) -> None:
        self.max_nodes = max_nodes
        self.is_brief = is_brief
        self._looks = looks
        self._end = math.inf if time_limit is None else time.perf_counter() + time_limit

    def remaining(self) -> float:
        """Seconds left, never negative; none when the looks are used up."""
        if self._looks is not None and self._looks.left <= 0:
            return 0.0
        return max(0.0, self._end - time.perf_counter()) if math.isfinite(self._end) else math.inf

    @property
    def counts_work(self) -> bool:
        """Whether work is limited by what it does, in branchings or looks, and not only by time."""
        return self.max_nodes is not None or self._looks is not None

    def look(self) -> bool:
        """Count one look at whether to go on; returns whether no time is left."""
        if self._looks is not None:
            self._looks.left -= 1
        return self.expired()

    def share(self, part: float) -> "Deadline":
        """Return a deadline after this part of the time that is left, otherwise like this one."""
        return Deadline(self._part(part), max_nodes=self.max_nodes, is_brief=self.is_brief, looks=self._looks)

    def brief(self, part: float, max_nodes: int) -> "Deadline":
        """Return a deadline after this part of the time that is left, for a good answer after few branchings."""
        return Deadline(self._part(part), max_nodes=max_nodes, is_brief=True, looks=self._looks)

    def patient(self, part: float, looks: int) -> "Deadline":
        """Return a deadline after this part of the time that is left, for a proof that takes no more looks."""
        return Deadline(self._part(part), looks=Looks(looks))

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
