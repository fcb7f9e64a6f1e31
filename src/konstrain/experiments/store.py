"""Finished rows in one SQLite file: a transaction each, so that a killed run loses none."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from konstrain.comparison.records import Record
from konstrain.experiments.declare import Row
from konstrain.experiments.sandbox import Answer

_TABLES = """
CREATE TABLE IF NOT EXISTS rows (
    experiment TEXT NOT NULL,
    key TEXT NOT NULL,
    fields TEXT NOT NULL,
    "set" INTEGER NOT NULL,
    method TEXT NOT NULL,
    run INTEGER NOT NULL,
    random_state INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    measures TEXT NOT NULL,
    PRIMARY KEY (experiment, key)
);
CREATE TABLE IF NOT EXISTS runs (
    experiment TEXT NOT NULL,
    begun TEXT NOT NULL,
    command TEXT NOT NULL,
    machine TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Started:
    """One start of a run: when, by which command, on which machine with which versions."""

    begun: str
    command: str
    machine: Mapping[str, str]


@dataclass(frozen=True)
class Store:
    """The rows of experiments in one file."""

    connection: sqlite3.Connection

    def add(self, experiment: str, row: Row, answer: Answer) -> None:
        """Keep a finished row, failed or not."""
        status = "done" if answer.reason is None else "failed"
        with self.connection:
            self.connection.execute(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    experiment,
                    row.key,
                    json.dumps(dict(row.case.fields)),
                    row.case.seed,
                    row.contender.label,
                    row.run,
                    row.random_state,
                    status,
                    answer.reason,
                    json.dumps(answer.value or {}),
                ),
            )

    def keys(self, experiment: str, *, failed: bool = True) -> set[str]:
        """Keys of the finished rows; without those that failed, if so asked."""
        states = ("done", "failed" if failed else "done")
        found = self.connection.execute(
            "SELECT key FROM rows WHERE experiment = ? AND status IN (?, ?)", (experiment, *states)
        )
        return {key for (key,) in found}

    def records(self, experiment: str, keys: list[str]) -> list[Record]:
        """Return finished rows as records, in the order of the keys."""
        names = '"key", fields, "set", method, run, random_state, status, reason, measures'
        found = {
            row[0]: row
            for row in self.connection.execute(f"SELECT {names} FROM rows WHERE experiment = ?", (experiment,))
        }
        return [_record(*found[key]) for key in keys if key in found]

    def begin(self, experiment: str, started: Started) -> None:
        """Note that a run begins."""
        values = (experiment, started.begun, started.command, json.dumps(dict(started.machine)))
        with self.connection:
            self.connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", values)

    def starts(self, experiment: str) -> list[Started]:
        """Return all runs that wrote rows of this experiment, oldest first."""
        found = self.connection.execute(
            "SELECT begun, command, machine FROM runs WHERE experiment = ? ORDER BY rowid", (experiment,)
        )
        return [Started(begun, command, json.loads(machine)) for begun, command, machine in found]


def _record(
    key: str,
    fields: str,
    seed: int,
    method: str,
    run: int,
    random_state: int,
    status: str,
    reason: str,
    measures: str,
) -> dict[str, Any]:
    about = {"set": seed, "method": method, "run": run, "random_state": random_state}
    return {
        "key": key,
        **json.loads(fields),
        **about,
        "status": status,
        "reason": reason,
        **json.loads(measures),
    }


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open the file, make it if it is not there, and close it at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # In this mode a killed process loses nothing that was committed; a power cut may, and those rows run again.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        yield Store(connection)
    finally:
        connection.close()
