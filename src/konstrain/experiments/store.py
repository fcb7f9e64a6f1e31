"""Finished rows in one SQLite file: a transaction each, so that a killed run loses none."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from konstrain.comparison.records import Record
from konstrain.exceptions import FileError
from konstrain.experiments.declare import Row
from konstrain.experiments.sandbox import WorkResult

# Grows with every change of the tables below.
VERSION: Final = 1
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

    def add(self, experiment: str, row: Row, result: WorkResult) -> None:
        """Keep a finished row, failed or not."""
        status = "done" if result.reason is None else "failed"
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
                    result.reason,
                    json.dumps(result.value or {}),
                ),
            )

    def keys(self, experiment: str, *, failed: bool = True) -> set[str]:
        """Return the keys of the finished rows, with or without those that failed."""
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
    """Open the file, make it if it is not there, and close it at the end.

    Raises
    ------
    FileError
        When the file cannot be opened or written to, is damaged, or was written by another version.
    """
    with _readable_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path)
        try:
            _refuse_other_versions(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # In this mode a killed process loses nothing that was committed; a power cut may, and those rows run
            # again.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            yield Store(connection)
        finally:
            connection.close()


@contextmanager
def _readable_failures(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot use {path}: {error.strerror or error}") from None
    except sqlite3.OperationalError as error:
        # Not to be opened, locked, read-only, disk full: SQLite's own message is readable.
        raise FileError(f"cannot use {path}: {error}") from None
    except (sqlite3.DatabaseError, json.JSONDecodeError):
        raise FileError(f"{path} is damaged, or is no file of results; give another one with --results") from None


def _refuse_other_versions(path: Path, connection: sqlite3.Connection) -> None:
    """Raise if the tables are not those of this version; a file without any is new."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = _columns_of(connection)
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(_TABLES)
        wanted = _columns_of(empty)
    if version > VERSION or (found and found != wanted):
        age = "a newer" if version > VERSION else "another"
        raise FileError(f"{path} was written by {age} version of konstrain; give another file with --results")


def _columns_of(connection: sqlite3.Connection) -> dict[str, list[str]]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: [column[1] for column in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))]
        for name in sorted(names)
    }
