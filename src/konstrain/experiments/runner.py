"""Runs the rows of an experiment that are not in the file yet, side by side, each within its limits."""

import pickle
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from textwrap import shorten
from typing import Any

from joblib import Parallel, delayed

from konstrain.comparison.instance import Instance
from konstrain.comparison.trial import fit_and_measure
from konstrain.experiments.declare import GRACE, Case, Experiment, Row
from konstrain.experiments.machine import command_line, describe_machine
from konstrain.experiments.progress import shown
from konstrain.experiments.sandbox import SANDBOXES, Answer
from konstrain.experiments.store import Started, Store, open_store
from konstrain.methods import get_method


@dataclass(frozen=True)
class Summary:
    """What a run came to: rows asked for, there before, done now; reasons of failed ones among all; seconds."""

    n_rows: int
    n_before: int
    n_now: int
    reasons: Counter[str]
    seconds: float

    @property
    def n_failed(self) -> int:
        """Rows that failed."""
        return self.reasons.total()

    @property
    def failures(self) -> str:
        """How many rows failed and, if any, why most of them did."""
        if not self.reasons:
            return "0 failed"
        (reason, count), *_ = self.reasons.most_common(1)
        return f"{self.n_failed} failed, {count} of them because of {shorten(reason, 160)}"

    @property
    def n_left(self) -> int:
        """Rows that are still to be done."""
        return self.n_rows - self.n_before - self.n_now

    def __str__(self) -> str:
        done = f"{self.n_before + self.n_now} of {self.n_rows} rows are there, {self.n_now} of them new"
        return f"{done}; {self.failures}; {self.seconds:.0f} s"


def run_rows(
    experiment: Experiment,
    *,
    db: Path,
    data: Path | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    retry: bool = False,
    quiet: bool = False,
) -> Summary:
    """Run what is missing; see `konstrain.experiments.run_experiment`."""
    begun = time.perf_counter()
    rows = experiment.rows(quick=quick)
    with open_store(db) as store:
        there = store.keys(experiment.name, failed=not retry)
        todo = [row for row in rows if row.key not in there]
        if todo:
            store.begin(experiment.name, _now())
        n_now = _run_all(experiment, todo, store, data, n_jobs=n_jobs, quiet=quiet)
        records = store.records(experiment.name, [row.key for row in rows])
    reasons = Counter(record["reason"] for record in records if record["status"] == "failed")
    return Summary(len(rows), len(rows) - len(todo), n_now, reasons, time.perf_counter() - begun)


def count_rows(experiment: Experiment, *, db: Path, quick: bool) -> tuple[int, int]:
    """Count the rows of an experiment that are in the file, failed or not, and all."""
    keys = {row.key for row in experiment.rows(quick=quick)}
    with open_store(db) as store:
        return len(keys & store.keys(experiment.name)), len(keys)


def _run_all(
    experiment: Experiment, todo: list[Row], store: Store, data: Path | None, *, n_jobs: int | None, quiet: bool
) -> int:
    """Run rows and keep each as soon as it is finished; only this process writes."""
    # Threads unless joblib is told otherwise: they only wait for their sandboxes. One row per message: a row that
    # waits for others of its batch would be lost if we were killed.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    n_now = 0
    with shown(experiment.name, len(todo), quiet=quiet) as advance:
        answers = parallel(delayed(_guarded)(i, row, experiment.measures, data) for i, row in enumerate(todo))
        try:
            for number, answer in answers:
                store.add(experiment.name, todo[number], answer)
                n_now += 1
                advance(failed=answer.reason is not None)
        except KeyboardInterrupt:
            SANDBOXES.interrupt()
            raise
        finally:
            answers.close()
    return n_now


def _guarded(number: int, row: Row, measures: tuple[str, ...], data: Path | None) -> tuple[int, Answer]:
    """Run a row in a sandbox of the worker that was given it."""
    limits = {"wall_limit": row.contender.time_limit + GRACE, "memory_limit": row.contender.memory_limit}
    return number, SANDBOXES.run(run_row, row, measures, data, **limits)


def run_row(row: Row, measures: tuple[str, ...], data: Path | None) -> dict[str, Any]:
    """Build the problem, fit, and measure."""
    instance = _build(pickle.dumps(row.case), data)
    return fit_and_measure(
        instance,
        get_method(row.contender.method),
        measures,
        params=dict(row.contender.params),
        random_state=row.random_state,
        time_limit=row.contender.time_limit,
    )


@lru_cache(maxsize=1)
def _build(pickled: bytes, data: Path | None) -> Instance:
    """Build a problem once for all runs on it; they follow each other, and equal cases look alike only in writing."""
    case: Case = pickle.loads(pickled)
    return case.make(data, case.seed)


def _now() -> Started:
    return Started(datetime.now(UTC).isoformat(timespec="seconds"), command_line(), describe_machine())
