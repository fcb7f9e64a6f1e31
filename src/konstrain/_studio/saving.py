"""The session on disk: written whole after every action, by a thread of its own, and again after a failure."""

import threading
from collections.abc import Callable
from pathlib import Path

from konstrain.exceptions import FileError
from konstrain.files import write_whole

# Seconds until a file that could not be written is tried again.
RETRY = 3.0


class Saver:
    """Keeps a file up to date.

    Parameters
    ----------
    path : Path
        The file.
    text : callable
        Returns what it is to hold now.
    on_change : callable
        Called after each try, from the thread that saves.
    """

    def __init__(self, path: Path, text: Callable[[], str], on_change: Callable[[], object]) -> None:
        self.path = path
        self.problem = ""
        self._text, self._on_change = text, on_change
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="konstrain-studio-saver", daemon=True)
        self._thread.start()

    @property
    def is_saved(self) -> bool:
        """Whether the file holds everything."""
        return not self._wanted.is_set() and not self.problem

    def request(self) -> None:
        """Ask for the file to be written soon."""
        self._wanted.set()

    def close(self) -> None:
        """Write what is not written yet, and end."""
        self._closing.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            # Cleared first: what is asked for while the file is written is written next.
            self._wanted.clear()
            self._try()
            if self._closing.is_set():
                return
            if self.problem:
                self._closing.wait(RETRY)
                self._wanted.set()

    def _try(self) -> None:
        try:
            write_whole(self.path, self._text().encode())
            self.problem = ""
        except FileError as error:
            self.problem = str(error)
        self._on_change()
