"""What a clustering breaks, counted from the labels and the links themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from konstrain._memory import SAMPLE_ROWS
from konstrain.constraints.inputs import read_amounts, read_links, read_rows, refuse_hidden


@dataclass(frozen=True)
class Violations:
    """Broken links by kind; hard and soft ones together.

    Parameters
    ----------
    must_link, cannot_link : int
        Number of broken links of the kind.

    Examples
    --------
    >>> Violations(must_link=1, cannot_link=2).total
    3
    """

    must_link: int
    cannot_link: int

    @property
    def total(self) -> int:
        """All broken links."""
        return self.must_link + self.cannot_link


def count_violations(labels: Any, *, must_link: Any = None, cannot_link: Any = None) -> Violations:
    """Count the links that labels break.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    must_link, cannot_link : pairs, optional
        Links in any form that `fit` takes; each given pair counts once.

    Examples
    --------
    >>> count_violations([0, 0, 1], must_link=[(0, 2)], cannot_link=[(0, 1), (1, 2)])
    Violations(must_link=1, cannot_link=1)
    """
    labels = read_labels(labels)
    must = read_links("must_link", must_link, labels.size)
    cannot = read_links("cannot_link", cannot_link, labels.size)
    return Violations(int(are_apart(labels, must.pairs).sum()), int((~are_apart(labels, cannot.pairs)).sum()))


def read_labels(labels: Any, n_samples: int | None = None) -> NDArray[Any]:
    """Return labels as an array; raises unless there is one for each row."""
    refuse_hidden("labels", labels)
    found = np.asarray(labels)
    if found.ndim != 1 or n_samples not in (None, found.size):
        wanted = "one-dimensional" if n_samples is None else f"of shape ({n_samples},), one for each row"
        raise ValueError(f"labels must be {wanted}, got shape {found.shape}")
    return found


def are_apart(labels: NDArray[Any], pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether the rows of each pair are in different clusters."""
    apart: NDArray[np.bool_] = labels[pairs[:, 0]] != labels[pairs[:, 1]]
    return apart


def touched_rows(n_samples: int, *, must_link: Any = None, cannot_link: Any = None) -> NDArray[np.bool_]:
    """Mark the rows that some link names: scores on the others show what links do for rows they do not mention."""
    touched = np.zeros(read_rows(n_samples)[0], dtype=np.bool_)
    for name, pairs in (("must_link", must_link), ("cannot_link", cannot_link)):
        touched[read_links(name, pairs, n_samples).pairs] = True
    return touched


def sum_of_squares(X: Any, labels: Any, sample_weight: Any = None) -> float:
    """Return the sum of squared distances of rows to the means of their clusters, rows weighted in means and sum."""
    X = csr_array(X) if issparse(X) else np.asarray(X, dtype=np.float64)
    labels = read_labels(labels, X.shape[0])
    weight = read_amounts("sample_weight", sample_weight, labels.size)
    weight = np.ones(labels.size) if weight is None else weight
    total = 0.0
    for label in np.unique(labels[weight > 0]):
        members = np.flatnonzero((labels == label) & (weight > 0))
        rows = X[members].toarray() if issparse(X) else X[members]
        center = np.average(rows, axis=0, weights=weight[members])
        total += float(weight[members] @ ((rows - center) ** 2).sum(axis=1))
    return total


def mean_silhouette(X: Any, labels: Any, *, seed: int = 0) -> float | None:
    """Return the mean silhouette: 1 far from all other clusters, 0 between two, below 0 nearer to another.

    As scikit-learn's `silhouette_score`, of at most 2,000 rows, drawn by `seed`. None where there are fewer than two
    clusters, or every row is alone.
    """
    X = np.asarray(X, dtype=np.float64)
    labels = read_labels(labels, len(X))
    if len(X) > SAMPLE_ROWS:
        drawn = np.random.default_rng(seed).choice(len(X), SAMPLE_ROWS, replace=False)
        X, labels = X[drawn], labels[drawn]
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if not 1 < sizes.size < len(X):
        return None
    # Centered and in one unit first: squares then neither overflow nor lose the differences.
    X = X - X.mean(axis=0)
    X /= np.abs(X).max() or 1.0
    squares = (X**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0))
    np.fill_diagonal(distances, 0.0)
    sums = distances @ (codes[:, None] == np.arange(sizes.size)).astype(np.float64)
    own = np.arange(len(X)), codes
    inside = sums[own] / np.maximum(sizes[codes] - 1, 1)
    means = sums / sizes
    means[own] = np.inf
    outside = means.min(axis=1)
    largest = np.maximum(inside, outside)
    scores = np.divide(outside - inside, largest, out=np.zeros(len(X)), where=(largest > 0) & (sizes[codes] > 1))
    return float(scores.mean())
