"""How far a run is and how long it will still take, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def shown(title: str, n_rows: int, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show a bar while rows finish; silent when told so, or when standard error is not a terminal."""
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
