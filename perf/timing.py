"""CPU time and memory of one call."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).resolve().parent
KEPT = HERE / ".cache"


def cpu_seconds(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median CPU time of several calls, and what the last one returned."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), result


@contextmanager
def one_thread() -> Iterator[None]:
    """Let our kernels run on one thread, as peers do that know of no more: CPU time then compares like with like."""
    with patch.dict(os.environ, OMP_NUM_THREADS="1"):
        yield


def peak_megabytes() -> float:
    """Largest resident memory of this process so far (Linux)."""
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024.0


def run_alone(script: str, *arguments: str) -> str:
    """Last line printed by a script of this folder in a process of its own."""
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]


def run_alone_once(script: str, *arguments: str) -> str:
    """Like `run_alone`, but what was printed is kept, and a script with the same arguments is not run again."""
    kept = KEPT / f"{' '.join((Path(script).stem, *arguments))}.txt"
    if not kept.exists():
        printed = run_alone(script, *arguments)
        KEPT.mkdir(exist_ok=True)
        kept.write_text(printed)
    return kept.read_text()
