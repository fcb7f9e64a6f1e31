"""The command line: parse, call the library, print. One file per verb; heavy imports wait until a verb runs."""

import io
import os
import sys
from typing import Final, TextIO

from konstrain.cli.startup import start_clock, start_quickly

BAD_OUTPUT: Final = 2
INTERRUPTED: Final = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line, whatever it was doing."""
    start_clock()
    _reserve_descriptors()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a name shows its code instead of losing the whole report.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = _run()
    try:
        # Now, while a failure can be said: at the end of the process Python would print a traceback.
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        code = _end_of_output(error)
    sys.exit(code)


def _run() -> int | str | None:
    """Run a verb; returns the exit code."""
    try:
        start_quickly()
        from konstrain.cli.app import app

        app()
        return 0
    except KeyboardInterrupt:
        message = "nothing was written"  # no verb had begun
    except SystemExit as end:
        if end.code != INTERRUPTED:
            return end.code
        from konstrain.cli.running import interrupts

        message = interrupts.message()
    except OSError as error:
        # Verbs report errors of their files; what is left is standard output.
        return _end_of_output(error)
    say(f"konstrain: interrupted; {message}")
    return INTERRUPTED


def say(message: str) -> None:
    """Print a line to standard error, if anyone can read it."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _forget(sys.stderr)


def _end_of_output(error: OSError) -> int:
    """Say why nothing more is printed; returns the exit code."""
    if sys.stdout is not None:
        _forget(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 1  # the reader of the output has closed it
    say(f"konstrain: cannot write to standard output: {error.strerror or error}")
    return BAD_OUTPUT


def _forget(stream: TextIO) -> None:
    """Let what is still to be written to a stream that fails go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _reserve_descriptors() -> None:
    """Open standard streams that are closed: a file opened later would get their numbers, and what is printed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
