"""The budget of a piece of work: seconds, and work that is counted the same on every machine."""

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class BudgetParams:
    """Work, in multiply-adds, where the user sets no limit."""

    # Least of a search, most of all runs of Lloyd's loop, and most for the proof of a last step; larger: longer fits,
    # lower objectives, more proofs.
    work: float = 2e8
    # Most for the proof of an assignment step on the way; larger: slower steps, more of them proved.
    step_work: float = 1e7
    # Work between two callbacks of a solver, per squared number of columns; larger: fewer proofs.
    per_choice: float = 10.0


PARAMS = BudgetParams()


def solver_work(n_columns: float) -> float:
    """Return the multiply-adds of a solver between two callbacks: about those of one linear program."""
    return PARAMS.per_choice * float(n_columns) ** 2


class Budget:
    """Time and work, made once per fit, handed down to every part of it, and spent there; None: no limit.

    Work beyond the first feasible labels of a heuristic is counted in multiply-adds: by the search, and by engines
    that search for a proof.
    """

    def __init__(self, time_limit: float | None = None, work: float | None = None) -> None:
        self._end = math.inf if time_limit is None else time.perf_counter() + time_limit
        self._work = math.inf if work is None else work
        self._whole: Budget | None = None

    def remaining(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self._end - time.perf_counter()) if math.isfinite(self._end) else math.inf

    def expired(self) -> bool:
        """Return whether no time is left."""
        return self.remaining() <= 0.0

    @property
    def is_timed(self) -> bool:
        """Whether time is limited."""
        return math.isfinite(self._end)

    @property
    def limits_work(self) -> bool:
        """Whether work is limited, so that a result may stay without proof though time is left."""
        return math.isfinite(self._work) or (self._whole is not None and self._whole.limits_work)

    def affords(self, work: float) -> bool:
        """Return whether time and at least this much work are left."""
        return work <= self._work and not self.expired() and (self._whole is None or self._whole.affords(work))

    def spend(self, work: float) -> None:
        """Count work as done, here and in the budget that this one is a part of."""
        self._work -= work
        if self._whole is not None:
            self._whole.spend(work)

    def part(self, share: float = 0.5, *, work: float | None = None) -> "Budget":
        """Return a budget for work that other work follows: a share of the remaining time, and this work if given."""
        piece = Budget(share * self.remaining() if self.is_timed else None, work)
        piece._whole = self
        return piece

    def end(self) -> None:
        """Let all work that has this budget end now."""
        self._end = 0.0


# For work that may take as long as it wants. Without limits nothing is stored, so that all callers can share it.
UNLIMITED = Budget()
