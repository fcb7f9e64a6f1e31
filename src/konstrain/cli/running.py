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
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from konstrain._messages import enumerated
from konstrain.cli import INTERRUPTED, say
from konstrain.cli.startup import end_start
from konstrain.cli.words import for_the_command_line
from konstrain.exceptions import DeadEndError, FileError, InfeasibleError, UndecidedError

if TYPE_CHECKING:
    from pathlib import Path

    from konstrain.files import RowNames

BAD_INPUT, INFEASIBLE, NOT_PROVED = 2, 3, 4
# Of the rows in a message about what clashes, this many are told by id too.
NAMED_ROWS = 8

# What the system says of a stream that takes no more.
STREAM_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)

# Control characters, and the line ends of Unicode.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")

# Where numbers of rows stand in the words of the library: pairs, paths, and lists behind the word for them.
_NUMBER = re.compile(r"[0-9]+")
_ROWS_IN_WORDS = re.compile(
    r"\([0-9]+, [0-9]+\)|\b[0-9]+(?:-[0-9]+)+\b|\brows? [0-9]+(?:, [0-9]+)*(?:,? and [0-9]+)?|(?<=path )[0-9]+-"
)

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

    def found_so_far(self, words: str) -> None:
        """Remember what there is, whatever happens next."""
        self.found = words

    def wrote(self, path: "Path") -> None:
        """Remember a file that is there whole, whatever happens next."""
        self.written.append(str(path))

    def words(self) -> str:
        """Say what there is after an interrupt: what had been found, and which files."""
        files = f"wrote {enumerated(self.written)}" if self.written else "nothing was written"
        return f"{self.found}; {files}" if self.found else files


interrupts = Interrupts()


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """Turn the errors of a verb into one line and an exit code, and warnings into notes."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        signal.signal(signal.SIGINT, interrupts)
        with warnings.catch_warnings():
            # What a library says to programmers is not for users of a command.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = partial(_show_as_note, quiet=bool(kwargs.get("quiet")))
            try:
                verb(*args, **kwargs)
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None  # `main` has the words
            except InfeasibleError as error:
                _end(for_the_command_line(f"infeasible ({error.reason}): {error}"), INFEASIBLE)
            except DeadEndError as error:
                _end(for_the_command_line(str(error)), BAD_INPUT)
            except UndecidedError as error:
                _end(for_the_command_line(str(error)), NOT_PROVED)
            except MemoryError:
                _end("not enough memory for data of this size", BAD_INPUT)
            except BrokenPipeError:
                raise  # the reader of the output has closed it; typer ends quietly
            except FileError as error:
                _end(str(error), BAD_INPUT)  # about files and columns, which may be called like arguments
            except OSError as error:
                if error.filename is None and error.errno in STREAM_ERRORS:
                    raise  # of standard output, since files have words of their own; `main` has those for it
                _end(f"{error.filename}: {error.strerror}" if error.filename else str(error), BAD_INPUT)
            except ValueError as error:
                _end(for_the_command_line(str(error)), BAD_INPUT)

    return run


# All notes beside the result, printed or not: the page repeats them.
notes: list[str] = []


def note(words: str, *, quiet: bool = False) -> None:
    """Print a note beside the result."""
    notes.append(words)
    if not quiet:
        say(f"note: {one_line(words)}")


def _show_as_note(message: Warning | str, *_: Any, quiet: bool, **__: Any) -> None:
    # After Ctrl-C the one line that ends the program says it all.
    note(for_the_command_line(str(message)), quiet=quiet or interrupts.seen)


def _end(words: str, code: int) -> None:
    say(f"konstrain: {one_line(words)}")
    raise typer.Exit(code)


def one_line(words: str) -> str:
    r"""Show what would break a line, or speak to the terminal, as its code: names of files and rows may hold it.

    Examples
    --------
    >>> print(one_line("there is no row new\nline"))
    there is no row new\nline
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], words)


@contextmanager
def rows_named(rows: "RowNames") -> Iterator[None]:
    """Call rows by their ids in what is said about a clash."""
    try:
        yield
    except InfeasibleError as error:
        raise InfeasibleError(
            by_id(rows, str(error), error.witness), reason=error.reason, witness=error.witness
        ) from None
    except DeadEndError as error:
        raise DeadEndError(by_id(rows, str(error), error), rows=error.rows, occupied_by=error.occupied_by) from None


def by_id(rows: "RowNames", words: str, witness: Any) -> str:
    """Say the same with ids in place of the numbers of rows, where rows have ids; the numbers follow.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from konstrain.files import RowNames
    >>> named, clash = RowNames(3, ["anna", "bert", "carl"], "name"), SimpleNamespace(rows=(0, 1, 2))
    >>> by_id(named, "cannot_link (0, 2) contradicts must_link path 0-1-2; remove one of these pairs.", clash)
    'cannot_link (anna, carl) contradicts must_link path anna-bert-carl; remove one of these pairs. (rows 0, 1, 2)'
    """
    numbers = getattr(witness, "rows", ())
    if rows.ids is None or not numbers:
        return words

    def named(place: re.Match[str]) -> str:
        return _NUMBER.sub(lambda found: rows.name_of(int(found[0])), place[0])

    told = f"{', '.join(map(str, numbers[:NAMED_ROWS]))}{', ...' if len(numbers) > NAMED_ROWS else ''}"
    return f"{_ROWS_IN_WORDS.sub(named, words)} (rows {told})"


@contextmanager
def progress(words: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show what goes on, on standard error and only to a person; yields a function that changes the words."""
    end_start()
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(words) as status:
        yield status.update


def print_result(text: str, values: Mapping[str, Any], *, as_json: bool, beside_output: bool = False) -> None:
    """Print the text for people, or the values for programs; on standard error if the other one holds labels."""
    words = json.dumps(_finite(values), indent=2) if as_json else text
    if beside_output:
        say(words)
    else:
        print(words)


def _finite(value: Any) -> Any:
    """Replace what JSON has no word for: an infinite bound is no bound."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and value - value != 0.0:
        return None
    return value
