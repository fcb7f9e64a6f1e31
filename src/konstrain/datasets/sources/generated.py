"""Data sets of the papers that are made by formula, with the seeds that go with their names."""

from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_circles, make_moons

from konstrain.datasets.dataset import Dataset
from konstrain.datasets.make import (
    Labelled,
    make_control_charts,
    make_gaussian_balls,
    make_half_rings,
    make_spirals,
)


def _circles() -> Labelled:
    # Factor, noise and seed give, number for number, the circles published with DILS that Baumann used.
    X, labels = make_circles(300, factor=0.3, noise=0.05, random_state=43)
    return X, labels.astype(np.int64)


def _moons() -> Labelled:
    # As for the circles: the published moons, which are shifted.
    X, labels = make_moons(300, noise=0.05, random_state=43)
    return X + 1.5, labels.astype(np.int64)


_MAKERS: dict[str, Callable[[], Labelled]] = {
    "circles": _circles,
    "gaussian_balls": lambda: make_gaussian_balls(random_state=0),
    "half_rings": lambda: make_half_rings(random_state=0),
    "moons": _moons,
    "spiral": lambda: make_spirals(random_state=0),
    "synthetic_control": lambda: make_control_charts(random_state=0),
}


def has(name: str) -> bool:
    """Say whether this data set can be made."""
    return name in _MAKERS


def read(name: str) -> Dataset:
    """Make a data set; the same one each time."""
    X, labels = _MAKERS[name]()
    return Dataset(name, X, labels, "generated")
