"""OpenML through scikit-learn, which keeps what it downloads in its own cache."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from konstrain.datasets.dataset import Dataset, number_classes


@dataclass(frozen=True)
class _Remote:
    """Name on OpenML, columns that are no features, and numbers for values written in words."""

    name: str
    drop: tuple[str, ...] = ()
    words: dict[str, float] = field(default_factory=dict)


# Only copies with the rows of the catalogue; load() compares the shape and the classes of what arrives.
_REMOTES = {
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


def has(name: str) -> bool:
    """Say whether a copy on OpenML is known; it may not be reachable."""
    return name in _REMOTES


def read(name: str) -> Dataset:
    """Download a data set, or take it from scikit-learn's cache; OSError when neither is possible."""
    remote = _REMOTES[name]
    with warnings.catch_warnings():
        # scikit-learn warns before it tries again; load() says itself what to do without a network.
        warnings.filterwarnings("ignore", message="A network error occurred")
        found = datasets.fetch_openml(name=remote.name, version=1, as_frame=False, parser="liac-arff", n_retries=1)
    kept = [at for at, feature in enumerate(found.feature_names) if feature not in remote.drop]
    columns = [_numbers(found, at, remote) for at in kept]
    return Dataset(
        name,
        np.column_stack(columns),
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
