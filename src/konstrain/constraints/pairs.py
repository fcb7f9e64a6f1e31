"""Groups, labels and distance limits written out as pairs of rows."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy  # which imports its `spatial` when it is first used: few problems have distance limits
from numpy.typing import NDArray

from konstrain._memory import CELLS, MOST_NUMBERS, chunks
from konstrain.constraints.inputs import Membership, is_sparse, read_limit, read_membership, read_rows

# Most features for a tree of rows; in more dimensions it visits nearly every row; larger: slower on wide rows.
TREE_DIMENSIONS = 16


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
    if count > MOST_NUMBERS:
        raise ValueError(
            f"{n_labels} labels make {count} cannot-links, more than the {MOST_NUMBERS} that are handled"
        )
    first = labels.first_rows()[:n_labels].astype(np.int32)
    a, b = np.triu_indices(first.size, 1)
    return np.column_stack([first[a], first[b]])


def _chains(membership: Membership) -> NDArray[np.int32]:
    order = np.argsort(membership.codes, kind="stable").astype(np.int32)
    codes = membership.codes[order]
    linked = (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
    return np.column_stack([order[:-1][linked], order[1:][linked]])


def pairs_beyond_diameter(X: Any, diameter_max: float) -> NDArray[np.int32]:
    """Pairs of rows further apart than a diameter limit: cannot-links.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to compare by Euclidean distance.
    diameter_max : float
        Largest distance allowed within a cluster.

    Returns
    -------
    ndarray of int32, shape (n_pairs, 2)
        Smaller row first, sorted.

    Examples
    --------
    >>> pairs_beyond_diameter([[0.0], [1.0], [3.0]], 2.5).tolist()
    [[0, 2]]
    """
    limit = _limit("diameter_max", diameter_max)
    n_samples, X = _rows(X)
    if not is_sparse(X) and X.shape[1] <= TREE_DIMENSIONS:
        tree = scipy.spatial.KDTree(X)
        within = (int(tree.count_neighbors(tree, limit)) - n_samples) // 2
        _refuse_too_many("diameter_max", limit, n_samples * (n_samples - 1) // 2 - within, "is")
    # Rows near the middle can be too far only from rows near the rim: compare in the order of the distance to the
    # mean and stop where two such distances no longer reach the limit.
    reach = _distances_to_mean(X)
    order = np.argsort(-reach, kind="stable")
    slack = 1e-9 * (limit + float(reach.max()))
    blocks = _blocks_of_pairs(order, reach, limit - slack)
    return _pairs_among(X, blocks, "diameter_max", limit, lambda distances: distances > limit)


def pairs_within_separation(X: Any, separation_min: float) -> NDArray[np.int32]:
    """Pairs of rows closer than a separation limit: must-links.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to compare by Euclidean distance.
    separation_min : float
        Least distance between rows of different clusters.

    Returns
    -------
    ndarray of int32, shape (n_pairs, 2)
        Smaller row first, sorted.

    Examples
    --------
    >>> pairs_within_separation([[0.0], [1.0], [3.0]], 2.0).tolist()
    [[0, 1]]
    """
    limit = _limit("separation_min", separation_min)
    n_samples, X = _rows(X)
    if not is_sparse(X) and X.shape[1] <= TREE_DIMENSIONS:
        return _close_pairs_by_tree(X, limit)
    every = np.arange(n_samples)
    blocks = ((every[part], every[part.start :]) for part in chunks(n_samples, n_samples))
    return _pairs_among(X, blocks, "separation_min", limit, lambda distances: distances < limit)


def _pairs_among(
    X: Any,
    blocks: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]],
    name: str,
    limit: float,
    is_meant: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
) -> NDArray[np.int32]:
    """Compare rows with others, which begin with these rows; return the pairs at distances that are meant."""
    found: list[NDArray[np.int32]] = []
    count = 0
    for rows, others in blocks:
        near, far = np.nonzero(is_meant(_distances(X, rows, others)))
        once = far > near
        found.append(np.column_stack([rows[near[once]], others[far[once]]]).astype(np.int32))
        count += len(found[-1])
        _refuse_too_many(name, limit, count, "is at least")
    return _sorted_pairs(found)


def _limit(name: str, value: Any) -> float:
    limit = read_limit(name, value)
    if limit is None:
        raise ValueError(f"{name} must be a distance, a number not below 0, got None")
    return limit


def _rows(X: Any) -> tuple[int, Any]:
    n_samples, X = read_rows(X)
    if X is None:
        raise ValueError("distance limits need the rows themselves, not only their number")
    return n_samples, X


def _close_pairs_by_tree(X: NDArray[Any], limit: float) -> NDArray[np.int32]:
    tree = scipy.spatial.KDTree(X)
    count = (int(tree.count_neighbors(tree, limit)) - X.shape[0]) // 2
    _refuse_too_many("separation_min", limit, count, "is")
    pairs = tree.query_pairs(limit, output_type="ndarray")
    # The tree includes the limit itself; "closer than" does not.
    difference = X[pairs[:, 0]].astype(np.float64) - X[pairs[:, 1]]
    return _sorted_pairs([pairs[np.sqrt((difference**2).sum(axis=1)) < limit].astype(np.int32)])


def _distances_to_mean(X: Any) -> NDArray[np.float64]:
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        squared = squares - 2 * (X @ mean) + mean @ mean
        # Rounded sums of squares: enlarge a little, a larger reach only compares more.
        return np.asarray(np.sqrt(np.maximum(squared, 0.0) + 1e-6 * float(squares.max(initial=0.0))))
    result: NDArray[np.float64] = scipy.spatial.distance.cdist(X, X.mean(axis=0, dtype=np.float64)[None, :])[:, 0]
    return result


def _blocks_of_pairs(
    order: NDArray[np.intp], reach: NDArray[np.float64], limit: float
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows and the rows at or after them in `order` that are within reach of the limit."""
    falling = -reach[order]
    start = 0
    while start < order.size:
        end = int(np.searchsorted(falling, reach[order[start]] - limit, side="left"))
        if end <= start + 1:
            return
        step = max(1, CELLS // (end - start))
        yield order[start : start + step], order[start:end]
        start += step


def _distances(X: Any, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
    result: NDArray[np.float64]
    if not is_sparse(X):
        # Differences, not the expanded square: at a limit the last digits decide.
        result = scipy.spatial.distance.cdist(X[rows], X[others])
        return result
    # Sparse rows: one dense row at a time. Differences again: only where the dense row is zero does an entry's
    # square count alone, so |y - x|^2 = |x|^2 + sum over stored y of (y - x)^2 - x^2.
    result = np.empty((rows.size, others.size))
    far = X[others].astype(np.float64)
    for i, row in enumerate(rows):
        x = X[[row]].toarray()[0].astype(np.float64)
        at_entries = x[far.indices]
        change = type(far)(((far.data - at_entries) ** 2 - at_entries**2, far.indices, far.indptr), shape=far.shape)
        result[i] = np.asarray(change.sum(axis=1)).ravel() + x @ x
    return np.sqrt(np.maximum(result, 0.0))


def _refuse_too_many(name: str, limit: float, count: int, verb: str) -> None:
    if count > MOST_NUMBERS:
        raise ValueError(
            f"{name}={limit:g} implies too many links: their number {verb} {count}, "
            f"at most {MOST_NUMBERS} are handled"
        )


def _sorted_pairs(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    pairs = np.sort(np.concatenate([np.zeros((0, 2), dtype=np.int32), *parts]), axis=1)
    return np.ascontiguousarray(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])
