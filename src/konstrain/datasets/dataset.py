"""A labelled data set, and how the text of class names and cells becomes numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with their true classes.

    Attributes
    ----------
    name : str
        Name in the catalogue, or of the file.
    X : ndarray of float64, shape (n_samples, n_features)
        Features, unscaled, as in the source: none of the papers scales them.
    labels : ndarray of int64, shape (n_samples,)
        Class of each row, numbered from 0 in the order of the class names.
    source : str
        Where the rows came from; copies of one data set can differ in a few values.
    feature_names : tuple of str
        Names of the features; empty where the source has none.

    Examples
    --------
    >>> dataset = Dataset("toy", np.array([[0.0], [1.0], [9.0]]), np.array([0, 0, 1]), "made by hand")
    >>> dataset.n_clusters, dataset.class_sizes
    (2, (2, 1))
    """

    name: str
    X: NDArray[np.float64]
    labels: NDArray[np.int64]
    source: str
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.X) != len(self.labels):
            raise ValueError(f"{self.name} has {len(self.X)} rows and {len(self.labels)} labels")
        if self.feature_names and len(self.feature_names) != self.X.shape[1]:
            raise ValueError(
                f"{self.name} has {self.X.shape[1]} features and {len(self.feature_names)} names for them"
            )

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """Number of rows in each class."""
        return tuple(np.bincount(self.labels).tolist())

    @property
    def n_clusters(self) -> int:
        """Number of classes: the number of clusters all papers ask for unless they say otherwise."""
        return len(self.class_sizes)

    def sample_classes(self, n_clusters: int, n_each: int, *, random_state: Any = None) -> "Dataset":
        """Draw some classes and as many rows from each: the balanced subsets of Le et al. and Ganji et al.

        Classes are numbered anew; rows keep their order.

        Examples
        --------
        >>> from konstrain.datasets import load
        >>> load("digits").sample_classes(3, 20, random_state=0).class_sizes
        (20, 20, 20)
        """
        large = np.flatnonzero(np.array(self.class_sizes) >= n_each)
        if large.size < n_clusters:
            raise ValueError(f"{self.name} has {large.size} classes of at least {n_each} rows, not {n_clusters}")
        rng = check_random_state(random_state)
        classes = np.sort(rng.choice(large, n_clusters, replace=False))
        drawn = [rng.choice(np.flatnonzero(self.labels == label), n_each, replace=False) for label in classes]
        rows = np.sort(np.concatenate(drawn))
        labels = np.searchsorted(classes, self.labels[rows])
        source = f"{n_clusters} classes with {n_each} rows each of {self.source}"
        return Dataset(self.name, self.X[rows], labels, source, self.feature_names)


def number_classes(names: Any) -> NDArray[np.int64]:
    """Number class names from 0: numbers by their value, words in the order of the alphabet."""
    words = np.asarray(names, dtype=str)
    try:
        values: NDArray[Any] = words.astype(np.float64)
    except ValueError:
        values = words
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
