"""Sets of rows that must share a cluster, and disjoint sets that must not: Jia et al. (2023), section 6.1.3."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from konstrain.datasets.sampling.link_sample import LinkSample, Pairs, all_pairs, as_pairs, read_classes

Block = NDArray[np.int64]


def sample_jia(
    labels: Any,
    n_links: int,
    *,
    must_link_size: int | None = None,
    cannot_link_size: int | None = None,
    random_state: Any = None,
) -> LinkSample:
    """Draw must-link sets and disjoint cannot-link sets that make equally many pairs.

    A must-link set is some rows of one class; a cannot-link set is one row from each of some classes, where the rows
    of a must-link set count as one. No row is in two sets of a kind, so cannot-link sets stay disjoint when
    must-links are merged. Sets are written out as pairs. Between two merged must-link sets all pairs hold; as many of
    them are written as are still wanted, at least one. Without that the paper's 400 links on Iris would be
    impossible: 50 disjoint sets of three rows make only 150 pairs.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    n_links : int
        Number of pairs of both kinds; an odd number has one cannot-link more.
    must_link_size : int, optional
        Rows in each must-link set; the last one can be smaller. The paper gives no sizes; default: the smallest with
        which disjoint sets make enough pairs.
    cannot_link_size : int, optional
        Classes in each cannot-link set; the last ones can have fewer. Default: all classes.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    LinkSample
        ``n_links // 2`` must-links and ``n_links - n_links // 2`` cannot-links.

    Examples
    --------
    >>> from konstrain.datasets import load
    >>> sample = sample_jia(load("iris").labels, 400, random_state=0)
    >>> len(sample.must_link), len(sample.cannot_link)
    (200, 200)
    """
    classes = read_classes(labels)
    if n_links < 0:
        raise ValueError(f"n_links={n_links} must not be negative")
    n_must = n_links // 2
    sizes = np.bincount(classes)
    must_size = _must_link_size(must_link_size, n_must, sizes)
    cannot_size = sizes.size if cannot_link_size is None else cannot_link_size
    if cannot_link_size is not None and not 2 <= cannot_size <= sizes.size:
        raise ValueError(f"cannot_link_size={cannot_size} must be between 2 and the number of classes, {sizes.size}")
    rng = check_random_state(random_state)
    rows = [rng.permutation(np.flatnonzero(classes == label)) for label in range(sizes.size)]
    must, merged = _must_link_sets(rows, must_size, n_must, rng)
    return LinkSample(must, _cannot_link_sets(merged, cannot_size, n_links - n_must, rng))


def _must_link_size(size: int | None, n_pairs: int, class_sizes: NDArray[np.int64]) -> int:
    """Return the size asked for, or the smallest, with which disjoint sets within classes make enough pairs."""
    largest = max(int(class_sizes.max()), 2)
    if size is not None and not 2 <= size <= largest:
        raise ValueError(f"must_link_size={size} must be between 2 and the rows of the largest class, {largest}")
    tried = range(2, largest + 1) if size is None else [size]
    capacity = [int((class_sizes // each).sum()) * each * (each - 1) // 2 for each in tried]
    for each, n_there in zip(tried, capacity, strict=True):
        if n_there >= n_pairs:
            return each
    sets = "disjoint must-link sets" if size is None else f"disjoint sets of must_link_size={size} rows"
    raise ValueError(f"{sets} make at most {max(capacity)} must-links here, not {n_pairs}; ask for fewer links")


def _must_link_sets(
    rows: list[Block], size: int, n_pairs: int, rng: np.random.RandomState
) -> tuple[Pairs, list[list[Block]]]:
    """Cut sets off the shuffled rows of random classes; return their pairs, and all rows by class, sets merged."""
    left = list(rows)
    merged: list[list[Block]] = [[] for _ in rows]
    found: list[Pairs] = []
    wanted = n_pairs
    while wanted:
        n_taken = min(size, _smallest_set(wanted))
        able = [label for label, free in enumerate(left) if free.size >= n_taken]
        label = able[rng.randint(len(able))]
        block, left[label] = np.split(left[label], [n_taken])
        merged[label].append(block)
        # The pairs of a set begin with a star, so a last set that is cut short still hangs together.
        found.append(all_pairs(block)[:wanted])
        wanted -= len(found[-1])
    return _join(found), [sets + list(free[:, None]) for sets, free in zip(merged, left, strict=True)]


def _cannot_link_sets(merged: list[list[Block]], size: int, n_pairs: int, rng: np.random.RandomState) -> Pairs:
    """Take one merged point of each of some random classes at a time, until there are enough pairs."""
    left = [[of_class[at] for at in rng.permutation(len(of_class))] for of_class in merged]
    found: list[Pairs] = []
    wanted = n_pairs
    while wanted:
        able = [label for label, free in enumerate(left) if free]
        if len(able) < 2:
            raise ValueError(
                f"disjoint cannot-link sets made only {n_pairs - wanted} of {n_pairs} cannot-links; "
                "ask for fewer links, or for larger must_link_size and cannot_link_size"
            )
        chosen = rng.choice(able, min(_largest_set(wanted), size, len(able)), replace=False)
        found.append(_apart([left[label].pop() for label in chosen])[:wanted])
        wanted -= len(found[-1])
    return _join(found)


def _smallest_set(n_pairs: int) -> int:
    """Return the size of the smallest set that has at least so many pairs, of which there is one or more."""
    return _largest_set(n_pairs - 1) + 1


def _largest_set(n_pairs: int) -> int:
    """Return the size of the largest set that has at most so many pairs."""
    return (1 + math.isqrt(8 * n_pairs + 1)) // 2


def _apart(blocks: list[Block]) -> Pairs:
    """Return all pairs of rows in different blocks; one for each two blocks comes first."""
    first, second = np.triu_indices(len(blocks), 1)
    grids = [
        as_pairs(np.stack(np.meshgrid(blocks[a], blocks[b]), axis=-1)) for a, b in zip(first, second, strict=True)
    ]
    return np.concatenate([_join([grid[:1] for grid in grids]), *[grid[1:] for grid in grids]])


def _join(parts: list[Pairs]) -> Pairs:
    return np.concatenate([as_pairs([]), *parts])
