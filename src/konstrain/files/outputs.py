"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from konstrain.exceptions import FileError


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is there complete, or not there at all.

    Parameters
    ----------
    path : str or Path
        Where the file is to be; one that is there is replaced.
    write : callable
        Writes the file to the path it is given: a name in the same folder, with the same ending.

    Raises
    ------
    FileError
        When the folder is missing or cannot be written to, the disk is full, or `path` is no regular file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "note.txt"
    >>> write_whole(file, lambda path: path.write_text("whole"))
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('whole', 1)
    >>> folder.cleanup()
    """
    path = Path(path)
    try:
        temporary = _make_temporary(path)
        try:
            write(temporary)
            _flush_to_disk(temporary)
            os.replace(temporary, path)
        finally:
            # Gone after a success; left over after a failure or an interrupt.
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def refuse_unwritable(path: str | Path) -> None:
    """Raise now if a file could not be written later, after much work."""
    try:
        _make_temporary(Path(path)).unlink()
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def _make_temporary(path: Path) -> Path:
    """Make an empty file beside `path`, readable as any new file is."""
    if path.exists() and not path.is_file():
        raise FileError(f"cannot write {path}: it is there and is no regular file")
    if not path.parent.exists():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=path.suffix)
    os.close(handle)
    # mkstemp lets only the owner read; the file is to be like any other that the user makes.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
    return Path(name)


def _flush_to_disk(path: Path) -> None:
    """Wait until the contents are on disk: a rename must not overtake them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
