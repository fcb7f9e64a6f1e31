"""Rows on a plane: as they are when they have two columns, on their two main components otherwise."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from konstrain._messages import are_degrees

# How names of columns in kilometres end.
KILOMETRES: Final = "(km)"
# Directions whose extents differ by more are not drawn to the same scale: one of them would be a line.
LARGEST_STRETCH: Final = 8.0


class Projection(NamedTuple):
    """Rows and centers on a plane, and what the two directions are.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, 2)
        The rows.
    centers : ndarray of shape (n_clusters, 2) or None
        The centers, if any were given.
    names : tuple of two str
        What the directions are: names of columns, or shares of the variance.

    Examples
    --------
    >>> Projection(np.zeros((3, 2)), None, ("east", "north")).names
    ('east', 'north')
    """

    rows: NDArray[Any]
    centers: NDArray[Any] | None
    names: tuple[str, str]

    @property
    def has_one_scale(self) -> bool:
        """Whether both directions are drawn to one scale: distances on paper are then distances in the data.

        A map has one always.
        """
        extent = np.ptp(self.rows, axis=0)
        is_map = all(name.endswith(KILOMETRES) for name in self.names)
        return is_map or bool(extent.all() and extent.max() <= LARGEST_STRETCH * extent.min())


def project(X: Any, centers: Any = None, *, names: Sequence[str] | None = None) -> Projection:
    """Put rows, and centers with them, on a plane.

    One column stays one direction, two columns stay as they are, more are shown by their two main components. Of
    latitude and longitude, by their names, longitude goes to the right, as on maps.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    centers : array-like of shape (n_clusters, n_features), optional
        Centers in the space of the rows.
    names : sequence of str, optional
        What the columns are called; default: as in the frame `X`, if it is one.

    Returns
    -------
    Projection

    Examples
    --------
    >>> plane = project([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0], [6.0, 8.0, 1.0]], centers=[[3.0, 4.0, 1.0]])
    >>> plane.rows.shape, plane.centers.round(6).tolist(), plane.names[0]
    ((3, 2), [[0.0, 0.0]], 'component 1 (100% of the variance)')
    """
    columns = [str(name) for name in (getattr(X, "columns", ()) if names is None else names)]
    # Two columns take no sums of squares, so any number of rows may stay sparse up to here.
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    if centers is not None:
        centers = check_array(centers, dtype=[np.float64, np.float32], input_name="centers")
        if centers.shape[1] != X.shape[1]:
            raise ValueError(f"centers have {centers.shape[1]} columns, X has {X.shape[1]}")
    if X.shape[1] > 2:
        return _on_main_components(X, centers)
    X = X.toarray() if hasattr(X, "toarray") else X
    columns = columns or [f"column {j}" for j in range(X.shape[1])]
    if X.shape[1] == 2:
        if are_degrees(*columns):
            return Projection(X[:, ::-1], None if centers is None else centers[:, ::-1], (columns[1], columns[0]))
        return Projection(X, centers, (columns[0], columns[1]))
    flat = None if centers is None else _with_zeros(centers)
    return Projection(_with_zeros(X), flat, (columns[0], ""))


def _on_main_components(X: Any, centers: NDArray[Any] | None) -> Projection:
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} row of {X.shape[1]} columns; main components need at least 2 rows")
    # Rows that are all alike have no variance to take shares of.
    with np.errstate(invalid="ignore"):
        pca = PCA(n_components=2, random_state=0).fit(X)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    first, second = (f"component {j + 1} ({share:.0%} of the variance)" for j, share in enumerate(shares))
    placed = None if centers is None else pca.transform(centers)
    return Projection(pca.transform(X), placed, (first, second))


def _with_zeros(column: NDArray[Any]) -> NDArray[Any]:
    return np.column_stack([column, np.zeros_like(column)])
