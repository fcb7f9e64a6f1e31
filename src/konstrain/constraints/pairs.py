"""Groups and labels written out as pairs of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import Membership, read_membership

# Beyond this many pairs their graph needs more than a gigabyte; a limit that implies more is usually a mistake.
MAX_PAIRS = 50_000_000


def pairs_from_groups(groups: Any) -> NDArray[np.int32]:
    """Turn groups into must-links: as few pairs as tie each group together.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Group of each row; -1, None or NaN: no group.

    Returns
    -------
    ndarray of int32, shape (n_pairs, 2)
        Each row with the next one of its group.

    Examples
    --------
    >>> pairs_from_groups(["a", "b", "a", None, "a"]).tolist()
    [[0, 2], [2, 4]]
    """
    membership = read_membership("groups", groups, len(groups))
    return np.zeros((0, 2), dtype=np.int32) if membership is None else _chains(membership)


def pairs_from_labels(labels: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Turn partial labels into links: must-links within a label, cannot-links between labels.

    Only as many pairs as imply all others: a chain through each label, and one pair for each two labels.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Label of each row; -1, None or NaN: unknown.

    Returns
    -------
    must_link, cannot_link : ndarray of int32, shape (n_pairs, 2)

    Examples
    --------
    >>> must_link, cannot_link = pairs_from_labels([0, 0, 1, -1])
    >>> must_link.tolist(), cannot_link.tolist()
    ([[0, 1]], [[0, 2]])
    """
    membership = read_membership("labels", labels, len(labels))
    if membership is None:
        return np.zeros((0, 2), dtype=np.int32), np.zeros((0, 2), dtype=np.int32)
    return _chains(membership), representatives(membership, len(membership.names))


def representatives(labels: Membership, n_labels: int) -> NDArray[np.int32]:
    """Return the first rows of each two of the first `n_labels` labels."""
    count = n_labels * (n_labels - 1) // 2
    if count > MAX_PAIRS:
        raise ValueError(f"{n_labels} labels make {count} cannot-links, more than the {MAX_PAIRS} that are handled")
    first = labels.first_rows()[:n_labels].astype(np.int32)
    a, b = np.triu_indices(first.size, 1)
    return np.column_stack([first[a], first[b]])


def _chains(membership: Membership) -> NDArray[np.int32]:
    order = np.argsort(membership.codes, kind="stable").astype(np.int32)
    codes = membership.codes[order]
    linked = (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
    return np.column_stack([order[:-1][linked], order[1:][linked]])
