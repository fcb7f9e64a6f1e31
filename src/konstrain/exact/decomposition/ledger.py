"""What is proved by the parts that are done, and, apart from that, where the others are likely to end."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.decomposition.task import PartAnswer


class Projection(NamedTuple):
    """An estimate, not a proof: the bound when all parts are done, and its standard error."""

    bound: float
    error: float


@dataclass(eq=False)
class Ledger:
    """The parts of one split, done and not done.

    Parameters
    ----------
    costs : ndarray of shape (n_parts,)
        What the clustering in question costs in each part.
    floors : ndarray of shape (n_parts,)
        What every clustering pays in each part: its bound until it is done.
    answers : dict of int to PartAnswer
        What is known of the parts that are done.

    Examples
    --------
    >>> ledger = Ledger(np.array([10.0, 12.0, 11.0]), np.zeros(3))
    >>> ledger.take(0, PartAnswer(9.0, 10.0, is_finished=True, work=1.0, seconds=0.1))
    >>> ledger.take(2, PartAnswer(9.9, 11.0, is_finished=True, work=1.0, seconds=0.1))
    >>> ledger.lower_bound, round(ledger.projection().bound, 6)
    (18.9, 29.7)

    A part that a limit cut short adds what it has to the bound, and says nothing about where parts end:

    >>> ledger.take(1, PartAnswer(3.0, 12.0, is_finished=False, work=1.0, seconds=0.1))
    >>> round(ledger.lower_bound, 6), round(ledger.projection().bound, 6)
    (21.9, 29.7)
    """

    costs: NDArray[np.float64]
    floors: NDArray[np.float64]
    answers: dict[int, PartAnswer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Numbers of the answers side by side: they are summed after every part, and there may be thousands.
        self._proved = self.floors.copy()
        self._is_finished = np.zeros(self.n_parts, dtype=bool)
        self._seconds, self._elapsed, self._work = (np.zeros(self.n_parts) for _ in range(3))

    def take(self, part: int, answer: PartAnswer) -> None:
        """Write down what is known of a part, beside what a run that was cut short has proved."""
        self.answers[part] = answer
        self._proved[part] = max(self._proved[part], answer.lower_bound)
        self._is_finished[part] = answer.is_finished
        self._seconds[part] += answer.seconds
        self._elapsed[part], self._work[part] = answer.elapsed, answer.work

    def cut_short(self) -> list[int]:
        """Return the parts that a limit ended."""
        return [part for part in sorted(self.answers) if not self._is_finished[part]]

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.costs.size

    @property
    def n_finished(self) -> int:
        """Parts that ended by themselves: the sample that the projection is made from."""
        return int(np.count_nonzero(self._is_finished))

    @property
    def lower_bound(self) -> float:
        """No clustering of the whole costs less."""
        # Exactly rounded, so that the order in which parts came in does not show.
        return math.fsum(self._proved)

    @property
    def seconds(self) -> float:
        """Processor time of all parts that are done."""
        return math.fsum(self._seconds)

    @property
    def mean_elapsed(self) -> float:
        """Time on the clock of a part, on average; parts from a file took none."""
        return math.fsum(self._elapsed) / max(1, int(np.count_nonzero(self._elapsed)))

    @property
    def mean_work(self) -> float:
        """Work of a part, on average; the same on every machine."""
        return math.fsum(self._work) / max(1, len(self.answers))

    def better_centers(self) -> list[NDArray[np.float64]]:
        """Centers of the parts that found better clusters, most improved first.

        By what they gained relative to what the labels cost them: parts weigh differently where equal rows were
        merged, and the cheapest part would be the lightest one.
        """
        found = [part for part in sorted(self.answers) if self.answers[part].centers is not None]
        found.sort(key=lambda part: self.answers[part].upper_bound / self.costs[part])
        return [centers for part in found if (centers := self.answers[part].centers) is not None]

    def projection(self) -> Projection:
        """Estimate the bound when all parts are done.

        Parts are dealt at random, so those that ended by themselves are a sample: bounds over costs, as in ratio
        estimation. Those that a limit cut short would end higher than they are, and count among those to come.
        """
        done = self._is_finished
        n = self.n_finished
        if n in (0, self.n_parts):
            return Projection(self.lower_bound, 0.0 if n else math.inf)
        bounds, costs = self._proved[done], self.costs[done]
        rest = self.costs[~done]
        ratio = math.fsum(bounds) / max(math.fsum(costs), np.finfo(float).tiny)
        spread = math.sqrt(math.fsum((bounds - ratio * costs) ** 2) / (n - 1)) if n > 1 else math.inf
        error = math.fsum(rest) / max(float(costs.mean()), np.finfo(float).tiny) * spread / math.sqrt(n)
        # A part cut short may be above that already.
        return Projection(math.fsum(bounds) + math.fsum(np.maximum(ratio * rest, self._proved[~done])), error)
