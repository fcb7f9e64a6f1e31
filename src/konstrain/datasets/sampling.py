"""Links drawn from true classes: one function for each paper's sampling scheme, and wrong links."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.random import sample_without_replacement

from konstrain._documentation import completed_by

Pairs = NDArray[np.int32]
Block = NDArray[np.int64]


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


_Draw = TypeVar("_Draw", bound=Callable[..., LinkSample])


def _documented(draw: _Draw) -> _Draw:
    """Describe what most draws take.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    LinkSample
        Each pair once: must-links where the classes agree, else cannot-links.
    """
    return completed_by(draw, _documented.__doc__)


def _read_classes(labels: Any) -> NDArray[np.int64]:
    """Check the classes of the rows and number them from 0."""
    given = column_or_1d(labels)
    if given.size == 0:
        raise ValueError("labels are empty; links are drawn from the classes of rows")
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def _as_pairs(pairs: Any) -> Pairs:
    """Return pairs as an array, smaller row first, also when there are none."""
    return np.sort(np.asarray(pairs, dtype=np.int32).reshape(-1, 2), axis=1)


def _all_pairs(rows: Any) -> Pairs:
    """Return each two of some rows."""
    rows = np.asarray(rows)
    first, second = np.triu_indices(rows.size, 1)
    return _as_pairs(np.column_stack([rows[first], rows[second]]))


def _split_by_class(pairs: Pairs, classes: NDArray[np.int64]) -> LinkSample:
    """Make must-links of the pairs within a class and cannot-links of the others."""
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return LinkSample(pairs[same], pairs[~same])


def _rows_in_share(share: float, n_rows: int) -> int:
    """Return how many rows a share is, rounded up."""
    if not 0 < share <= 1:
        raise ValueError(f"share={share} must be above 0 and at most 1")
    # 0.07 * 100 is 7.000000000000001: what rounding adds is no further row.
    return math.ceil(round(share * n_rows, 9))


def _refuse_too_many(n_asked: int, n_there: int, what: str) -> None:
    """Refuse to draw more distinct pairs than there are, or fewer than none."""
    if not 0 <= n_asked <= n_there:
        raise ValueError(f"{n_asked} {what} cannot be drawn: these labels have {n_there}")


@_documented
def sample_babaki(labels: Any, n_links: int, *, random_state: Any = None) -> LinkSample:
    """Draw pairs of rows, each as likely: must-links where the classes agree, else cannot-links.

    The method of Wagstaff et al. (2001) as Babaki et al. (2014) describe it. Whether a pair may come twice is not
    said; here pairs are distinct, so that `n_links` counts what is known.

    Parameters
    ----------
    n_links : int
        Number of pairs, must-links and cannot-links together.

    Returns
    -------
    LinkSample
        Exactly `n_links` pairs.

    Examples
    --------
    >>> sample_babaki([0, 0, 1, 1], 6, random_state=0).must_link.tolist()
    [[0, 1], [2, 3]]
    """
    classes = _read_classes(labels)
    return _split_by_class(_distinct_pairs(classes.size, n_links, random_state), classes)


@_documented
def sample_baumann(
    labels: Any, share: float = 0.1, *, reading: str = "pairs", random_state: Any = None
) -> LinkSample:
    """Draw the constraint set CS_r of González-Almagro et al. (2020), used by Baumann (2020).

    With q = ceil(share * n_samples), CS_r has q (q - 1) / 2 pairs: on Iris 105, 253 and 435 for 10, 15 and 20
    percent. Where they lie is not said in the paper. The published accuracies fit pairs drawn from all rows
    (``"pairs"``); all pairs among q drawn rows (``"objects"``) is as many and common in practice, but tells less.

    Parameters
    ----------
    share : float, default=0.1
        The r of CS_r as a share: 0.1, 0.15 and 0.2 in the paper.
    reading : {"pairs", "objects"}, default="pairs"
        Draw distinct pairs uniformly over all rows, or draw rows and take all pairs among them.

    Returns
    -------
    LinkSample
        Exactly q (q - 1) / 2 pairs, must-links where the classes agree, else cannot-links.

    Examples
    --------
    >>> from konstrain.datasets import load
    >>> iris = load("iris")
    >>> [sample_baumann(iris.labels, share, random_state=0).n_links for share in (0.1, 0.15, 0.2)]
    [105, 253, 435]
    >>> among = sample_baumann(iris.labels, 0.1, reading="objects", random_state=0)
    >>> among.n_links, among.rows.size
    (105, 15)
    """
    classes = _read_classes(labels)
    n_drawn = _rows_in_share(share, classes.size)
    if reading == "pairs":
        pairs = _distinct_pairs(classes.size, n_drawn * (n_drawn - 1) // 2, random_state)
    elif reading == "objects":
        rng = check_random_state(random_state)
        pairs = _all_pairs(np.sort(rng.choice(classes.size, n_drawn, replace=False)))
    else:
        raise ValueError(f"reading={reading!r} must be 'pairs' or 'objects'")
    return _split_by_class(pairs, classes)


def _distinct_pairs(n_rows: int, n_pairs: int, random_state: Any) -> Pairs:
    """Draw distinct pairs by their number in the list (0, 1), (0, 2), (1, 2), (0, 3), ..., never written out."""
    n_there = n_rows * (n_rows - 1) // 2
    _refuse_too_many(n_pairs, n_there, "pairs")
    number = np.sort(sample_without_replacement(n_there, n_pairs, random_state=random_state)).astype(np.int64)
    # Pairs with larger row j are numbered from j (j - 1) / 2. The root is exact enough: 8 n^2 / 2 is far below 2^53.
    larger = ((1 + np.sqrt(8 * number + 1)) / 2).astype(np.int64)
    return _as_pairs(np.column_stack([number - larger * (larger - 1) // 2, larger]))


@_documented
def sample_le(labels: Any, share: float = 0.2, *, random_state: Any = None) -> LinkSample:
    """Draw a share of each class and link all drawn rows: must-links within classes, cannot-links between them.

    The paper says that 20% of the points within each cluster are sampled to generate the constraints; that all pairs
    among them become constraints, and that shares are rounded up, is the reading here.

    Parameters
    ----------
    share : float, default=0.2
        Share of each class, rounded up to whole rows.

    Examples
    --------
    >>> sample = sample_le([0] * 50 + [1] * 50, random_state=0)
    >>> sample.rows.size, len(sample.must_link), len(sample.cannot_link)
    (20, 90, 100)
    """
    classes = _read_classes(labels)
    rng = check_random_state(random_state)
    members = [np.flatnonzero(classes == label) for label in range(classes.max() + 1)]
    drawn = [rng.choice(rows, _rows_in_share(share, rows.size), replace=False) for rows in members]
    return _split_by_class(_all_pairs(np.sort(np.concatenate(drawn))), classes)


@_documented
def sample_ganji(labels: Any, n_links: int, *, random_state: Any = None) -> LinkSample:
    """Draw as many must-links as cannot-links: a random row, then a random other one of the same or another class.

    Two things the paper leaves open: an odd number has one cannot-link more, and pairs are distinct. Small classes
    get more must-links than by drawing pairs uniformly, since every row is equally likely to come first.

    Parameters
    ----------
    n_links : int
        Number of pairs of both kinds; n/4, n/2 and n, rounded down, in the paper.

    Examples
    --------
    >>> sample = sample_ganji([0] * 50 + [1] * 50, 25, random_state=0)
    >>> len(sample.must_link), len(sample.cannot_link)
    (12, 13)
    """
    classes = _read_classes(labels)
    rng = check_random_state(random_state)
    n_must = n_links // 2
    sizes = np.bincount(classes)
    n_same = int((sizes * (sizes - 1) // 2).sum())
    _refuse_too_many(n_must, n_same, "must-links")
    _refuse_too_many(n_links - n_must, classes.size * (classes.size - 1) // 2 - n_same, "cannot-links")
    must = _draw_pairs(classes, n_must, True, rng)
    return LinkSample(must, _draw_pairs(classes, n_links - n_must, False, rng))


def _draw_pairs(classes: NDArray[np.int64], n_pairs: int, same: bool, rng: np.random.RandomState) -> Pairs:
    found: dict[tuple[int, int], None] = {}
    while len(found) < n_pairs:
        row = rng.randint(classes.size)
        partners = np.flatnonzero((classes == classes[row]) == same)
        partners = partners[partners != row]
        if partners.size:
            other = partners[rng.randint(partners.size)]
            found[min(row, other), max(row, other)] = None
    return _as_pairs(list(found))


@_documented
def flip_links(sample: LinkSample, share: float, *, random_state: Any = None) -> LinkSample:
    """Turn a share of the links into their opposite.

    Must-links become cannot-links and the other way round. Hard links may then contradict each other: methods that
    keep every link can refuse such a sample.

    Parameters
    ----------
    sample : LinkSample
        Links that agree with the classes.
    share : float
        Share of wrong links from 0 to 1, rounded to whole links; 0.01 to 0.1 in the paper.

    Returns
    -------
    LinkSample
        As many links; the turned ones stand last.

    Examples
    --------
    >>> true = LinkSample(np.array([[0, 1], [2, 3]]), np.array([[0, 2]]))
    >>> flipped = flip_links(true, 1.0)
    >>> flipped.must_link.tolist(), flipped.cannot_link.tolist()
    ([[0, 2]], [[0, 1], [2, 3]])
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} must be between 0 and 1")
    rng = check_random_state(random_state)
    wrong = np.zeros(sample.n_links, dtype=bool)
    wrong[rng.choice(sample.n_links, round(share * sample.n_links), replace=False)] = True
    wrong_must, wrong_cannot = np.split(wrong, [len(sample.must_link)])
    return LinkSample(
        np.concatenate([sample.must_link[~wrong_must], sample.cannot_link[wrong_cannot]]),
        np.concatenate([sample.cannot_link[~wrong_cannot], sample.must_link[wrong_must]]),
    )


@_documented
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
    n_links : int
        Number of pairs of both kinds; an odd number has one cannot-link more.
    must_link_size : int, optional
        Rows in each must-link set; the last one can be smaller. The paper gives no sizes; default: the smallest with
        which disjoint sets make enough pairs.
    cannot_link_size : int, optional
        Classes in each cannot-link set; the last ones can have fewer. Default: all classes.

    Examples
    --------
    >>> from konstrain.datasets import load
    >>> sample = sample_jia(load("iris").labels, 400, random_state=0)
    >>> len(sample.must_link), len(sample.cannot_link)
    (200, 200)
    """
    classes = _read_classes(labels)
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
        found.append(_all_pairs(block)[:wanted])
        wanted -= len(found[-1])
    return _joined(found), [sets + list(free[:, None]) for sets, free in zip(merged, left, strict=True)]


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
    return _joined(found)


def _smallest_set(n_pairs: int) -> int:
    """Return the size of the smallest set with at least `n_pairs` pairs; `n_pairs` is at least 1."""
    return _largest_set(n_pairs - 1) + 1


def _largest_set(n_pairs: int) -> int:
    """Return the size of the largest set with at most `n_pairs` pairs."""
    return (1 + math.isqrt(8 * n_pairs + 1)) // 2


def _apart(blocks: list[Block]) -> Pairs:
    """Return all pairs of rows in different blocks; one for each two blocks comes first."""
    first, second = np.triu_indices(len(blocks), 1)
    grids = [
        _as_pairs(np.stack(np.meshgrid(blocks[a], blocks[b]), axis=-1)) for a, b in zip(first, second, strict=True)
    ]
    return np.concatenate([_joined([grid[:1] for grid in grids]), *[grid[1:] for grid in grids]])


def _joined(parts: list[Pairs]) -> Pairs:
    return np.concatenate([_as_pairs([]), *parts])
