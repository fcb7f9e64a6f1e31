"""Files that appear whole or not at all."""

import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from konstrain.exceptions import FileError


def write_whole(path: str | Path, contents: bytes) -> None:
    """Write a file so that it is there complete, or not there at all.

    Parameters
    ----------
    path : str or Path
        Where the file is to be; one that is there is replaced and keeps its permissions. If this is a symbolic link,
        what it points to is written.
    contents : bytes
        All of it. Made before: Ctrl-C ends what makes it at once, and waits while it is written.

    Raises
    ------
    FileError
        When the folder is missing or cannot be written to, the disk is full, or `path` is read-only or no regular
        file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "note.txt"
    >>> write_whole(file, b"whole")
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('whole', 1)
    >>> folder.cleanup()
    """
    with _words_for_failures(path):
        target = _writable(Path(path))
        with _temporary_beside(target) as temporary:
            with temporary.open("wb") as file:
                file.write(contents)
                file.flush()
                # A rename must not overtake the contents on their way to the disk.
                os.fsync(file.fileno())
            os.replace(temporary, target)


def refuse_unwritable(path: str | Path) -> None:
    """Raise now if a file could not be written later, after much work."""
    with _words_for_failures(path), _temporary_beside(_writable(Path(path))):
        pass


@contextmanager
def _words_for_failures(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def _writable(path: Path) -> Path:
    """Return where the contents go, behind all links; raises if they must not go there."""
    # What exists must be told apart from what cannot be looked at: both would pass for a new file.
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise FileError(f"cannot write {path}: it is a link that leads back to itself")
    if not target.parent.exists():
        raise FileError(f"cannot write {path}: there is no folder {_parent_as_written(path, target)}")
    if target.exists():
        if not target.is_file():
            raise FileError(f"cannot write {path}: it is there and is no regular file")
        # Also for those whom the system lets write anywhere: whoever protected the file meant it.
        if not os.access(target, os.W_OK) or not target.stat().st_mode & 0o222:
            raise FileError(f"cannot write {path}: it is there and read-only")
    return target


def _parent_as_written(path: Path, target: Path) -> Path:
    return target.parent if path.is_symlink() else path.parent


@contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    """Make an empty file beside `target`, with its permissions or those of a new file; it is gone in the end."""
    temporary = target.with_name(f".{target.stem[:40]}-{secrets.token_hex(4)}{target.suffix[:20]}")
    with _interrupts_held():
        try:
            temporary.touch(exist_ok=False)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block."""
    # Python calls handlers in the main thread only, and only there they can be set; in others nothing interrupts.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, Any]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held and callable(handler):
        handler(*held[0])
