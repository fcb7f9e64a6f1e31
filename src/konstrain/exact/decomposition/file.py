"""Finished parts in a file: a line each, written through, so that nothing that was finished is ever lost."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from konstrain.exact.decomposition.task import PartAnswer

HEADER = {"konstrain": "bounds of parts", "format": 1}


class PartFile:
    """Bounds of parts by their keys, in memory and in a file that only grows.

    A part's key says everything its bound depends on, so a file may serve several problems and never misleads.

    Parameters
    ----------
    path : path-like
        The file; made when it is not there.
    """

    def __init__(self, path: Any) -> None:
        self._path = Path(path)
        self._known: dict[str, PartAnswer] = {}
        if self._path.exists() and self._path.stat().st_size:
            self._read()
        else:
            self._append(HEADER)

    def get(self, key: str) -> PartAnswer | None:
        """Return what is known of a part."""
        return self._known.get(key)

    def put(self, key: str, answer: PartAnswer) -> None:
        """Keep what is known of a part, if it was finished."""
        if answer.is_finished and key not in self._known:
            self._known[key] = answer
            centers = None if answer.centers is None else answer.centers.tolist()
            kept = {name: getattr(answer, name) for name in ("lower_bound", "upper_bound", "work", "seconds")}
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
        whole, torn = lines[1:-1], lines[-1]
        for number, line in enumerate(whole, start=2):
            self._take(line, number)
        if torn:
            # The process ended while it wrote this line: the part is done again.
            self._cut(len(torn.encode("utf-8", errors="replace")))

    def _take(self, line: str, number: int) -> None:
        try:
            record = json.loads(line)
            self._known[record["key"]] = _answer_of(record)
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self._path}, line {number} is damaged; remove the line, or name a new file") from None

    def _cut(self, n_bytes: int) -> None:
        os.truncate(self._path, self._path.stat().st_size - n_bytes)


def _answer_of(record: dict[str, Any]) -> PartAnswer:
    centers = None if record["centers"] is None else np.array(record["centers"], dtype=np.float64)
    return PartAnswer(
        float(record["lower_bound"]),
        float(record["upper_bound"]),
        is_finished=True,
        work=float(record["work"]),
        seconds=float(record["seconds"]),
        centers=centers,
    )
