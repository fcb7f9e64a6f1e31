"""How a verb runs and ends: exit codes, one line for each error, what Ctrl-C does, where notes and progress go."""

import errno
import json
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec

import typer

from konstrain._messages import enumerated, using_terms
from konstrain.cli import INTERRUPTED, say
from konstrain.cli.startup import end_start
from konstrain.exceptions import DeadEndError, FileError, InfeasibleError, UndecidedError

if TYPE_CHECKING:
    from pathlib import Path

    from konstrain.files import RowNames

BAD_INPUT: Final = 2
INFEASIBLE: Final = 3
NOT_PROVED: Final = 4
# Row numbers that a message about a clash lists at most.
NAMED_ROWS: Final = 8

# What the system says of a stream that takes no more.
STREAM_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)

# Control characters, and the line ends of Unicode.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")

# What messages of the library call an argument here; those without an option are not mentioned as advice.
OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in ("size_min", "size_max", "share_min", "share_max")},
    **{
        name: f"--{name.replace('_', '-')}"
        for name in ("size_tolerance", "share_tolerance", "time_limit", "part_size", "n_init", "max_moved")
    },
    "previous": "--keep",
    "n_clusters": "-k",
    "connectivity": "--connected",
    "join_components": "--join-components",
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "sample_weight": "--weight",
    "violation_cost": "--violation-cost",
    "random_state": "--seed",
    "ConstrainedKMeans": "--method constrained-kmeans",
}

P = ParamSpec("P")


class Interrupts:
    """Remembers whether Ctrl-C was pressed: a search may take it as its time limit and return its best so far."""

    def __init__(self) -> None:
        self.seen = False
        self.found = ""
        self.written: list[str] = []

    def __call__(self, signum: int, frame: Any) -> None:
        """Note it, and raise as Python does."""
        self.seen = True
        raise KeyboardInterrupt

    def end_here(self, found: str = "") -> None:
        """Raise if it was pressed; says what had been found until then."""
        if self.seen:
            self.found_so_far(found)
            raise KeyboardInterrupt

    def found_so_far(self, message: str) -> None:
        """Remember what there is, whatever happens next."""
        self.found = message

    def wrote(self, path: "Path") -> None:
        """Remember a file that is there whole, whatever happens next."""
        self.written.append(str(path))

    def message(self) -> str:
        """Say what there is after an interrupt: what had been found, and which files."""
        files = f"wrote {enumerated(self.written)}" if self.written else "nothing was written"
        return f"{self.found}; {files}" if self.found else files


interrupts = Interrupts()


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """Turn the errors of a verb into one line and an exit code, and warnings into notes."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        signal.signal(signal.SIGINT, interrupts)
        with using_terms(options=OPTIONS), warnings.catch_warnings():
            # What a library says to programmers is not for users of a command.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = partial(_show_as_note, quiet=bool(kwargs.get("quiet")))
            try:
                verb(*args, **kwargs)
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None  # `main` reports it
            except InfeasibleError as error:
                _end(f"infeasible ({error.reason}): {error}", INFEASIBLE)
            except DeadEndError as error:
                _end(str(error), BAD_INPUT)
            except UndecidedError as error:
                _end(str(error), NOT_PROVED)
            except MemoryError:
                _end("not enough memory for data of this size", BAD_INPUT)
            except BrokenPipeError:
                raise  # the reader of the output has closed it; typer ends quietly
            except FileError as error:
                _end(str(error), BAD_INPUT)  # about files and columns, which may be called like arguments
            except OSError as error:
                if error.filename is None and error.errno in STREAM_ERRORS:
                    raise  # of standard output, files have messages of their own; `main` reports it
                _end(f"{error.filename}: {error.strerror}" if error.filename else str(error), BAD_INPUT)
            except ValueError as error:
                _end(str(error), BAD_INPUT)

    return run


# All notes on the result, printed or not: the page repeats them.
notes: list[str] = []


def note(message: str, *, quiet: bool = False) -> None:
    """Print a note on the result."""
    notes.append(message)
    if not quiet:
        say(f"note: {one_line(message)}")


def _show_as_note(message: Warning | str, *_: Any, quiet: bool, **__: Any) -> None:
    # After Ctrl-C the one line that ends the program says it all.
    note(message.args[0] if isinstance(message, Warning) else message, quiet=quiet or interrupts.seen)


def _end(message: str, code: int) -> None:
    say(f"konstrain: {one_line(message)}")
    raise typer.Exit(code)


def one_line(message: str) -> str:
    """Show what would break a line, or speak to the terminal, as its code: names of files and rows may hold it."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], message)


@contextmanager
def rows_named(rows: "RowNames") -> Iterator[None]:
    """Call rows by their ids in messages; errors about a clash list the row numbers too."""
    with using_terms(name_of=rows.name_of):
        try:
            yield
        except InfeasibleError as error:
            message = with_row_numbers(rows, str(error), error.witness)
            raise InfeasibleError(message, reason=error.reason, witness=error.witness) from None
        except DeadEndError as error:
            message = with_row_numbers(rows, str(error), error)
            raise DeadEndError(message, rows=error.rows, occupied_by=error.occupied_by) from None


def with_row_numbers(rows: "RowNames", message: str, witness: Any) -> str:
    """Return a message that names rows by id with their numbers behind it, where rows have ids."""
    numbers = getattr(witness, "rows", ())
    if rows.ids is None or not numbers:
        return message
    more = ", ..." if len(numbers) > NAMED_ROWS else ""
    return f"{message} (rows {', '.join(map(str, numbers[:NAMED_ROWS]))}{more})"


@contextmanager
def progress(message: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show what goes on, on standard error and only to a person; yields a function that changes the message."""
    end_start()
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(message) as status:
        yield status.update


def print_result(text: str, values: Mapping[str, Any], *, as_json: bool, beside_output: bool = False) -> None:
    """Print the text for people, or the values for programs; on standard error if the other one holds labels."""
    message = json.dumps(_finite(values), indent=2) if as_json else text
    if beside_output:
        say(message)
    else:
        print(message)


def _finite(value: Any) -> Any:
    """Replace what JSON has no word for: an infinite bound is no bound."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and value - value != 0.0:
        return None
    return value
