"""Arrays of numbers from numpy.save."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.exceptions import FileError
from konstrain.files.sources import Source

_BEGINNING = b"\x93NUMPY"


def read_npy(path: Source) -> NDArray[Any]:
    """Return the array of rows, not yet read from disk."""
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            raise FileError(f"{path} is no .npy file of numbers; write it with numpy.save")
    try:
        # Mapped: a header that promises more than the file holds is noticed before memory is asked for.
        values = np.load(path.file, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception:
        # numpy evaluates the header, so nearly any error may come of a damaged one; its words are for programmers.
        raise FileError(f"{path} is damaged, or holds no numbers; write it again with numpy.save") from None
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise FileError(
            f"{path} must hold a two-dimensional array of numbers, got shape {values.shape} of {values.dtype}"
        )
    return values  # type: ignore[no-any-return]
