"""Run the rows of an experiment that are not in the file yet, side by side, each within its limits."""

import os
import pickle
import platform
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any

from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from konstrain.comparison.measures import Instance, fit_and_measure
from konstrain.exceptions import FileError
from konstrain.experiments.declare import GRACE, Case, Experiment, Row
from konstrain.experiments.sandbox import SANDBOXES, WorkResult
from konstrain.experiments.store import Started, Store, open_store
from konstrain.methods import get_method

_PACKAGES = ("konstrain", "numpy", "scipy", "scikit-learn", "highspy", "joblib")


@dataclass(frozen=True)
class Summary:
    """Counts of a run: all rows, those done before, those done now; reasons of the failed ones; seconds."""

    n_rows: int
    n_before: int
    n_now: int
    reasons: Counter[str]
    seconds: float
    n_skipped: int = 0  # Rows whose data are not there; they are not kept, so that no table or claim counts them.
    missing: tuple[str, ...] = ()  # The data sets of these rows.
    advice: str = ""  # How to get the first of them.

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
        skipped = f"; {self.skips}" if self.missing else ""
        return f"{done}; {self.failures}{skipped}; {self.seconds:.0f} s"

    @property
    def skips(self) -> str:
        """How many rows were left out because their data are not there."""
        return f"{self.n_skipped} skipped without the data of {', '.join(self.missing)}"


class MissingDataError(Exception):
    """The data of a row are not there, as opposed to a row that fails on its data."""


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
    if data is not None and not data.is_dir():
        raise NotADirectoryError(f"data names {str(data)!r}, which is not a folder")
    rows = experiment.rows(quick=quick)
    with open_store(db) as store:
        there = store.keys(experiment.name, failed=not retry)
        todo = [row for row in rows if row.key not in there]
        if todo:
            store.begin(experiment.name, _now())
        n_now, skipped = _run_all(experiment, todo, store, data, n_jobs=n_jobs, quiet=quiet)
        records = store.records(experiment.name, [row.key for row in rows])
    reasons = Counter(record["reason"] for record in records if record["status"] == "failed")
    return Summary(
        len(rows),
        len(rows) - len(todo),
        n_now,
        reasons,
        time.perf_counter() - begun,
        len(skipped),
        tuple(dict.fromkeys(str(todo[number].case.facts.get("data", todo[number].case.key)) for number in skipped)),
        next(iter(skipped.values()), ""),
    )


def count_rows(experiment: Experiment, *, db: Path, quick: bool) -> tuple[int, int]:
    """Count the rows of an experiment that are in the file, failed or not, and all."""
    keys = {row.key for row in experiment.rows(quick=quick)}
    with open_store(db) as store:
        return len(keys & store.keys(experiment.name)), len(keys)


def _run_all(
    experiment: Experiment, todo: list[Row], store: Store, data: Path | None, *, n_jobs: int | None, quiet: bool
) -> tuple[int, dict[int, str]]:
    """Run rows and keep each as soon as it is finished; only this process writes.

    Returns the number of rows kept, and why others were left out: their data are not there.
    """
    # Threads by default: they only wait for their sandboxes. One row per message: a row that waits for others of
    # its batch would be lost if this process were killed.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    n_now, skipped = 0, dict[int, str]()
    with progress_bar(experiment.name, len(todo), quiet=quiet) as advance:
        results = parallel(delayed(_guarded)(i, row, experiment.measures, data) for i, row in enumerate(todo))
        try:
            for number, result in results:
                kind, _, why = (result.reason or "").partition(": ")
                if kind == MissingDataError.__name__:
                    skipped[number] = why
                else:
                    store.add(experiment.name, todo[number], result)
                    n_now += 1
                advance(failed=result.reason is not None)
        except KeyboardInterrupt:
            SANDBOXES.interrupt()
            raise
        finally:
            results.close()
    return n_now, dict(sorted(skipped.items()))


def _guarded(number: int, row: Row, measures: tuple[str, ...], data: Path | None) -> tuple[int, WorkResult]:
    """Run a row in a sandbox of the worker that was given it."""
    limits = {"wall_limit": row.contender.time_limit + GRACE, "memory_limit": row.contender.memory_limit}
    return number, SANDBOXES.run(run_row, row, measures, data, **limits)


def run_row(row: Row, measures: tuple[str, ...], data: Path | None) -> dict[str, Any]:
    """Build the problem, fit, and measure."""
    try:
        instance = _build(pickle.dumps(row.case), data)
    except (FileNotFoundError, FileError) as error:
        raise MissingDataError(str(error)) from None
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
    """Build a problem once for all runs on it; they follow each other, and cases are equal only as bytes."""
    case: Case = pickle.loads(pickled)
    return case.make(data, case.seed)


def _now() -> Started:
    return Started(datetime.now(UTC).isoformat(timespec="seconds"), command_line(), describe_machine())


@contextmanager
def progress_bar(title: str, n_rows: int, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show on standard error how far a run is; nothing if `quiet`, or where standard error is no terminal."""
    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task(title, total=n_rows, failed=0)

        def advance(*, failed: bool = False) -> None:
            so_far = progress.tasks[0].fields["failed"]
            progress.update(task, advance=1, failed=so_far + failed)

        yield advance


def describe_machine() -> dict[str, str]:
    """Return the processor, cores, memory, system and versions.

    Examples
    --------
    >>> sorted(describe_machine())[:4]
    ['cores', 'highspy', 'joblib', 'konstrain']
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        names = [line.partition(":")[2].strip() for line in facts.read_text().splitlines() if "model name" in line]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def command_line() -> str:
    """Return the command that started this process, without the folders of the machine it ran on."""
    program = Path(sys.argv[0])
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    if program.parent.name == "experiments":
        name = "python -m konstrain.experiments"
    return " ".join([name, *(shlex.quote(argument) for argument in sys.argv[1:])])
