"""The data sets that come with scikit-learn."""

import numpy as np
from sklearn import datasets as bundled

from konstrain.datasets.dataset import Dataset

_LOADERS = {
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
}


def has(name: str) -> bool:
    """Say whether scikit-learn carries this data set."""
    return name in _LOADERS


def read(name: str) -> Dataset:
    """Return one of scikit-learn's own data sets."""
    found = _LOADERS[name]()
    return Dataset(
        name,
        np.ascontiguousarray(found.data, dtype=np.float64),
        found.target.astype(np.int64),
        "scikit-learn",
        tuple(str(feature) for feature in found.feature_names),
    )
