"""A folder of CSV files NAME.csv: a header, numbers, and the class in the last column."""

import os
from pathlib import Path

import numpy as np

from konstrain.datasets.dataset import Dataset, number_classes

VARIABLE = "KONSTRAIN_DATA"


def choose(data: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder given, else the one the environment variable names, else None."""
    given = data if data is not None else os.environ.get(VARIABLE) or None
    if given is None:
        return None
    folder = Path(given)
    if not folder.is_dir():
        said_by = "data" if data is not None else VARIABLE
        raise NotADirectoryError(f"{said_by} names {str(folder)!r}, which is not a folder")
    return folder


def has(folder: Path, name: str) -> bool:
    """Say whether the folder has a file for this data set."""
    return _path(folder, name).is_file()


def read(folder: Path, name: str) -> Dataset:
    """Read NAME.csv."""
    path = _path(folder, name)
    with path.open(encoding="utf-8") as lines:
        header = [cell.strip() for cell in lines.readline().split(",")]
    if len(header) < 2:
        raise ValueError(f"{path} needs a header row, at least one feature and the class in the last column")
    last = len(header) - 1
    try:
        X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(last), ndmin=2, comments=None)
        classes = np.loadtxt(path, delimiter=",", skiprows=1, usecols=last, ndmin=1, dtype=str, comments=None)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    missing = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if missing.size:
        raise ValueError(f"{path} has missing or infinite values, first in row {missing[0]}")
    return Dataset(name, X, number_classes(classes), str(path), tuple(header[:-1]))


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.csv"
