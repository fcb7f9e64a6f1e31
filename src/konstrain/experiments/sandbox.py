"""Work in a process of its own, with limits on time and memory that hold whatever the work does.

This file is also the program of that process. It imports nothing of the package; what work needs comes with it.
"""

import atexit
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

# One thread each: rows run side by side, and their times should not depend on how many do.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_MEGABYTE: Final = 2**20


@dataclass(frozen=True)
class WorkResult:
    """The value of a piece of work, or the reason why there is none."""

    value: Any = None
    reason: str | None = None


class Sandbox:
    """A child process that does one piece of work after the other; ended and replaced when one goes over its limit.

    Not a pool: the caller waits. Started with the first piece of work, so that making one costs nothing.

    Examples
    --------
    >>> with Sandbox() as box:
    ...     box.run(max, 2, 3, wall_limit=60.0).value, box.run(int, "two", wall_limit=60.0).reason
    (3, "ValueError: invalid literal for int() with base 10: 'two'")
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(
        self, work: Callable[..., Any], *arguments: Any, wall_limit: float, memory_limit: float | None = None
    ) -> WorkResult:
        """Do a piece of work there; `wall_limit` in seconds, `memory_limit` in megabytes beyond what is held."""
        try:
            line = self._started()
            line.send((work, arguments, memory_limit))
            if line.poll(wall_limit):
                return WorkResult(*line.recv())
        except (EOFError, ConnectionError):
            return WorkResult(reason=self._how_it_ended())
        except BaseException:
            self.close()
            raise
        self.close()
        return WorkResult(reason=f"TimeLimit: no result within {wall_limit:g} s")

    def interrupt(self) -> None:
        """End the process from another thread than the one that waits; that one gets the reason."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None and self._line is not None:
            self._line.close()
            self._process.kill()
            self._process.wait()
        self._process = self._line = None

    def _started(self) -> Connection:
        if self._line is None:
            ours, theirs = socket.socketpair()
            with theirs:
                # A session of its own: Ctrl-C is ours to handle, and we end it.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", __file__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, **_ONE_THREAD},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
            self._line = Connection(ours.detach())
            self._line.send(sys.path)
        return self._line

    def _how_it_ended(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self.close()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"ProcessEnded: {name}"


class Sandboxes:
    """Sandboxes that wait for their next piece of work: starting one takes longer than most pieces."""

    def __init__(self) -> None:
        self._idle: list[Sandbox] = []
        self._busy: set[Sandbox] = set()
        self._lock = threading.Lock()

    def run(self, work: Callable[..., Any], *arguments: Any, **limits: Any) -> WorkResult:
        """Do a piece of work in a sandbox that is free, or a new one; arguments as in `Sandbox.run`."""
        with self._lock:
            box = self._idle.pop() if self._idle else Sandbox()
            self._busy.add(box)
        try:
            return box.run(work, *arguments, **limits)
        finally:
            with self._lock:
                self._busy.remove(box)
                self._idle.append(box)

    def interrupt(self) -> None:
        """End all work under way; its callers get the reason."""
        with self._lock:
            for box in self._busy:
                box.interrupt()

    def close(self) -> None:
        """End all processes."""
        self.interrupt()
        with self._lock:
            while self._idle:
                self._idle.pop().close()


# Those of this process, kept until it ends.
SANDBOXES = Sandboxes()
atexit.register(SANDBOXES.close)


def serve(descriptor: int) -> None:
    """Do one piece of work after the other until the other side is gone; the program of the child process."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    line = Connection(descriptor)
    try:
        sys.path[:] = line.recv()
        while True:
            work, arguments, memory_limit = line.recv()
            line.send(_result_of(work, arguments, memory_limit))
    except (EOFError, ConnectionError):
        return


def _end_with(parent: int) -> None:
    """End this process, busy or not, once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _result_of(
    work: Callable[..., Any], arguments: tuple[Any, ...], memory_limit: float | None
) -> tuple[Any, str | None]:
    """Return value and reason of a `WorkResult`: in this process the class has another name, so it is not sent."""
    try:
        with memory_limited(memory_limit):
            return work(*arguments), None
    except MemoryError:
        return None, f"MemoryLimit: more than {memory_limit:g} MB" if memory_limit else "MemoryError"
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


@contextmanager
def memory_limited(megabytes: float | None) -> Iterator[None]:
    """Let this process ask for at most `megabytes` more memory; a request beyond raises MemoryError."""
    held = _held_bytes()
    if megabytes is None or held is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + int(megabytes * _MEGABYTE), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _held_bytes() -> int | None:
    """Return the address space of this process, which is what the limit counts; None where there is no such count."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else None


if __name__ == "__main__":
    serve(int(sys.argv[1]))
