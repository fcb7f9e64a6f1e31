"""Sum of the bounds of parts, an estimate of its final value, and a file of finished parts."""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.decomposition.part import PartResult

HEADER = {"konstrain": "bounds of parts", "format": 1}


class Estimate(NamedTuple):
    """Estimate, without proof, of the bound when all parts are done, and its standard error."""

    bound: float
    error: float


@dataclass(eq=False)
class BoundSum:
    """Bounds of the parts of one partition, done and not done.

    A part that a time limit cut short counts in the bound, but not in the estimate.
    """

    costs: NDArray[np.float64]  # (n_parts,): cost of the given clustering in each part.
    floors: NDArray[np.float64]  # (n_parts,): bound of each part until it is done.
    results: dict[int, PartResult] = field(default_factory=dict)  # Results of the parts that are done.

    def __post_init__(self) -> None:
        # Arrays, because they are summed after each of thousands of parts.
        self._proved = self.floors.copy()
        self._is_finished = np.zeros(self.n_parts, dtype=bool)
        self._seconds, self._elapsed, self._work = (np.zeros(self.n_parts) for _ in range(3))

    def take(self, part: int, result: PartResult) -> None:
        """Store the result of a part; an earlier bound of a run that was cut short stays if it is higher."""
        self.results[part] = result
        self._proved[part] = max(self._proved[part], result.lower_bound)
        self._is_finished[part] = result.is_finished
        self._seconds[part] += result.seconds
        self._elapsed[part], self._work[part] = result.elapsed, result.work

    def cut_short(self) -> list[int]:
        """Return the parts that a time limit ended."""
        return [part for part in sorted(self.results) if not self._is_finished[part]]

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.costs.size

    @property
    def n_finished(self) -> int:
        """Number of parts that ended by themselves, the sample of the estimate."""
        return int(np.count_nonzero(self._is_finished))

    @property
    def lower_bound(self) -> float:
        """No clustering of the whole costs less."""
        # Exactly rounded, so that the order of the results does not matter.
        return math.fsum(self._proved)

    @property
    def seconds(self) -> float:
        """Processor time of all parts that are done."""
        return math.fsum(self._seconds)

    @property
    def mean_elapsed(self) -> float:
        """Mean time of a part on the clock; parts from a file took none."""
        return math.fsum(self._elapsed) / max(1, int(np.count_nonzero(self._elapsed)))

    @property
    def mean_work(self) -> float:
        """Mean work of a part, the same on every machine."""
        return math.fsum(self._work) / max(1, len(self.results))

    def better_centers(self) -> list[NDArray[np.float64]]:
        """Return the centers of parts that found better clusterings, most improved first.

        Improvements are relative to the cost of the part: parts differ in weight where equal rows were merged.
        """
        found = [part for part in sorted(self.results) if self.results[part].centers is not None]
        found.sort(key=lambda part: self.results[part].upper_bound / self.costs[part])
        return [centers for part in found if (centers := self.results[part].centers) is not None]

    def estimate(self) -> Estimate:
        """Estimate the bound when all parts are done.

        The partition is random, so finished parts are a sample for ratio estimation of bounds over costs. Parts that
        a time limit cut short would end higher, and count as not done.
        """
        done = self._is_finished
        n = self.n_finished
        if n in (0, self.n_parts):
            return Estimate(self.lower_bound, 0.0 if n else math.inf)
        bounds, costs = self._proved[done], self.costs[done]
        rest = self.costs[~done]
        ratio = math.fsum(bounds) / max(math.fsum(costs), np.finfo(float).tiny)
        spread = math.sqrt(math.fsum((bounds - ratio * costs) ** 2) / (n - 1)) if n > 1 else math.inf
        error = math.fsum(rest) / max(float(costs.mean()), np.finfo(float).tiny) * spread / math.sqrt(n)
        # A part cut short may be above the estimate already.
        return Estimate(math.fsum(bounds) + math.fsum(np.maximum(ratio * rest, self._proved[~done])), error)


class PartFile:
    """Bounds of parts by their keys, in memory and in a file that only grows and is created if missing.

    A key depends on everything that the bound of a part depends on, so one file may serve several problems.
    """

    def __init__(self, path: Any) -> None:
        self._path = Path(path)
        self._known: dict[str, PartResult] = {}
        if self._path.exists() and self._path.stat().st_size:
            self._read()
        else:
            self._append(HEADER)

    def get(self, key: str) -> PartResult | None:
        """Return the result of a part, if it is stored."""
        return self._known.get(key)

    def put(self, key: str, result: PartResult) -> None:
        """Store the result of a part, if it is finished."""
        if result.is_finished and key not in self._known:
            self._known[key] = result
            centers = None if result.centers is None else result.centers.tolist()
            kept = {name: getattr(result, name) for name in ("lower_bound", "upper_bound", "work", "seconds")}
            self._append({"key": key, **kept, "centers": centers})

    def _append(self, record: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")
        try:
            header = json.loads(lines[0])
        except ValueError:
            header = None
        if header != HEADER:
            raise ValueError(f"{self._path} does not hold bounds of parts; name a new file, or one written before")
        whole, unfinished = lines[1:-1], lines[-1]
        for number, line in enumerate(whole, start=2):
            self._take(line, number)
        if unfinished:
            # The process ended while it wrote this line, so the part is computed again.
            self._cut(len(unfinished.encode("utf-8", errors="replace")))

    def _take(self, line: str, number: int) -> None:
        try:
            record = json.loads(line)
            self._known[record["key"]] = _result_of(record)
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self._path}, line {number} is damaged; remove the line, or name a new file") from None

    def _cut(self, n_bytes: int) -> None:
        os.truncate(self._path, self._path.stat().st_size - n_bytes)


def _result_of(record: dict[str, Any]) -> PartResult:
    centers = None if record["centers"] is None else np.array(record["centers"], dtype=np.float64)
    return PartResult(
        float(record["lower_bound"]),
        float(record["upper_bound"]),
        is_finished=True,
        work=float(record["work"]),
        seconds=float(record["seconds"]),
        centers=centers,
    )
