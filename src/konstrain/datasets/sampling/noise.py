"""Links that are wrong on purpose: Ganji et al. (2016), section 4.4."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from konstrain.datasets.sampling.link_sample import LinkSample


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
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

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
