"""Half must-links, half cannot-links: Ganji et al. (2016), section 4.1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from konstrain.datasets.sampling.link_sample import LinkSample, Pairs, as_pairs, read_classes, refuse_too_many


def sample_ganji(labels: Any, n_links: int, *, random_state: Any = None) -> LinkSample:
    """Draw as many must-links as cannot-links: a random row, then a random other one of the same or another class.

    Two things the paper leaves open: an odd number has one cannot-link more, and pairs are distinct. Small classes
    get more must-links than by drawing pairs uniformly, since every row is equally likely to come first.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    n_links : int
        Number of pairs of both kinds; n/4, n/2 and n, rounded down, in the paper.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    LinkSample
        ``n_links // 2`` must-links and ``n_links - n_links // 2`` cannot-links.

    Examples
    --------
    >>> sample = sample_ganji([0] * 50 + [1] * 50, 25, random_state=0)
    >>> len(sample.must_link), len(sample.cannot_link)
    (12, 13)
    """
    classes = read_classes(labels)
    rng = check_random_state(random_state)
    n_must = n_links // 2
    sizes = np.bincount(classes)
    n_same = int((sizes * (sizes - 1) // 2).sum())
    refuse_too_many(n_must, n_same, "must-links")
    refuse_too_many(n_links - n_must, classes.size * (classes.size - 1) // 2 - n_same, "cannot-links")
    must = _draw(classes, n_must, True, rng)
    return LinkSample(must, _draw(classes, n_links - n_must, False, rng))


def _draw(classes: NDArray[np.int64], n_pairs: int, same: bool, rng: np.random.RandomState) -> Pairs:
    found: dict[tuple[int, int], None] = {}
    while len(found) < n_pairs:
        row = rng.randint(classes.size)
        partners = np.flatnonzero((classes == classes[row]) == same)
        partners = partners[partners != row]
        if partners.size:
            other = partners[rng.randint(partners.size)]
            found[min(row, other), max(row, other)] = None
    return as_pairs(list(found))
