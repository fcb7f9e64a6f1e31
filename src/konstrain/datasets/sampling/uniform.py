"""Pairs drawn uniformly: Babaki et al. (2014), and the sets of González-Almagro et al. (2020) that Baumann used."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from konstrain.datasets.sampling.link_sample import (
    LinkSample,
    Pairs,
    all_pairs,
    as_pairs,
    read_classes,
    refuse_too_many,
    rows_in_share,
    split_by_class,
)


def sample_babaki(labels: Any, n_links: int, *, random_state: Any = None) -> LinkSample:
    """Draw pairs of rows, each as likely: must-links where the classes agree, else cannot-links.

    The method of Wagstaff et al. (2001) as Babaki et al. (2014) describe it. Whether a pair may come twice is not
    said; here pairs are distinct, so that `n_links` counts what is known.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    n_links : int
        Number of pairs, must-links and cannot-links together.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    LinkSample
        Exactly `n_links` pairs.

    Examples
    --------
    >>> sample_babaki([0, 0, 1, 1], 6, random_state=0).must_link.tolist()
    [[0, 1], [2, 3]]
    """
    classes = read_classes(labels)
    return split_by_class(_distinct_pairs(classes.size, n_links, random_state), classes)


def sample_baumann(
    labels: Any, share: float = 0.1, *, reading: str = "pairs", random_state: Any = None
) -> LinkSample:
    """Draw the constraint set CS_r of González-Almagro et al. (2020), used by Baumann (2020).

    With q = ceil(share * n_samples), CS_r has q (q - 1) / 2 pairs: on Iris 105, 253 and 435 for 10, 15 and 20
    percent. Where they lie is not said in the paper. The published accuracies fit pairs drawn from all rows
    (``"pairs"``); all pairs among q drawn rows (``"objects"``) is as many and common in practice, but tells less.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    share : float, default=0.1
        The r of CS_r as a share: 0.1, 0.15 and 0.2 in the paper.
    reading : {"pairs", "objects"}, default="pairs"
        Draw distinct pairs uniformly over all rows, or draw rows and take all pairs among them.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

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
    classes = read_classes(labels)
    n_drawn = rows_in_share(share, classes.size)
    if reading == "pairs":
        pairs = _distinct_pairs(classes.size, n_drawn * (n_drawn - 1) // 2, random_state)
    elif reading == "objects":
        rng = check_random_state(random_state)
        pairs = all_pairs(np.sort(rng.choice(classes.size, n_drawn, replace=False)))
    else:
        raise ValueError(f"reading={reading!r} must be 'pairs' or 'objects'")
    return split_by_class(pairs, classes)


def _distinct_pairs(n_rows: int, n_pairs: int, random_state: Any) -> Pairs:
    """Draw distinct pairs by their number in the list (0, 1), (0, 2), (1, 2), (0, 3), ..., never written out."""
    n_there = n_rows * (n_rows - 1) // 2
    refuse_too_many(n_pairs, n_there, "pairs")
    number = np.sort(sample_without_replacement(n_there, n_pairs, random_state=random_state)).astype(np.int64)
    # Pairs with larger row j are numbered from j (j - 1) / 2. The root is exact enough: 8 n^2 / 2 is far below 2^53.
    larger = ((1 + np.sqrt(8 * number + 1)) / 2).astype(np.int64)
    return as_pairs(np.column_stack([number - larger * (larger - 1) // 2, larger]))
