"""Links drawn from known classes, and what all ways of drawing them share."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

Pairs = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LinkSample:
    """Must-links and cannot-links, ready for `fit`.

    Attributes
    ----------
    must_link, cannot_link : ndarray of int32, shape (n_pairs, 2)
        Pairs of rows, each pair once, the smaller row first.

    Examples
    --------
    >>> sample = LinkSample(np.array([[0, 1]]), np.array([[1, 2], [0, 3]]))
    >>> sample.n_links, sample.rows.tolist()
    (3, [0, 1, 2, 3])
    >>> from konstrain import ConstrainedKMeans
    >>> model = ConstrainedKMeans(2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], **sample.links)
    """

    must_link: Pairs
    cannot_link: Pairs

    @property
    def links(self) -> dict[str, Pairs]:
        """Both kinds as keyword arguments: ``fit(X, **sample.links)``."""
        return {"must_link": self.must_link, "cannot_link": self.cannot_link}

    @property
    def n_links(self) -> int:
        """Number of pairs of both kinds."""
        return len(self.must_link) + len(self.cannot_link)

    @property
    def rows(self) -> NDArray[np.int32]:
        """Rows that some link touches; papers also score the others alone."""
        return np.unique(np.concatenate([self.must_link, self.cannot_link]))


def read_classes(labels: Any) -> NDArray[np.int64]:
    """Check the classes of the rows and number them from 0."""
    given = column_or_1d(labels)
    if given.size == 0:
        raise ValueError("labels are empty; links are drawn from the classes of rows")
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def as_pairs(pairs: Any) -> Pairs:
    """Return pairs as an array, smaller row first, also when there are none."""
    return np.sort(np.asarray(pairs, dtype=np.int32).reshape(-1, 2), axis=1)


def all_pairs(rows: Any) -> Pairs:
    """Return each two of some rows."""
    rows = np.asarray(rows)
    first, second = np.triu_indices(rows.size, 1)
    return as_pairs(np.column_stack([rows[first], rows[second]]))


def split_by_class(pairs: Pairs, classes: NDArray[np.int64]) -> LinkSample:
    """Make must-links of the pairs within a class and cannot-links of the others."""
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return LinkSample(pairs[same], pairs[~same])


def rows_in_share(share: float, n_rows: int) -> int:
    """Return how many rows a share is, rounded up."""
    if not 0 < share <= 1:
        raise ValueError(f"share={share} must be above 0 and at most 1")
    # 0.07 * 100 is 7.000000000000001: what rounding adds is no further row.
    return math.ceil(round(share * n_rows, 9))


def refuse_too_many(n_asked: int, n_there: int, what: str) -> None:
    """Refuse to draw more distinct pairs than there are, or fewer than none."""
    if not 0 <= n_asked <= n_there:
        raise ValueError(f"{n_asked} {what} cannot be drawn: these labels have {n_there}")
